//! Directories whose arrivals are told: `inotify(7)`.
//!
//! # Safety
//! A read fills at most one [`Arrival`], a struct of integers and bytes without gaps.

use crate::io::failed;
use crate::io::{names, raw};
use ipcperf_core::{Missing, SetupError};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init, remove_watch};
use rustix::io::Errno;
use std::cell::RefCell;
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
/// `Unavailable` with the limit that was reached; otherwise the call that failed.
pub fn arrivals(directory: &Path) -> Result<OwnedFd, SetupError> {
    watching(directory, WatchFlags::MOVED_TO)
}

/// Opens an instance that tells of what happens to `path`.
///
/// # Errors
/// `Unavailable` with the limit that was reached; otherwise the call that failed.
pub(crate) fn watching(path: &Path, what: WatchFlags) -> Result<OwnedFd, SetupError> {
    let instance = instance()?;
    add(&instance, path, what)?;
    Ok(instance)
}

thread_local! {
    /// The instance that this thread tries watches with. It stays open: to close one with a watch takes about ten
    /// milliseconds, until the kernel knows that nobody uses the watch any more (SRCU).
    static TRIED: RefCell<Option<OwnedFd>> = const { RefCell::new(None) };
}

/// Whether `path` can be watched, found out by trying.
///
/// # Errors
/// `Unavailable` with the limit that was reached; otherwise the call that failed.
pub fn try_out(path: &Path) -> Result<(), SetupError> {
    TRIED.with_borrow_mut(|kept| {
        let instance = kept.take().map_or_else(instance, Ok)?;
        let watch = add(&instance, path, WatchFlags::MODIFY)?;
        // If that fails, the watch ends with its path.
        let _ = remove_watch(&instance, watch);
        *kept = Some(instance);
        Ok(())
    })
}

fn instance() -> Result<OwnedFd, SetupError> {
    init(CreateFlags::CLOEXEC).map_err(|error| match error {
        Errno::MFILE => SetupError::from(Missing::new(
            "this user has as many inotify instances as fs.inotify.max_user_instances allows, or this process as many open files as it may have",
            "sysctl fs.inotify.max_user_instances=512",
        )),
        Errno::NOSYS => {
            Missing::new("this kernel has no inotify", "a kernel with CONFIG_INOTIFY_USER").into()
        }
        other => failed("inotify_init1")(other),
    })
}

/// Lets an instance tell of what happens to `path`; the number of the watch.
fn add(instance: &OwnedFd, path: &Path, what: WatchFlags) -> Result<i32, SetupError> {
    add_watch(instance, path, what).map_err(|error| match error {
        Errno::NOSPC => SetupError::from(Missing::new(
            "this user watches as many files as fs.inotify.max_user_watches allows",
            "sysctl fs.inotify.max_user_watches=65536",
        )),
        other => failed(format!("inotify_add_watch in {}", names::place(path)))(other),
    })
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
