//! Sets of System V semaphores. They have a key and outlive every process.
//!
//! # Safety
//! An operation is a live `sembuf`, and exactly one is announced.

use crate::io::names::{SYSV_SEMAPHORES, Unlink};
use crate::io::{raw, system_v};
use ipcperf_core::{Seat, SetupError};
use std::path::Path;

/// `errno` of `semget` where the kernel was built without semaphores.
pub const NOT_BUILT_IN: i32 = libc::ENOSYS;
/// `errno` of `semget` when as many sets or semaphores exist as `kernel.sem` allows.
pub const TOO_MANY: i32 = libc::ENOSPC;

/// A set of two semaphores, one for each direction, removed when dropped.
#[derive(Debug)]
pub struct Set {
    id: i32,
    _noted: Unlink,
}

impl Set {
    /// Makes a set that only this user may use, both semaphores at zero, noted in the ledger of the run.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create(directory: &Path) -> Result<Self, SetupError> {
        let get = |key, flags| get(key, 2, flags);
        let (id, noted) = system_v::create(directory, SYSV_SEMAPHORES, "semget", get)?;
        Ok(Self { id, _noted: noted })
    }

    /// Its number, valid until it is removed.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // Gone already if somebody else removed it.
        let _ = remove(self.id);
    }
}

/// Linux makes all semaphores of a set zero (`semget(2)`).
fn get(key: i32, count: i32, flags: i32) -> Result<i32, i32> {
    // SAFETY: takes three integers.
    system_v::number(unsafe { libc::semget(key, count, flags) })
}

fn remove(id: i32) -> Result<bool, i32> {
    // SAFETY: IPC_RMID takes no argument.
    system_v::removed(unsafe { libc::semctl(id, 0, libc::IPC_RMID) })
}

/// Removes the set with `key`; `false` if there is none.
///
/// # Errors
/// The `errno`, `EPERM` for a set of another user.
pub fn remove_by_key(key: i32) -> Result<bool, i32> {
    system_v::remove_by_key(key, |key| get(key, 0, 0), remove)
}

/// One end of a set.
#[derive(Debug)]
pub struct Semaphores {
    id: i32,
    seat: Seat,
}

impl Semaphores {
    /// The end of `seat` of the set with this number.
    #[must_use]
    pub fn attach(id: i32, seat: Seat) -> Self {
        Self { id, seat }
    }

    #[inline(always)]
    fn add(&self, to: Seat, change: i16) -> Result<(), i32> {
        let mut step = libc::sembuf { sem_num: to.index() as u16, sem_op: change, sem_flg: 0 };
        let at = (&raw mut step) as usize;
        // SAFETY: see the module.
        let done = unsafe { raw::call3(libc::SYS_semop, self.id as usize, at, 1) };
        match done {
            Ok(_) => Ok(()),
            // The set was removed before the call rather than during it.
            Err(libc::EINVAL) => Err(libc::EIDRM),
            Err(code) => Err(code),
        }
    }

    /// Counts the peer's semaphore up.
    ///
    /// # Errors
    /// The `errno`: `EIDRM` once the set is gone, `ERANGE` at 32767 (`SEMVMX`).
    #[inline(always)]
    pub fn post(&self) -> Result<(), i32> {
        self.add(self.seat, 1)
    }

    /// Counts its own semaphore down; sleeps while it is zero.
    ///
    /// # Errors
    /// The `errno`: `EIDRM` once the set is gone.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), i32> {
        self.add(self.seat.other(), -1)
    }
}
