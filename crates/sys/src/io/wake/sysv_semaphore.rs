//! Sets of System V semaphores. They have a key and outlive every process.
//!
//! # Safety
//! An operation is a live `sembuf`, and exactly one is announced.

use crate::io::names::{SYSV_SEMAPHORES, Unlink};
use crate::io::raw;
use crate::io::system_v::{self, Most};
use ipcperf_core::{Missing, Seat, SetupError};
use std::path::Path;

/// The four numbers of `kernel.sem` that the kernel has by default (`proc(5)`).
const DEFAULTS: &str = "kernel.sem='32000 1024000000 500 32000'";
/// How many sets there may be: the fourth of them.
const MOST_SETS: Most = Most {
    what: "sets of System V semaphores",
    name: "the fourth number of kernel.sem",
    default: 32_000,
    set: DEFAULTS,
    letter: 's',
};
/// How many semaphores in all sets: the second.
const MOST: Most = Most {
    what: "System V semaphores",
    name: "the second number of kernel.sem",
    default: 1_024_000_000,
    ..MOST_SETS
};

/// What `semget` says where there is no room for a set (`semget(2)`).
fn no_set(code: i32) -> Missing {
    let text = std::fs::read_to_string("/proc/sys/kernel/sem").unwrap_or_default();
    let limit = |at: usize| text.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    if code == libc::EINVAL {
        let most = limit(0).unwrap_or(0);
        let what =
            format!("a set of {PAIR} semaphores is above the first number of kernel.sem ({most})");
        return Missing::new(what, format!("sysctl {DEFAULTS}"));
    }
    let sets = system_v::objects("sem", 1).len() as u64;
    match (limit(3), limit(1)) {
        (Some(most), Some(all)) if sets < most => MOST.reached(all),
        (most, _) => MOST_SETS.reached(most.unwrap_or(MOST_SETS.default)),
    }
}

/// Semaphores of a set, one for each direction.
const PAIR: i32 = 2;

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
    /// `Unavailable` where the kernel has none, or no more; otherwise the call that failed.
    pub fn create(directory: &Path) -> Result<Self, SetupError> {
        let get = |key, flags| get(key, PAIR, flags);
        let made = system_v::create(directory, SYSV_SEMAPHORES, "semget", get);
        let (id, noted) = made.map_err(|error| match error {
            SetupError::Sys { call, code: libc::ENOSYS } if call == "semget" => Missing::new(
                "this kernel has no System V semaphores",
                "a kernel with CONFIG_SYSVIPC",
            )
            .into(),
            SetupError::Sys { call, code: code @ (libc::ENOSPC | libc::EINVAL) }
                if call == "semget" =>
            {
                no_set(code).into()
            }
            other => other,
        })?;
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
