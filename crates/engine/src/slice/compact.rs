//! Histograms as a run keeps them.

use crate::hot::Recorder;
use ipcperf_stats::Histogram;

/// A histogram at rest: a run keeps thousands of them, and most of their buckets are empty.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    min: u64,
    max: u64,
    sum: u128,
    buckets: Box<[(u64, u64)]>,
}

impl From<&Histogram> for Compact {
    fn from(histogram: &Histogram) -> Self {
        Self {
            min: histogram.min().unwrap_or(0),
            max: histogram.max().unwrap_or(0),
            sum: histogram.sum(),
            buckets: histogram.buckets().map(|(low, _, count)| (low, count)).collect(),
        }
    }
}

impl From<&Compact> for Histogram {
    fn from(compact: &Compact) -> Self {
        Self::from_parts(compact.min, compact.max, compact.sum, &compact.buckets)
            .expect("parts of a histogram make one")
    }
}

/// Adds the samples whose answer came; returns how many others there are.
pub(super) fn collect(histogram: &mut Histogram, samples: &[u64]) -> u64 {
    let mut unanswered = 0;
    for ticks in samples {
        match *ticks {
            Recorder::LOST => unanswered += 1,
            ticks => histogram.record(ticks),
        }
    }
    unanswered
}
