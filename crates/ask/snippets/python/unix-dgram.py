# unix-dgram: a message to a server and back over UNIX datagram sockets; the
# server's has a path.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os
import signal
import socket
import sys

# A process needs write permission on the path to send. The path
# outlives its socket: bind fails while it is there.
PATH = "example.sock"


def bound(address):
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.bind(address)
    end.settimeout(10)  # nothing tells that the peer has died
    return end


size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
message = b"m" * size
with bound(PATH) as server:
    child = os.fork()
    if child == 0:
        request, sender = server.recvfrom(size)  # the rest is cut off
        server.sendto(request, sender)
        os._exit(0)
try:
    # Without a path the kernel chooses a name, to be answered at.
    with bound("") as client:
        # It must fit into the send buffer, 208 KiB. Sleeps while
        # net.unix.max_dgram_qlen messages wait at the receiver.
        client.sendto(message, PATH)
        reply = client.recv(size)
    _, status = os.waitpid(child, 0)
except OSError:
    os.kill(child, signal.SIGKILL)  # nothing comes that it waits for
    raise
finally:
    os.unlink(PATH)
if status != 0 or reply != message:
    sys.exit("the server failed")
print(f"unix-dgram: {size} bytes sent, echoed and checked")
