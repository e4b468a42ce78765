// futex: a child process is woken and wakes its parent by words in memory that
// both map.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Each end has a cache line of its own.
struct words {
  _Alignas(64) atomic_uint there;
  _Alignas(64) atomic_uint back;
};

enum { IDLE, SLEEPING, WOKEN };

// Nothing tells that the peer has died, so nobody sleeps longer than 10 s.
static long futex(atomic_uint *word, int call, unsigned value) {
  const struct timespec limit = {.tv_sec = 10};
  return syscall(SYS_futex, word, call, value, &limit, NULL, 0);
}

static void wake(atomic_uint *word) {
  // The kernel is called only where somebody sleeps.
  if (atomic_exchange(word, WOKEN) == SLEEPING &&
      futex(word, FUTEX_WAKE, 1) == -1)
    err(1, "FUTEX_WAKE");
}

static void wait_for_wake(atomic_uint *word) {
  unsigned idle = IDLE;
  atomic_compare_exchange_strong(word, &idle, SLEEPING);
  // A sleeper may wake for no reason: only the word counts.
  while (atomic_load(word) != WOKEN)
    if (futex(word, FUTEX_WAIT, SLEEPING) == -1 && errno != EAGAIN)
      err(1, "FUTEX_WAIT");
  atomic_store(word, IDLE);
}

int main(void) {
  // Unrelated processes map a shm_open(3) object or a memfd instead.
  struct words *words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED)
    err(1, "mmap");
  pid_t child = fork();
  if (child == -1)
    err(1, "fork");
  if (child == 0) {
    wait_for_wake(&words->there);
    wake(&words->back);
    return 0;
  }
  wake(&words->there);
  wait_for_wake(&words->back);
  int status;
  if (waitpid(child, &status, 0) == -1 || status != 0)
    errx(1, "the child failed");
  printf("futex: woken and answered\n");
}
