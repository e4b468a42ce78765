//! One slice in nanoseconds, on its way into a round and a cell.

use crate::slice::{Compact, CrowdSlice};
use ipcperf_core::result::{FanRound, FeedRound, Round};
use std::collections::BTreeMap;

/// One slice in nanoseconds.
pub(super) struct Sliced {
    pub(super) round: Round,
    /// Per-operation samples, picoseconds; empty in batch timing.
    pub(super) histogram: Compact,
    /// Operations whose answer never came.
    pub(super) unanswered: u64,
    /// What a transform and its undoing cost alone.
    pub(super) transform_ns: Option<[f64; 2]>,
    /// Mean time of all operations, ns; infinite where an answer never came.
    pub(super) mean: f64,
    /// What a cache line took between its CPUs before and after it, there and back, ns.
    pub(super) lines: [Option<f64>; 2],
    /// The number this slice contributes to the centre: p50 in ns, or messages per second.
    pub(super) centre: f64,
    pub(super) own: OwnData,
}

/// What only slices of one kind of pattern have.
#[derive(Default)]
pub(super) enum OwnData {
    #[default]
    Nothing,
    Trips(Box<TripCosts>),
    Crowd(Box<Crowd>),
    Feed(Box<FeedSlice>),
}

/// What one slice of a feed has beside its times.
pub(super) struct FeedSlice {
    pub(super) round: FeedRound,
    pub(super) paced: PacedSlice,
    /// By consumer, picoseconds.
    pub(super) by_consumer: Vec<Compact>,
    /// Picoseconds.
    pub(super) staleness: Compact,
    /// How far each time may be off.
    pub(super) bound_ns: f64,
}

/// What one slice of a crowd has beside its times.
pub(super) struct Crowd {
    pub(super) slice: CrowdSlice,
    /// Where requests were due at times of their own.
    pub(super) paced: Option<PacedSlice>,
}

impl OwnData {
    /// Operations on a schedule.
    pub(super) fn paced(&self) -> Option<&PacedSlice> {
        match self {
            Self::Trips(trips) => trips.paced.as_ref(),
            Self::Crowd(crowd) => crowd.paced.as_ref(),
            Self::Feed(feed) => Some(&feed.paced),
            Self::Nothing => None,
        }
    }
}

impl Sliced {
    pub(super) fn trips(&self) -> Option<&TripCosts> {
        if let OwnData::Trips(trips) = &self.own { Some(trips) } else { None }
    }

    pub(super) fn feed(&self) -> Option<&FeedSlice> {
        if let OwnData::Feed(feed) = &self.own { Some(feed) } else { None }
    }

    pub(super) fn crowd(&self) -> Option<&CrowdSlice> {
        if let OwnData::Crowd(crowd) = &self.own { Some(&crowd.slice) } else { None }
    }
}

/// What the data of one slice come to, whatever they are.
#[derive(Default)]
pub(super) struct SliceReading {
    /// Operations that came to their end.
    pub(super) operations: u64,
    /// Median time of an operation, ns.
    pub(super) p50: Option<f64>,
    /// Mean time of all operations, ns; `None` where an answer never came.
    pub(super) mean: Option<f64>,
    /// Messages per second.
    pub(super) rate: Option<f64>,
    /// Per-operation samples, picoseconds.
    pub(super) histogram: Compact,
    pub(super) unanswered: u64,
    pub(super) fan: Option<FanRound>,
    pub(super) own: OwnData,
}

/// What one slice has beside its times.
pub(super) struct TripCosts {
    pub(super) ways: Ways,
    /// Where they began at times of their own.
    pub(super) paced: Option<PacedSlice>,
}

/// The ways of one slice in nanoseconds, or why there are none.
pub(super) struct Ways {
    /// Picoseconds.
    pub(super) histogram: Compact,
    pub(super) bound_ns: f64,
    pub(super) objection: Option<String>,
}

/// One slice, in picoseconds and messages per second.
pub(super) struct PacedSlice {
    pub(super) service: Compact,
    pub(super) lateness: Compact,
    /// Messages due per second; `None` in a closed loop.
    pub(super) offered: Option<f64>,
    /// The closed loop of its family, once for all rounds.
    pub(super) peak: Option<f64>,
    pub(super) saturated: bool,
}

/// Counts of the same name, added up.
pub(super) fn summed<'a>(
    counts: impl Iterator<Item = &'a BTreeMap<String, u64>>,
) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, count) in counts.flatten() {
        *sums.entry(name.clone()).or_insert(0) += count;
    }
    sums
}

/// Messages per second.
pub(super) fn per_second(messages: u64, ticks: u64, ns: f64) -> Option<f64> {
    (ticks > 0).then(|| messages as f64 / (ticks as f64 * ns) * 1e9)
}
