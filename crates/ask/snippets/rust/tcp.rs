//! tcp: a message to a server and back over a TCP connection on this host.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::env;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;

// A stream has no boundaries: both ends know the size, or send it first.
fn client(size: usize, port: u16) -> Result<(), Box<dyn Error>> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    // A small message does not wait for an acknowledgement.
    server.set_nodelay(true)?;
    let (message, mut reply) = (vec![b'm'; size], vec![0; size]);
    server.write_all(&message)?; // BrokenPipe: the server is gone
    server.read_exact(&mut reply)?;
    assert!(reply == message);
    println!("tcp: {size} bytes sent, echoed and checked");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let size = words.get(1).map_or(Ok(64), |word| word.parse())?;
    if let Some(port) = words.get(2) {
        return client(size, port.parse()?);
    }
    // Only this host, but every user of it. Port 0: the kernel chooses one.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let mut child = Command::new(env::current_exe()?)
        .args([size.to_string(), port.to_string()])
        .spawn()?;
    let (mut client, _) = listener.accept()?;
    client.set_nodelay(true)?;
    let mut message = vec![0; size];
    client.read_exact(&mut message)?; // fails when the client is gone
    client.write_all(&message)?;
    if !child.wait()?.success() {
        return Err("the client failed".into());
    }
    Ok(())
}
