/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ZeroMQ: a pair of sockets over ipc://.
 *
 *   cc -O2 -shared -fPIC -I../../include zeromq.c -lzmq -o libzeromq-pair.so
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <zmq.h>

typedef struct {
  void *context, *socket;
} lib_socket;
#include "marks.h"

static int failed(void) {
  switch (zmq_errno()) {
  case ETERM:
    return IPCPERF_CLOSED;
  case EAGAIN:
    return IPCPERF_TIMEOUT;
  default:
    fprintf(stderr, "ZeroMQ: %s\n", zmq_strerror(zmq_errno()));
    return -EPROTO;
  }
}

static void lib_close(lib_socket *pair) {
  int linger_ms = 1000;
  zmq_setsockopt(pair->socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
  zmq_close(pair->socket);
  zmq_ctx_term(pair->context);
}

static int lib_open(lib_socket *pair, const char *address, int listens) {
  int waiting = 16;
  pair->context = zmq_ctx_new();
  pair->socket = zmq_socket(pair->context, ZMQ_PAIR);
  if (!pair->socket) {
    int code = failed();
    zmq_ctx_term(pair->context);
    return code;
  }
  zmq_setsockopt(pair->socket, ZMQ_SNDHWM, &waiting, sizeof waiting);
  zmq_setsockopt(pair->socket, ZMQ_RCVHWM, &waiting, sizeof waiting);
  if (listens ? zmq_bind(pair->socket, address)
              : zmq_connect(pair->socket, address)) {
    int code = failed();
    lib_close(pair);
    return code;
  }
  return IPCPERF_OK;
}

static int lib_send(lib_socket *pair, const void *bytes, size_t length,
                    int waits) {
  while (zmq_send(pair->socket, bytes, length, waits ? 0 : ZMQ_DONTWAIT) < 0)
    if (zmq_errno() != EINTR)
      return failed();
  return IPCPERF_OK;
}

static int lib_recv(lib_socket *pair, void *buffer, size_t capacity,
                    size_t *received, int timeout_ms) {
  int length;
  if (timeout_ms >= 0)
    zmq_setsockopt(pair->socket, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
  while ((length = zmq_recv(pair->socket, buffer, capacity, 0)) < 0)
    if (zmq_errno() != EINTR)
      return failed();
  *received = (size_t)length;
  return IPCPERF_OK;
}

MARK_TRANSPORT("c-zeromq", "Two ZeroMQ sockets of the kind PAIR over ipc://.")
