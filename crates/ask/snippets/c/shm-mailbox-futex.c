// shm-mailbox/futex: a message to a child process and back, each through one
// slot in memory that both map; an end whose turn it is not sleeps.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FULL = 1, SLEEPER = 2 };

// The bytes are the sender's until it sets FULL, the receiver's until it clears
// it.
struct mailbox {
  _Alignas(64) atomic_uint turn;
  char bytes[];
};

// Nothing tells that the peer has died, so nobody sleeps longer than 10 s.
static long futex(atomic_uint *word, int call, unsigned value) {
  const struct timespec limit = {.tv_sec = 10};
  return syscall(SYS_futex, word, call, value, &limit, NULL, 0);
}

static void wait_for(atomic_uint *turn, unsigned mine) {
  for (unsigned seen; ((seen = atomic_load(turn)) & FULL) != mine;)
    if (atomic_compare_exchange_strong(turn, &seen, seen | SLEEPER) &&
        futex(turn, FUTEX_WAIT, seen | SLEEPER) == -1 && errno != EAGAIN)
      err(1, "FUTEX_WAIT");
}

static void hand_over(atomic_uint *turn, unsigned theirs) {
  // The kernel is called only where the peer sleeps.
  if (atomic_exchange(turn, theirs) & SLEEPER &&
      futex(turn, FUTEX_WAKE, 1) == -1)
    err(1, "FUTEX_WAKE");
}

static void send_message(struct mailbox *box, const char *from, size_t size) {
  wait_for(&box->turn, 0);
  memcpy(box->bytes, from, size);
  hand_over(&box->turn, FULL);
}

static void receive_message(struct mailbox *box, char *to, size_t size) {
  wait_for(&box->turn, FULL);
  memcpy(to, box->bytes, size);
  hand_over(&box->turn, 0);
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0 || size > 1 << 30)
    errx(2, "usage: %s [BYTES], up to 1 GiB", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  // Unrelated processes map a shm_open(3) object or a memfd instead.
  size_t box = (sizeof(struct mailbox) + size + 63) / 64 * 64;
  char *memory = mmap(NULL, 2 * box, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!message || !reply || memory == MAP_FAILED)
    err(1, "mmap");
  struct mailbox *there = (void *)memory, *back = (void *)(memory + box);

  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    receive_message(there, reply, size);
    send_message(back, reply, size);
    return 0;
  }
  memset(message, 'm', size);
  send_message(there, message, size);
  receive_message(back, reply, size);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the child failed");
  printf("shm-mailbox/futex: %zu bytes sent, echoed and checked\n", size);
}
