/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two pipes, one for each direction: what ipcperf's own `pipe` does.
 *
 *   cc -O2 -shared -fPIC -I../../include pipe.c -o libpipe.so
 *   ipcperf run -m ./libpipe.so,pipe
 */
#define _GNU_SOURCE
#include "ipcperf.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct ipcperf_end {
  int in, out;
};

static int open_pipes(const ipcperf_setup *setup, ipcperf_channel **channel,
                      ipcperf_wiring wirings[2]) {
  int there[2], back[2];
  (void)setup;
  (void)channel;
  if (pipe2(there, O_CLOEXEC))
    return -errno;
  if (pipe2(back, O_CLOEXEC)) {
    int code = -errno;
    close(there[0]);
    close(there[1]);
    return code;
  }
  wirings[0].fd_count = wirings[1].fd_count = 2;
  wirings[0].fds[0] = back[0];
  wirings[0].fds[1] = there[1];
  wirings[1].fds[0] = there[0];
  wirings[1].fds[1] = back[1];
  return IPCPERF_OK;
}

/* The descriptors are closed by ipcperf once the ends have them. */
static void close_pipes(ipcperf_channel *channel) { (void)channel; }

static int attach(const ipcperf_setup *setup, const ipcperf_wiring *wiring,
                  ipcperf_end **end) {
  (void)setup;
  *end = malloc(sizeof **end);
  if (!*end)
    return -ENOMEM;
  (*end)->in = wiring->fds[0];
  (*end)->out = wiring->fds[1];
  return IPCPERF_OK;
}

static void detach(ipcperf_end *end) {
  close(end->in);
  if (end->out >= 0)
    close(end->out);
  free(end);
}

static int send_all(ipcperf_end *end, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t done = write(end->out, at, length);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return errno == EPIPE ? IPCPERF_CLOSED : -errno;
    at += done;
    length -= (size_t)done;
  }
  return IPCPERF_OK;
}

static int recv_all(ipcperf_end *end, void *buffer, size_t length,
                    size_t *received) {
  *received = 0;
  while (*received < length) {
    ssize_t done = read(end->in, (char *)buffer + *received, length - *received);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return -errno;
    if (done == 0)
      return *received ? IPCPERF_TRUNCATED : IPCPERF_CLOSED;
    *received += (size_t)done;
  }
  return IPCPERF_OK;
}

static int finish(ipcperf_end *end) {
  close(end->out);
  end->out = -1;
  return IPCPERF_OK;
}

static const ipcperf_facts facts = {
    .size = sizeof facts,
    .name = "c-pipe",
    .summary = "Two pipes, as a plug-in.",
    .over = "pipe",
    .payload = IPCPERF_STREAM,
    .on_close = IPCPERF_NOTICED,
    .on_death = IPCPERF_NOTICED,
    .copies = 2,
};

static const ipcperf_transport transport = {
    .size = sizeof transport,
    .abi = IPCPERF_ABI,
    .facts = &facts,
    .open = open_pipes,
    .close = close_pipes,
    .attach = attach,
    .detach = detach,
    .send = send_all,
    .recv = recv_all,
    .finish = finish,
};

const ipcperf_transport *ipcperf_transport_v1(void) { return &transport; }
