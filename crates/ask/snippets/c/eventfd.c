// eventfd: a child process is woken and wakes its parent.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void wake(int fd) {
  if (eventfd_write(fd, 1) == -1)
    err(1, "eventfd_write");
}

static void wait_for_wake(int fd) {
  // Nothing tells that the peer has died, so nobody waits longer.
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  int count = poll(&ready, 1, 10000);
  if (count == -1)
    err(1, "poll");
  if (count == 0)
    errx(1, "not woken in 10 s");
  // One read takes all wake-ups so far; EFD_SEMAPHORE takes one at a time.
  eventfd_t wakes;
  if (eventfd_read(fd, &wakes) == -1)
    err(1, "eventfd_read");
}

int main(void) {
  // It reaches processes that inherit it or receive it over a UNIX socket.
  int there = eventfd(0, 0), back = eventfd(0, 0);
  if (there == -1 || back == -1)
    err(1, "eventfd");
  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    wait_for_wake(there);
    wake(back);
    return 0;
  }
  wake(there);
  wait_for_wake(back);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0)
    errx(1, "the child failed");
  printf("eventfd: woken and answered\n");
}
