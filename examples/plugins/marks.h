/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What libraries with a socket at each end have in common: an address in the
 * directory of the run, and marks that say that an end has finished, because
 * their sockets do not. A mark is one byte longer than any message.
 *
 * Whoever includes it has defined lib_socket and the functions below. */
#include "ipcperf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int lib_open(lib_socket *socket, const char *address, int listens);
static int lib_send(lib_socket *socket, const void *bytes, size_t length,
                    int waits);
/* Copies at most capacity bytes; waits for timeout_ms, or for ever if < 0. */
static int lib_recv(lib_socket *socket, void *buffer, size_t capacity,
                    size_t *received, int timeout_ms);
static void lib_close(lib_socket *socket);

struct ipcperf_end {
  lib_socket socket;
  size_t longest;
  int has_finished, peer_has_finished;
};

/* The follow listens before the lead dials. */
static int mark_attach(const ipcperf_setup *setup, const ipcperf_wiring *wiring,
                       ipcperf_end **result) {
  char address[200];
  static ipcperf_wiring nothing, theirs;
  ipcperf_end *end = calloc(1, sizeof *end);
  int code = IPCPERF_OK;
  (void)wiring;
  if (!end)
    return -ENOMEM;
  nothing.size = theirs.size = sizeof nothing;
  end->longest = setup->message_bytes;
  snprintf(address, sizeof address, "ipc://%s/%sp", setup->host->directory,
           setup->host->prefix);
  if (!setup->is_lead)
    code = lib_open(&end->socket, address, 1);
  if (!code)
    code = setup->host->swap(setup->host, &nothing, &theirs);
  if (!code && setup->is_lead)
    code = lib_open(&end->socket, address, 0);
  if (code)
    free(end);
  else
    *result = end;
  return code;
}

static int mark_send(ipcperf_end *end, const void *bytes, size_t length) {
  return lib_send(&end->socket, bytes, length, 1);
}

static int mark_recv(ipcperf_end *end, void *buffer, size_t length,
                     size_t *received) {
  int code;
  if (end->peer_has_finished)
    return IPCPERF_CLOSED;
  code = lib_recv(&end->socket, buffer, length, received, -1);
  if (!code && *received == end->longest + 1) {
    end->peer_has_finished = 1;
    return IPCPERF_CLOSED;
  }
  return code;
}

static int send_mark(ipcperf_end *end, int waits) {
  int code;
  void *mark = calloc(1, end->longest + 1);
  if (!mark)
    return -ENOMEM;
  end->has_finished = 1;
  code = lib_send(&end->socket, mark, end->longest + 1, waits);
  free(mark);
  return code;
}

static int mark_finish(ipcperf_end *end) { return send_mark(end, 1); }

/* What is under way when a socket closes is lost, so that an end waits until
 * its peer has finished, too, or is gone, and then for its own mark to leave. */
static void mark_detach(ipcperf_end *end) {
  size_t received = 0;
  char byte;
  if (!end->has_finished)
    send_mark(end, 0);
  while (!end->peer_has_finished &&
         !lib_recv(&end->socket, &byte, 1, &received, 1000))
    end->peer_has_finished = received == end->longest + 1;
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  lib_close(&end->socket);
  free(end);
}

#define MARK_TRANSPORT(the_name, the_summary)                                  \
  static const ipcperf_facts facts = {                                         \
      .size = sizeof facts,                                                    \
      .name = the_name,                                                        \
      .summary = the_summary,                                                  \
      .over = "unix-stream/epoll",                                             \
      .on_close = IPCPERF_NOTICED,                                                \
      .reach = IPCPERF_NAMED,                                                  \
      .flags = IPCPERF_TWO_WAY | IPCPERF_THREADS | IPCPERF_FRESH,              \
      .copies = 4,                                                             \
  };                                                                           \
  static const ipcperf_transport transport = {                                 \
      .size = sizeof transport,                                                \
      .abi = IPCPERF_ABI,                                                      \
      .facts = &facts,                                                         \
      .attach = mark_attach,                                                   \
      .detach = mark_detach,                                                   \
      .send = mark_send,                                                       \
      .recv = mark_recv,                                                       \
      .finish = mark_finish,                                                   \
  };                                                                           \
  const ipcperf_transport *ipcperf_transport_v1(void) { return &transport; }
