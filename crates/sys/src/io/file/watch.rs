//! Directories whose arrivals are told: `inotify(7)`.
//!
//! # Safety
//! A read fills at most one [`Arrival`], a struct of integers and bytes without gaps.

use crate::io::failed;
use crate::io::raw;
use ipcperf_core::{Missing, SetupError};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Bytes of a name with its end: the kernel rounds up to the size of an event, 16, so that a read into one
/// [`Arrival`] takes exactly one event.
pub const NAME: usize = 16;

/// One event: the head of `struct inotify_event`, and the name that follows it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Arrival {
    watch: i32,
    mask: u32,
    cookie: u32,
    len: u32,
    name: [u8; NAME],
}

impl Arrival {
    /// The name of what has arrived; `None` if the event is another one, such as that events were lost.
    #[inline(always)]
    #[must_use]
    pub fn name(&self) -> Option<&CStr> {
        if self.mask & libc::IN_MOVED_TO == 0 || self.len as usize != NAME {
            return None;
        }
        CStr::from_bytes_until_nul(&self.name).ok()
    }
}

/// Watches a directory for files that get a name in it by `rename`.
///
/// # Errors
/// `inotify_init1` or `inotify_add_watch` failed.
pub fn arrivals(directory: &Path) -> Result<OwnedFd, SetupError> {
    let watcher = inotify::init(CreateFlags::CLOEXEC).map_err(failed("inotify_init1"))?;
    inotify::add_watch(&watcher, directory, WatchFlags::MOVED_TO)
        .map_err(failed(format!("inotify_add_watch {}", directory.display())))?;
    Ok(watcher)
}

/// Why nothing can be watched.
#[must_use]
pub fn refused(call: &str, code: i32) -> Missing {
    match code {
        libc::ENOSYS => Missing::new("no inotify in this kernel", "CONFIG_INOTIFY_USER"),
        libc::EMFILE => Missing::new(
            format!("{call}: this user has fs.inotify.max_user_instances watchers already"),
            "raise fs.inotify.max_user_instances, or end who holds them",
        ),
        libc::ENOSPC => Missing::new(
            format!("{call}: this user watches fs.inotify.max_user_watches places already"),
            "raise fs.inotify.max_user_watches, or end who holds them",
        ),
        code => Missing::new(
            format!("{call}: {}", ipcperf_core::errno::text(code)),
            "allow inotify (seccomp)",
        ),
    }
}

/// Sleeps until something has arrived and returns how many bytes of the event were filled.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn next(watcher: BorrowedFd<'_>, arrival: &mut Arrival) -> Result<usize, i32> {
    let (fd, at) = (watcher.as_raw_fd() as usize, (&raw mut *arrival) as usize);
    // SAFETY: every content of an arrival is a value; the kernel writes at most its size.
    unsafe { raw::call3(libc::SYS_read, fd, at, size_of::<Arrival>()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn each_arrival_is_one_read_and_names_the_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).expect("a directory");
        let watcher = arrivals(&inner).expect("a watch");
        for name in ["message-1", "message-22"] {
            let staged = directory.path().join("staged");
            std::fs::write(&staged, name).expect("a file");
            std::fs::rename(&staged, inner.join(name)).expect("the same file system");
        }
        for name in [c"message-1", c"message-22"] {
            let mut arrival = Arrival::default();
            assert_eq!(next(watcher.as_fd(), &mut arrival), Ok(size_of::<Arrival>()));
            assert_eq!(arrival.name(), Some(name));
        }
    }
}
