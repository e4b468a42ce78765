# pipe: a message to a child process and back over two anonymous pipes.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os
import sys

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
there_in, there_out = os.pipe()
back_in, back_out = os.pipe()
child = os.fork()
if child == 0:
    # The end is told when every copy of a pipe's write end is closed.
    os.close(there_out)
    os.close(back_in)
    with open(there_in, "rb") as requests, open(back_out, "wb") as replies:
        replies.write(requests.read(size))
    sys.exit()
os.close(there_in)
os.close(back_out)
message = b"m" * size
# No boundaries: both ends know the size. BrokenPipeError: the child is gone.
with open(there_out, "wb") as requests, open(back_in, "rb") as replies:
    requests.write(message)
    requests.flush()
    reply = replies.read(size)  # less when the child is gone
_, status = os.waitpid(child, 0)
if status != 0 or reply != message:
    sys.exit("the child failed")
print(f"pipe: {size} bytes sent, echoed and checked")
