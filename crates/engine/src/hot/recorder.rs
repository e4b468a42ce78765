//! Where the loop leaves its samples: 32-bit tick counts in memory that was resident before.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};

/// A sample too long for 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spill {
    /// Which sample.
    pub index: u64,
    /// Its length, ticks.
    pub ticks: u64,
}

/// How many long samples are kept exactly. A sample of 2^32 ticks lasts more than a second, so a slice that has more
/// than these runs into its deadline first.
const SPILLS: usize = 64;

/// In a slot: the sample is among the [`Spill`]s, or too long for them.
const SPILLED: u32 = u32::MAX;

/// In a slot: no answer came.
const NONE: u32 = u32::MAX - 1;

/// Stores one sample per call, nothing else. The memory is shared with the coordinator, which folds it into a
/// histogram between slices.
#[derive(Debug)]
pub struct Recorder<'a> {
    slots: &'a [AtomicU32],
    next: usize,
    spills: Vec<Spill>,
}

impl<'a> Recorder<'a> {
    /// What stands for a sample whose answer never came: longer than any.
    pub const LOST: u64 = u64::MAX;

    /// A recorder over `slots`. Their pages must be resident where a segment is timed: see [`Self::touch`].
    #[must_use]
    pub fn new(slots: &'a [AtomicU32]) -> Self {
        Self { slots, next: 0, spills: Vec::with_capacity(SPILLS) }
    }

    /// Makes the pages of the first `samples` slots resident.
    pub fn touch(&self, samples: u64) {
        let count = usize::try_from(samples).unwrap_or(usize::MAX).min(self.slots.len());
        crate::page::touch(self.slots.get(..count).unwrap_or_default());
    }

    /// How many samples fit.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Starts again at the first slot.
    pub fn rewind(&mut self) {
        self.next = 0;
        self.spills.clear();
    }

    /// Stores one sample.
    #[inline(always)]
    pub fn record(&mut self, ticks: u64) {
        match (self.slots.get(self.next), u32::try_from(ticks)) {
            (Some(slot), Ok(short)) if short < NONE => slot.store(short, Ordering::Relaxed),
            _ => self.spill(ticks),
        }
        self.next += 1;
    }

    /// Counts one sample whose answer never came.
    #[inline(always)]
    pub fn lose(&mut self) {
        if let Some(slot) = self.slots.get(self.next) {
            slot.store(NONE, Ordering::Relaxed);
        }
        self.next += 1;
    }

    /// What a slot says, ticks; [`Self::LOST`] if no answer came.
    #[must_use]
    pub fn read(slot: &AtomicU32) -> u64 {
        match slot.load(Ordering::Acquire) {
            NONE => Self::LOST,
            ticks => ticks.into(),
        }
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self, ticks: u64) {
        if let Some(slot) = self.slots.get(self.next) {
            slot.store(SPILLED, Ordering::Relaxed);
        }
        if self.spills.len() < SPILLS {
            self.spills.push(Spill { index: self.next as u64, ticks });
        }
    }

    /// Samples recorded since the last rewind.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.next as u64
    }

    /// Whether nothing was recorded since the last rewind.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Median of what was recorded, ticks; for decisions between segments. Sorts a copy: never inside a timed region.
    #[must_use]
    pub fn median(&self) -> u64 {
        let mut seen: Vec<u32> =
            self.slots.iter().take(self.next).map(|slot| slot.load(Ordering::Relaxed)).collect();
        if seen.is_empty() {
            return 0;
        }
        let middle = seen.len() / 2;
        (*seen.select_nth_unstable(middle).1).into()
    }

    /// The samples too long for a slot.
    #[must_use]
    pub fn spills(&self) -> &[Spill] {
        &self.spills
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_samples_are_kept_beside_and_what_does_not_fit_is_counted() {
        let slots: Vec<_> = (0..3).map(|_| AtomicU32::new(0)).collect();
        let mut recorder = Recorder::new(&slots);
        for ticks in [5, 1 << 40, 7, 9] {
            recorder.record(ticks);
        }
        assert_eq!(recorder.len(), 4);
        assert_eq!(recorder.spills()[0], Spill { index: 1, ticks: 1 << 40 });
        assert_eq!(slots[1].load(Ordering::Relaxed), u32::MAX);
        assert_eq!(slots[2].load(Ordering::Relaxed), 7);
        recorder.rewind();
        assert!(recorder.is_empty() && recorder.spills().is_empty());
        for ticks in [3, 1, 2] {
            recorder.record(ticks);
        }
        assert_eq!(recorder.median(), 2);
    }
}
