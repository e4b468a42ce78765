//! Data that is moved in the program's place: by `sendto(2)` and `recvfrom(2)` with an address, which TCP ignores and a UNIX
//! socket does not.

use super::held::is_nonblocking;
use crate::swap::calls::handed::PendingCall;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags, sockopt};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// As short as a limit of time can be (`SO_RCVTIMEO`).
const AT_ONCE: Duration = Duration::from_micros(1);

/// Bytes that are moved at a time.
pub(super) const CHUNK: usize = 1 << 20;

/// What is moved in a program's place.
#[derive(Debug)]
pub(super) struct PendingTransfer {
    pub(super) call: PendingCall,
    pub(super) socket: OwnedFd,
    /// Bytes so far.
    pub(super) moved: usize,
    /// When it is given up: the program's own limit of time.
    pub(super) until: Option<Instant>,
}

impl PendingTransfer {
    pub(super) fn len(&self) -> usize {
        self.call.args[2] as usize
    }

    pub(super) fn flags(&self) -> u32 {
        self.call.args[3] as u32
    }

    /// Whether the call returns where it would have to wait.
    pub(super) fn is_nonblocking(&self) -> io::Result<bool> {
        Ok(self.flags() & libc::MSG_DONTWAIT.cast_unsigned() != 0 || is_nonblocking(&self.socket)?)
    }

    /// What it returns that has moved so much and can move no more.
    pub(super) fn ends(&self, errno: Errno) -> Result<i64, i32> {
        match self.moved {
            0 => Err(errno.raw_os_error()),
            moved => Ok(moved as i64),
        }
    }
}

/// When a call is given up by the limit of time that the program has set.
pub(super) fn limit(socket: &OwnedFd, which: sockopt::Timeout) -> io::Result<Option<Instant>> {
    Ok(sockopt::socket_timeout(socket, which)?.map(|time| Instant::now() + time))
}

/// Whether something can be read, or accepted, now.
pub(super) fn is_readable(socket: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Accepts without waiting, also where another process was first. A blocking listener gets a limit of time for as long as it
/// takes: whether it blocks is a fact that the program's own calls see.
pub(super) fn accept_now(listener: &OwnedFd, flags: SocketFlags) -> Result<OwnedFd, Errno> {
    let is_blocking = !rustix::fs::fcntl_getfl(listener)?.contains(rustix::fs::OFlags::NONBLOCK);
    if !is_blocking {
        return net::accept_with(listener, flags);
    }
    if !is_readable(listener) {
        return Err(Errno::AGAIN);
    }
    let before = sockopt::socket_timeout(listener, sockopt::Timeout::Recv)?;
    sockopt::set_socket_timeout(listener, sockopt::Timeout::Recv, Some(AT_ONCE))?;
    let accepted = net::accept_with(listener, flags);
    sockopt::set_socket_timeout(listener, sockopt::Timeout::Recv, before)?;
    accepted
}
