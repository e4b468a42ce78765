# unix-stream: a message to a server and back over a UNIX socket with a path.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os
import socket
import sys

# A process needs write permission on the path to connect. The path
# outlives its listener: bind fails while it is there.
PATH = "example.sock"

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
message = b"m" * size
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
    listener.bind(PATH)
    try:
        listener.listen()
        server = os.fork()
        if server == 0:
            peer, _ = listener.accept()
            with peer:
                # No boundaries: both ends know the size. Less: a dead client.
                peer.sendall(peer.recv(size, socket.MSG_WAITALL))
            os._exit(0)
        listener.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(PATH)
            client.sendall(message)  # BrokenPipeError: the server is gone
            reply = client.recv(size, socket.MSG_WAITALL)
        _, status = os.waitpid(server, 0)
    finally:
        os.unlink(PATH)
if status != 0 or reply != message:
    sys.exit("the server failed")
print(f"unix-stream: {size} bytes sent, echoed and checked")
