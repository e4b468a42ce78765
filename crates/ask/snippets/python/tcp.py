# tcp: a message to a server and back over a TCP connection on this host.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os
import socket
import sys


def send_at_once(connection):
    # A small message does not wait for an acknowledgement.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
message = b"m" * size
# Only this host, but every user of it. Port 0: the kernel chooses one.
with socket.create_server(("127.0.0.1", 0)) as listener:
    address = listener.getsockname()
    server = os.fork()
    if server == 0:
        peer, _ = listener.accept()
        with peer:
            send_at_once(peer)
            # No boundaries: both ends know the size. Less: a dead client.
            peer.sendall(peer.recv(size, socket.MSG_WAITALL))
        sys.exit()
with socket.create_connection(address) as client:
    send_at_once(client)
    client.sendall(message)  # BrokenPipeError: the server is gone
    reply = client.recv(size, socket.MSG_WAITALL)
_, status = os.waitpid(server, 0)
if status != 0 or reply != message:
    sys.exit("the server failed")
print(f"tcp: {size} bytes sent, echoed and checked")
