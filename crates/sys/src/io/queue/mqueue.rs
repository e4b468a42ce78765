//! POSIX message queues. A queue is unlinked the moment it exists and travels as a descriptor.
//!
//! # Safety
//! Pointers and lengths come from the same slice; names are NUL-terminated; the timeout is null (none), and so is the
//! pointer through which a priority would be written.

use crate::io::names::{self, POSIX_QUEUE};
use crate::io::{last_errno, raw};
use crate::limits;
use crate::sysctl;
use ipcperf_core::{Missing, SetupError};
use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

/// How many messages of which size a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Messages.
    pub depth: u64,
    /// Bytes of the largest.
    pub size: u64,
}

/// Makes a queue that no other process can open: it has a name only from one system call to the next, and stands in the
/// ledger `directory` for as long.
///
/// # Errors
/// `Unavailable` where the kernel has none, or no more for this user; otherwise the call that failed. `EINVAL`: above the
/// limits in `/proc/sys/fs/mqueue`.
pub fn create(directory: &Path, name: &str, capacity: Capacity) -> Result<OwnedFd, SetupError> {
    let _noted = names::note(directory, POSIX_QUEUE, name, &[])?;
    let queue = open(name, capacity).map_err(refused)?;
    unlink(name).map_err(|code| SetupError::sys("mq_unlink", code))?;
    Ok(queue)
}

/// What `mq_open` says where there is no queue (`mq_open(3)`).
fn refused(code: i32) -> SetupError {
    match code {
        libc::ENOSYS => Missing::new(
            "this kernel has no POSIX message queues",
            "a kernel with CONFIG_POSIX_MQUEUE",
        ),
        // Or more than the open files of this process.
        libc::EMFILE => limits::no_queue(),
        libc::ENOSPC => {
            let most = sysctl::number("fs/mqueue/queues_max").unwrap_or(0);
            let what = format!("as many queues exist as fs.mqueue.queues_max ({most}) allows");
            let more = most.saturating_mul(2).max(256);
            Missing::new(what, format!("sysctl fs.mqueue.queues_max={more}"))
        }
        code => return SetupError::sys("mq_open", code),
    }
    .into()
}

fn path(name: &str) -> Result<CString, i32> {
    CString::new(format!("/{name}")).map_err(|_| libc::EINVAL)
}

fn open(name: &str, capacity: Capacity) -> Result<OwnedFd, i32> {
    let name = path(name)?;
    // SAFETY: a struct of integers, for which zero is a value.
    let mut limits: libc::mq_attr = unsafe { std::mem::zeroed() };
    limits.mq_maxmsg = capacity.depth.try_into().map_err(|_| libc::EINVAL)?;
    limits.mq_msgsize = capacity.size.try_into().map_err(|_| libc::EINVAL)?;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the name is NUL-terminated, the mode and the live attributes are what O_CREAT asks for.
    let queue =
        unsafe { libc::mq_open(name.as_ptr(), flags, 0o600 as libc::mode_t, &raw const limits) };
    if queue < 0 {
        return Err(last_errno());
    }
    // SAFETY: on Linux a queue descriptor is a file descriptor, and this one is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(queue) })
}

/// Removes a name; `false` if there was none.
///
/// # Errors
/// The `errno`.
pub fn unlink(name: &str) -> Result<bool, i32> {
    let name = path(name)?;
    // SAFETY: the name is NUL-terminated.
    match unsafe { libc::mq_unlink(name.as_ptr()) } {
        0 => Ok(true),
        _ => match last_errno() {
            libc::ENOENT | libc::ENOSYS => Ok(false),
            code => Err(code),
        },
    }
}

/// The capacity in force.
///
/// # Errors
/// `mq_getattr` failed.
pub fn capacity(queue: &OwnedFd) -> Result<Capacity, SetupError> {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut limits: libc::mq_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the attributes are live and writable.
    if unsafe { libc::mq_getattr(queue.as_raw_fd(), &raw mut limits) } != 0 {
        return Err(SetupError::sys("mq_getattr", last_errno()));
    }
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Ok(Capacity { depth: count(limits.mq_maxmsg), size: count(limits.mq_msgsize) })
}

/// The highest priority of a message, `MQ_PRIO_MAX` less one; 0 is the lowest.
pub const HIGHEST_PRIORITY: u32 = 32_767;

/// Sends one message at a priority up to [`HIGHEST_PRIORITY`]; sleeps while the queue is full.
///
/// # Errors
/// The `errno`, `EMSGSIZE` for a message that is too long, `EINVAL` for a higher priority.
#[inline(always)]
pub fn send(queue: BorrowedFd<'_>, message: &[u8], priority: u32) -> Result<usize, i32> {
    let (at, len) = (message.as_ptr() as usize, message.len());
    // SAFETY: the slice is valid for reads of its length.
    unsafe {
        let queue = queue.as_raw_fd() as usize;
        raw::call6(libc::SYS_mq_timedsend, [queue, at, len, priority as usize, 0, 0])
    }
}

/// Receives one message and returns its length. `into` must have room for the largest the queue takes.
///
/// # Errors
/// The `errno`, `EMSGSIZE` if there is less room.
#[inline(always)]
pub fn receive(queue: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
    let (at, len) = (into.as_mut_ptr() as usize, into.len());
    // SAFETY: the slice is valid for writes of its length.
    unsafe { raw::call6(libc::SYS_mq_timedreceive, [queue.as_raw_fd() as usize, at, len, 0, 0, 0]) }
}

/// A queue that stays behind, for the tests of what removes it.
#[cfg(test)]
pub(crate) fn create_named(name: &str) -> Result<OwnedFd, i32> {
    open(name, Capacity { depth: 1, size: 8 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn the_highest_priority_is_received_first_and_of_equal_ones_the_oldest() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = format!("ipcperf-priorities-{}", std::process::id());
        let capacity = Capacity { depth: 5, size: 1 };
        let queue = match create(directory.path(), &name, capacity) {
            Ok(queue) => queue,
            Err(missing) => return crate::skipped::skipped("posix-mq", missing),
        };
        let sent = [(1, 0), (2, 7), (3, HIGHEST_PRIORITY), (4, 7), (5, 0)];
        for (byte, priority) in sent {
            assert_eq!(send(queue.as_fd(), &[byte], priority), Ok(0));
        }
        assert_eq!(send(queue.as_fd(), &[6], HIGHEST_PRIORITY + 1), Err(libc::EINVAL));
        let received = sent.map(|_| {
            let mut into = [0];
            receive(queue.as_fd(), &mut into).map(|_| into[0])
        });
        assert_eq!(received, [3, 2, 4, 1, 5].map(Ok));
    }
}
