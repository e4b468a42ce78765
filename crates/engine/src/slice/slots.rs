//! Reads back the data that a recorder left in its slots.

use crate::hot::{Recorder, Spill};
use std::sync::atomic::AtomicU32;

/// So many samples of these slots, long ones put back.
pub(crate) fn samples(slots: &[AtomicU32], count: u64, spills: &[Spill]) -> Vec<u64> {
    let stored = slots.iter().take(usize::try_from(count).unwrap_or(usize::MAX));
    let mut samples: Vec<u64> = stored.map(Recorder::read).collect();
    for Spill { index, ticks } in spills {
        if let Some(sample) = usize::try_from(*index).ok().and_then(|index| samples.get_mut(index))
        {
            *sample = *ticks;
        }
    }
    samples
}
