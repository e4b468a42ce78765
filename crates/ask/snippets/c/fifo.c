// fifo: a message to a server and back over two named pipes.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Their permissions say who may take part. The names outlive the processes.
static const char THERE[] = "there.fifo", BACK[] = "back.fifo";

static void remove_names(void) {
  unlink(THERE);
  unlink(BACK);
}

// Sleeps until the other end opens it too: open both in the same order.
static int open_fifo(const char *name, int access) {
  int fd = open(name, access | O_CLOEXEC);
  if (fd == -1)
    err(1, "%s", name);
  return fd;
}

// No boundaries: a call may move a part, and both ends know the size.
static void write_all(int fd, const char *from, size_t left) {
  for (ssize_t count; left > 0; from += count, left -= count)
    if ((count = write(fd, from, left)) == -1)
      err(1, "write"); // EPIPE: the reader is gone
}

static void read_all(int fd, char *to, size_t left) {
  for (ssize_t count; left > 0; to += count, left -= count) {
    if ((count = read(fd, to, left)) == -1)
      err(1, "read");
    if (count == 0)
      errx(1, "read: the writer is gone");
  }
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  if (!message || !reply)
    err(1, "malloc");
  if (mkfifo(THERE, 0600) == -1 || mkfifo(BACK, 0600) == -1)
    err(1, "mkfifo");
  // A write without a reader shall fail, not kill this process.
  if (atexit(remove_names) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
    err(1, "atexit");

  pid_t server = fork(); // any process that may open the names
  if (server == -1)
    err(1, "fork");
  if (server == 0) {
    int in = open_fifo(THERE, O_RDONLY), out = open_fifo(BACK, O_WRONLY);
    read_all(in, reply, size);
    write_all(out, reply, size);
    _exit(0);
  }
  int out = open_fifo(THERE, O_WRONLY), in = open_fifo(BACK, O_RDONLY);
  memset(message, 'm', size);
  write_all(out, message, size);
  read_all(in, reply, size);
  int status;
  if (waitpid(server, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the server failed");
  printf("fifo: %zu bytes sent, echoed and checked\n", size);
}
