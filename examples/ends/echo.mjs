// An end in Node for `ipcperf run --follow`: docs/ENDS.md.
import { readSync, writeSync } from "node:fs";

const number = (name) => Number(process.env["IPCPERF_" + name]);
const [size, answer, burst, flip] = ["SIZE", "ANSWER", "BURST", "FLIP"].map(number);
const message = Buffer.alloc(size);

/** Reads a message; false at the end of the file. */
function receive() {
  for (let done = 0; done < size; ) {
    let got = 0;
    try {
      got = readSync(0, message, done, size - done, null);
    } catch (error) {
      // A pseudo-terminal whose other end is closed says EIO.
      if (error.code !== "EIO") throw error;
    }
    if (got === 0) return false;
    done += got;
  }
  return true;
}

for (;;) {
  for (let count = 0; count < burst; count++) {
    if (!receive()) process.exit(0);
  }
  for (let at = 0; at < Math.min(flip, answer); at++) message[at] = ~message[at];
  for (let done = 0; done < answer; ) {
    done += writeSync(1, message, done, answer - done, null);
  }
}
