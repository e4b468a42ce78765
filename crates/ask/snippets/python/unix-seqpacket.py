# unix-seqpacket: a message to a server and back over a UNIX socket with a path
# that connects and keeps boundaries.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os
import socket
import sys

# A process needs write permission on the path to connect. The path
# outlives its listener: bind fails while it is there.
PATH = "example.sock"

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
message = b"m" * size
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind(PATH)
    try:
        listener.listen()
        server = os.fork()
        if server == 0:
            peer, _ = listener.accept()
            with peer:
                peer.send(peer.recv(size))  # the rest is cut off
            os._exit(0)
        listener.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(PATH)
            client.send(message)  # it must fit into the send buffer, 208 KiB
            reply = client.recv(size)  # empty when the server is gone
        _, status = os.waitpid(server, 0)
    finally:
        os.unlink(PATH)
if status != 0 or reply != message:
    sys.exit("the server failed")
print(f"unix-seqpacket: {size} bytes sent, echoed and checked")
