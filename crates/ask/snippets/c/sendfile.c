// sendfile: a message to a child process and back, as pages of a file in memory
// that are sent over a UNIX socket.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// A file in memory and where it is mapped: the message is made in it.
static int file_of(size_t size, char **bytes) {
  int file = memfd_create("example", MFD_CLOEXEC);
  if (file == -1 || ftruncate(file, (off_t)size) == -1)
    err(1, "memfd_create");
  *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (*bytes == MAP_FAILED)
    err(1, "mmap");
  return file;
}

// The socket refers to the pages until they are read: writing the next
// message into them before that changes this one.
static void send_file(int fd, int file, size_t size) {
  off_t from = 0;
  for (ssize_t count; (size_t)from < size;)
    if ((count = sendfile(fd, file, &from, size - (size_t)from)) == -1)
      err(1, "sendfile"); // EPIPE: the peer is gone
    else if (count == 0)
      errx(1, "sendfile: the file ends before the message");
}

static void read_all(int fd, char *to, size_t left) {
  for (ssize_t count; left > 0; to += count, left -= (size_t)count) {
    if ((count = read(fd, to, left)) == -1)
      err(1, "read");
    if (count == 0)
      errx(1, "read: the peer is gone");
  }
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1)
    err(1, "socketpair");
  // sendfile has no MSG_NOSIGNAL: without a reader it shall fail, not kill.
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
    err(1, "signal");
  char *reply = malloc(size), *message;
  if (!reply)
    err(1, "malloc");

  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    close(ends[0]); // or the death of the parent would not be told
    int file = file_of(size, &message);
    read_all(ends[1], message, size);
    send_file(ends[1], file, size);
    _exit(0);
  }
  close(ends[1]);
  int file = file_of(size, &message);
  memset(message, 'm', size);
  send_file(ends[0], file, size);
  read_all(ends[0], reply, size);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the child failed");
  printf("sendfile: %zu bytes sent, echoed and checked\n", size);
}
