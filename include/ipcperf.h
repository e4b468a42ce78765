/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A transport that ipcperf measures: `ipcperf run -m ./libmine.so`.
 *
 * A shared library exports one function, ipcperf_transport_v1(), which returns
 * a table of functions. Only attach, detach, send and recv are required; a
 * member that is zero is left out. docs/PLUGINS.md goes through an example.
 *
 * ipcperf_wiring, ipcperf_setting and ipcperf_event never change. Every other
 * struct begins with its size, and members are only appended: each side reads
 * no further than the size that the other one wrote, and takes what is missing
 * for zero. Set unknown members to zero (`= {0}`, or static).
 *
 * Who calls what
 * - probe, limit, window, open and close run in a process that ipcperf starts
 *   for the plug-in and for nothing else. It lives as long as the channel.
 * - attach to detach run in a worker, one for each end of the channel, which
 *   is fresh for every measurement. One thread calls an end.
 * - A call may block until the peer acts, finishes or dies, and need not be
 *   interruptible. A process that is late is killed, and the result says in
 *   which call it was.
 */
#ifndef IPCPERF_H
#define IPCPERF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IPCPERF_ABI 1u

/*
 * What a call returns: IPCPERF_OK, one of these, or a negated errno (-EAGAIN).
 * After a code other than OK, BACK_PRESSURE, TIMEOUT and TOO_LONG an end is
 * only detached; after CLOSED every further recv returns CLOSED again.
 */
enum {
  IPCPERF_OK = 0,
  IPCPERF_CLOSED = 1,    /* the peer finished, and all it sent was received */
  IPCPERF_PEER_DIED = 2, /* the peer is gone without having finished */
  IPCPERF_TOO_LONG = 3,  /* longer than the limit; nothing was sent */
  IPCPERF_TRUNCATED = 4, /* fewer or more bytes arrived than were expected */
  IPCPERF_CORRUPT = 5,   /* a message is known to be damaged */
  IPCPERF_TIMEOUT = 6,   /* IPCPERF_LOSSY only: nothing came for a while */
  /* Nothing was sent or received; the same call is made again, with the same
   * arguments, once descriptor() is ready. Counted in the result. */
  IPCPERF_BACK_PRESSURE = 7,
  /* probe, open, attach: this host cannot run it; reason() says what is
   * missing and how to get it. */
  IPCPERF_UNAVAILABLE = 8
};

/* How an end waits. */
enum {
  IPCPERF_WAIT_BLOCK = 0, /* sleeps in the call that moves the data */
  IPCPERF_WAIT_EPOLL = 1, /* sleeps in epoll_wait or poll, then moves it */
  IPCPERF_WAIT_SPIN = 2,  /* never sleeps; two ends need two CPUs */
  IPCPERF_WAIT_SPIN_THEN_BLOCK = 3
};

/* What one send carries. */
enum { IPCPERF_MESSAGES = 0, IPCPERF_STREAM = 1 };

/* What a sender meets when the receiver is slower. */
enum {
  IPCPERF_BLOCKS = 0,
  IPCPERF_DROPS = 1,
  IPCPERF_OVERWRITES = 2, /* a newer message replaces one not yet received */
  IPCPERF_UNBOUNDED = 3   /* nothing ever fills */
};

/* What the other end notices when an end finishes, or is killed. */
enum {
  IPCPERF_UNNOTICED = 0,
  IPCPERF_NOTICED = 1, /* it drains what was sent, then gets CLOSED (PEER_DIED) */
  IPCPERF_LATE = 2  /* the same, but it may take a minute */
};

/* Who can meet without being passed a descriptor. */
enum {
  IPCPERF_RELATED = 0,
  IPCPERF_SAME_USER = 1,
  IPCPERF_NAMED = 2, /* any process that may open a name */
  IPCPERF_NETWORK = 3
};

/* Flags of facts. */
enum {
  IPCPERF_LOSSY = 1,          /* messages may be lost without an error */
  IPCPERF_TWO_WAY = 2,        /* one object serves both directions */
  IPCPERF_MANY_PRODUCERS = 4, /* one object takes messages of several */
  IPCPERF_MANY_CONSUMERS = 8,
  IPCPERF_THREADS = 16, /* an end has threads of its own */
  IPCPERF_CALLS = 32,   /* every message is a call that needs an answer */
  IPCPERF_FRESH = 64,   /* memory is asked for with each message */
  /* What reserve and peek show is memory of this process alone. */
  IPCPERF_PRIVATE = 128,
  /* What an end has opened for its process stays open after detach. */
  IPCPERF_STAYS = 256
};

/* Kinds of knobs. */
enum {
  IPCPERF_KNOB_COUNT = 0, /* min to max */
  IPCPERF_KNOB_BYTES = 1, /* min to max; 64K is passed as 65536 */
  IPCPERF_KNOB_FLAG = 2,  /* "on" or "off" */
  IPCPERF_KNOB_CHOICE = 3 /* one of words */
};

/* A knob that users set with `-s mine.depth=8`. There are 64 at the most, and a
 * text of knobs and facts has up to 1,024 bytes. */
typedef struct ipcperf_knob {
  size_t size;
  const char *name;
  const char *help;     /* one sentence */
  const char *fallback; /* what holds if it is not set, in words */
  uint32_t kind;
  uint32_t reserved;
  uint64_t min, max;
  const char *words; /* of a choice, separated by spaces */
} ipcperf_knob;

/* What the transport is and promises. `ipcperf conformance` tries to refute
 * it. */
typedef struct ipcperf_facts {
  size_t size;
  const char *name;    /* "mine" or "mine/spin": lower case, digits, '-' */
  const char *summary; /* one sentence */
  const char *needs;   /* what it needs of the host, in words; may be NULL */
  const char *over;    /* the bare mechanism that it is built on: "pipe" */
  uint32_t wait, payload, back_pressure, on_close, on_death, reach, flags;
  /* Copies from the sender's bytes to the receiver's, if ends have private
   * buffers; 0 is taken for 1. */
  uint32_t copies;
  uint32_t knob_count;
  uint32_t knob_stride; /* sizeof(ipcperf_knob) */
  const ipcperf_knob *knobs;
  /* A program that has to run as long as a channel, such as a broker, and its
   * arguments, separated by spaces; "{directory}" and "{prefix}" in it are the
   * channel's. It is started before open, and ends with the channel. */
  const char *helper;
  /* It is ready when its output contains this text, within 5 s; NULL: once it
   * is started. */
  const char *helper_ready;
} ipcperf_facts;

#define IPCPERF_MAX_FDS 8
#define IPCPERF_MAX_BYTES 4096

/* What travels to one end: descriptors, and bytes of any meaning. Descriptors
 * that are received belong to the receiver. ipcperf closes descriptors that
 * open gives once open has returned: each is given once (use dup), and none is
 * below 3. swap sends copies: the giver closes its own. */
typedef struct ipcperf_wiring {
  size_t size; /* sizeof(ipcperf_wiring), which open finds set */
  uint32_t fd_count;
  uint32_t byte_count;
  int fds[IPCPERF_MAX_FDS];
  unsigned char bytes[IPCPERF_MAX_BYTES];
} ipcperf_wiring;

/* What ipcperf offers. Texts and functions are valid during the call. */
typedef struct ipcperf_host {
  size_t size;
  /* A directory of the run, mode 0700, which is removed with all files in it,
   * also after a kill. Files whose names begin with prefix are removed with
   * the channel. Empty if there is none. */
  const char *directory;
  /* No other channel has it. Memory in /dev/shm whose name begins with it is
   * removed, also after a kill. In open and attach; empty elsewhere. */
  const char *prefix;
  uint64_t nonce;       /* the same number at both ends, for handshakes */
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none is known */
  void (*log)(const struct ipcperf_host *host, const char *text);
  /* Reports the value of a knob as it was granted. In open and attach. */
  void (*grant)(const struct ipcperf_host *host, const char *knob,
                const char *value);
  /* Gives mine to the peer, and waits for what the peer gives. In attach. */
  int (*swap)(const struct ipcperf_host *host, const ipcperf_wiring *mine,
              ipcperf_wiring *theirs);
} ipcperf_host;

typedef struct ipcperf_setting {
  const char *knob;
  const char *value;
} ipcperf_setting;

/* What is asked of a channel. */
typedef struct ipcperf_setup {
  size_t size;
  const ipcperf_host *host;
  uint64_t message_bytes; /* of the longest message */
  uint32_t is_lead;       /* attach: the end that sends first */
  uint32_t setting_count;
  const ipcperf_setting *settings; /* knobs that are set */
} ipcperf_setup;

/* An end, and what open keeps for close: the plug-in's own types. */
typedef struct ipcperf_end ipcperf_end;
typedef struct ipcperf_channel ipcperf_channel;

/* What an end counts in addition to messages: "retries". */
typedef struct ipcperf_event {
  const char *name; /* plain words, valid until detach */
  uint64_t count;
} ipcperf_event;

typedef struct ipcperf_transport {
  size_t size;
  uint32_t abi; /* IPCPERF_ABI */
  uint32_t reserved;
  const ipcperf_facts *facts;

  /* Can this host run it? Leaves nothing behind. */
  int (*probe)(const ipcperf_setup *setup);
  /* Bytes of the largest message; 0: there is no limit. */
  uint64_t (*limit)(const ipcperf_setup *setup);
  /* Messages that may be under way before the sender waits for an answer; 0:
   * send itself waits. */
  uint32_t (*window)(const ipcperf_setup *setup);
  /* Makes what has descriptors or names. wirings[0] is the lead's. */
  int (*open)(const ipcperf_setup *setup, ipcperf_channel **channel,
              ipcperf_wiring wirings[2]);
  /* Removes what open has made. Both ends are gone. */
  void (*close)(ipcperf_channel *channel);

  /* Becomes one end. */
  int (*attach)(const ipcperf_setup *setup, const ipcperf_wiring *wiring,
                ipcperf_end **end);
  /* Frees it. Within a second the process can end. */
  void (*detach)(ipcperf_end *end);

  /* Sends one message, and returns when it is handed over. The bytes are the
   * caller's again when it returns. */
  int (*send)(ipcperf_end *end, const void *bytes, size_t length);
  /* Receives one message of exactly length bytes, which both ends know; a
   * stream takes the next length bytes. Sets received to the length of the
   * message, even where it is another one. */
  int (*recv)(ipcperf_end *end, void *buffer, size_t length, size_t *received);
  /* Hands over what send has held back. recv and finish do so by themselves. */
  int (*flush)(ipcperf_end *end);
  /* No more will be sent: the peer receives what is under way, then CLOSED. */
  int (*finish)(ipcperf_end *end);
  /* From now on the receiver looks at no more than the first bytes. */
  void (*expect)(ipcperf_end *end, size_t bytes);
  /* Writes up to capacity events, and returns how many there are. */
  uint32_t (*events)(ipcperf_end *end, ipcperf_event *events,
                     uint32_t capacity);
  /* What poll(2) waits for after BACK_PRESSURE: readable where is_recv, else
   * writable; -1: ipcperf yields the CPU (an end that spins: pauses) and calls
   * again. */
  int (*descriptor)(ipcperf_end *end, int is_recv);

  /* In place of send, where a message is written where it will lie. reserve
   * may set available to less than length: then abort and send follow. */
  int (*reserve)(ipcperf_end *end, size_t length, void **memory,
                 size_t *available);
  int (*commit)(ipcperf_end *end, size_t length);
  void (*abort)(ipcperf_end *end);
  /* In place of recv, where a message is read where it lies, until release. */
  int (*peek)(ipcperf_end *end, size_t length, const void **bytes,
              size_t *received);
  void (*release)(ipcperf_end *end);

  /* Says more about the last code of this end, or with NULL of probe, open or
   * attach. Valid until the next call; may return NULL. */
  const char *(*reason)(ipcperf_end *end);
} ipcperf_transport;

/* The only symbol that ipcperf looks for. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const ipcperf_transport *ipcperf_transport_v1(void);

#ifdef __cplusplus
}
#endif

#endif
