//! Two words of shared memory that wake by futex, one for each direction.

use crate::io::memory::shared::{Atomics, Shared};
use ipcperf_core::{Seat, SetupError};
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

// SAFETY: atomics alone.
unsafe impl Atomics for Line {}

/// The words of both directions.
#[derive(Debug)]
pub struct WakeWords(Shared<Line>);

impl WakeWords {
    /// Makes them, all zero, and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<[OwnedFd; 2], SetupError> {
        Shared::<Line>::create("ipcperf-words")?.descriptors()
    }

    /// Maps those another process made.
    ///
    /// # Errors
    /// The descriptor is not of such memory.
    pub fn attach(fd: OwnedFd) -> Result<Self, SetupError> {
        Shared::from_fd(fd).map(Self)
    }

    /// The line through which `seat` wakes the other.
    #[inline(always)]
    #[must_use]
    pub fn of(&self, seat: Seat) -> &Line {
        self.0.of(seat)
    }
}
