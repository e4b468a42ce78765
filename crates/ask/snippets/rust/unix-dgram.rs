//! unix-dgram: a message to a server and back over UNIX datagram sockets; the
//! server's has a path.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::error::Error;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;
use std::{env, fs, io};

/// A process needs write permission on the path to send. The path
/// outlives its socket: bind fails while it is there.
const PATH: &str = "example.sock";

struct Name;

impl Drop for Name {
    fn drop(&mut self) {
        let _ = fs::remove_file(PATH);
    }
}

fn bound(path: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::bind(path)?;
    // Nothing tells that the peer has died, so nobody waits longer.
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(socket)
}

fn client(size: usize) -> Result<(), Box<dyn Error>> {
    // Without a path the kernel chooses a name, to be answered at.
    let client = bound("")?;
    let message = vec![b'm'; size];
    // It must fit into the send buffer, 208 KiB. Sleeps while
    // net.unix.max_dgram_qlen messages wait at the receiver.
    client.send_to(&message, PATH)?;
    let mut reply = vec![0; size + 1]; // what does not fit is cut off
    let length = client.recv(&mut reply)?;
    assert!(reply[..length] == message);
    println!("unix-dgram: {size} bytes sent, echoed and checked");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let size = words.get(1).map_or(Ok(64), |word| word.parse())?;
    if words.len() > 2 {
        return client(size);
    }
    let server = bound(PATH)?;
    let _name = Name;
    let mut child = Command::new(env::current_exe()?)
        .args([&size.to_string(), "client"])
        .spawn()?;
    let mut message = vec![0; size + 1];
    // A client that fails sends nothing.
    server.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (length, sender) = loop {
        match server.recv_from(&mut message) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break received?,
        }
        if child.try_wait()?.is_some() {
            return Err("the client failed".into());
        }
    };
    server.send_to_addr(&message[..length], &sender)?;
    if !child.wait()?.success() {
        return Err("the client failed".into());
    }
    Ok(())
}
