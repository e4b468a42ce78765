//! udp: a message to a server and back over UDP on this host.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;
use std::{env, io};

/// A socket with a port that the kernel chooses: only this host, but every user
/// of it.
fn bound() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    // A message that finds no room is dropped, and nothing tells that the peer
    // has died, so nobody waits longer.
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(socket)
}

fn client(size: usize, port: u16) -> Result<(), Box<dyn Error>> {
    let socket = bound()?;
    socket.connect((Ipv4Addr::LOCALHOST, port))?; // only its messages come in
    let message = vec![b'm'; size];
    socket.send(&message)?; // at most 65,507 bytes
    let mut reply = vec![0; size + 1]; // what does not fit is cut off
    let length = socket.recv(&mut reply)?;
    assert!(reply[..length] == message);
    println!("udp: {size} bytes sent, echoed and checked");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let size = words.get(1).map_or(Ok(64), |word| word.parse())?;
    if let Some(port) = words.get(2) {
        return client(size, port.parse()?);
    }
    let socket = bound()?;
    let port = socket.local_addr()?.port();
    let mut child = Command::new(env::current_exe()?)
        .args([size.to_string(), port.to_string()])
        .spawn()?;
    let mut message = vec![0; size + 1];
    // A client that fails sends nothing.
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (length, sender) = loop {
        match socket.recv_from(&mut message) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break received?,
        }
        if child.try_wait()?.is_some() {
            return Err("the client failed".into());
        }
    };
    socket.send_to(&message[..length], sender)?;
    if !child.wait()?.success() {
        return Err("the client failed".into());
    }
    Ok(())
}
