"""An end with asyncio for `ipcperf run --follow`, over byte streams: docs/ENDS.md."""

import asyncio
import os
import socket
import stat

size, answer, burst, flip = (
    int(os.environ["IPCPERF_" + name]) for name in ("SIZE", "ANSWER", "BURST", "FLIP")
)
flip = min(flip, answer)
complement = bytes(255 - byte for byte in range(256))


async def streams():
    if stat.S_ISSOCK(os.fstat(0).st_mode):
        return await asyncio.open_connection(sock=socket.socket(fileno=os.dup(0)))
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), open(0, "rb", 0))
    made = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, open(1, "wb", 0))
    return reader, asyncio.StreamWriter(*made, reader, loop)


async def main():
    reader, writer = await streams()
    try:
        while True:
            for _ in range(burst):
                last = await reader.readexactly(size)
            writer.write(last[:flip].translate(complement) + last[flip:answer])
            await writer.drain()
    except asyncio.IncompleteReadError as error:
        return 1 if error.partial else 0


raise SystemExit(asyncio.run(main()))
