//! When messages left and when they had arrived.

use ipcperf_sys::clock::Clock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Notes when each message of one direction left and when it had arrived, in the low 32 bits of the clock: enough to
/// tell by how much the one is after the other, as long as that is below half of their range.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    clock: Clock,
    left: &'a [AtomicU32],
    arrived: &'a [AtomicU32],
}

impl<'a> Times<'a> {
    /// Both lists have one place for each message of a segment, at its sequence number modulo their length.
    #[must_use]
    pub const fn new(clock: Clock, left: &'a [AtomicU32], arrived: &'a [AtomicU32]) -> Self {
        Self { clock, left, arrived }
    }

    /// Before a message is written.
    #[inline(always)]
    pub(super) fn departure(self, seq: u64) {
        note(self.left, seq, self.clock.start());
    }

    /// After a message was looked at.
    #[inline(always)]
    pub(super) fn arrival(self, seq: u64) {
        note(self.arrived, seq, self.clock.stop());
    }
}

/// Which of some places belongs to a message.
#[inline(always)]
pub(crate) fn place(places: &[AtomicU32], seq: u64) -> Option<&AtomicU32> {
    let length = places.len() as u64;
    places.get(usize::try_from(seq.checked_rem(length)?).ok()?)
}

#[inline(always)]
fn note(places: &[AtomicU32], seq: u64, ticks: u64) {
    if let Some(place) = place(places, seq) {
        place.store(ticks as u32, Ordering::Relaxed);
    }
}
