//! A run of messages under way: how long the next one is, what has passed so far, and how it ended.

use crate::payload::{Random, Rolling};
use crate::script::{Batch, SentFault, Sizes, StepOutcome, Until};
use ipcperf_core::Fault;

/// A run of messages under way.
pub(crate) struct Run<'a> {
    pub(crate) batch: &'a Batch,
    random: Random,
    pub(crate) seen: StepOutcome,
    pub(crate) hash: Rolling,
}

impl<'a> Run<'a> {
    pub(crate) fn new(batch: &'a Batch) -> Self {
        let seed = if let Sizes::Random { seed, .. } = batch.sizes { seed } else { 0 };
        Self {
            batch,
            random: Random::new(seed),
            seen: StepOutcome::default(),
            hash: Rolling::default(),
        }
    }

    /// Length of the next message, as long as there is one.
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.is_complete() {
            return None;
        }
        let left = match self.batch.until {
            Until::Count(_) => usize::MAX,
            Until::Bytes(bytes) => usize::try_from(bytes - self.seen.bytes).unwrap_or(usize::MAX),
        };
        let len = match &self.batch.sizes {
            Sizes::List(list) => list[(self.seen.count % list.len() as u64) as usize],
            Sizes::Random { low, high, .. } => {
                self.random.between(*low as u64, *high as u64) as usize
            }
        };
        Some(len.min(left))
    }

    /// Whether all that was asked for has moved.
    pub(crate) fn is_complete(&self) -> bool {
        match self.batch.until {
            Until::Count(count) => self.seen.count >= count,
            Until::Bytes(bytes) => self.seen.bytes >= bytes,
        }
    }

    pub(crate) fn over(mut self, result: Result<(), Stop>) -> StepOutcome {
        if let Err(Stop { end, detail }) = result {
            self.seen.end = Some(end);
            self.seen.detail = detail;
            self.seen.stopped = !self.batch.tolerant;
        }
        self.seen.hash = self.hash.0;
        self.seen
    }
}

/// What stopped a run of messages.
pub(crate) struct Stop {
    pub(crate) end: SentFault,
    pub(crate) detail: String,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self { end: fault.into(), detail: fault.to_string() }
    }
}
