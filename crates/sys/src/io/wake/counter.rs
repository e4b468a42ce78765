//! Event counters. Reads and writes of them are those of [`stream`](crate::io::stream).

use crate::io::duplicate;
use crate::io::failed;
use ipcperf_core::SetupError;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;

/// Makes a counter at zero and returns two descriptors of it, one for each side.
///
/// # Errors
/// `eventfd2` or `fcntl` failed.
pub fn create() -> Result<(OwnedFd, OwnedFd), SetupError> {
    pair(EventfdFlags::CLOEXEC)
}

/// Makes a counter of which each read takes one (`EFD_SEMAPHORE`), at zero; otherwise as [`create`].
///
/// # Errors
/// As [`create`].
pub fn create_semaphore() -> Result<(OwnedFd, OwnedFd), SetupError> {
    pair(EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)
}

fn pair(flags: EventfdFlags) -> Result<(OwnedFd, OwnedFd), SetupError> {
    let counter = eventfd(0, flags).map_err(failed("eventfd2"))?;
    let second = duplicate(&counter)?;
    Ok((counter, second))
}
