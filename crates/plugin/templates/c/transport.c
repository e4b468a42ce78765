/* A transport over a socket. Replace what is in send and recv, then the facts.
 * `make check` tries to refute the facts, `make run` measures. */
#define _GNU_SOURCE
#include "ipcperf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct ipcperf_end {
  int socket;
};

/* In a process of its own: makes what both ends share. */
static int mine_open(const ipcperf_setup *setup, ipcperf_channel **channel,
                     ipcperf_wiring wirings[2]) {
  int pair[2];
  (void)setup;
  (void)channel;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
    return -errno;
  for (int end = 0; end < 2; end++) {
    wirings[end].fd_count = 1;
    wirings[end].fds[0] = pair[end];
  }
  return IPCPERF_OK;
}

static void mine_close(ipcperf_channel *channel) { (void)channel; }

/* In a worker: becomes one end. */
static int mine_attach(const ipcperf_setup *setup, const ipcperf_wiring *wiring,
                       ipcperf_end **end) {
  (void)setup;
  *end = malloc(sizeof **end);
  if (!*end)
    return -ENOMEM;
  (*end)->socket = wiring->fds[0];
  return IPCPERF_OK;
}

static void mine_detach(ipcperf_end *end) {
  close(end->socket);
  free(end);
}

/* Timed from here on. */
static int mine_send(ipcperf_end *end, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t done = send(end->socket, at, length, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return errno == EPIPE || errno == ECONNRESET ? IPCPERF_CLOSED : -errno;
    at += done;
    length -= (size_t)done;
  }
  return IPCPERF_OK;
}

static int mine_recv(ipcperf_end *end, void *buffer, size_t length,
                     size_t *received) {
  *received = 0;
  while (*received < length) {
    ssize_t done =
        recv(end->socket, (char *)buffer + *received, length - *received, 0);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return errno == ECONNRESET ? IPCPERF_CLOSED : -errno;
    if (done == 0)
      return *received ? IPCPERF_TRUNCATED : IPCPERF_CLOSED;
    *received += (size_t)done;
  }
  return IPCPERF_OK;
}

static int mine_finish(ipcperf_end *end) {
  return shutdown(end->socket, SHUT_WR) ? -errno : IPCPERF_OK;
}

static const ipcperf_facts facts = {
    .size = sizeof facts,
    .name = "@name@",
    .summary = "A stream socket.",
    .over = "unix-stream",
    .payload = IPCPERF_STREAM,
    .on_close = IPCPERF_NOTICED,
    .on_death = IPCPERF_NOTICED,
    .flags = IPCPERF_TWO_WAY,
    .copies = 2,
};

static const ipcperf_transport transport = {
    .size = sizeof transport,
    .abi = IPCPERF_ABI,
    .facts = &facts,
    .open = mine_open,
    .close = mine_close,
    .attach = mine_attach,
    .detach = mine_detach,
    .send = mine_send,
    .recv = mine_recv,
    .finish = mine_finish,
};

const ipcperf_transport *ipcperf_transport_v1(void) { return &transport; }
