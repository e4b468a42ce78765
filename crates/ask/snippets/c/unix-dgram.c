// unix-dgram: a message to a server and back over UNIX datagram sockets; the
// server's has a path.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// A process needs write permission on the path to send. The path
// outlives its socket: bind fails while it is there. At most 107 bytes.
static const struct sockaddr_un SERVER = {AF_UNIX, "example.sock"};

static void remove_path(void) {
  unlink(SERVER.sun_path);
}

static int bound(const struct sockaddr_un *address, socklen_t length) {
  // Nothing tells that the peer has died, so nobody waits longer.
  struct timeval limit = {.tv_sec = 10};
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd == -1 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == -1 ||
      bind(fd, (const struct sockaddr *)address, length) == -1)
    err(1, "bind: %s", address->sun_path);
  return fd;
}

static void send_message(int fd, const struct sockaddr_un *to, socklen_t length,
                         const char *from, size_t size) {
  // EMSGSIZE: it must fit into the send buffer (SO_SNDBUF, 208 KiB).
  // Sleeps while net.unix.max_dgram_qlen messages wait at the receiver.
  if (sendto(fd, from, size, 0, (const struct sockaddr *)to, length) == -1)
    err(1, "sendto"); // ECONNREFUSED: nobody has the path any more
}

static socklen_t receive_message(int fd, char *to, size_t size,
                                 struct sockaddr_un *sender) {
  // MSG_TRUNC gives the whole length of what did not fit and is lost.
  socklen_t length = sizeof *sender;
  ssize_t count =
      recvfrom(fd, to, size, MSG_TRUNC, (struct sockaddr *)sender, &length);
  if (count == -1)
    err(1, "recvfrom");
  if ((size_t)count != size)
    errx(1, "recvfrom: %zd bytes, not %zu", count, size);
  return length;
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  if (!message || !reply)
    err(1, "malloc");
  struct sockaddr_un sender;
  int server = bound(&SERVER, sizeof SERVER);
  if (atexit(remove_path) != 0)
    errx(1, "atexit");

  pid_t parent = getpid(), child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    // A parent that fails sends nothing: the child ends with it.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent)
      _exit(1);
    socklen_t length = receive_message(server, reply, size, &sender);
    send_message(server, &sender, length, reply, size);
    _exit(0);
  }
  // Without a path the kernel chooses a name, to be answered at.
  struct sockaddr_un nameless = {.sun_family = AF_UNIX};
  int client = bound(&nameless, sizeof nameless.sun_family);
  if (close(server) == -1)
    err(1, "close");
  memset(message, 'm', size);
  send_message(client, &SERVER, sizeof SERVER, message, size);
  receive_message(client, reply, size, &sender); // anybody may have sent it
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the server failed");
  printf("unix-dgram: %zu bytes sent, echoed and checked\n", size);
}
