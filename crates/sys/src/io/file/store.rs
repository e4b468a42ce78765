//! Files that carry one message each: the calls of the measured path.
//!
//! # Safety
//! Paths are NUL-terminated strings that live for the call.

use crate::io::file::fresh::Handle;
use crate::io::raw;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

const CWD: usize = libc::AT_FDCWD as usize;
/// Only this user may open what has a name.
const PRIVATE: usize = 0o600;

/// Makes a file that must not exist.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn create(path: &CStr) -> Result<Handle, i32> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    open(path, flags, PRIVATE)
}

/// Makes a file without a name in a directory.
///
/// # Errors
/// The `errno`, `EOPNOTSUPP` or `EISDIR` where the file system cannot.
#[inline(always)]
pub fn create_unnamed(directory: &CStr) -> Result<Handle, i32> {
    open(directory, libc::O_RDWR | libc::O_TMPFILE | libc::O_CLOEXEC, PRIVATE)
}

/// Opens a file for reading.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn open_existing(path: &CStr) -> Result<Handle, i32> {
    open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0)
}

#[inline(always)]
fn open(path: &CStr, flags: i32, mode: usize) -> Result<Handle, i32> {
    let at = path.as_ptr() as usize;
    // SAFETY: see the module.
    let made = unsafe { raw::call6(libc::SYS_openat, [CWD, at, flags as usize, mode, 0, 0]) };
    made.map(Handle::new)
}

/// Removes a name.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn unlink(path: &CStr) -> Result<(), i32> {
    // SAFETY: see the module.
    unsafe { raw::call3(libc::SYS_unlinkat, CWD, path.as_ptr() as usize, 0) }.map(drop)
}

/// Gives a file another name.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn rename(from: &CStr, to: &CStr) -> Result<(), i32> {
    let (from, to) = (from.as_ptr() as usize, to.as_ptr() as usize);
    // SAFETY: see the module.
    unsafe { raw::call6(libc::SYS_renameat2, [CWD, from, CWD, to, 0, 0]) }.map(drop)
}

/// Goes to the first byte.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn rewind(file: BorrowedFd<'_>) -> Result<(), i32> {
    let (fd, from_start) = (file.as_raw_fd() as usize, libc::SEEK_SET as usize);
    // SAFETY: takes numbers.
    unsafe { raw::call3(libc::SYS_lseek, fd, 0, from_start) }.map(drop)
}
