// tcp: a message to a server and back over a TCP connection on this host.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// A small message does not wait for an acknowledgement.
static void send_at_once(int fd) {
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == -1)
    err(1, "TCP_NODELAY");
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
  // Only this host, but every user of it. Port 0: the kernel chooses one.
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr *any = (struct sockaddr *)&address;
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener == -1 || bind(listener, any, length) == -1 ||
      listen(listener, 8) == -1 || getsockname(listener, any, &length) == -1)
    err(1, "listen");

  pid_t server = fork();
  if (server == -1)
    err(1, "fork");
  if (server == 0) {
    int fd = accept(listener, NULL, NULL);
    if (fd == -1)
      err(1, "accept");
    send_at_once(fd);
    receive_all(fd, reply, size);
    send_all(fd, reply, size);
    return 0;
  }
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd == -1 || close(listener) == -1)
    err(1, "socket");
  if (connect(fd, any, length) == -1)
    err(1, "connect to port %d", ntohs(address.sin_port));
  send_at_once(fd);
  memset(message, 'm', size);
  send_all(fd, message, size);
  receive_all(fd, reply, size);
  int status;
  if (waitpid(server, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the server failed");
  printf("tcp: %zu bytes sent, echoed and checked\n", size);
}
