// shm-mailbox/spin: a message to a child process and back, each through one
// slot in memory that both map; an end whose turn it is not burns its CPU.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The bytes are the sender's until it sets full, the receiver's until it clears
// it.
struct mailbox {
  _Alignas(64) atomic_bool full;
  char bytes[];
};

static void pause_cpu(void) {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

// Each end needs a CPU of its own: on one CPU every turn waits for the
// scheduler. Nothing tells that the peer has died, so nobody waits much longer
// than 10 s.
static void wait_for(atomic_bool *full, bool mine) {
  time_t begin = 0;
  for (unsigned round = 1; atomic_load(full) != mine; round++) {
    pause_cpu();
    if (round % (1 << 20) == 0 && begin == 0)
      begin = time(NULL);
    else if (round % (1 << 20) == 0 && time(NULL) > begin + 10)
      errx(1, "no turn in 10 s");
  }
}

static void send_message(struct mailbox *box, const char *from, size_t size) {
  wait_for(&box->full, false);
  memcpy(box->bytes, from, size);
  atomic_store_explicit(&box->full, true, memory_order_release);
}

static void receive_message(struct mailbox *box, char *to, size_t size) {
  wait_for(&box->full, true);
  memcpy(to, box->bytes, size);
  atomic_store_explicit(&box->full, false, memory_order_release);
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
  printf("shm-mailbox/spin: %zu bytes sent, echoed and checked\n", size);
}
