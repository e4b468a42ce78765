//! System V shared memory. A segment has a key and outlives every process, unless it is marked for removal: then it
//! goes with the last process that has it attached, and on Linux more may attach until then (`shmctl(2)`).
//!
//! # Safety
//! Control structures are live and of the type the command asks for; addresses are chosen by the kernel.

use crate::io::last_errno;
use crate::io::names::SYSV_MEMORY;
use crate::io::system_v::{self, Most};
use crate::sysctl;
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use std::path::Path;
use std::ptr::NonNull;

/// How many segments there may be (`shmget(2)`).
const MOST: Most = Most {
    what: "segments of System V memory",
    name: "kernel.shmmni",
    default: 4096,
    set: "kernel.shmmni=4096",
    letter: 'm',
};

/// Which limit `shmget` has told of.
pub(crate) fn above_limit(len: usize, code: i32) -> Missing {
    let limit = |name: &str| sysctl::number(&format!("kernel/{name}")).unwrap_or(0);
    let asked = format_size(len as u64);
    let segments = system_v::objects("shm", 3);
    if code == libc::EINVAL {
        let what =
            format!("{asked} of System V memory are above kernel.shmmax ({})", limit("shmmax"));
        return Missing::new(what, format!("sysctl kernel.shmmax={len}"));
    }
    if segments.len() as u64 >= limit("shmmni") {
        return MOST.reached(limit("shmmni"));
    }
    let page = rustix::param::page_size() as u64;
    let used = segments.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)) / page;
    let what = format!(
        "{asked} of System V memory are above kernel.shmall ({} pages, {used} in use)",
        limit("shmall")
    );
    let needed = used.saturating_add(len as u64 / page).saturating_add(1);
    Missing::new(what, format!("sysctl kernel.shmall={needed}"))
}

/// How any process names the segment in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub i32);

/// `shmget` flag for 2 MiB pages: the logarithm of the size in the bits above `SHM_HUGE_SHIFT`, as in `shmget(2)`.
const HUGE_2M: i32 = libc::SHM_HUGETLB | 21 << 26;

/// Where a segment is attached, and how large it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attached {
    pub(crate) base: NonNull<u8>,
    pub(crate) len: usize,
}

/// Makes a segment for this user, attaches it, and marks it for removal. Between making and marking it stands in the
/// ledger of the run.
pub(crate) fn create(directory: &Path, len: usize, huge: bool) -> Result<(Id, Attached), i32> {
    let pages = if huge { HUGE_2M } else { 0 };
    let get = |key, flags| get(key, len, pages | flags);
    let made = system_v::create(directory, SYSV_MEMORY, "shmget", get);
    let (id, _noted) = made.map_err(code)?;
    let attached = attach(Id(id));
    remove(id)?;
    Ok((Id(id), attached?))
}

fn code(error: SetupError) -> i32 {
    if let SetupError::Sys { code, .. } = error { code } else { libc::EIO }
}

fn get(key: i32, len: usize, flags: i32) -> Result<i32, i32> {
    // SAFETY: takes three integers.
    system_v::number(unsafe { libc::shmget(key, len, flags) })
}

/// Maps the segment and learns its size.
pub(crate) fn attach(id: Id) -> Result<Attached, i32> {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut facts: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: live facts of the type IPC_STAT fills.
    if unsafe { libc::shmctl(id.0, libc::IPC_STAT, &raw mut facts) } < 0 {
        return Err(last_errno());
    }
    // SAFETY: a fresh mapping at an address the kernel chooses aliases nothing.
    let base = unsafe { libc::shmat(id.0, std::ptr::null(), 0) };
    // A failure is -1, in the type of an address.
    if base as isize == -1 {
        return Err(last_errno());
    }
    let base = NonNull::new(base.cast()).ok_or(libc::ENOMEM)?;
    Ok(Attached { base, len: facts.shm_segsz })
}

/// Unmaps what [`attach`] has mapped.
///
/// # Safety
/// No reference into the mapping is left.
pub(crate) unsafe fn detach(base: NonNull<u8>) {
    // SAFETY: the caller's promise; the address is one that `shmat` has returned.
    let detached = unsafe { libc::shmdt(base.as_ptr().cast()) };
    debug_assert_eq!(detached, 0, "the segment was attached by us");
}

fn remove(id: i32) -> Result<bool, i32> {
    // SAFETY: IPC_RMID looks at no structure.
    system_v::removed(unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) })
}

/// Removes the segment with `key`; `false` if there is none.
///
/// # Errors
/// The `errno`, `EPERM` for a segment of another user.
pub fn remove_by_key(key: i32) -> Result<bool, i32> {
    system_v::remove_by_key(key, |key| get(key, 0, 0), remove)
}
