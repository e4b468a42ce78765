// SPDX-License-Identifier: MIT OR Apache-2.0
// iceoryx 2: messages are written and read where they lie, in memory that a
// daemon (RouDi) of this channel owns. There is one RouDi on a host.
//
//   c++ -std=c++17 -O2 -shared -fPIC -I../../include
//     -I/usr/include/iceoryx/v2.0.3 iceoryx.cpp
//     -liceoryx_posh -liceoryx_hoofs -liceoryx_platform -o libiceoryx.so
#include "ipcperf.h"

#include <chrono>
#include <cstring>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

using iox::capro::IdString_t;
using iox::popo::SubscriberState;

iox::capro::ServiceDescription topic(const ipcperf_setup &setup, bool of_lead) {
  IdString_t channel(iox::cxx::TruncateToCapacity, setup.host->prefix);
  IdString_t there("there"), back("back");
  return {IdString_t("ipcperf"), channel, of_lead ? there : back};
}

iox::popo::PublisherOptions waits() {
  iox::popo::PublisherOptions options;
  options.subscriberTooSlowPolicy =
      iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
  return options;
}

iox::popo::SubscriberOptions blocks() {
  iox::popo::SubscriberOptions options;
  options.queueCapacity = 16;
  options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
  return options;
}

struct end {
  iox::popo::UntypedPublisher out;
  iox::popo::UntypedSubscriber in;
  iox::popo::WaitSet<1> waits_for;
  uint64_t longest;
  void *reserved = nullptr;
  const void *peeked = nullptr;

  explicit end(const ipcperf_setup &setup)
      : out(topic(setup, setup.is_lead), waits()),
        in(topic(setup, !setup.is_lead), blocks()),
        longest(setup.message_bytes) {
    waits_for.attachState(in, SubscriberState::HAS_DATA).or_else([](auto) {});
    // RouDi connects the two sides; it looks for new ones now and then.
    while (!out.hasSubscribers() ||
           in.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

end &of(ipcperf_end *one) { return *reinterpret_cast<end *>(one); }

int attach(const ipcperf_setup *setup, const ipcperf_wiring *,
           ipcperf_end **one) {
  iox::RuntimeName_t lead("ipcperf-lead"), follow("ipcperf-follow");
  iox::runtime::PoshRuntime::initRuntime(setup->is_lead ? lead : follow);
  *one = reinterpret_cast<ipcperf_end *>(new end(*setup));
  return IPCPERF_OK;
}

// iceoryx leaves a file for each process that ends without its destructors.
void close(ipcperf_channel *) {
  unlink("/tmp/ipcperf-lead.lock");
  unlink("/tmp/ipcperf-follow.lock");
}

void detach(ipcperf_end *one) { delete &of(one); }

int reserve(ipcperf_end *one, size_t length, void **memory, size_t *available) {
  if (length > of(one).longest)
    return IPCPERF_TOO_LONG;
  int code = -ENOMEM;
  of(one).out.loan(static_cast<uint32_t>(length)).and_then([&](void *&chunk) {
    of(one).reserved = *memory = chunk;
    *available = length;
    code = IPCPERF_OK;
  });
  return code;
}

int commit(ipcperf_end *one, size_t) {
  of(one).out.publish(of(one).reserved);
  return IPCPERF_OK;
}

void abandon(ipcperf_end *one) { of(one).out.release(of(one).reserved); }

int peek(ipcperf_end *one, size_t, const void **bytes, size_t *received) {
  end &self = of(one);
  for (self.peeked = nullptr; !self.peeked;) {
    self.in.take().and_then([&](const void *&chunk) { self.peeked = chunk; });
    if (!self.peeked)
      self.waits_for.wait();
  }
  *bytes = self.peeked;
  *received = iox::mepoo::ChunkHeader::fromUserPayload(self.peeked)
                  ->userPayloadSize();
  return IPCPERF_OK;
}

void release(ipcperf_end *one) { of(one).in.release(of(one).peeked); }

int send(ipcperf_end *one, const void *bytes, size_t length) {
  void *memory;
  size_t available;
  if (int code = reserve(one, length, &memory, &available))
    return code;
  std::memcpy(memory, bytes, length);
  return commit(one, length);
}

int recv(ipcperf_end *one, void *buffer, size_t length, size_t *received) {
  const void *bytes;
  if (int code = peek(one, length, &bytes, received))
    return code;
  std::memcpy(buffer, bytes, *received < length ? *received : length);
  release(one);
  return IPCPERF_OK;
}

// The largest chunk of RouDi's default configuration, without its header.
uint64_t limit(const ipcperf_setup *) { return (4 << 20) - 1024; }

const ipcperf_facts facts = [] {
  ipcperf_facts made = {};
  made.size = sizeof made;
  made.name = "iceoryx";
  made.summary = "iceoryx 2: publish and subscribe over lent memory.";
  made.over = "shm-ring/futex";
  made.reach = IPCPERF_NAMED;
  made.flags = IPCPERF_MANY_PRODUCERS | IPCPERF_MANY_CONSUMERS |
               IPCPERF_THREADS | IPCPERF_FRESH | IPCPERF_STAYS;
  made.helper = "iox-roudi --monitoring-mode off --log-level warning";
  made.helper_ready = "RouDi is ready for clients";
  return made;
}();

const ipcperf_transport transport = [] {
  ipcperf_transport made = {};
  made.size = sizeof made;
  made.abi = IPCPERF_ABI;
  made.facts = &facts;
  made.limit = limit;
  made.close = close;
  made.attach = attach;
  made.detach = detach;
  made.send = send;
  made.recv = recv;
  made.reserve = reserve;
  made.commit = commit;
  made.abort = abandon;
  made.peek = peek;
  made.release = release;
  return made;
}();

} // namespace

extern "C" const ipcperf_transport *ipcperf_transport_v1(void) {
  return &transport;
}
