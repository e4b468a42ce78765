//! unix-stream: a message to a server and back over a UNIX socket with a path.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::{env, fs};

/// A process needs write permission on the path to connect. The path
/// outlives its listener: bind fails while it is there.
const PATH: &str = "example.sock";

struct Name;

impl Drop for Name {
    fn drop(&mut self) {
        let _ = fs::remove_file(PATH);
    }
}

// A stream has no boundaries: both ends know the size, or send it first.
fn client(size: usize) -> Result<(), Box<dyn Error>> {
    let mut server = UnixStream::connect(PATH)?;
    let (message, mut reply) = (vec![b'm'; size], vec![0; size]);
    server.write_all(&message)?; // BrokenPipe: the server is gone
    server.read_exact(&mut reply)?;
    assert!(reply == message);
    println!("unix-stream: {size} bytes sent, echoed and checked");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let size = words.get(1).map_or(Ok(64), |word| word.parse())?;
    if words.len() > 2 {
        return client(size);
    }
    let listener = UnixListener::bind(PATH)?;
    let _name = Name;
    let mut child = Command::new(env::current_exe()?)
        .args([&size.to_string(), "client"])
        .spawn()?;
    let (mut client, _) = listener.accept()?;
    let mut message = vec![0; size];
    client.read_exact(&mut message)?; // fails when the client is gone
    client.write_all(&message)?;
    if !child.wait()?.success() {
        return Err("the client failed".into());
    }
    Ok(())
}
