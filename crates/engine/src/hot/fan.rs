//! What the loops of a fan share: the numbers of their messages, and the credits of mechanisms that drop.

use ipcperf_sys::io::futex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, SeqCst};

/// Most peers.
pub const MOST: usize = 64;

/// A message is numbered by its producer and, in the bits below, by how many that one sent before.
pub(super) const SHIFT: u32 = 40;
pub(super) const BELOW: u64 = (1 << SHIFT) - 1;

/// Bytes that this number takes, so that a shorter message could not prove where it came from.
pub const LEAST: usize = 8;

/// What one end is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes the port is asked to move per message.
    pub len: usize,
    /// Which producer this is; 0 in a fan-out.
    pub producer: u64,
    /// Number of the first message of each producer.
    pub first: u64,
    /// Messages each producer sends.
    pub count: u64,
    /// Consumers that need an end mark; 0 in a fan-in, which ends by count.
    pub marks: u64,
    /// Messages a producer may have under way before it waits for a credit; 0: no credits.
    pub window: u32,
    /// Of so many calls of a peer one is timed.
    pub every: u64,
    /// Messages between two readings of the clock at a consumer.
    pub batch: u64,
}

/// What one end did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages sent, end marks not counted.
    pub sent: u64,
    /// Messages received, end marks not counted.
    pub received: u64,
    /// Messages that never came.
    pub lost: u64,
    /// Sum of the numbers of the received messages, modulo 2^64.
    pub sum: u64,
    /// Their exclusive or.
    pub xor: u64,
    /// Before the first message, ticks.
    pub begin: u64,
    /// After the last one, ticks.
    pub end: u64,
}

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
            if number.wrapping_sub(granted) < window {
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
#[path = "tests/fan.rs"]
mod tests;
