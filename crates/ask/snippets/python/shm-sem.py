# shm-sem: a message to a child process and back, each through one buffer in
# memory that both map; semaphores say whether it is empty or full.
# SPDX-License-Identifier: MIT OR Apache-2.0
import mmap
import multiprocessing
import os
import sys


class Buffer:
    """One message: the sender's bytes until full, then the receiver's."""

    def __init__(self, size):
        # A forked child has it, too. Other processes take SharedMemory.
        self.memory = mmap.mmap(-1, size)
        context = multiprocessing.get_context("fork")
        self.empty, self.full = context.Semaphore(1), context.Semaphore(0)

    def send(self, message):
        wait_for(self.empty)
        self.memory[:] = message
        self.full.release()

    def receive(self):
        wait_for(self.full)
        message = self.memory[:]
        self.empty.release()
        return message


def wait_for(semaphore):
    # A semaphore has no owner: nothing tells that the peer has died.
    if not semaphore.acquire(timeout=10):
        sys.exit("no turn in 10 s")


size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
there, back = Buffer(size), Buffer(size)
child = os.fork()
if child == 0:
    back.send(there.receive())
    sys.exit()
message = b"m" * size
there.send(message)
reply = back.receive()
_, status = os.waitpid(child, 0)
if status != 0 or reply != message:
    sys.exit("the child failed")
print(f"shm-sem: {size} bytes sent, echoed and checked")
