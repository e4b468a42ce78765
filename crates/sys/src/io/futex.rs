//! Sleeping on and waking by a word of shared memory.
//!
//! # Safety
//! The word is a live reference for the whole call; the kernel only reads it. The timeout is null.

use crate::io::raw;
use std::sync::atomic::AtomicU32;

/// Looks at a word, one pause apart, before an end that spins for a bounded time goes to sleep. About 2 to 5 us, what a
/// futex wake-up of another CPU costs at least: the classic bound that waits at most twice the optimum.
pub const SPINS: u32 = 100;

/// Sleeps while the word holds `expected`. Also returns early (a signal, a stale wake-up), so callers look again.
#[inline(always)]
pub fn wait(word: &AtomicU32, expected: u32) {
    let operation = libc::FUTEX_WAIT as usize;
    // SAFETY: see the module. Every outcome (woken, value changed, interrupted) means "look again".
    let _ = unsafe {
        raw::call6(libc::SYS_futex, [word.as_ptr() as usize, operation, expected as usize, 0, 0, 0])
    };
}

/// Wakes one sleeper, in whatever process, and returns how many there were: 0 or 1.
#[inline(always)]
pub fn wake(word: &AtomicU32) -> usize {
    // SAFETY: see the module. It fails only for addresses that are no word in memory, and a reference is one.
    unsafe { raw::call3(libc::SYS_futex, word.as_ptr() as usize, libc::FUTEX_WAKE as usize, 1) }
        .unwrap_or(0)
}
