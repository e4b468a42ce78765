"""A transport over a socket. Replace what is in send and recv, then the facts.

`make check` tries to refute the facts, `make run` measures.
"""

import socket


class Transport:
    """A stream socket."""

    name = "@name@"
    over = "unix-stream"
    payload = "stream"
    on_close = on_death = "noticed"
    two_way = True
    copies = 2

    # In a process of its own: makes what both ends share.
    @staticmethod
    def open(setup):
        return socket.socketpair()

    # In a worker: becomes one end.
    def __init__(self, setup, wiring):
        self.socket = socket.socket(fileno=wiring.fds[0])

    # Timed from here on.
    def send(self, message):
        self.socket.sendall(message)

    def recv(self, buffer):
        received = 0
        while received < len(buffer):
            count = self.socket.recv_into(buffer[received:])
            if count == 0:
                break
            received += count
        return received

    def finish(self):
        self.socket.shutdown(socket.SHUT_WR)

    def detach(self):
        self.socket.close()
