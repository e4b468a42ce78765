//! Receives from one-to-one SCTP sockets.
//!
//! # Safety
//! The header and its vector lie on the caller's stack; pointer and length of the vector come from the same slice.

use crate::io::raw;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Receives one message and returns its length; if it was only a part of one, whatever its length, a number above the
/// slice's. The rest would be received next, as if it were another message.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn receive(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
    let len = into.len();
    let mut vector = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: len };
    // SAFETY: integers and pointers that may be null; some C libraries add padding that has no name here.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    let at = (&raw mut message) as usize;
    // SAFETY: the slice is valid for writes of its length; nothing else is asked for.
    let got = unsafe { raw::call3(libc::SYS_recvmsg, fd.as_raw_fd() as usize, at, 0) }?;
    let is_whole = got == 0 || message.msg_flags & libc::MSG_EOR != 0;
    Ok(if is_whole { got } else { len.saturating_add(1) })
}
