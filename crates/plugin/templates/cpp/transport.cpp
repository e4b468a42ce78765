// A transport over a socket. Replace what is in send and recv, then the facts.
// `make check` tries to refute the facts, `make run` measures.
#include "ipcperf.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace {

[[noreturn]] void failed(const char *call) {
  if (errno == EPIPE || errno == ECONNRESET)
    throw ipcperf::fault(IPCPERF_CLOSED);
  throw std::system_error(errno, std::generic_category(), call);
}

class transport {
 public:
  static ipcperf_facts facts() {
    ipcperf_facts facts = {};
    facts.size = sizeof facts;
    facts.name = "@name@";
    facts.summary = "A stream socket.";
    facts.over = "unix-stream";
    facts.payload = IPCPERF_STREAM;
    facts.on_close = IPCPERF_NOTICED;
    facts.on_death = IPCPERF_NOTICED;
    facts.flags = IPCPERF_TWO_WAY;
    facts.copies = 2;
    return facts;
  }

  // In a process of its own: makes what both ends share.
  static void open(const ipcperf_setup &, ipcperf_wiring &lead,
                   ipcperf_wiring &follow) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
      failed("socketpair");
    lead.fd_count = follow.fd_count = 1;
    lead.fds[0] = pair[0];
    follow.fds[0] = pair[1];
  }

  // In a worker: becomes one end.
  transport(const ipcperf_setup &, const ipcperf_wiring &wiring)
      : socket_(wiring.fds[0]) {}
  transport(const transport &) = delete;
  ~transport() { close(socket_); }

  // Timed from here on.
  void send(const void *bytes, std::size_t length) {
    auto at = static_cast<const char *>(bytes);
    while (length > 0) {
      ssize_t done = ::send(socket_, at, length, MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR)
        continue;
      if (done < 0)
        failed("send");
      at += done;
      length -= static_cast<std::size_t>(done);
    }
  }

  std::size_t recv(void *buffer, std::size_t length) {
    std::size_t received = 0;
    while (received < length) {
      ssize_t done = ::recv(socket_, static_cast<char *>(buffer) + received,
                            length - received, 0);
      if (done < 0 && errno == EINTR)
        continue;
      if (done < 0)
        failed("recv");
      if (done == 0)
        throw ipcperf::fault(received ? IPCPERF_TRUNCATED : IPCPERF_CLOSED);
      received += static_cast<std::size_t>(done);
    }
    return received;
  }

  void finish() {
    if (shutdown(socket_, SHUT_WR))
      failed("shutdown");
  }

 private:
  int socket_;
};

} // namespace

IPCPERF_TRANSPORT(transport)
