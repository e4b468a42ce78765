//! Values stored by a handler.
//!
//! # Safety
//! As in the module above.

use super::{Blocked, Info, Mask, WINDOW, number};
use crate::io::last_errno;
use ipcperf_core::SetupError;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// More than can be under way: a value is taken before the window lets its place be used again.
const PLACES: usize = 2 * WINDOW as usize;

// A handler has no argument of its own, so what it works on belongs to the process.
static TAKEN: AtomicBool = AtomicBool::new(false);
static PEER: AtomicI32 = AtomicI32::new(0);
static ARRIVED: AtomicU64 = AtomicU64::new(0);
static VALUES: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Stores a value. Only atomics: it interrupts its own process, which sleeps in `rt_sigsuspend` at that time.
extern "C" fn store(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes the facts of the signal to a handler that asked for them (SA_SIGINFO), in the
    // layout of `Info`.
    let info = unsafe { &*info.cast::<Info>() };
    if let Some(value) = info.value_from(PEER.load(Ordering::Relaxed)) {
        let count = ARRIVED.load(Ordering::Relaxed);
        VALUES[count as usize % PLACES].store(value, Ordering::Relaxed);
        ARRIVED.store(count.wrapping_add(1), Ordering::Release);
    }
}

/// The signal's handler is installed.
#[derive(Debug)]
pub struct Handler {
    mask: Mask,
    taken: u64,
}

impl Handler {
    /// Installs it. The values of `peer` alone count.
    ///
    /// # Errors
    /// There is one already in this process, or `sigaction` failed.
    pub fn new(blocked: &Blocked, peer: i32) -> Result<Self, SetupError> {
        if TAKEN.swap(true, Ordering::Acquire) {
            let text = "a process has one handler for a signal, and it is in use";
            return Err(SetupError::Protocol(text.into()));
        }
        PEER.store(peer, Ordering::Relaxed);
        // From here on the guard gives back what was taken.
        let handler = Self { mask: blocked.without(), taken: ARRIVED.load(Ordering::Relaxed) };
        let store: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = store;
        act(store as libc::sighandler_t, libc::SA_SIGINFO)?;
        Ok(handler)
    }

    /// As [`Blocked::receive`], by sleeping until the handler has run.
    #[inline(always)]
    pub fn receive(&mut self) -> u64 {
        // The signal is blocked but while this process sleeps, so nothing arrives between the look and the sleep.
        while ARRIVED.load(Ordering::Acquire) == self.taken {
            self.mask.suspend();
        }
        let value = VALUES[self.taken as usize % PLACES].load(Ordering::Relaxed);
        self.taken = self.taken.wrapping_add(1);
        value
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // The signal stays blocked, so that a late one does nothing.
        let _ = act(libc::SIG_DFL, 0);
        TAKEN.store(false, Ordering::Release);
    }
}

fn act(handler: libc::sighandler_t, flags: c_int) -> Result<(), SetupError> {
    // SAFETY: all zeroes are a valid action without flags; the handler is one the flags fit.
    let result = unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        // Nothing interrupts it, so that values are stored one after another.
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(number(), &raw const action, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(SetupError::sys("sigaction", last_errno())) }
}
