/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* nanomsg: a pair of sockets over ipc://.
 *
 *   cc -O2 -shared -fPIC -I../../include nanomsg.c -lnanomsg -o libnanomsg-pair.so
 */
#define _GNU_SOURCE
#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <stddef.h>

typedef int lib_socket;
#include "marks.h"

static int failed(void) {
  switch (nn_errno()) {
  case EBADF:
  case ETERM:
    return IPCPERF_CLOSED;
  case EAGAIN:
  case ETIMEDOUT:
    return IPCPERF_TIMEOUT;
  default:
    fprintf(stderr, "nanomsg: %s\n", nn_strerror(nn_errno()));
    return -EPROTO;
  }
}

static int lib_open(lib_socket *socket, const char *address, int listens) {
  int unlimited = -1;
  *socket = nn_socket(AF_SP, NN_PAIR);
  if (*socket < 0)
    return failed();
  nn_setsockopt(*socket, NN_SOL_SOCKET, NN_RCVMAXSIZE, &unlimited,
                sizeof unlimited);
  if ((listens ? nn_bind(*socket, address) : nn_connect(*socket, address)) < 0) {
    int code = failed();
    nn_close(*socket);
    return code;
  }
  return IPCPERF_OK;
}

static int lib_send(lib_socket *socket, const void *bytes, size_t length,
                    int waits) {
  while (nn_send(*socket, bytes, length, waits ? 0 : NN_DONTWAIT) < 0)
    if (nn_errno() != EINTR)
      return failed();
  return IPCPERF_OK;
}

static int lib_recv(lib_socket *socket, void *buffer, size_t capacity,
                    size_t *received, int timeout_ms) {
  void *message;
  int length;
  if (timeout_ms >= 0)
    nn_setsockopt(*socket, NN_SOL_SOCKET, NN_RCVTIMEO, &timeout_ms,
                  sizeof timeout_ms);
  while ((length = nn_recv(*socket, &message, NN_MSG, 0)) < 0)
    if (nn_errno() != EINTR)
      return failed();
  *received = (size_t)length;
  memcpy(buffer, message, *received < capacity ? *received : capacity);
  nn_freemsg(message);
  return IPCPERF_OK;
}

static void lib_close(lib_socket *socket) { nn_close(*socket); }

MARK_TRANSPORT("c-nanomsg",
               "Two nanomsg sockets of the protocol pair over ipc://.")
