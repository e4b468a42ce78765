//! The turn word of a slot: how to wait for it, pass it on, and rouse who sleeps on it.
//!
//! The word of a slot is [`FULL`] or not. The producer waits for "not" and sets it, the consumer
//! waits for it and clears it; each visits the slots in order, so one bit says whose turn it is.
//! [`WAITER`] is set by an end that is about to sleep and wiped by every turn of the word.
//!
//! # Safety
//!
//! **W1** `until` returns `true` only after an Acquire load has seen the word in the wanted state:
//! from then until this end's `turn`, the slot is this end's alone. The trait is sealed and both
//! implementations are below, so the safe code of this file is what the unsafe code elsewhere
//! relies on.

use crate::sync::{AtomicU32, Ordering::Relaxed, Site, spin_loop};

/// The bit of the word that says whose turn it is; a word without it belongs to the producer.
pub(crate) const FULL: u32 = 1;
/// The turn that a producer waits for.
pub(crate) const EMPTY: u32 = 0;
/// Set in the word while somebody sleeps, or is about to sleep, until it turns.
const WAITER: u32 = 2;

/// How an end waits: [`Spin`] or [`Sleep`]. Sealed.
///
/// Both ends of a ring must use the same one. A spinning end does not look for sleepers, so a
/// sleeping peer of it would not be woken; no memory is at risk.
pub trait Wait: Protocol {}

impl Wait for Spin {}
impl<S: Sleeper> Wait for Sleep<S> {}

/// The three steps of the protocol. Reachable only inside this crate.
pub trait Protocol {
    /// Waits until the word's turn is `wanted`; `false` if the ring was closed and it is not.
    fn until(&self, word: &AtomicU32, wanted: u32, closed: &AtomicU32) -> bool;
    /// Passes the slot to the other end.
    fn turn(&self, word: &AtomicU32, to: u32);
    /// Makes the peer look at `closed`, which has just been set, if it sleeps on this word.
    fn rouse(&self, word: &AtomicU32);
}

/// Acquire, because it guards the slot's bytes: a consumer must see what was filled in, and a
/// producer must not overwrite what is still being taken. With Relaxed, loom fails.
#[inline(always)]
fn is(word: &AtomicU32, wanted: u32) -> bool {
    word.load(Site::Look.acquire()) & FULL == wanted
}

/// Acquire, because it guards the last messages: once the peer's closing is seen, so is everything
/// it sent before, and the word is looked at once more. With Relaxed, loom fails.
#[inline(always)]
fn is_set(closed: &AtomicU32) -> bool {
    closed.load(Site::LookAtClosed.acquire()) != 0
}

/// Waits by spinning, with the processor's pause between two looks. The ring's fastest mode, and a
/// disaster when both ends share a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Protocol for Spin {
    #[inline(always)]
    fn until(&self, word: &AtomicU32, wanted: u32, closed: &AtomicU32) -> bool {
        while !is(word, wanted) {
            if is_set(closed) {
                return is(word, wanted);
            }
            spin_loop();
        }
        true
    }

    #[inline(always)]
    fn turn(&self, word: &AtomicU32, to: u32) {
        // Release guards the slot's bytes, the counterpart of `is`. With Relaxed, loom fails.
        word.store(to, Site::TurnOfSpin.release());
    }

    #[inline(always)]
    fn rouse(&self, _word: &AtomicU32) {}
}

/// Puts a thread to sleep on a word and wakes it, as `FUTEX_WAIT` and `FUTEX_WAKE` do on Linux
/// (without `FUTEX_PRIVATE_FLAG`: the ends are in different processes).
///
/// # Safety
/// The implementation does not write to the word.
pub unsafe trait Sleeper {
    /// Sleeps if the word still holds `expected`, decided atomically with respect to [`wake`]:
    /// a `wake` after the word has changed is never missed. May return early for any reason.
    ///
    /// [`wake`]: Sleeper::wake
    fn sleep(&self, word: &AtomicU32, expected: u32);
    /// Wakes the peer if it sleeps on the word.
    fn wake(&self, word: &AtomicU32);
}

/// Spins for a while, then sleeps. The peer makes a system call only if somebody sleeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleep<S> {
    /// Looks at the word, one pause apart, before going to sleep. 0: sleep at once.
    pub spins: u32,
    /// Who sleeps and wakes.
    pub sleeper: S,
}

impl<S: Sleeper> Protocol for Sleep<S> {
    #[inline(always)]
    fn until(&self, word: &AtomicU32, wanted: u32, closed: &AtomicU32) -> bool {
        is(word, wanted) || self.until_woken(word, wanted, closed)
    }

    #[inline(always)]
    fn turn(&self, word: &AtomicU32, to: u32) {
        // Release as in `Spin`. An exchange, not a store: between a load of WAITER and a store the
        // peer could announce itself, and the store would wipe that out unseen.
        // With Relaxed, or without the look at WAITER, loom fails.
        if word.swap(to, Site::TurnOfSleep.release()) & WAITER != 0 {
            self.sleeper.wake(word);
        }
    }

    #[inline(always)]
    fn rouse(&self, word: &AtomicU32) {
        // Either the peer's announcement comes first in the word's order: then it is wiped here, so
        // that `sleep` refuses or is woken. Or it comes second: then it reads from this operation,
        // and Release carries the setting of `closed` to the peer's look at it before sleeping.
        // With Relaxed, or without the look at WAITER, loom fails.
        if word.fetch_and(!WAITER, Site::Rouse.release()) & WAITER != 0 {
            self.sleeper.wake(word);
        }
    }
}

impl<S: Sleeper> Sleep<S> {
    #[inline(never)]
    fn until_woken(&self, word: &AtomicU32, wanted: u32, closed: &AtomicU32) -> bool {
        for _ in 0..self.spins {
            spin_loop();
            if is(word, wanted) {
                return true;
            }
        }
        // Not ours, and perhaps still marked by an earlier sleep that ended early.
        let other = wanted ^ FULL;
        let asleep = other | WAITER;
        while !is(word, wanted) {
            // Acquire guards `closed`: see `rouse`. With Relaxed, loom fails. On failure
            // Relaxed: only that the word turned was learnt, and `is` looks again.
            if let Err(seen) =
                word.compare_exchange(other, asleep, Site::Announce.acquire(), Relaxed)
                && seen != asleep
            {
                continue;
            }
            if is_set(closed) {
                return is(word, wanted);
            }
            self.sleeper.sleep(word, asleep);
        }
        true
    }
}
