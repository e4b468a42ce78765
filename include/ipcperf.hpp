// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A transport in C++ (17 or newer) is a class:
//
//   class mine {
//    public:
//     static ipcperf_facts facts();
//     static void open(const ipcperf_setup &, ipcperf_wiring &lead,
//                      ipcperf_wiring &follow);              // optional
//     mine(const ipcperf_setup &, const ipcperf_wiring &);
//     void send(const void *bytes, std::size_t length);
//     std::size_t recv(void *buffer, std::size_t length);
//     void flush();                                          // optional
//     void finish();                                         // optional
//   };
//   IPCPERF_TRANSPORT(mine)
//
// A static `int probe(const ipcperf_setup &)`, `std::uint64_t limit(...)` and
// `std::uint32_t window(...)` are optional, too. The destructor detaches. No
// exception leaves the class: ipcperf::fault gives its code,
// std::system_error its errno, std::bad_alloc ENOMEM, and any other one EPROTO;
// limit and window then return 0. what() is shown.
#ifndef IPCPERF_HPP
#define IPCPERF_HPP

#include "ipcperf.h"

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ipcperf {

// Ends a call with a code of the header.
class fault : public std::runtime_error {
 public:
  explicit fault(int code, const std::string &text = "")
      : std::runtime_error(text), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

// The value of a knob, or `otherwise` where it is not set.
inline std::string knob(const ipcperf_setup &setup, const std::string &name,
                        const std::string &otherwise) {
  for (std::uint32_t at = 0; at < setup.setting_count; ++at)
    if (name == setup.settings[at].knob)
      return setup.settings[at].value;
  return otherwise;
}

namespace detail {

inline std::string &last() {
  thread_local std::string text;
  return text;
}

template <class F> int guarded(F &&call) noexcept {
  try {
    std::forward<F>(call)();
    return IPCPERF_OK;
  } catch (const fault &error) {
    last() = error.what();
    return error.code();
  } catch (const std::system_error &error) {
    last() = error.what();
    return error.code().value() > 0 ? -error.code().value() : -EPROTO;
  } catch (const std::bad_alloc &) {
    last().clear();
    return -ENOMEM;
  } catch (const std::exception &error) {
    last() = error.what();
    return -EPROTO;
  } catch (...) {
    last() = "an exception that is not a std::exception";
    return -EPROTO;
  }
}

#define IPCPERF_HAS(member, expression)                                        \
  template <class T, class = void> struct has_##member : std::false_type {};   \
  template <class T>                                                           \
  struct has_##member<T, std::void_t<decltype(expression)>> : std::true_type {}

IPCPERF_HAS(open, T::open(std::declval<const ipcperf_setup &>(),
                          std::declval<ipcperf_wiring &>(),
                          std::declval<ipcperf_wiring &>()));
IPCPERF_HAS(probe, T::probe(std::declval<const ipcperf_setup &>()));
IPCPERF_HAS(limit, T::limit(std::declval<const ipcperf_setup &>()));
IPCPERF_HAS(window, T::window(std::declval<const ipcperf_setup &>()));
IPCPERF_HAS(flush, std::declval<T &>().flush());
IPCPERF_HAS(finish, std::declval<T &>().finish());
#undef IPCPERF_HAS

template <class T> T &of(ipcperf_end *end) {
  return *reinterpret_cast<T *>(end);
}

template <class T> struct table {
  static int probe(const ipcperf_setup *setup) {
    int code = IPCPERF_OK;
    int thrown = guarded([&] { code = T::probe(*setup); });
    return thrown ? thrown : code;
  }
  static std::uint64_t limit(const ipcperf_setup *setup) {
    std::uint64_t bytes = 0;
    guarded([&] { bytes = T::limit(*setup); });
    return bytes;
  }
  static std::uint32_t window(const ipcperf_setup *setup) {
    std::uint32_t messages = 0;
    guarded([&] { messages = T::window(*setup); });
    return messages;
  }
  static int open(const ipcperf_setup *setup, ipcperf_channel **,
                  ipcperf_wiring wirings[2]) {
    return guarded([&] { T::open(*setup, wirings[0], wirings[1]); });
  }
  static void close(ipcperf_channel *) {}
  static int attach(const ipcperf_setup *setup, const ipcperf_wiring *wiring,
                    ipcperf_end **end) {
    return guarded(
        [&] { *end = reinterpret_cast<ipcperf_end *>(new T(*setup, *wiring)); });
  }
  static void detach(ipcperf_end *end) {
    guarded([&] { delete &of<T>(end); });
  }
  static int send(ipcperf_end *end, const void *bytes, std::size_t length) {
    return guarded([&] { of<T>(end).send(bytes, length); });
  }
  static int recv(ipcperf_end *end, void *buffer, std::size_t length,
                  std::size_t *received) {
    return guarded([&] { *received = of<T>(end).recv(buffer, length); });
  }
  static int flush(ipcperf_end *end) {
    return guarded([&] { of<T>(end).flush(); });
  }
  static int finish(ipcperf_end *end) {
    return guarded([&] { of<T>(end).finish(); });
  }
  static const char *reason(ipcperf_end *) {
    return last().empty() ? nullptr : last().c_str();
  }

  static const ipcperf_transport *get() noexcept {
    static const ipcperf_facts facts = T::facts();
    static const ipcperf_transport transport = [] {
      ipcperf_transport made = {};
      made.size = sizeof made;
      made.abi = IPCPERF_ABI;
      made.facts = &facts;
      if constexpr (has_probe<T>::value)
        made.probe = probe;
      if constexpr (has_limit<T>::value)
        made.limit = limit;
      if constexpr (has_window<T>::value)
        made.window = window;
      if constexpr (has_open<T>::value) {
        made.open = open;
        made.close = close;
      }
      made.attach = attach;
      made.detach = detach;
      made.send = send;
      made.recv = recv;
      if constexpr (has_flush<T>::value)
        made.flush = flush;
      if constexpr (has_finish<T>::value)
        made.finish = finish;
      made.reason = reason;
      return made;
    }();
    return &transport;
  }
};

} // namespace detail
} // namespace ipcperf

#define IPCPERF_TRANSPORT(type)                                                \
  extern "C" const ipcperf_transport *ipcperf_transport_v1(void) {             \
    return ipcperf::detail::table<type>::get();                                \
  }

#endif
