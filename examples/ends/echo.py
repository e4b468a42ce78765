"""An end in Python for `ipcperf run --follow`: docs/ENDS.md."""

import os
import sys

size, answer, burst, flip = (
    int(os.environ["IPCPERF_" + name]) for name in ("SIZE", "ANSWER", "BURST", "FLIP")
)
flip = min(flip, answer)
complement = bytes(255 - byte for byte in range(256))


def message():
    """The next message; None at the end of the file."""
    parts = b""
    while len(parts) < size:
        try:
            part = os.read(0, size - len(parts))
        except OSError:  # a pseudo-terminal whose other end is closed
            return None
        if not part:
            return None
        parts += part
    return parts


while True:
    for _ in range(burst):
        last = message()
        if last is None:
            sys.exit(0)
    reply = last[:flip].translate(complement) + last[flip:answer]
    while reply:
        reply = reply[os.write(1, reply) :]
