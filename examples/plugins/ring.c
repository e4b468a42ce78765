/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A ring of slots in shared memory for each way. Messages are written and read
 * where they lie, and no call waits: ipcperf calls again.
 *
 *   cc -O2 -shared -fPIC -I../../include ring.c -o libring.so
 */
#define _GNU_SOURCE
#include "ipcperf.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 64u

/* One way. Each number is on a cache line of its own. */
struct ring {
  _Alignas(128) _Atomic unsigned written;
  _Alignas(128) _Atomic unsigned read;
  _Alignas(128) _Atomic unsigned has_finished;
  _Alignas(128) size_t lengths[SLOTS];
  _Alignas(128) unsigned char bytes[];
};

struct ipcperf_end {
  struct ring *in, *out;
  size_t slot, mapped;
};

static size_t slot_bytes(const ipcperf_setup *setup) {
  return (setup->message_bytes + 127) / 128 * 128 + 128;
}

static size_t ring_bytes(const ipcperf_setup *setup) {
  return (sizeof(struct ring) + SLOTS * slot_bytes(setup) + 4095) / 4096 * 4096;
}

static int ring_open(const ipcperf_setup *setup, ipcperf_channel **channel,
                     ipcperf_wiring wirings[2]) {
  int fd = memfd_create("rings", MFD_CLOEXEC);
  (void)channel;
  if (fd < 0 || ftruncate(fd, (off_t)(2 * ring_bytes(setup))))
    return -errno;
  wirings[0].fd_count = wirings[1].fd_count = 1;
  wirings[0].fds[0] = fd;
  wirings[1].fds[0] = dup(fd);
  return wirings[1].fds[0] < 0 ? -errno : IPCPERF_OK;
}

static void ring_close(ipcperf_channel *channel) { (void)channel; }

static int ring_attach(const ipcperf_setup *setup, const ipcperf_wiring *wiring,
                       ipcperf_end **result) {
  size_t bytes = ring_bytes(setup);
  unsigned char *rings = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_POPULATE, wiring->fds[0], 0);
  ipcperf_end *end = malloc(sizeof *end);
  close(wiring->fds[0]);
  if (rings == MAP_FAILED || !end)
    return -ENOMEM;
  end->out = (struct ring *)(rings + (setup->is_lead ? 0 : bytes));
  end->in = (struct ring *)(rings + (setup->is_lead ? bytes : 0));
  end->slot = slot_bytes(setup);
  end->mapped = 2 * bytes;
  *result = end;
  return IPCPERF_OK;
}

static void ring_detach(ipcperf_end *end) {
  munmap(end->in < end->out ? end->in : end->out, end->mapped);
  free(end);
}

static int ring_reserve(ipcperf_end *end, size_t length, void **memory,
                        size_t *available) {
  struct ring *ring = end->out;
  unsigned at = atomic_load_explicit(&ring->written, memory_order_relaxed);
  (void)length;
  if (at - atomic_load_explicit(&ring->read, memory_order_acquire) == SLOTS)
    return IPCPERF_BACK_PRESSURE;
  *memory = ring->bytes + at % SLOTS * end->slot;
  *available = end->slot;
  return IPCPERF_OK;
}

static int ring_commit(ipcperf_end *end, size_t length) {
  struct ring *ring = end->out;
  unsigned at = atomic_load_explicit(&ring->written, memory_order_relaxed);
  ring->lengths[at % SLOTS] = length;
  atomic_store_explicit(&ring->written, at + 1, memory_order_release);
  return IPCPERF_OK;
}

static void ring_abort(ipcperf_end *end) { (void)end; }

static int ring_peek(ipcperf_end *end, size_t length, const void **bytes,
                     size_t *received) {
  struct ring *ring = end->in;
  unsigned at = atomic_load_explicit(&ring->read, memory_order_relaxed);
  unsigned ended =
      atomic_load_explicit(&ring->has_finished, memory_order_acquire);
  (void)length;
  if (atomic_load_explicit(&ring->written, memory_order_acquire) == at)
    return ended ? IPCPERF_CLOSED : IPCPERF_BACK_PRESSURE;
  *bytes = ring->bytes + at % SLOTS * end->slot;
  *received = ring->lengths[at % SLOTS];
  return IPCPERF_OK;
}

static void ring_release(ipcperf_end *end) {
  atomic_fetch_add_explicit(&end->in->read, 1, memory_order_release);
}

static int ring_finish(ipcperf_end *end) {
  atomic_store_explicit(&end->out->has_finished, 1, memory_order_release);
  return IPCPERF_OK;
}

/* reserve and peek are there, so that these are not called. */
static int ring_send(ipcperf_end *end, const void *bytes, size_t length) {
  (void)end, (void)bytes, (void)length;
  return IPCPERF_TOO_LONG;
}

static int ring_recv(ipcperf_end *end, void *buffer, size_t length,
                     size_t *received) {
  (void)end, (void)buffer, (void)length, (void)received;
  return IPCPERF_CORRUPT;
}

static const ipcperf_facts facts = {
    .size = sizeof facts,
    .name = "c-ring/spin",
    .summary = "Two rings of slots in shared memory; both ends watch them.",
    .wait = IPCPERF_WAIT_SPIN,
    .on_close = IPCPERF_NOTICED,
};

static const ipcperf_transport transport = {
    .size = sizeof transport,
    .abi = IPCPERF_ABI,
    .facts = &facts,
    .open = ring_open,
    .close = ring_close,
    .attach = ring_attach,
    .detach = ring_detach,
    .send = ring_send,
    .recv = ring_recv,
    .finish = ring_finish,
    .reserve = ring_reserve,
    .commit = ring_commit,
    .abort = ring_abort,
    .peek = ring_peek,
    .release = ring_release,
};

const ipcperf_transport *ipcperf_transport_v1(void) { return &transport; }
