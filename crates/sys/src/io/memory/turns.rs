//! Two counters in shared memory for each direction: messages that are ready, and messages that were taken. An end
//! that has to wait sleeps in a futex, and the other end makes a system call only if somebody sleeps.

use crate::io::futex;
use crate::io::memory::shared::{Atomics, Shared};
use ipcperf_core::{Fault, Seat, SetupError};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most messages of one direction under way.
pub const MOST: usize = 16;

/// Counters go in steps of two. The lowest bit says that no more will come, or that no more will be taken.
const STEP: u32 = 2;
const ENDED: u32 = 1;

/// A counter and whether somebody sleeps until it changes. Two cache lines, because the adjacent-line prefetcher of
/// x86 moves lines in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
struct Counter {
    value: AtomicU32,
    sleeps: AtomicU32,
}

impl Counter {
    /// Sleeps until the value is not `seen` any more; may return early.
    #[cold]
    #[inline(never)]
    fn await_change(&self, seen: u32) {
        // Either this store comes first in the single order of all four, and the other end wakes, or the new value
        // does, and the load sees it. The kernel compares once more before it lets anybody sleep.
        self.sleeps.store(1, Ordering::SeqCst);
        if self.value.load(Ordering::SeqCst) == seen {
            futex::wait(&self.value, seen);
        }
        self.sleeps.store(0, Ordering::SeqCst);
    }

    /// Whatever was written before is seen by an end that sees the new value.
    #[inline(always)]
    fn set(&self, value: u32) {
        self.value.store(value, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) != 0 {
            futex::wake(&self.value);
        }
    }
}

/// One direction.
#[derive(Debug)]
#[repr(C)]
struct TurnLine {
    ready: Counter,
    taken: Counter,
    /// Lengths of the messages, by slot.
    lengths: [AtomicU32; MOST],
}

// SAFETY: atomics alone.
unsafe impl Atomics for TurnLine {}

/// Both directions, as one seat sees them.
#[derive(Debug)]
pub struct Turns {
    lines: Shared<TurnLine>,
    seat: Seat,
    slots: u32,
    sent: u32,
    received: u32,
}

impl Turns {
    /// Makes the memory, all zero, and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<[OwnedFd; 2], SetupError> {
        Shared::<TurnLine>::create("ipcperf-turns")?.descriptors()
    }

    /// The end of `seat`, with `slots` messages of each direction under way at most; both ends give the same, and a power
    /// of two is made of it.
    ///
    /// # Errors
    /// The descriptor is not of such memory.
    pub fn attach(fd: OwnedFd, seat: Seat, slots: usize) -> Result<Self, SetupError> {
        let lines = Shared::from_fd(fd)?;
        // A power of two, so that the slots still follow each other when the counters wrap.
        let slots = 1 << slots.clamp(1, MOST).ilog2();
        Ok(Self { lines, seat, slots, sent: 0, received: 0 })
    }

    #[inline(always)]
    fn line(&self, from: Seat) -> &TurnLine {
        self.lines.of(from)
    }

    #[inline(always)]
    fn slot(&self, count: u32) -> usize {
        (count & (self.slots - 1)) as usize
    }

    /// Waits until the peer has taken enough, and returns the slot of the next message.
    ///
    /// # Errors
    /// [`Fault::Closed`] once the peer has let go.
    #[inline(always)]
    pub fn free_slot(&self) -> Result<usize, Fault> {
        let taken = &self.line(self.seat).taken;
        loop {
            let value = taken.value.load(Ordering::Acquire);
            if value & ENDED != 0 {
                return Err(Fault::Closed);
            }
            if self.sent.wrapping_mul(STEP).wrapping_sub(value) < self.slots * STEP {
                return Ok(self.slot(self.sent));
            }
            taken.await_change(value);
        }
    }

    /// Hands over the message in the slot that [`Turns::free_slot`] gave.
    #[inline(always)]
    pub fn announce(&mut self, len: usize) {
        let line = self.line(self.seat);
        if let Some(length) = line.lengths.get(self.slot(self.sent)) {
            // Messages are at most 1 GiB.
            length.store(len as u32, Ordering::Relaxed);
        }
        let sent = self.sent.wrapping_add(1);
        line.ready.set(sent.wrapping_mul(STEP));
        self.sent = sent;
    }

    /// Waits for the next message, and returns its slot and its length.
    ///
    /// # Errors
    /// [`Fault::Closed`] once the peer has finished and everything was received.
    #[inline(always)]
    pub fn next_slot(&self) -> Result<(usize, usize), Fault> {
        let line = self.line(self.seat.other());
        loop {
            let value = line.ready.value.load(Ordering::Acquire);
            if value & !ENDED != self.received.wrapping_mul(STEP) {
                let slot = self.slot(self.received);
                let len = line.lengths.get(slot).map_or(0, |len| len.load(Ordering::Relaxed));
                return Ok((slot, len as usize));
            }
            if value & ENDED != 0 {
                return Err(Fault::Closed);
            }
            line.ready.await_change(value);
        }
    }

    /// Gives the slot of [`Turns::next_slot`] back.
    #[inline(always)]
    pub fn release(&mut self) {
        let received = self.received.wrapping_add(1);
        self.line(self.seat.other()).taken.set(received.wrapping_mul(STEP));
        self.received = received;
    }

    /// No more will come.
    pub fn end(&mut self) {
        let ready = &self.line(self.seat).ready;
        ready.set(self.sent.wrapping_mul(STEP) | ENDED);
    }

    /// No more will come, and no more will be taken.
    pub fn let_go(&mut self) {
        self.end();
        let taken = &self.line(self.seat.other()).taken;
        taken.set(self.received.wrapping_mul(STEP) | ENDED);
    }

    /// Whether the peer has let go.
    #[must_use]
    pub fn is_peer_gone(&self) -> bool {
        self.line(self.seat).taken.value.load(Ordering::Acquire) & ENDED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_in_turn_and_the_end_comes_after_the_last() {
        let [lead, follow] = Turns::create().expect("memory");
        let mut lead = Turns::attach(lead, Seat::Lead, 2).expect("a mapping");
        let receiver = std::thread::spawn(move || {
            let mut follow = Turns::attach(follow, Seat::Follow, 2).expect("a mapping");
            let mut seen = 0;
            while let Ok((slot, len)) = follow.next_slot() {
                assert_eq!((slot, len), (seen % 2, seen + 1));
                follow.release();
                seen += 1;
            }
            assert_eq!(follow.next_slot(), Err(Fault::Closed));
            follow.let_go();
            seen
        });
        for message in 0..20_000 {
            assert_eq!(lead.free_slot(), Ok(message % 2));
            lead.announce(message + 1);
        }
        lead.end();
        assert_eq!(receiver.join().expect("it ends"), 20_000);
        assert!(lead.is_peer_gone());
        assert_eq!(lead.free_slot(), Err(Fault::Closed));
    }
}
