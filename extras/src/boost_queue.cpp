// boost::interprocess::message_queue as functions of C: no exception leaves this file. Each returns 0 or an errno.

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/permissions.hpp>
#include <cerrno>
#include <new>

namespace ipc = boost::interprocess;

namespace {

int number(const ipc::interprocess_exception &error) {
  if (error.get_error_code() == ipc::size_error)
    return EMSGSIZE;
  return error.get_native_error() > 0 ? error.get_native_error() : EIO;
}

template <class Act> int caught(Act act) noexcept {
  try {
    act();
    return 0;
  } catch (const ipc::interprocess_exception &error) {
    return number(error);
  } catch (const std::bad_alloc &) {
    return ENOMEM;
  } catch (...) {
    return EIO;
  }
}

} // namespace

extern "C" {

int ipcperf_queue_create(const char *name, size_t depth, size_t size) {
  return caught([&] {
    ipc::permissions own(0600);
    ipc::message_queue(ipc::create_only, name, depth, size, own);
  });
}

int ipcperf_queue_open(const char *name, ipc::message_queue **queue) {
  return caught(
      [&] { *queue = new ipc::message_queue(ipc::open_only, name); });
}

void ipcperf_queue_close(ipc::message_queue *queue) { delete queue; }

int ipcperf_queue_send(ipc::message_queue *queue, const void *data, size_t len,
                       unsigned priority) {
  return caught([&] { queue->send(data, len, priority); });
}

int ipcperf_queue_receive(ipc::message_queue *queue, void *data, size_t room,
                          size_t *len, unsigned *priority) {
  return caught([&] {
    ipc::message_queue::size_type received = 0;
    queue->receive(data, room, received, *priority);
    *len = received;
  });
}
}
