// udp: a message to a server and back over UDP on this host.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// Of this host every user may send to it.
static int bound(struct sockaddr_in *address) {
  // A message that finds no room is dropped, and nothing tells that the peer
  // has died, so nobody waits longer.
  struct timeval limit = {.tv_sec = 10};
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET};
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd == -1 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == -1 ||
      bind(fd, (struct sockaddr *)address, length) == -1 ||
      getsockname(fd, (struct sockaddr *)address, &length) == -1) // its port
    err(1, "bind");
  return fd;
}

static void send_message(int fd, const struct sockaddr_in *to, const char *from,
                         size_t size) {
  // EMSGSIZE: at most 65,507 bytes, or fewer with a smaller SO_SNDBUF.
  if (sendto(fd, from, size, 0, (const struct sockaddr *)to, sizeof *to) == -1)
    err(1, "sendto");
}

static void receive_message(int fd, char *to, size_t size,
                            struct sockaddr_in *sender) {
  // MSG_TRUNC gives the whole length of what did not fit and is lost.
  socklen_t length = sizeof *sender;
  ssize_t count =
      recvfrom(fd, to, size, MSG_TRUNC, (struct sockaddr *)sender, &length);
  if (count == -1)
    err(1, "recvfrom"); // ECONNREFUSED, if connected: nobody has the port
  if ((size_t)count != size)
    errx(1, "recvfrom: %zd bytes, not %zu", count, size);
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  if (!message || !reply)
    err(1, "malloc");
  struct sockaddr_in address, own, sender;
  int server = bound(&address);

  pid_t parent = getpid(), child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    // A parent that fails sends nothing: the child ends with it.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent)
      _exit(1);
    receive_message(server, reply, size, &sender);
    send_message(server, &sender, reply, size);
    _exit(0);
  }
  int client = bound(&own);
  if (close(server) == -1)
    err(1, "close");
  // From now on only what the server sends comes in.
  if (connect(client, (struct sockaddr *)&address, sizeof address) == -1)
    err(1, "connect");
  memset(message, 'm', size);
  send_message(client, &address, message, size);
  receive_message(client, reply, size, &sender);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the server failed");
  printf("udp: %zu bytes sent, echoed and checked\n", size);
}
