//! Sends that leave the bytes where they are, and the notices of when they may be written again (`MSG_ZEROCOPY`).
//!
//! # Safety
//! Every structure passed lies on the caller's stack and is as long as the kernel is told. The kernel reads the bytes of
//! a send until it has given notice; a caller that writes them earlier sends other bytes and breaks no memory, and pages
//! it lets go of stay the kernel's.

use crate::io::socket::inet::{self, Inet};
use crate::io::socket::meeting;
use crate::io::socket::set_option;
use crate::io::{Buffer, raw, socket};
use ipcperf_core::{Missing, SetupError};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Lets a socket send without copying.
///
/// # Errors
/// `Unavailable` where the kernel cannot.
pub fn enable(socket: &OwnedFd) -> Result<(), SetupError> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1_i32)
        .map_err(|error| refused(error.raw_os_error()))
}

/// `ENOTSUPP` of include/linux/errno.h, which this option answers with where the protocol cannot.
const NOT_SUPPORTED: i32 = 524;

fn refused(code: i32) -> SetupError {
    match code {
        libc::ENOPROTOOPT | libc::EOPNOTSUPP | NOT_SUPPORTED => {
            Missing::new("this kernel cannot send TCP without copying", "Linux 4.14 or newer")
                .into()
        }
        code => SetupError::sys("SO_ZEROCOPY", code),
    }
}

/// Sends bytes that must stay as they are until the notice of this send. Every send of at least one byte has a number,
/// one more than the one before, from 0 on.
///
/// # Errors
/// The `errno`; `ENOBUFS` when no more pages may be pinned, or too many notices are due.
#[inline(always)]
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, i32> {
    let (at, len) = (bytes.as_ptr() as usize, bytes.len());
    let flags = (libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY) as usize;
    // SAFETY: the slice is valid for reads of its length, and for what comes later see the module.
    unsafe { raw::call6(libc::SYS_sendto, [fd.as_raw_fd() as usize, at, len, flags, 0, 0]) }
}

/// The bytes of some sends may be written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Number of the first.
    pub first: u32,
    /// Number of the last.
    pub last: u32,
    /// The kernel has copied the bytes after all.
    pub is_copied: bool,
}

/// What the error queue holds for each notice, with room for the address that other errors have.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    error: libc::sock_extended_err,
    _offender: [u64; 8],
}

/// The next notice; `None` for an entry of the error queue that is none. Never sleeps.
///
/// # Errors
/// The `errno`, `EAGAIN` if there is nothing.
#[inline(always)]
pub fn notice(fd: BorrowedFd<'_>) -> Result<Option<Notice>, i32> {
    let mut control = MaybeUninit::<Control>::zeroed();
    // SAFETY: integers and pointers that may be null; some C libraries add padding that has no name here.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    let at = (&raw mut message) as usize;
    let flags = (libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) as usize;
    // SAFETY: a header without vectors, whose control message the kernel writes no further than it is long.
    unsafe { raw::call3(libc::SYS_recvmsg, fd.as_raw_fd() as usize, at, flags) }?;
    // SAFETY: zeroed before the kernel wrote to it; every content is a value.
    let Control { header, error, .. } = unsafe { control.assume_init() };
    let is_error = matches!(
        (header.cmsg_level, header.cmsg_type),
        (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
    );
    Ok((is_error && error.ee_origin == ORIGIN_ZEROCOPY).then_some(Notice {
        first: error.ee_info,
        last: error.ee_data,
        is_copied: error.ee_code & CODE_COPIED != 0,
    }))
}

/// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` (include/uapi/linux/errqueue.h).
const ORIGIN_ZEROCOPY: u8 = 5;
const CODE_COPIED: u8 = 1;

/// Sleeps until the error queue holds something or the connection is over; whether it is over.
///
/// # Errors
/// The `errno`.
pub fn sleep(fd: BorrowedFd<'_>) -> Result<bool, i32> {
    let mut wanted = libc::pollfd { fd: fd.as_raw_fd(), events: 0, revents: 0 };
    let at = (&raw mut wanted) as usize;
    // SAFETY: one entry; no time limit; the signal mask is null and keeps the one in force.
    unsafe { raw::call6(libc::SYS_ppoll, [at, 1, 0, 0, 8, 0]) }?;
    Ok(wanted.revents & libc::POLLHUP != 0)
}

/// How often, and how long after each other, a probe tries what this user may pin.
const RETRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(4);

/// Whether a message of `size` bytes may be pinned; tried, not guessed.
///
/// # Errors
/// What is missing.
pub fn probe(inet: Inet, size: usize) -> Result<(), SetupError> {
    let listener = inet::socket(inet)?;
    let port = meeting::listen_inet(&listener, inet, meeting::backlog())?;
    let own = inet::socket(inet)?;
    // Nobody reads, so a send must not wait for room.
    meeting::connect_inet(&own, SocketAddr::new(inet.host, port.number), 0)?;
    crate::io::pipe::set_nonblocking(&own)?;
    enable(&own)?;
    let mut bytes = Buffer::new(size.max(1), 0)?;
    let mut sent = send(own.as_fd(), bytes.all_mut());
    // Other processes of this user may have pinned what is allowed, but they let go of it again.
    for _ in 0..RETRIES {
        if sent != Err(libc::ENOBUFS) {
            break;
        }
        std::thread::sleep(PAUSE);
        sent = send(own.as_fd(), bytes.all_mut());
    }
    match sent {
        Ok(_) => Ok(()),
        Err(libc::ENOBUFS) => {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
            let limit = limit.map_or("unlimited".into(), |bytes| format!("{bytes} bytes"));
            // Beside its own pages the kernel counts two for every send.
            let wanted = size.div_ceil(1024) + 2 * rustix::param::page_size() / 1024;
            let what = format!(
                "a send of {size} bytes may not be pinned (RLIMIT_MEMLOCK, for all processes of this user, is {limit}, or net.core.optmem_max is too low)"
            );
            Err(Missing::new(what, format!("ulimit -l {wanted} or more, or CAP_IPC_LOCK")).into())
        }
        Err(code) => Err(SetupError::sys("send with MSG_ZEROCOPY", code)),
    }
    .and_then(|()| socket::shutdown_send(&own).map_err(|code| SetupError::sys("shutdown", code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{errno, stream};

    #[test]
    fn every_send_gets_its_notice_and_loopback_copies() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let own = OwnedFd::from(std::net::TcpStream::connect(address).expect("connected"));
        let peer = OwnedFd::from(listener.accept().expect("a connection").0);
        enable(&own).expect("Linux 4.14");
        assert_eq!(notice(own.as_fd()), Err(errno::EAGAIN));
        for _ in 0..3 {
            assert_eq!(send(own.as_fd(), b"some bytes"), Ok(10));
            assert_eq!(stream::read(peer.as_fd(), &mut [0; 64]), Ok(10));
        }
        let mut next = 0;
        while next < 3 {
            match notice(own.as_fd()) {
                Ok(Some(notice)) => {
                    assert_eq!((notice.first, notice.is_copied), (next, true));
                    next = notice.last + 1;
                }
                other => assert!(matches!(other, Err(errno::EAGAIN)), "{other:?}"),
            }
            if next < 3 {
                assert_eq!(sleep(own.as_fd()), Ok(false));
            }
        }
    }
}
