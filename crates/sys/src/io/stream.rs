//! `read` and `write` on whatever is a descriptor: pipes, stream sockets and event counters run the same code.
//!
//! # Safety
//! Pointers and lengths come from the same slice; `read` writes only inside it, `write` only reads it.

use crate::io::raw;
use std::os::fd::{AsRawFd, BorrowedFd};

/// One `read`. `Ok(0)` for a slice that is not empty means the end.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
    // SAFETY: the slice is valid for writes of its length.
    unsafe {
        raw::call3(libc::SYS_read, fd.as_raw_fd() as usize, into.as_mut_ptr() as usize, into.len())
    }
}

/// One `write`.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn write(fd: BorrowedFd<'_>, from: &[u8]) -> Result<usize, i32> {
    // SAFETY: the slice is valid for reads of its length.
    unsafe {
        raw::call3(libc::SYS_write, fd.as_raw_fd() as usize, from.as_ptr() as usize, from.len())
    }
}
