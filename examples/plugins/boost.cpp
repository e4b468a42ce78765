// SPDX-License-Identifier: MIT OR Apache-2.0
// Boost.Interprocess: two message queues in shared memory with names.
//
//   c++ -O2 -shared -fPIC -I../../include boost.cpp -o libboost-queue.so
#include "ipcperf.hpp"

#include <algorithm>
#include <boost/interprocess/ipc/message_queue.hpp>

namespace {

namespace ipc = boost::interprocess;

class queues {
 public:
  static ipcperf_facts facts() {
    static ipcperf_knob depth = {};
    depth.size = sizeof depth;
    depth.name = "depth";
    depth.help = "Messages that fit into each queue.";
    depth.fallback = "16";
    depth.min = 1;
    depth.max = 1024;
    ipcperf_facts facts = {};
    facts.size = sizeof facts;
    facts.name = "c-boost-queue";
    facts.summary = "Two boost::interprocess::message_queue.";
    facts.reach = IPCPERF_NAMED;
    facts.flags = IPCPERF_MANY_PRODUCERS | IPCPERF_MANY_CONSUMERS;
    facts.copies = 2;
    facts.knob_count = 1;
    facts.knob_stride = sizeof depth;
    facts.knobs = &depth;
    return facts;
  }

  static void open(const ipcperf_setup &setup, ipcperf_wiring &,
                   ipcperf_wiring &) {
    std::size_t depth = std::stoul(ipcperf::knob(setup, "depth", "16"));
    std::size_t size = std::max<std::uint64_t>(setup.message_bytes, 1);
    for (const char *way : {"there", "back"})
      ipc::message_queue(ipc::create_only, name(setup, way).c_str(), depth,
                         size, ipc::permissions(0600));
  }

  queues(const ipcperf_setup &setup, const ipcperf_wiring &)
      : out_(ipc::open_only,
             name(setup, setup.is_lead ? "there" : "back").c_str()),
        in_(ipc::open_only,
            name(setup, setup.is_lead ? "back" : "there").c_str()) {
    setup.host->grant(setup.host, "depth",
                      std::to_string(out_.get_max_msg()).c_str());
  }

  void send(const void *bytes, std::size_t length) {
    out_.send(bytes, length, 0);
  }

  std::size_t recv(void *buffer, std::size_t length) {
    // The queue demands room for its longest message.
    std::size_t received = 0;
    unsigned priority = 0;
    if (length < in_.get_max_msg_size()) {
      spare_.resize(in_.get_max_msg_size());
      in_.receive(spare_.data(), spare_.size(), received, priority);
      std::copy_n(spare_.data(), std::min(received, length),
                  static_cast<char *>(buffer));
    } else {
      in_.receive(buffer, length, received, priority);
    }
    return received;
  }

 private:
  static std::string name(const ipcperf_setup &setup, const char *way) {
    return std::string(setup.host->prefix) + way;
  }

  ipc::message_queue out_, in_;
  std::string spare_;
};

} // namespace

IPCPERF_TRANSPORT(queues)
