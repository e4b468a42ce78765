//! System calls with and without a return after them, to measure how long the first return in user code takes.
//!
//! The kernel may leave the processor's return predictor empty or wrong (a mitigation refills it at a switch of tasks, or
//! runs returns of its own), and then the first return of the program is predicted wrongly.

use crate::io::raw;
use std::sync::atomic::AtomicU32;

/// Why it is not measured here.
pub const OBJECTION: Option<&str> =
    if cfg!(target_arch = "x86_64") { None } else { Some("it is measured only on x86-64") };

/// A call of three arguments: by the function that the timed loops call, or where it stands.
///
/// # Safety
/// See [`raw`].
#[inline(always)]
unsafe fn call<const RETURNS: bool>(number: libc::c_long, a: usize, b: usize, c: usize) -> isize {
    if RETURNS {
        // SAFETY: the caller's promise.
        unsafe { raw::enter3(a, b, c, number) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { raw::inline3(a, b, c, number) }
    }
}

/// The cheapest call (`getppid`), after which this thread goes on at once.
#[inline(always)]
pub fn null<const RETURNS: bool>() {
    // SAFETY: takes nothing, changes nothing.
    std::hint::black_box(unsafe { call::<RETURNS>(libc::SYS_getppid, 0, 0, 0) });
}

/// Wakes one sleeper on a word of shared memory.
#[inline(always)]
pub fn wake<const RETURNS: bool>(word: &AtomicU32) {
    let wake = libc::FUTEX_WAKE as usize;
    // SAFETY: the word is a live reference, and the kernel only takes its address.
    unsafe { call::<RETURNS>(libc::SYS_futex, word.as_ptr() as usize, wake, 1) };
}

/// Sleeps while the word holds `expected`. Also returns early, so callers look again.
#[inline(always)]
pub fn wait<const RETURNS: bool>(word: &AtomicU32, expected: u32) {
    let (at, expected) = (word.as_ptr() as usize, expected as usize);
    if RETURNS {
        // SAFETY: the word is a live reference, which the kernel only reads; there is no time limit.
        unsafe { raw::enter6(at, libc::FUTEX_WAIT as usize, expected, 0, 0, 0, libc::SYS_futex) };
    } else {
        // SAFETY: likewise.
        unsafe {
            raw::inline6([at, libc::FUTEX_WAIT as usize, expected, 0, 0, 0], libc::SYS_futex)
        };
    }
}
