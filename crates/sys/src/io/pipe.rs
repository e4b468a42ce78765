//! Pipes and FIFOs.

pub mod pool;
pub mod splice;

use crate::control::retry;
use crate::io::failed;
use crate::io::names::{self, Unlink};
use crate::limits;
use crate::sysctl;
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::param::page_size;
use rustix::pipe::PipeFlags;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// An anonymous pipe.
#[derive(Debug)]
pub struct Pair {
    /// The end to read from.
    pub read: OwnedFd,
    /// The end to write to.
    pub write: OwnedFd,
}

/// Makes an anonymous pipe.
///
/// # Errors
/// `pipe2` failed.
pub fn pair() -> Result<Pair, SetupError> {
    pair_with(PipeFlags::CLOEXEC)
}

/// Makes an anonymous pipe in packet mode (`O_DIRECT`): a read takes what one write of up to `PIPE_BUF` bytes put in.
///
/// # Errors
/// `pipe2` failed.
pub fn packet_pair() -> Result<Pair, SetupError> {
    pair_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT)
}

fn pair_with(flags: PipeFlags) -> Result<Pair, SetupError> {
    match rustix::pipe::pipe_with(flags) {
        Ok((read, write)) => Ok(Pair { read, write }),
        // Also the answer where all files of the system are used up.
        Err(Errno::NFILE) if !limits::has_no_quota() && pages("hard") > 0 => {
            Err(quota("hard", "a pipe").into())
        }
        Err(error) => Err(failed("pipe2")(error)),
    }
}

/// Pages that the kernel gives to a pipe of which nobody asks for another capacity (`PIPE_DEF_BUFFERS`).
const USUAL_PAGES: u64 = 16;

/// Bytes that a pipe holds of which nobody asks for another capacity, where no quota is in the way.
#[must_use]
pub fn usual_capacity() -> u64 {
    USUAL_PAGES * page_size() as u64
}

/// Why a pipe of this user may hold less than [`usual_capacity`].
#[must_use]
pub fn shortage() -> Missing {
    match sysctl::number("fs/pipe-max-size") {
        Some(most) if most < usual_capacity() => Missing::new(
            format!("fs.pipe-max-size is {most}"),
            format!("sysctl fs.pipe-max-size={}", usual_capacity()),
        ),
        _ => quota("soft", "more"),
    }
}

/// A quota of pages for the pipes of a user, `soft` or `hard`; 0 is none.
fn pages(which: &str) -> u64 {
    sysctl::number(&format!("fs/pipe-user-pages-{which}")).unwrap_or(0)
}

/// What it means that a user has reached such a quota.
fn quota(which: &str, wanted: &str) -> Missing {
    let (name, pages) = (format!("fs.pipe-user-pages-{which}"), pages(which));
    let what =
        format!("with {wanted} the pipes of this user would hold more pages than {name} ({pages})");
    Missing::new(what, format!("sysctl {name}=0 (no limit), or close other pipes"))
}

/// Asks for a capacity where one is given, and returns the one in force, in bytes. The kernel rounds up to a power of
/// two of pages.
///
/// # Errors
/// `Unavailable` when the capacity is above what this user may have; otherwise the failed `fcntl`.
pub fn set_capacity(pipe: impl AsFd, bytes: Option<u64>) -> Result<u64, SetupError> {
    if let Some(bytes) = bytes {
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        match rustix::pipe::fcntl_setpipe_size(&pipe, size) {
            Ok(_) => {}
            Err(Errno::PERM) => return Err(too_large(bytes).into()),
            Err(error) => return Err(failed(format!("F_SETPIPE_SZ {bytes}"))(error)),
        }
    }
    let size = rustix::pipe::fcntl_getpipe_size(&pipe).map_err(failed("F_GETPIPE_SZ"))?;
    Ok(size as u64)
}

/// Why this user may not have a pipe of so many bytes.
fn too_large(bytes: u64) -> Missing {
    let rounded = bytes.max(page_size() as u64).checked_next_power_of_two().unwrap_or(u64::MAX);
    match sysctl::number("fs/pipe-max-size") {
        Some(most) if rounded > most => Missing::new(
            format!("a pipe of {} is above fs.pipe-max-size ({most})", format_size(rounded)),
            format!("sysctl fs.pipe-max-size={rounded}"),
        ),
        _ => {
            let which = if pages("soft") > 0 { "soft" } else { "hard" };
            let pages = rounded / page_size() as u64;
            let wanted = format!("one of {} ({pages} pages)", format_size(rounded));
            quota(which, &wanted)
        }
    }
}

/// Makes a FIFO that only this user may open; it is unlinked when the guard is dropped.
///
/// # Errors
/// `mknod` failed.
pub fn make_fifo(path: PathBuf) -> Result<Unlink, SetupError> {
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0)
        .map_err(failed(format!("mkfifo in {}", names::place(&path))))?;
    Ok(Unlink::new(path))
}

/// Whether this process may make FIFOs at all. It makes none: this name exists, and only who may make one is told so.
///
/// # Errors
/// `mknod` is refused.
pub fn may_make_fifos() -> Result<(), SetupError> {
    match rustix::fs::mknodat(rustix::fs::CWD, "/", FileType::Fifo, Mode::RUSR, 0) {
        Err(error) if error != Errno::EXIST => Err(failed("mkfifo")(error)),
        _ => Ok(()),
    }
}

/// Which end of a FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// For reading.
    Read,
    /// For writing.
    Write,
}

/// Opens one end; sleeps until somebody opens the other.
///
/// # Errors
/// `open` failed.
pub fn open_fifo(path: &Path, end: End) -> Result<OwnedFd, SetupError> {
    let flags = match end {
        End::Read => OFlags::RDONLY,
        End::Write => OFlags::WRONLY,
    };
    retry(|| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()))
        .map_err(failed(format!("open a FIFO in {}", names::place(path))))
}

/// Makes reads and writes return `EAGAIN` instead of sleeping.
///
/// # Errors
/// `fcntl` failed.
pub fn set_nonblocking(fd: impl AsFd) -> Result<(), SetupError> {
    let flags = rustix::fs::fcntl_getfl(&fd).map_err(failed("F_GETFL"))?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK).map_err(failed("F_SETFL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_in_force_is_at_least_the_one_asked_for() {
        let pipe = pair().expect("a pipe");
        assert_eq!(set_capacity(&pipe.write, Some(5000)).expect("allowed"), 8192);
        assert_eq!(set_capacity(&pipe.read, None).expect("a pipe"), 8192);
    }

    #[test]
    fn what_is_no_pipe_has_no_capacity() {
        let file = tempfile::tempfile().expect("a file");
        assert!(matches!(set_capacity(file, Some(4096)), Err(SetupError::Sys { .. })));
    }
}
