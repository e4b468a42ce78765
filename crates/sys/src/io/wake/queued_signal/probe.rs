//! Whether signals can be used here, tried without leaving any behind.
//!
//! # Safety
//! As in the module above.

use super::{Info, Letter, WINDOW, block, set, wait, watch};
use crate::io::raw;
use ipcperf_core::{Missing, SetupError};
use std::mem::MaybeUninit;

/// Whether signals with values can be queued and taken here: one is, by this thread to itself.
///
/// # Errors
/// What is missing.
pub fn queue() -> Result<(), Missing> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: room for the limit.
    if unsafe { libc::getrlimit(libc::RLIMIT_SIGPENDING, limit.as_mut_ptr()) } == 0 {
        // SAFETY: it was filled in.
        let allowed = unsafe { limit.assume_init() }.rlim_cur;
        // Both directions, and as much again for whatever else this user has pending.
        let needed = u64::from(4 * WINDOW);
        if allowed < needed {
            let what =
                format!("RLIMIT_SIGPENDING allows {allowed} queued signals of {needed} needed");
            return Err(Missing::new(what, format!("ulimit -i {needed}")));
        }
    }
    let refused = |call: &str, code: i32| match code {
        libc::EAGAIN => Missing::new(
            "the queued signals of this user have reached RLIMIT_SIGPENDING",
            "a higher ulimit -i",
        ),
        code => refusal(call, code),
    };
    let before = block().map_err(|code| refused("rt_sigprocmask", code))?;
    let sent = send_to_self().map_err(|code| refused("rt_tgsigqueueinfo", code));
    let taken = sent.and_then(|()| {
        wait(set(), &mut { Info::NONE }, true).map_err(|code| refused("rt_sigtimedwait", code))
    });
    if taken.is_ok() && before & set() == 0 {
        // Nothing is pending any more, so nothing is delivered.
        unblock().map_err(|code| refused("rt_sigprocmask", code))?;
    }
    taken.map(drop)
}

fn refusal(call: &str, code: i32) -> Missing {
    Missing::new(format!("refused here: {}", SetupError::sys(call, code)), "")
}

fn unblock() -> Result<(), i32> {
    let set = set();
    let args = [libc::SIG_UNBLOCK as usize, (&raw const set) as usize, 0, size_of::<u64>(), 0, 0];
    // SAFETY: the set is live, and the old one is not asked for.
    unsafe { raw::call6(libc::SYS_rt_sigprocmask, args) }.map(drop)
}

/// To this thread and no other: another one of this process may not block it.
fn send_to_self() -> Result<(), i32> {
    let letter = Letter::new();
    let at = (&raw const letter.0) as usize;
    let (pid, tid) = (letter.0.pid as usize, rustix::thread::gettid().as_raw_nonzero().get());
    let args = [pid, tid as usize, letter.0.signal as usize, at, 0, 0];
    // SAFETY: the facts are live.
    unsafe { raw::call6(libc::SYS_rt_tgsigqueueinfo, args) }.map(drop)
}

/// Whether signals can be sent to a process by its number: none is, only the permission is checked.
///
/// # Errors
/// `rt_sigqueueinfo` is refused.
pub fn by_number() -> Result<(), SetupError> {
    let letter = Letter::new();
    let args = [letter.0.pid as usize, 0, (&raw const letter.0) as usize];
    // SAFETY: the facts are live, and signal 0 is none.
    let asked = unsafe { raw::call3(libc::SYS_rt_sigqueueinfo, args[0], args[1], args[2]) };
    asked.map(drop).map_err(|code| SetupError::sys("rt_sigqueueinfo", code))
}

/// Whether a signalfd can be made: one of no signal, from which nothing is ever read.
///
/// # Errors
/// `signalfd4` failed.
pub fn descriptor() -> Result<(), SetupError> {
    watch(0).map(drop)
}
