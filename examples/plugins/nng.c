/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* nng: a pair of sockets over ipc://.
 *
 *   cc -O2 -shared -fPIC -I../../include nng.c -lnng -o libnng-pair.so
 */
#define _GNU_SOURCE
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <stddef.h>

typedef nng_socket lib_socket;
#include "marks.h"

static int failed(int error) {
  switch (error) {
  case 0:
    return IPCPERF_OK;
  case NNG_ECLOSED:
    return IPCPERF_CLOSED;
  case NNG_EAGAIN:
  case NNG_ETIMEDOUT:
    return IPCPERF_TIMEOUT;
  case NNG_ENOMEM:
    return -ENOMEM;
  default:
    fprintf(stderr, "nng: %s\n", nng_strerror(error));
    return -EPROTO;
  }
}

static int lib_open(lib_socket *socket, const char *address, int listens) {
  int error = nng_pair0_open(socket);
  if (error)
    return failed(error);
  nng_socket_set_int(*socket, NNG_OPT_SENDBUF, 16);
  nng_socket_set_int(*socket, NNG_OPT_RECVBUF, 16);
  nng_socket_set_size(*socket, NNG_OPT_RECVMAXSZ, 0);
  error = listens ? nng_listen(*socket, address, NULL, 0)
                  : nng_dial(*socket, address, NULL, 0);
  if (error)
    nng_close(*socket);
  return failed(error);
}

static int lib_send(lib_socket *socket, const void *bytes, size_t length,
                    int waits) {
  int flags = waits ? 0 : NNG_FLAG_NONBLOCK;
  return failed(nng_send(*socket, (void *)bytes, length, flags));
}

static int lib_recv(lib_socket *socket, void *buffer, size_t capacity,
                    size_t *received, int timeout_ms) {
  nng_msg *message;
  int error;
  if (timeout_ms >= 0)
    nng_socket_set_ms(*socket, NNG_OPT_RECVTIMEO, timeout_ms);
  error = nng_recvmsg(*socket, &message, 0);
  if (error)
    return failed(error);
  *received = nng_msg_len(message);
  memcpy(buffer, nng_msg_body(message),
         *received < capacity ? *received : capacity);
  nng_msg_free(message);
  return IPCPERF_OK;
}

static void lib_close(lib_socket *socket) {
  nng_close(*socket);
  nng_fini();
}

MARK_TRANSPORT("c-nng", "Two nng sockets of the protocol pair over ipc://.")
