//! Pseudo-terminals as a pair of descriptors that carry bytes unchanged.
//!
//! # Safety
//! The argument of each `ioctl` is what the request takes: a pointer to an `int`, or flags by value.

use crate::io::failed;
use crate::io::last_errno;
use crate::sysctl;
use ipcperf_core::{Missing, SetupError};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{self, OptionalActions};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Both ends. Neither becomes the controlling terminal of its holder, so no signal ever comes from it.
#[derive(Debug)]
pub struct Pair {
    /// The end of a terminal emulator.
    pub master: OwnedFd,
    /// The end of a program in the terminal.
    pub slave: OwnedFd,
}

/// A fresh pseudo-terminal in raw mode: no echo, no lines, no characters with a meaning, in either direction.
///
/// # Errors
/// `Unavailable` where there are none or no more of them; otherwise the call that failed.
pub fn pair() -> Result<Pair, SetupError> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open("/dev/ptmx", flags, Mode::empty()).map_err(missing)?;
    lock(&master, false)?;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // The slave of this very master, whatever is mounted at /dev/pts.
    // SAFETY: takes flags by value.
    let slave = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    if slave < 0 {
        return Err(SetupError::sys("TIOCGPTPEER", last_errno()));
    }
    // SAFETY: the kernel has just made this descriptor for us.
    let slave = unsafe { OwnedFd::from_raw_fd(slave) };
    // The slave has a name, which its group may write to. Nobody needs it any more, and nobody else may come by it.
    lock(&master, true)?;
    let mut modes = termios::tcgetattr(&slave).map_err(failed("tcgetattr"))?;
    modes.make_raw();
    termios::tcsetattr(&slave, OptionalActions::Now, &modes).map_err(failed("tcsetattr"))?;
    Ok(Pair { master, slave })
}

/// Whether the slave can be opened.
fn lock(master: &OwnedFd, on: bool) -> Result<(), SetupError> {
    let value = c_int::from(on);
    // SAFETY: reads one `int`.
    let done = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const value) };
    if done == 0 { Ok(()) } else { Err(SetupError::sys("TIOCSPTLCK", last_errno())) }
}

fn missing(error: Errno) -> SetupError {
    match error {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => {
            Missing::new("there is no /dev/ptmx", "mount -t devpts devpts /dev/pts").into()
        }
        Errno::NOSPC => {
            let limit = sysctl::number("kernel/pty/max").unwrap_or(0);
            let what = format!("all pseudo-terminals are taken (kernel.pty.max is {limit})");
            Missing::new(what, "sysctl kernel.pty.max=NUMBER").into()
        }
        other => failed("open /dev/ptmx")(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_passes_unchanged_both_ways_and_none_comes_back() {
        let pair = pair().expect("a pseudo-terminal");
        let bytes: Vec<u8> = (0..=255).collect();
        for (from, to) in [(&pair.master, &pair.slave), (&pair.slave, &pair.master)] {
            assert_eq!(rustix::io::write(from, &bytes), Ok(bytes.len()));
            let mut got = Vec::new();
            while got.len() < bytes.len() {
                let mut some = [0; 256];
                let read = rustix::io::read(to, &mut some).expect("open");
                got.extend_from_slice(&some[..read]);
            }
            assert_eq!(got, bytes);
            crate::io::pipe::set_nonblocking(from).expect("a descriptor");
            assert_eq!(rustix::io::read(from, &mut [0; 1]), Err(Errno::AGAIN), "an echo");
        }
    }

    #[test]
    fn nobody_comes_in_by_the_name() {
        let pair = pair().expect("a pseudo-terminal");
        let name = rustix::termios::ttyname(&pair.slave, Vec::new()).expect("it has one");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(name, flags, Mode::empty());
        assert_eq!(opened.map(drop), Err(Errno::IO));
    }
}
