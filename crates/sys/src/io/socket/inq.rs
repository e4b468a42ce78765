//! Reads that report how much waits behind them: `SO_INQ` of UNIX stream sockets (Linux 6.17), `TCP_INQ` of TCP (4.18).
//!
//! # Safety
//! The header, its vector and its control message lie on the caller's stack; pointer and length of the vector come from the
//! same slice.

use crate::io::raw;
use ipcperf_core::Missing;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// `SO_INQ` (include/uapi/asm-generic/socket.h), for which `libc` has no name yet.
const SO_INQ: libc::c_int = 84;

/// Sockets that can report how many bytes are left after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reporting {
    /// UNIX stream sockets.
    Unix,
    /// TCP.
    Tcp,
}

/// From now on [`read`] reports how much waits.
///
/// # Errors
/// The kernel's: `ENOPROTOOPT` where it cannot.
pub fn enable(socket: impl AsFd) -> io::Result<()> {
    let (level, name) = match rustix::net::sockopt::socket_domain(&socket)? {
        rustix::net::AddressFamily::UNIX => (libc::SOL_SOCKET, SO_INQ),
        _ => (libc::IPPROTO_TCP, libc::TCP_INQ),
    };
    let on: libc::c_int = 1;
    // SAFETY: the value is an integer of the size that is given, and lives until the call is over.
    let done = unsafe {
        let (at, len) = ((&raw const on).cast(), size_of_val(&on) as libc::socklen_t);
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, at, len)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether this kernel can.
///
/// # Errors
/// What is missing.
pub fn probe(family: Reporting) -> Result<(), Missing> {
    let (domain, name, since) = match family {
        Reporting::Unix => (rustix::net::AddressFamily::UNIX, "SO_INQ", "6.17"),
        Reporting::Tcp => (rustix::net::AddressFamily::INET, "TCP_INQ", "4.18"),
    };
    let socket = rustix::net::socket(domain, rustix::net::SocketType::STREAM, None);
    let enabled = socket.map_err(io::Error::from).and_then(enable);
    enabled.map_err(|error| {
        let what = format!("reads do not report what waits ({name}: {error})");
        Missing::new(what, format!("Linux {since} or newer, or another --style"))
    })
}

/// Room for a control message with one integer.
#[repr(C)]
struct Report {
    header: libc::cmsghdr,
    value: u64,
}

/// Receives once; returns how many bytes came, and how many wait behind them, where that was reported.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<(usize, Option<u32>), i32> {
    let mut vector = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut control = MaybeUninit::<Report>::zeroed();
    // SAFETY: integers and pointers that may be null; some C libraries add padding that has no name here.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Report>() as _;
    let at = (&raw mut message) as usize;
    // SAFETY: the slice is valid for writes of its length, and the kernel writes no further than the control message is long.
    let got = unsafe { raw::call3(libc::SYS_recvmsg, fd.as_raw_fd() as usize, at, 0) }?;
    // SAFETY: zeroed before the kernel wrote to it; every content is a value.
    let Report { header, value } = unsafe { control.assume_init() };
    let is_reported = matches!(
        (header.cmsg_level, header.cmsg_type),
        (libc::SOL_SOCKET, SO_INQ) | (libc::SOL_TCP, libc::TCP_INQ)
    );
    // The integer is the first half of the room, whatever the order of its bytes.
    let first = u32::from_ne_bytes(value.to_ne_bytes()[..4].try_into().unwrap_or_default());
    Ok((got, is_reported.then_some(first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::socket::{Kind, pair};
    use crate::io::stream;
    use crate::skipped::skipped;

    #[test]
    fn a_read_reports_what_waits_behind_it() {
        if let Err(missing) = probe(Reporting::Unix) {
            skipped("so-inq", missing);
            return;
        }
        let (near, far) = pair(Kind::Stream).expect("sockets");
        enable(&near).expect("it was probed");
        stream::write(far.as_fd(), b"seven by").expect("room");
        let mut three = [0; 3];
        assert_eq!(read(near.as_fd(), &mut three), Ok((3, Some(5))));
        assert_eq!(&three, b"sev");
        assert_eq!(read(near.as_fd(), &mut [0; 16]), Ok((5, Some(0))));
        drop(far);
        assert_eq!(read(near.as_fd(), &mut [0; 16]).expect("the end").0, 0);
        let (near, far) = pair(Kind::Stream).expect("sockets");
        stream::write(far.as_fd(), b"x").expect("room");
        assert_eq!(read(near.as_fd(), &mut [0; 16]), Ok((1, None)), "nobody has asked for it");
    }

    #[test]
    fn every_kernel_that_is_supported_reports_it_of_tcp() {
        probe(Reporting::Tcp).expect("Linux 4.18");
    }
}
