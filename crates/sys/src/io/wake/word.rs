//! Two words of shared memory that wake by futex, one for each direction.
//!
//! # Safety
//! The mapping holds [`WakeWords::LINES`] lines of 128 bytes from its start (checked when it is made) and lives as
//! long as the value; a line is two atomics, for which every content is a value.

use crate::shm::SharedMemory;
use ipcperf_core::SetupError;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;

/// One direction. Two cache lines, because the adjacent-line prefetcher of x86 moves lines in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Line {
    /// Counts wake-ups; the word to sleep on. It changes with every wake-up also where the value repeats.
    pub turn: AtomicU32,
    /// What the last wake-up carried.
    pub value: AtomicU32,
}

/// The words of both directions.
#[derive(Debug)]
pub struct WakeWords(SharedMemory);

impl WakeWords {
    /// How many there are.
    pub const LINES: usize = 2;

    /// Makes them, all zero.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<Self, SetupError> {
        let memory = SharedMemory::create("ipcperf-words", Self::LINES * size_of::<Line>());
        memory.map(Self).map_err(failed)
    }

    /// Maps those another process made.
    ///
    /// # Errors
    /// The descriptor is not of such memory.
    pub fn from_fd(fd: OwnedFd) -> Result<Self, SetupError> {
        let memory = SharedMemory::from_fd(fd).map_err(failed)?;
        if memory.len() < Self::LINES * size_of::<Line>() {
            return Err(SetupError::Protocol("the shared memory is smaller than two words".into()));
        }
        Ok(Self(memory))
    }

    /// A descriptor to pass on.
    ///
    /// # Errors
    /// The kernel's, for example `EMFILE`.
    pub fn duplicate_fd(&self) -> Result<OwnedFd, SetupError> {
        self.0.duplicate_fd().map_err(failed)
    }

    /// The first direction.
    #[inline(always)]
    #[must_use]
    pub fn ping(&self) -> &Line {
        // SAFETY: the first line; see the module. The base is page-aligned.
        unsafe { &*self.0.as_ptr().cast::<Line>() }
    }

    /// The second direction.
    #[inline(always)]
    #[must_use]
    pub fn pong(&self) -> &Line {
        // SAFETY: the second line starts inside the mapping; see the module.
        let at = unsafe { self.0.as_ptr().cast::<Line>().add(1) };
        // SAFETY: it also ends inside; see the module.
        unsafe { &*at }
    }
}

fn failed(error: std::io::Error) -> SetupError {
    SetupError::sys("shared memory", error.raw_os_error().unwrap_or(libc::EIO))
}
