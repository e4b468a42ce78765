// A round trip as a program in C makes it: read(2) and write(2) of the C library, both ends on one CPU. ipcperf's figures
// of one CPU are compared with it. Each end writes one word to each cache line that it sends, and loads one word of each
// cache line that it receives.
//   plain CARRIER BYTES CPU MILLISECONDS OFFSET
// Prints the median in nanoseconds.
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
  perror(what);
  _exit(1);
}

static uint64_t nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

// The stamps of the bare loops: nothing of the operation runs before the first or after the second.
static inline uint64_t stop(void) {
#ifdef __x86_64__
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
#else
  return nanos();
#endif
}

static inline uint64_t start(void) {
  uint64_t ticks = stop();
#ifdef __x86_64__
  __builtin_ia32_lfence();
#endif
  return ticks;
}

static int reader, writer;
static size_t size;
static char *incoming, *outgoing;
static volatile uint64_t seen;

static void send_one(uint64_t word) {
  size_t done = 0;
  for (size_t at = 0; at + 8 <= size; at += 64)
    memcpy(outgoing + at, &word, 8);
  while (done < size) {
    ssize_t put = write(writer, outgoing + done, size - done);
    if (put < 0)
      fail("write");
    done += put;
  }
}

static int receive_one(void) {
  size_t done = 0;
  uint64_t sum = 0, word;
  while (done < size) {
    ssize_t got = read(reader, incoming + done, size - done);
    if (got < 0)
      fail("read");
    if (got == 0)
      return 0;
    done += got;
  }
  for (size_t at = 0; at + 8 <= size; at += 64) {
    memcpy(&word, incoming + at, 8);
    sum += word;
  }
  seen = sum;
  return 1;
}

// Reader and writer of the lead, then of the follow.
static void open_carrier(const char *carrier, int ends[4]) {
  int one[2], other[2];
  if (!strcmp(carrier, "pipe")) {
    if (pipe(one) || pipe(other))
      fail("pipe");
    ends[0] = other[0], ends[1] = one[1], ends[2] = one[0], ends[3] = other[1];
  } else if (!strcmp(carrier, "eventfd")) {
    int ping = eventfd(0, 0), pong = eventfd(0, 0);
    if (ping < 0 || pong < 0)
      fail("eventfd");
    ends[0] = pong, ends[1] = ping, ends[2] = ping, ends[3] = pong;
  } else if (!strcmp(carrier, "unix-stream")) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, one))
      fail("socketpair");
    ends[0] = ends[1] = one[0], ends[2] = ends[3] = one[1];
  } else {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0), lead = socket(AF_INET, SOCK_STREAM, 0), follow;
    char first[8] = {0};
    if (bind(listener, (struct sockaddr *)&at, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &length) || connect(lead, (struct sockaddr *)&at, length) ||
        (follow = accept(listener, 0, 0)) < 0)
      fail("tcp");
    // As ipcperf's ends know each other: where the first bytes lie shifts all that follow in the kernel's pages.
    if (write(lead, first, 8) != 8 || read(follow, first, 8) != 8)
      fail("tcp");
    setsockopt(lead, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(follow, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ends[0] = ends[1] = lead, ends[2] = ends[3] = follow;
  }
}

static char *buffer(size_t offset) {
  char *pages = mmap(0, offset + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED)
    fail("mmap");
  return pages + offset;
}

static int ascending(const void *a, const void *b) {
  uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
  return (one > other) - (one < other);
}

int main(int count, char **words) {
  if (count != 6) {
    fprintf(stderr, "plain CARRIER BYTES CPU MILLISECONDS OFFSET\n");
    return 2;
  }
  size = strtoul(words[2], 0, 10);
  size_t offset = strtoul(words[5], 0, 10);
  uint64_t slice = strtoul(words[4], 0, 10) * 1000000, warm = 20000000, word = 0;
  size_t most = slice / 500 + 1000, samples = 0;
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(atoi(words[3]), &cpu);
  if (sched_setaffinity(0, sizeof cpu, &cpu))
    fail("sched_setaffinity");
  int ends[4];
  open_carrier(words[1], ends);
  alarm(10);
  pid_t child = fork();
  if (child < 0)
    fail("fork");
  incoming = buffer(offset), outgoing = buffer(offset);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reader = ends[2], writer = ends[3];
    while (receive_one())
      send_one(++word);
    _exit(0);
  }
  reader = ends[0], writer = ends[1];
  uint32_t *times = malloc(most * sizeof *times);
  // Written now, so that no page fault comes later.
  memset(times, 1, most * sizeof *times);
  for (uint64_t begin = nanos(); nanos() - begin < warm;) {
    send_one(++word);
    receive_one();
  }
  uint64_t first = nanos(), first_ticks = stop(), last = first;
  while (last - first < slice && samples + 64 <= most) {
    // The clock of the slice is looked at now and then, so that it is in few of the round trips' gaps.
    for (int turn = 0; turn < 64; turn++) {
      uint64_t before = start();
      send_one(++word);
      receive_one();
      times[samples++] = stop() - before;
    }
    last = nanos();
  }
  double ticks_per_nano = (double)(stop() - first_ticks) / (nanos() - first);
  kill(child, SIGKILL);
  qsort(times, samples, sizeof *times, ascending);
  printf("%.3f\n", times[(samples - 1) / 2] / ticks_per_nano);
  return 0;
}
