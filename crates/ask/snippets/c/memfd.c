// memfd: a message to a child process and back, each in an anonymous file whose
// descriptor travels over a UNIX socket.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// After this nobody can change or shorten the file, its sender included.
static const int SEALS =
    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

// A packet of one byte, with room for one descriptor beside it.
static char byte;
static struct iovec bytes = {.iov_base = &byte, .iov_len = 1};
static union {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
} rights;
static struct msghdr packet = {
    .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &rights};

static void send_message(int socket, const char *from, size_t size) {
  int file = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file == -1 || ftruncate(file, size) == -1)
    err(1, "memfd_create");
  char *memory = mmap(NULL, size, PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    err(1, "mmap");
  memcpy(memory, from, size); // or make the message here in the first place
  if (munmap(memory, size) == -1 || fcntl(file, F_ADD_SEALS, SEALS) == -1)
    err(1, "F_ADD_SEALS");

  packet.msg_controllen = sizeof rights;
  rights.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS,
                                   .cmsg_len = CMSG_LEN(sizeof file)};
  memcpy(CMSG_DATA(&rights.header), &file, sizeof file);
  // MSG_NOSIGNAL: a dead peer is EPIPE, not SIGPIPE.
  if (sendmsg(socket, &packet, MSG_NOSIGNAL) == -1 || close(file) == -1)
    err(1, "sendmsg");
}

// The message in place: unmap it when done.
static const char *receive_message(int socket, size_t size) {
  packet.msg_controllen = sizeof rights;
  ssize_t count = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
  if (count == -1)
    err(1, "recvmsg");
  struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
  if (count == 0 || !header || header->cmsg_type != SCM_RIGHTS)
    errx(1, "recvmsg: the peer is gone, or sent no descriptor");
  int file;
  memcpy(&file, CMSG_DATA(header), sizeof file);
  // Unsealed it could be shortened, and reading would end in SIGBUS.
  struct stat facts;
  if (fcntl(file, F_GET_SEALS) != SEALS || fstat(file, &facts) == -1 ||
      (size_t)facts.st_size != size)
    errx(1, "not a sealed message of %zu bytes", size);
  const char *message = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (message == MAP_FAILED || close(file) == -1)
    err(1, "mmap");
  return message;
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0)
    errx(2, "usage: %s [BYTES]", argv[0]);
  char *message = malloc(size);
  int ends[2];
  if (!message || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == -1)
    err(1, "socketpair");

  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  // The end is told when every copy of the peer's descriptor is closed.
  if (close(ends[child == 0]) == -1)
    err(1, "close");
  if (child == 0) {
    send_message(ends[0], receive_message(ends[0], size), size);
    return 0;
  }
  memset(message, 'm', size);
  send_message(ends[1], message, size);
  const char *reply = receive_message(ends[1], size);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the child failed");
  printf("memfd: %zu bytes sent, echoed and checked\n", size);
}
