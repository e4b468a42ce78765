//! The record of a round trip on a schedule.

/// Slots of one round trip.
pub(super) const SLOTS: u64 = 3;

/// Bits of the lateness in its first slot; the rest is in the second.
pub(super) const LOW: u32 = 24;

/// In the second slot: the sender was not held up by an earlier reply.
pub(super) const FREE: u64 = 1 << 30;

/// One round trip as the recorder keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// From when it was really sent to its reply, ticks; [`Recorder::LOST`](super::Recorder::LOST) if none came.
    pub service: u64,
    /// From when it was due to when it was sent, ticks.
    pub late: u64,
    /// Whether the reply before had come by when it was due.
    pub free: bool,
}

impl Trip {
    /// What was recorded of one round trip.
    #[must_use]
    pub fn of([service, low, high]: [u64; SLOTS as usize]) -> Self {
        Self { service, late: (high & !FREE) << LOW | low, free: high & FREE != 0 }
    }

    /// What is recorded of it.
    #[cfg(any(test, feature = "simulate"))]
    pub(crate) fn kept(self) -> [u64; SLOTS as usize] {
        let free = if self.free { FREE } else { 0 };
        [self.service, self.late & ((1 << LOW) - 1), (self.late >> LOW) & (FREE - 1) | free]
    }

    /// From when it was due to its reply, ticks; [`Recorder::LOST`](super::Recorder::LOST) if none came.
    #[must_use]
    pub fn response(self) -> u64 {
        self.service.saturating_add(self.late)
    }
}
