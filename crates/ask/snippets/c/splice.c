// splice: a message to a child process and back, its pages moved from a pipe to
// a UNIX socket and from there to another pipe, as a proxy does.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// One of both ends of a splice must be a pipe. It moves what is there, which
// may be a part; 0 is the end.
static size_t move(int from, int to, size_t most) {
  ssize_t count = splice(from, NULL, to, NULL, most, SPLICE_F_MOVE);
  if (count == -1)
    err(1, "splice"); // EPIPE: the peer is gone
  if (count == 0)
    errx(1, "splice: the peer is gone");
  return (size_t)count;
}

// No more than the pipe holds, since nobody else empties it.
static void send_over(const int over[2], int fd, const char *from,
                      size_t left) {
  while (left > 0) {
    size_t part = left < 65536 ? left : 65536;
    ssize_t count = write(over[1], from, part);
    if (count == -1)
      err(1, "write");
    for (size_t rest = (size_t)count; rest > 0;)
      rest -= move(over[0], fd, rest);
    from += count, left -= (size_t)count;
  }
}

static void receive_over(const int over[2], int fd, char *to, size_t left) {
  while (left > 0)
    for (size_t rest = move(fd, over[1], left); rest > 0;) {
      ssize_t count = read(over[0], to, rest);
      if (count == -1)
        err(1, "read");
      to += count, left -= (size_t)count, rest -= (size_t)count;
    }
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  int ends[2], over[2];
  if (!message || !reply || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1)
    err(1, "socketpair");
  // splice has no MSG_NOSIGNAL: without a reader it shall fail, not kill.
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
    err(1, "signal");

  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  // A pipe for each process; in it nothing but the message under way.
  if (pipe(over) == -1)
    err(1, "pipe");
  if (child == 0) {
    close(ends[0]); // or the death of the parent would not be told
    receive_over(over, ends[1], reply, size);
    send_over(over, ends[1], reply, size);
    _exit(0);
  }
  close(ends[1]);
  memset(message, 'm', size);
  send_over(over, ends[0], message, size);
  receive_over(over, ends[0], reply, size);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the child failed");
  printf("splice: %zu bytes sent, echoed and checked\n", size);
}
