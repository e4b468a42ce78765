//! pipe: a message to a child process and back over the pipes of its standard
//! input and output.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::process::{Command, Stdio};
use std::{env, io};

// A pipe has no boundaries: both ends know the size, or send it first.
fn child(size: usize) -> io::Result<()> {
    let mut message = vec![0; size];
    stdin().read_exact(&mut message)?; // fails when the parent is gone
    stdout().write_all(&message)?;
    stdout().flush()
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().collect();
    let size = words.get(1).map_or(Ok(64), |word| word.parse())?;
    if words.len() > 2 {
        return Ok(child(size)?);
    }
    let mut child = Command::new(env::current_exe()?)
        .args([&size.to_string(), "child"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut there = child.stdin.take().ok_or("no pipe")?;
    let mut back = child.stdout.take().ok_or("no pipe")?;
    let (message, mut reply) = (vec![b'm'; size], vec![0; size]);
    there.write_all(&message)?; // BrokenPipe: the child is gone
    back.read_exact(&mut reply)?;
    if !child.wait()?.success() || reply != message {
        return Err("the child failed".into());
    }
    println!("pipe: {size} bytes sent, echoed and checked");
    Ok(())
}
