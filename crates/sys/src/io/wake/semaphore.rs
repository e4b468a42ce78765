//! POSIX semaphores in shared memory, `sem_overview(7)`: the ones of the C library.
//!
//! # Safety
//! A semaphore lies inside a mapping that outlives every use of it, and was initialised as shared between processes
//! before a descriptor of the memory left the process that made it.

use crate::io::last_errno;
use crate::io::wake::twins::Twins;
use ipcperf_core::{Seat, SetupError};
use std::os::fd::OwnedFd;

/// One end of two semaphores, one for each direction.
#[derive(Debug)]
pub struct Semaphores {
    both: Twins<libc::sem_t>,
    seat: Seat,
}

impl Semaphores {
    /// Makes the semaphores of a channel, both at zero, and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<[OwnedFd; 2], SetupError> {
        let both = Twins::<libc::sem_t>::create("ipcperf-semaphores")?;
        for seat in Seat::BOTH {
            // SAFETY: room for a semaphore that nobody uses yet.
            if unsafe { libc::sem_init(both.of(seat), 1, 0) } != 0 {
                return Err(SetupError::sys("sem_init", last_errno()));
            }
        }
        both.descriptors()
    }

    /// Becomes the end of `seat`.
    ///
    /// # Errors
    /// The descriptor is not of such memory.
    pub fn attach(fd: OwnedFd, seat: Seat) -> Result<Self, SetupError> {
        Ok(Self { both: Twins::from_fd(fd)?, seat })
    }

    /// Counts the peer's semaphore up; a system call only where somebody sleeps.
    ///
    /// # Errors
    /// The `errno`, `EOVERFLOW` at `SEM_VALUE_MAX`.
    #[inline(always)]
    pub fn post(&self) -> Result<(), i32> {
        // SAFETY: see the module.
        if unsafe { libc::sem_post(self.both.of(self.seat)) } == 0 { Ok(()) } else { Err(failed()) }
    }

    /// Counts its own semaphore down; sleeps while it is zero.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), i32> {
        // SAFETY: see the module.
        if unsafe { libc::sem_wait(self.both.of(self.seat.other())) } == 0 {
            Ok(())
        } else {
            Err(failed())
        }
    }
}

#[cold]
#[inline(never)]
fn failed() -> i32 {
    last_errno()
}
