//! `sendto` and `recvfrom` on connected sockets that keep message boundaries.
//!
//! # Safety
//! Pointers and lengths come from the same slice; the address arguments are null.

use crate::io::raw;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sends one message.
///
/// # Errors
/// The `errno`, `EMSGSIZE` for a message that is too long.
#[inline(always)]
pub fn send(fd: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
    let (at, len) = (message.as_ptr() as usize, message.len());
    let flags = libc::MSG_NOSIGNAL as usize;
    // SAFETY: the slice is valid for reads of its length; no address is passed.
    unsafe { raw::call6(libc::SYS_sendto, [fd.as_raw_fd() as usize, at, len, flags, 0, 0]) }
}

/// Receives one message and returns its real length, which exceeds the slice's if the message was cut to fit.
///
/// # Errors
/// The `errno`, `EAGAIN` when the socket's receive timeout has passed.
#[inline(always)]
pub fn receive(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
    let (at, len) = (into.as_mut_ptr() as usize, into.len());
    let flags = libc::MSG_TRUNC as usize;
    // SAFETY: the slice is valid for writes of its length, which the kernel does not exceed also under MSG_TRUNC; no
    // address is asked for.
    unsafe { raw::call6(libc::SYS_recvfrom, [fd.as_raw_fd() as usize, at, len, flags, 0, 0]) }
}
