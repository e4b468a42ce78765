//! Credits beside the mechanism, for producers that share one mechanism which drops what it cannot hold.

use ipcperf_sys::io::futex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, SeqCst};

/// What one producer and the consumer tell each other beside the mechanism where that drops what it cannot hold. A
/// credit that came back over the shared object would reach any of the producers; so it comes over shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    granted: &'a AtomicU32,
    waiting: &'a AtomicU32,
    sent: &'a AtomicU32,
    spins: bool,
}

impl<'a> Account<'a> {
    /// An account over words that start at zero; `spins` where ends of this mechanism never sleep.
    #[must_use]
    pub fn new(words: &'a [AtomicU32; 3], spins: bool) -> Self {
        let [granted, waiting, sent] = words;
        Self { granted, waiting, sent, spins }
    }

    /// The producer is about to send message `number`, and may while fewer than `window` are under way.
    #[inline(always)]
    pub(super) fn admit(&self, number: u64, window: u32) {
        if window != 0 && (number as u32).wrapping_sub(self.granted.load(Acquire)) >= window {
            self.wait(number as u32, window);
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, number: u32, window: u32) {
        self.sent.store(number, SeqCst);
        loop {
            let granted = self.granted.load(SeqCst);
            // A consumer that has given up lets its producers finish: its credit is for what was never sent.
            let is_ahead = number.wrapping_sub(granted).cast_signed() < 0;
            if is_ahead || number.wrapping_sub(granted) < window {
                return;
            }
            if self.spins {
                std::hint::spin_loop();
                continue;
            }
            // Either the consumer sees the flag after its grant, or the sleep sees the grant and does not begin. Only
            // this side clears it: the consumer could clear the flag of the next sleep.
            self.waiting.store(1, SeqCst);
            futex::wait(self.granted, granted);
            self.waiting.store(0, SeqCst);
        }
    }

    /// The producer has sent everything before `number` and sends no more for now.
    pub(super) fn close(&self, number: u64) {
        self.sent.store(number as u32, SeqCst);
    }

    /// Up to which number the producer said it had sent, given that it is not below `next`.
    pub(super) fn sent(&self, next: u64) -> u64 {
        let ahead = self.sent.load(SeqCst).wrapping_sub(next as u32).cast_signed();
        next + u64::from(ahead.max(0).cast_unsigned())
    }

    /// The consumer has done with everything before `number`.
    #[inline(always)]
    pub(super) fn grant(&self, number: u64) {
        self.granted.store(number as u32, SeqCst);
        if !self.spins && self.waiting.load(SeqCst) != 0 {
            futex::wake(self.granted);
        }
    }
}

#[cfg(test)]
#[path = "tests/account.rs"]
mod tests;
