//! fifo: a message to a server and back over two named pipes.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::error::Error;
use std::fs::{File, remove_file};
use std::io::{Read, Write};
use std::process::Command;
use std::{env, io};

/// Their permissions say who may take part. The names outlive the processes.
const NAMES: [&str; 2] = ["there.fifo", "back.fifo"];

struct Names;

impl Drop for Names {
    fn drop(&mut self) {
        for name in NAMES {
            let _ = remove_file(name);
        }
    }
}

// A FIFO has no boundaries: both ends know the size, or send it first.
fn serve(size: usize) -> io::Result<()> {
    // Opening sleeps until the other end opens it too: both in the same order.
    let mut requests = File::open(NAMES[0])?;
    let mut replies = File::options().write(true).open(NAMES[1])?;
    let mut message = vec![0; size];
    requests.read_exact(&mut message)?; // fails when the client is gone
    replies.write_all(&message)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let size = words.get(1).map_or(Ok(64), |word| word.parse())?;
    if words.len() > 2 {
        return Ok(serve(size)?);
    }
    // The standard library makes none.
    let made = Command::new("mkfifo").arg("-m600").args(NAMES).status()?;
    if !made.success() {
        return Err("mkfifo failed".into());
    }
    let _names = Names;
    let mut server = Command::new(env::current_exe()?)
        .args([&size.to_string(), "server"])
        .spawn()?;
    let mut requests = File::options().write(true).open(NAMES[0])?;
    let mut replies = File::open(NAMES[1])?;
    let (message, mut reply) = (vec![b'm'; size], vec![0; size]);
    requests.write_all(&message)?; // BrokenPipe: the server is gone
    replies.read_exact(&mut reply)?;
    if !server.wait()?.success() || reply != message {
        return Err("the server failed".into());
    }
    println!("fifo: {size} bytes sent, echoed and checked");
    Ok(())
}
