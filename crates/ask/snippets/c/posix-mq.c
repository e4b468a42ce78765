// posix-mq: a message to a server and back over two POSIX message queues.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <mqueue.h> // cc -lrt before glibc 2.34
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Names outlive the processes, and the messages in the queues do, too.
static char there_name[32], back_name[32];

static void remove_names(void) {
  mq_unlink(there_name);
  mq_unlink(back_name);
}

static mqd_t open_queue(const char *name, int how, struct mq_attr *limits) {
  mqd_t queue = mq_open(name, how, 0600, limits);
  if (queue == -1) // EINVAL: above /proc/sys/fs/mqueue; EMFILE: above ulimit -q
    err(1, "mq_open: %s", name);
  return queue;
}

static void send_message(mqd_t queue, const char *from, size_t size) {
  if (mq_send(queue, from, size, 0) == -1) // sleeps while the queue is full
    err(1, "mq_send");
}

static void receive_message(mqd_t queue, char *to, size_t size) {
  // Nothing tells that the peer has died, so nobody waits longer.
  struct timespec limit;
  if (clock_gettime(CLOCK_REALTIME, &limit) == -1)
    err(1, "clock_gettime");
  limit.tv_sec += 10;
  ssize_t count = mq_timedreceive(queue, to, size, NULL, &limit);
  if (count == -1)
    err(1, "mq_timedreceive");
  if ((size_t)count != size)
    errx(1, "%zd bytes, not %zu", count, size);
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  if (!message || !reply)
    err(1, "malloc");
  snprintf(there_name, sizeof there_name, "/example-%d-there", getpid());
  snprintf(back_name, sizeof back_name, "/example-%d-back", getpid());
  if (atexit(remove_names) != 0)
    errx(1, "atexit");
  struct mq_attr limits = {.mq_maxmsg = 1, .mq_msgsize = size};
  int fresh = O_CREAT | O_EXCL;
  mqd_t out = open_queue(there_name, O_WRONLY | fresh, &limits);
  mqd_t in = open_queue(back_name, O_RDONLY | fresh, &limits);

  pid_t server = fork(); // any process of this user that knows the names
  if (server == -1)
    err(1, "fork");
  if (server == 0) {
    mqd_t requests = open_queue(there_name, O_RDONLY, NULL);
    mqd_t replies = open_queue(back_name, O_WRONLY, NULL);
    receive_message(requests, reply, size);
    send_message(replies, reply, size);
    _exit(0);
  }
  memset(message, 'm', size);
  send_message(out, message, size);
  receive_message(in, reply, size);
  int status;
  if (waitpid(server, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the server failed");
  printf("posix-mq: %zu bytes sent, echoed and checked\n", size);
}
