// shm-ring/futex: a message to a child process and back, each through a ring of
// slots in memory that both map; an end whose turn it is not sleeps.
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

enum { SLOTS = 16, FULL = 1, SLEEPER = 2 };

// The bytes are the sender's until it sets FULL, the receiver's until it clears
// it.
struct slot {
  _Alignas(64) atomic_uint turn;
  char bytes[];
};

// One sender and one receiver visit the slots in order, each by itself. The
// sender runs ahead by SLOTS messages, then waits.
struct end {
  char *slots;
  size_t stride;
  unsigned next;
};

static struct slot *next_slot(struct end *end) {
  return (void *)(end->slots + end->next++ % SLOTS * end->stride);
}

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

static void send_message(struct end *end, const char *from, size_t size) {
  struct slot *slot = next_slot(end);
  wait_for(&slot->turn, 0);
  memcpy(slot->bytes, from, size);
  hand_over(&slot->turn, FULL);
}

static void receive_message(struct end *end, char *to, size_t size) {
  struct slot *slot = next_slot(end);
  wait_for(&slot->turn, FULL);
  memcpy(to, slot->bytes, size);
  hand_over(&slot->turn, 0);
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0 || size > 1 << 30)
    errx(2, "usage: %s [BYTES], up to 1 GiB", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  // Unrelated processes map a shm_open(3) object or a memfd instead.
  size_t stride = (sizeof(struct slot) + size + 63) / 64 * 64;
  char *memory = mmap(NULL, 2 * SLOTS * stride, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!message || !reply || memory == MAP_FAILED)
    err(1, "mmap");
  struct end there = {memory, stride, 0};
  struct end back = {memory + SLOTS * stride, stride, 0};

  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    receive_message(&there, reply, size);
    send_message(&back, reply, size);
    return 0;
  }
  memset(message, 'm', size);
  send_message(&there, message, size);
  receive_message(&back, reply, size);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0 ||
      memcmp(message, reply, size) != 0)
    errx(1, "the child failed");
  printf("shm-ring/futex: %zu bytes sent, echoed and checked\n", size);
}
