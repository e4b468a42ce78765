//! What all sockets have: buffers, time limits, ends; and pairs of UNIX sockets.

pub mod batch;
pub mod inet;
pub mod inq;
pub mod listener;
pub mod meeting;
pub mod netlink;
pub mod ports;
pub mod rights;
pub mod sctp;
pub mod vsock;
pub mod zerocopy;

use crate::io::{failed, last_errno};
use ipcperf_core::SetupError;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// Kinds of sockets on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes without boundaries.
    Stream,
    /// Messages, without a connection.
    Datagram,
    /// Messages over a connection.
    SeqPacket,
}

impl Kind {
    pub(crate) const fn socket_type(self) -> SocketType {
        match self {
            Self::Stream => SocketType::STREAM,
            Self::Datagram => SocketType::DGRAM,
            Self::SeqPacket => SocketType::SEQPACKET,
        }
    }
}

/// Two UNIX sockets connected to each other.
///
/// # Errors
/// `socketpair` failed.
pub fn pair(kind: Kind) -> Result<(OwnedFd, OwnedFd), SetupError> {
    net::socketpair(AddressFamily::UNIX, kind.socket_type(), SocketFlags::CLOEXEC, None)
        .map_err(failed("socketpair"))
}

/// Buffer limits of a socket in bytes, as `getsockopt` tells them: twice what was asked for, because the kernel counts
/// its bookkeeping too, and at most twice `net.core.wmem_max` and `net.core.rmem_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// `SO_SNDBUF`.
    pub send: u64,
    /// `SO_RCVBUF`.
    pub receive: u64,
}

/// Asks for buffer sizes where given and returns those in force.
///
/// # Errors
/// `setsockopt` or `getsockopt` failed.
pub fn set_buffers(
    socket: impl AsFd,
    send: Option<u64>,
    receive: Option<u64>,
) -> Result<Buffers, SetupError> {
    // The option is an `int`; what does not fit is cut by the kernel's own maximum anyway.
    let int = |bytes: u64| bytes.min(1 << 30) as usize;
    if let Some(bytes) = send {
        sockopt::set_socket_send_buffer_size(&socket, int(bytes)).map_err(failed("SO_SNDBUF"))?;
    }
    if let Some(bytes) = receive {
        sockopt::set_socket_recv_buffer_size(&socket, int(bytes)).map_err(failed("SO_RCVBUF"))?;
    }
    let send = sockopt::socket_send_buffer_size(&socket).map_err(failed("SO_SNDBUF"))?;
    let receive = sockopt::socket_recv_buffer_size(&socket).map_err(failed("SO_RCVBUF"))?;
    Ok(Buffers { send: send as u64, receive: receive as u64 })
}

/// The largest message that a fresh pair takes with a send buffer of the given size, in bytes. Tried on empty pairs: the
/// rule of UNIX and netlink sockets (`SO_SNDBUF` less 32 bytes of bookkeeping, else `EMSGSIZE`) holds only up to what the
/// kernel can allocate for one message.
///
/// # Errors
/// No pair could be made, or it takes nothing at all.
pub fn largest_message(
    pair: impl Fn() -> Result<(OwnedFd, OwnedFd), SetupError>,
    send: Option<u64>,
) -> Result<usize, SetupError> {
    let granted = set_buffers(pair()?.0, send, None)?.send;
    let bytes = vec![0_u8; usize::try_from(granted).unwrap_or(0)];
    let fits = |len: usize| -> Result<bool, SetupError> {
        let (from, _to) = pair()?;
        set_buffers(&from, send, None)?;
        let message = bytes.get(..len).unwrap_or(&bytes);
        Ok(net::send(&from, message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok())
    };
    let rule = bytes.len().saturating_sub(32);
    if fits(rule)? && !fits(rule + 1)? {
        return Ok(rule);
    }
    let (mut taken, mut refused) = (0, bytes.len());
    while refused - taken > 1 {
        let middle = taken.midpoint(refused);
        if fits(middle)? { taken = middle } else { refused = middle }
    }
    if taken == 0 {
        return Err(SetupError::Protocol("a socket pair takes no message".into()));
    }
    Ok(taken)
}

/// How long a receive sleeps before it returns `EAGAIN`.
///
/// # Errors
/// `setsockopt` failed.
pub fn set_receive_timeout(socket: impl AsFd, limit: Duration) -> Result<(), SetupError> {
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(limit))
        .map_err(failed("SO_RCVTIMEO"))
}

/// Bytes that this end of a UNIX socket has sent and the peer has not read, with the kernel's bookkeeping: 0 once all is
/// read, and once nobody can read it any more.
///
/// # Errors
/// The `errno` of `ioctl(SIOCOUTQ)`.
pub fn unread(socket: impl AsFd) -> Result<u64, i32> {
    let mut bytes: c_int = 0;
    // SAFETY: writes one `int`.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done == 0 { Ok(u64::try_from(bytes).unwrap_or(0)) } else { Err(last_errno()) }
}

/// Sets an option to `value`, which is of the type that the kernel takes the option for.
fn set_option<T: Copy>(
    socket: &OwnedFd,
    level: c_int,
    option: c_int,
    value: T,
) -> Result<(), Errno> {
    let (at, len) = ((&raw const value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads at most `len` bytes, the size of the value.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, len) };
    if set == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(last_errno())) }
}

/// Reads an option into `value`, which is made of integers, and returns how many bytes of it the kernel wrote.
fn get_option<T: Copy>(
    socket: &OwnedFd,
    level: c_int,
    option: c_int,
    value: &mut T,
) -> Result<usize, Errno> {
    let mut len = size_of::<T>() as libc::socklen_t;
    let at = (&raw mut *value).cast();
    // SAFETY: the kernel writes at most `len` bytes, the size of the value, and of integers every content is a value.
    let got = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, at, &mut len) };
    if got == 0 { Ok(len as usize) } else { Err(Errno::from_raw_os_error(last_errno())) }
}

/// Ends a connection both ways, also for a process that waits at an end.
///
/// # Errors
/// The `errno`.
pub fn hang_up(socket: impl AsFd) -> Result<(), i32> {
    net::shutdown(socket, net::Shutdown::Both).map_err(Errno::raw_os_error)
}

/// Ends the sending direction: the peer drains, then sees the end.
///
/// # Errors
/// The `errno`, `ENOTSOCK` for what is no socket.
pub fn shutdown_send(socket: impl AsFd) -> Result<(), i32> {
    net::shutdown(socket, net::Shutdown::Write).map_err(Errno::raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_read_is_counted_until_it_is_read_or_nobody_can() {
        let (one, other) = pair(Kind::Stream).unwrap();
        assert_eq!(unread(&one), Ok(0));
        for _ in 0..2 {
            net::send(&one, &[7; 100], SendFlags::empty()).unwrap();
            assert!(unread(&one).unwrap() >= 100);
            assert_eq!(unread(&other), Ok(0));
            rustix::io::read(&other, &mut [0; 200]).unwrap();
            assert_eq!(unread(&one), Ok(0));
        }
        net::send(&one, &[7; 100], SendFlags::empty()).unwrap();
        drop(other);
        assert_eq!(unread(&one), Ok(0));
    }
}
