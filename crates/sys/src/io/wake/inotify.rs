//! One file watched for modifications, `inotify(7)`.
//!
//! # Safety
//! Pointers and lengths come from the same slice.

use crate::io::file::watch::watching;
use crate::io::{failed, names, raw};
use ipcperf_core::SetupError;
use rustix::fs::inotify::WatchFlags;
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Bytes of an event without a name: a watched file, unlike a watched directory, has none to tell (`inotify(7)`).
const EVENT: usize = 16;
/// Room for one of them and no more, so that each read takes one.
pub type Event = [u8; EVENT];

/// Opens an instance that tells when the file at `path` is written to.
///
/// # Errors
/// `Unavailable` with the limit that was reached; otherwise the call that failed.
pub fn watch(path: &Path) -> Result<OwnedFd, SetupError> {
    watching(path, WatchFlags::MODIFY)
}

/// Makes the file at `path`, which only this user may open, and opens it for writing.
///
/// # Errors
/// The call that failed.
pub fn create_file(path: &Path) -> Result<OwnedFd, SetupError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map_err(failed(format!("open a file in {}", names::place(path))))
}

/// Writes the first byte of a file anew.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn modify(file: BorrowedFd<'_>) -> Result<usize, i32> {
    let byte = [1_u8];
    let args = [file.as_raw_fd() as usize, byte.as_ptr() as usize, byte.len(), 0, 0, 0];
    // SAFETY: the byte is valid for reads.
    unsafe { raw::call6(libc::SYS_pwrite64, args) }
}

/// Whether an event, as a read returned it, says that the file was written to.
#[inline(always)]
#[must_use]
pub fn is_modification(event: &Event) -> bool {
    // struct inotify_event: wd, mask, cookie, len (`inotify(7)`).
    let [_, _, _, _, a, b, c, d, ..] = *event;
    u32::from_ne_bytes([a, b, c, d]) & libc::IN_MODIFY != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::stream;
    use std::os::fd::AsFd;

    #[test]
    fn one_write_is_one_event_and_two_unread_ones_merge() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("watched");
        let file = create_file(&path).expect("a file");
        let instance = watch(&path).expect("a watch");
        rustix::io::ioctl_fionbio(&instance, true).expect("a flag");
        for writes in [1, 2] {
            for _ in 0..writes {
                assert_eq!(modify(file.as_fd()), Ok(1));
            }
            let mut event = [0; EVENT];
            assert_eq!(stream::read(instance.as_fd(), &mut event), Ok(EVENT));
            assert!(is_modification(&event));
            assert_eq!(stream::read(instance.as_fd(), &mut event), Err(libc::EAGAIN));
        }
    }
}
