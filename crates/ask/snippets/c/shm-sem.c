// shm-sem: a message to a child process and back, each through one buffer in
// memory that both map; semaphores say whether it is empty or full.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <semaphore.h> // cc -pthread before glibc 2.34
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The sender owns the bytes from its wait for empty until it posts full, the
// receiver from its wait for full until it posts empty.
struct buffer {
  _Alignas(64) sem_t empty;
  _Alignas(64) sem_t full;
  char bytes[];
};

static void wait_for(sem_t *semaphore) {
  // A semaphore has no owner: nothing tells that the peer has died, so nobody
  // waits longer.
  struct timespec limit;
  if (clock_gettime(CLOCK_REALTIME, &limit) == -1)
    err(1, "clock_gettime");
  limit.tv_sec += 10;
  while (sem_timedwait(semaphore, &limit) == -1)
    if (errno != EINTR)
      err(1, "sem_timedwait");
}

static void post(sem_t *semaphore) {
  if (sem_post(semaphore) == -1)
    err(1, "sem_post");
}

static void send_message(struct buffer *buffer, const char *from, size_t size) {
  wait_for(&buffer->empty);
  memcpy(buffer->bytes, from, size);
  post(&buffer->full);
}

static void receive_message(struct buffer *buffer, char *to, size_t size) {
  wait_for(&buffer->full);
  memcpy(to, buffer->bytes, size);
  post(&buffer->empty);
}

int main(int argc, char **argv) {
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 64;
  if (size == 0 || size > 1 << 30)
    errx(2, "usage: %s [BYTES], up to 1 GiB", argv[0]);
  char *message = malloc(size), *reply = malloc(size);
  // Unrelated processes map a shm_open(3) object or a memfd instead.
  size_t stride = (sizeof(struct buffer) + size + 63) / 64 * 64;
  char *memory = mmap(NULL, 2 * stride, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!message || !reply || memory == MAP_FAILED)
    err(1, "mmap");
  struct buffer *there = (void *)memory, *back = (void *)(memory + stride);
  // 1: several processes. Each buffer is empty.
  if (sem_init(&there->empty, 1, 1) == -1 ||
      sem_init(&there->full, 1, 0) == -1 ||
      sem_init(&back->empty, 1, 1) == -1 || sem_init(&back->full, 1, 0) == -1)
    err(1, "sem_init");

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
  printf("shm-sem: %zu bytes sent, echoed and checked\n", size);
}
