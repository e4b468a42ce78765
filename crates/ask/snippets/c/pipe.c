// pipe: a message to a child process and back over two anonymous pipes.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
  int there[2], back[2];
  if (!message || !reply || pipe(there) == -1 || pipe(back) == -1)
    err(1, "pipe");
  // A write without a reader shall fail, not kill this process.
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
    err(1, "signal");

  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    // The end of a pipe is told when every copy of its write end is closed.
    if (close(there[1]) == -1 || close(back[0]) == -1)
      err(1, "close");
    read_all(there[0], reply, size);
    write_all(back[1], reply, size);
    return 0;
  }
  if (close(there[0]) == -1 || close(back[1]) == -1)
    err(1, "close");
  memset(message, 'm', size);
  write_all(there[1], message, size);
  read_all(back[0], reply, size);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the child failed");
  printf("pipe: %zu bytes sent, echoed and checked\n", size);
}
