# eventfd: a child process is woken and wakes its parent. Python 3.10 or newer.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os
import select
import sys


def wait_for_wake(fd):
    # Nothing tells that the peer has died, so nobody waits longer.
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if not poll.poll(10_000):
        sys.exit("not woken in 10 s")
    os.eventfd_read(fd)  # all wake-ups so far


# It reaches processes that inherit it or receive it over a UNIX socket.
there, back = os.eventfd(0), os.eventfd(0)
child = os.fork()
if child == 0:
    wait_for_wake(there)
    os.eventfd_write(back, 1)
    sys.exit()
os.eventfd_write(there, 1)
wait_for_wake(back)
_, status = os.waitpid(child, 0)
if status != 0:
    sys.exit("the child failed")
print("eventfd: woken and answered")
