//! Round trips on a schedule: how long they took, how late they began, and whether they came faster than they were
//! answered.

use super::compact::{Compact, collect};
use crate::hot::{Recorder, Trip};
use crate::job::Segment;
use ipcperf_stats::Histogram;

/// What is known of them beside how long they took in all, in ticks.
#[derive(Clone, Debug, Default)]
pub struct Paced {
    /// From when a message was sent to its reply.
    pub service: Compact,
    /// From when a message was due to when it was sent, where no earlier reply was outstanding.
    pub lateness: Compact,
    /// For how long messages were due.
    pub due: u64,
    /// Messages that were due.
    pub messages: u64,
    /// Messages came faster than they were answered.
    pub saturated: bool,
}

impl Paced {
    /// Adds one segment.
    pub(super) fn add(&mut self, trips: &[Trip], segment: &Segment) {
        let mut service = Histogram::from(&self.service);
        let services: Vec<u64> = trips.iter().map(|trip| trip.service).collect();
        collect(&mut service, &services);
        self.service = Compact::from(&service);
        let mut lateness = Histogram::from(&self.lateness);
        for trip in trips.iter().filter(|trip| trip.free) {
            lateness.record(trip.late);
        }
        self.lateness = Compact::from(&lateness);
        self.messages += trips.len() as u64;
        self.due += segment.due;
        self.saturated |= segment.due > 0 && saturated(trips, segment);
    }
}

/// The round trips in what the recorder kept of them.
pub(super) fn trips(samples: &[u64]) -> Vec<Trip> {
    samples.as_chunks().0.iter().copied().map(Trip::of).collect()
}

/// Whether messages came faster than they were answered. At the end hardly one finds nobody before it, one waits ten
/// times as long as it takes, and either the queue grew all the time (each quarter of the messages waited longer than the
/// one before, the last at least three times as long as the first), or it grew and could not be served in time, or a
/// tenth of the time was missing. Less than that comes by chance in a short slice near the peak, or on a busy machine.
pub(crate) fn saturated(trips: &[Trip], segment: &Segment) -> bool {
    let responses: Vec<u64> = trips.iter().map(|trip| trip.response()).collect();
    let median = |values: &[u64]| {
        let mut sorted: Vec<u64> =
            values.iter().copied().filter(|ticks| *ticks != Recorder::LOST).collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or(0.0, |ticks| *ticks as f64)
    };
    let services: Vec<u64> = trips.iter().map(|trip| trip.service).collect();
    let service = median(&services);
    let quarters: Vec<f64> =
        responses.chunks(responses.len().div_ceil(4).max(1)).map(median).collect();
    let [first, second, third, last] = quarters.as_slice() else { return false };
    let rises = first < second && second < third && third < last;
    let is_long = *last > 10.0 * service;
    let took = (segment.end - segment.begin) as f64;
    let served = segment.due as f64 / (took - service).max(1.0);
    let grows = (rises && *last >= 3.0 * first) || (served < 0.99 && *last > 2.0 * first);
    let late = trips.get(trips.len() / 4 * 3..).unwrap_or_default();
    let is_busy = 100 * late.iter().filter(|trip| trip.free).count() <= late.len();
    is_busy && is_long && (grows || served < 0.9)
}

#[cfg(test)]
#[path = "tests/paced.rs"]
mod tests;
