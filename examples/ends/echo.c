// An end in C for `ipcperf run --follow`: docs/ENDS.md. Build: cc -O2 -o echo echo.c
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static size_t number(const char *name) {
  const char *text = getenv(name);
  return text ? strtoul(text, NULL, 10) : 0;
}

int main(void) {
  size_t size = number("IPCPERF_SIZE"), answer = number("IPCPERF_ANSWER");
  size_t burst = number("IPCPERF_BURST"), flip = number("IPCPERF_FLIP");
  unsigned char *message = malloc(size);
  if (!message || answer > size)
    return 1;
  for (;;) {
    for (size_t count = 0; count < burst; count++) {
      for (size_t done = 0; done < size;) {
        ssize_t got = read(0, message + done, size - done);
        // A pseudo-terminal whose other end is closed says EIO.
        if (got == 0 || (got < 0 && errno == EIO))
          return done > 0;
        if (got < 0)
          return 1;
        done += got;
      }
    }
    for (size_t at = 0; at < flip && at < answer; at++)
      message[at] = ~message[at];
    for (size_t done = 0; done < answer;) {
      ssize_t put = write(1, message + done, answer - done);
      if (put < 0)
        return 1;
      done += put;
    }
  }
}
