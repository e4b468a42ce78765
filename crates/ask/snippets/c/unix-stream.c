// unix-stream: a message to a server and back over a UNIX socket with a path.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// A process needs write permission on the path to connect. The path
// outlives its listener: bind fails while it is there. At most 107 bytes.
static const struct sockaddr_un ADDRESS = {AF_UNIX, "example.sock"};

static void remove_path(void) {
  unlink(ADDRESS.sun_path);
}

// A stream has no boundaries: both ends know the size, or send it first.
static void send_all(int fd, const char *from, size_t size) {
  // MSG_NOSIGNAL: a dead peer is EPIPE, not SIGPIPE.
  for (ssize_t count; size > 0; from += count, size -= count)
    if ((count = send(fd, from, size, MSG_NOSIGNAL)) == -1)
      err(1, "send");
}

static void receive_all(int fd, char *to, size_t size) {
  ssize_t count = recv(fd, to, size, MSG_WAITALL);
  if (count == -1)
    err(1, "recv");
  if ((size_t)count < size)
    errx(1, "recv: the peer is gone");
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  if (!message || !reply)
    err(1, "malloc");
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (listener == -1)
    err(1, "socket");
  if (bind(listener, (const struct sockaddr *)&ADDRESS, sizeof ADDRESS) == -1)
    err(1, "bind: %s", ADDRESS.sun_path);
  if (atexit(remove_path) != 0 || listen(listener, 8) == -1)
    err(1, "listen");

  pid_t server = fork();
  if (server == -1)
    err(1, "fork");
  if (server == 0) {
    int fd = accept(listener, NULL, NULL); // SO_PEERCRED tells who it is
    if (fd == -1)
      err(1, "accept");
    receive_all(fd, reply, size);
    send_all(fd, reply, size);
    _exit(0);
  }
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd == -1 || close(listener) == -1)
    err(1, "socket");
  if (connect(fd, (const struct sockaddr *)&ADDRESS, sizeof ADDRESS) == -1)
    err(1, "connect: %s", ADDRESS.sun_path);
  memset(message, 'm', size);
  send_all(fd, message, size);
  receive_all(fd, reply, size);
  int status;
  if (waitpid(server, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the server failed");
  printf("unix-stream: %zu bytes sent, echoed and checked\n", size);
}
