// tcp: a message to a server and back over a TCP connection on this host.
// SPDX-License-Identifier: MIT OR Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect } from "node:net";
import { argv, execPath, exit } from "node:process";

const size = Number(argv[2] ?? 64);

/** Reads a message: a stream has no boundaries, both ends know the size. */
async function receive(socket) {
  const parts = [];
  for (let got = 0; got < size; ) {
    const [part] = await Promise.race([
      once(socket, "data"), // rejects with the error of the socket
      once(socket, "end").then(() => [null]),
    ]);
    if (part === null) throw new Error("the other end is gone");
    parts.push(part);
    got += part.length;
  }
  return Buffer.concat(parts);
}

async function client(port) {
  const server = connect(port);
  await once(server, "connect");
  server.setNoDelay(); // a small message waits for no acknowledgement
  const message = Buffer.alloc(size, "m");
  server.write(message);
  const reply = await receive(server);
  server.end();
  if (!reply.equals(message)) throw new Error("the reply differs");
  console.log(`tcp: ${size} bytes sent, echoed and checked`);
}

async function serve() {
  // Only this host, but every user of it. Port 0: the kernel chooses one.
  const listener = createServer().listen(0, "127.0.0.1");
  const [[peer]] = await Promise.all([once(listener, "connection"), start()]);
  listener.close();
  peer.setNoDelay();
  peer.write(await receive(peer));
  peer.end();

  async function start() {
    await once(listener, "listening");
    const words = [argv[1], size, listener.address().port];
    const child = spawn(execPath, words, { stdio: "inherit" });
    child.on("exit", (code) => code === 0 || exit(1));
  }
}

await (argv[3] ? client(argv[3]) : serve());
