//! Moving references to pages instead of bytes: `vmsplice`, `splice`, `tee`, `sendfile`.
//!
//! # Safety
//! Pointers and lengths come from the same slice or from a live local. After `vmsplice` the kernel keeps references to
//! the pages of the slice and reads them later; it never writes to them, so the memory stays ours, and what is written
//! too early is a wrong message and not undefined behaviour. Offsets that are not passed are null.

use crate::io::failed;
use crate::io::file::fresh::memfd;
use crate::io::pipe::Pair;
use crate::io::pipe::pool::Pool;
use crate::io::raw;
use ipcperf_core::SetupError;
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The page size in bytes.
#[must_use]
pub fn page() -> usize {
    rustix::param::page_size()
}

/// Whether a call that finds no room or no data sleeps until there is some. It is said in each call, since `vmsplice` does not look
/// at `O_NONBLOCK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WouldBlock {
    /// It sleeps.
    Sleeps,
    /// It fails with `EAGAIN` (`SPLICE_F_NONBLOCK`).
    Fails,
}

impl WouldBlock {
    #[inline(always)]
    const fn flag(self) -> usize {
        match self {
            Self::Sleeps => 0,
            Self::Fails => libc::SPLICE_F_NONBLOCK as usize,
        }
    }
}

/// Puts references to the pages of `from` into a pipe and returns how many bytes they stand for. `gift` says that the
/// pages may be taken away instead of copied by the process that splices them on.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn vmsplice(
    pipe: BorrowedFd<'_>,
    from: &[u8],
    gift: bool,
    would_block: WouldBlock,
) -> Result<usize, i32> {
    let part = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    let flags = would_block.flag() | if gift { libc::SPLICE_F_GIFT as usize } else { 0 };
    let at = (&raw const part) as usize;
    // SAFETY: one live part; on the writing end of a pipe the kernel only reads it.
    unsafe { raw::call6(libc::SYS_vmsplice, [pipe.as_raw_fd() as usize, at, 1, flags, 0, 0]) }
}

/// Moves up to `len` bytes from one descriptor to another without a way through this process. One of them is a pipe.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, len: usize) -> Result<usize, i32> {
    splice_or(from, to, len, WouldBlock::Sleeps)
}

/// The same, which need not sleep.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn splice_or(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    len: usize,
    would_block: WouldBlock,
) -> Result<usize, i32> {
    let (from, to) = (from.as_raw_fd() as usize, to.as_raw_fd() as usize);
    // SAFETY: no offsets are passed, so no memory is touched.
    unsafe { raw::call6(libc::SYS_splice, [from, 0, to, 0, len, would_block.flag()]) }
}

/// Gives a second pipe references to up to `len` bytes that stay in the first.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn tee(from: BorrowedFd<'_>, to: BorrowedFd<'_>, len: usize) -> Result<usize, i32> {
    let (from, to) = (from.as_raw_fd() as usize, to.as_raw_fd() as usize);
    // SAFETY: takes no pointers.
    unsafe { raw::call6(libc::SYS_tee, [from, to, len, 0, 0, 0]) }
}

/// Sends up to `len` bytes of `file` from `offset` on.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn sendfile(
    to: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    offset: usize,
    len: usize,
) -> Result<usize, i32> {
    let mut offset = offset as u64;
    let at = (&raw mut offset) as usize;
    let (to, file) = (to.as_raw_fd() as usize, file.as_raw_fd() as usize);
    // SAFETY: the offset is a live 64-bit local, which the kernel reads and writes.
    unsafe { raw::call6(libc::SYS_sendfile, [to, file, at, len, 0, 0]) }
}

/// Where pages go that nobody looks at. Opened for both directions: it is one object for all, and no end of anything.
///
/// # Errors
/// `/dev/null` cannot be opened.
pub fn null() -> Result<OwnedFd, SetupError> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed("open /dev/null"))
}

/// Sends one byte of a pool into an empty pipe and drops it, to see whether that is allowed here.
///
/// # Errors
/// The call that failed.
pub fn try_vmsplice(pipe: &Pair, pool: &mut Pool) -> Result<(), SetupError> {
    let byte = pool.place(1).ok_or_else(|| SetupError::sys("vmsplice", libc::EINVAL))?;
    let sent = vmsplice(pipe.write.as_fd(), byte, false, WouldBlock::Sleeps);
    sent.map_err(|code| SetupError::sys("vmsplice", code))?;
    try_drop(pipe)
}

/// Puts one byte into an empty pipe of one's own.
fn feed(pipe: &Pair) -> Result<(), SetupError> {
    crate::io::stream::write(pipe.write.as_fd(), b"x")
        .map(drop)
        .map_err(|code| SetupError::sys("write", code))
}

/// Splices one byte through an empty pipe to a socket, to see whether that is allowed here.
///
/// # Errors
/// The call that failed.
pub fn try_splice(pipe: &Pair, socket: BorrowedFd<'_>) -> Result<(), SetupError> {
    feed(pipe)?;
    let moved = splice(pipe.read.as_fd(), socket, 1);
    moved.map(drop).map_err(|code| SetupError::sys("splice", code))
}

/// Duplicates one byte from an empty pipe to another and drops it, to see whether that is allowed here.
///
/// # Errors
/// The call that failed.
pub fn try_tee(one: &Pair, two: &Pair) -> Result<(), SetupError> {
    feed(one)?;
    let given = tee(one.read.as_fd(), two.write.as_fd(), 1);
    given.map_err(|code| SetupError::sys("tee", code))?;
    try_drop(one)
}

fn try_drop(pipe: &Pair) -> Result<(), SetupError> {
    let dropped = splice(pipe.read.as_fd(), null()?.as_fd(), 1);
    dropped.map(drop).map_err(|code| SetupError::sys("splice", code))
}

/// Sends one byte of an anonymous file over a socket, to see whether that is allowed here.
///
/// # Errors
/// The call that failed.
pub fn try_sendfile(socket: BorrowedFd<'_>) -> Result<(), SetupError> {
    let file = memfd(1).map_err(|code| SetupError::sys("memfd_create", code))?;
    let sent = sendfile(socket, file.fd(), 0, 1);
    sent.map(drop).map_err(|code| SetupError::sys("sendfile", code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, stream};

    #[test]
    fn a_page_arrives_through_every_call() {
        let [one, two] = [pipe::pair().expect("a pipe"), pipe::pair().expect("a pipe")];
        let null = null().expect("it exists everywhere");
        let message = [7_u8; 100];
        let sends = |sleep| vmsplice(one.write.as_fd(), &message, false, sleep);
        assert_eq!(sends(WouldBlock::Sleeps), Ok(100));
        assert_eq!(tee(one.read.as_fd(), two.write.as_fd(), 100), Ok(100));
        assert_eq!(splice(one.read.as_fd(), null.as_fd(), 100), Ok(100));
        let drops = |sleep| splice_or(one.read.as_fd(), null.as_fd(), 100, sleep);
        assert_eq!(drops(WouldBlock::Fails), Err(libc::EAGAIN), "it is empty");
        let full = std::iter::repeat_with(|| sends(WouldBlock::Fails)).find(Result::is_err);
        assert_eq!(full, Some(Err(libc::EAGAIN)), "it is full");
        while drops(WouldBlock::Fails).is_ok() {}
        let mut got = [0; 100];
        assert_eq!(stream::read(two.read.as_fd(), &mut got), Ok(100));
        assert_eq!(got, message);
        let file = tempfile::tempfile().expect("a file");
        assert_eq!(stream::write(file.as_fd(), b"0123456789"), Ok(10));
        assert_eq!(sendfile(one.write.as_fd(), file.as_fd(), 4, 6), Ok(6));
        assert_eq!(stream::read(one.read.as_fd(), &mut got), Ok(6));
        assert_eq!(&got[..6], b"456789");
    }
}
