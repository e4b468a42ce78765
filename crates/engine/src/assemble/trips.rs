//! Operations that the lead timed: round trips, bursts, open loops.

use super::metric::{among_answered, operation_modes, over_rounds, round_trips};
use super::sliced::{OwnData, PacedSlice, SliceReading, Sliced, TripCosts, Ways, per_second};
use super::{paced, special};
use crate::measured::SliceRun;
use crate::slice::{self, Compact};
use ipcperf_core::PatternFacts;
use ipcperf_core::result::{Cell, Metric, Round};
use ipcperf_stats::Histogram;

pub(super) fn reading(
    data: &slice::Trips,
    slice: &SliceRun,
    facts: &PatternFacts,
    batch: u64,
    ns: f64,
) -> SliceReading {
    let raw = &slice.raw;
    let ticks = Histogram::from(&data.histogram);
    let answered = ticks.count();
    let lost = raw.counts[facts.exchange.counted_by().index()].lost;
    let operations = raw.operations.saturating_sub(lost);
    let [lead, _] = &raw.sides;
    SliceReading {
        operations,
        p50: among_answered(answered, data.unanswered, 0.5)
            .and_then(|q| ticks.quantile(q))
            .map(|ticks| ticks as f64 * ns / raw.batch.max(1) as f64),
        mean: (data.unanswered == 0 && answered > 0)
            .then(|| ticks.sum() as f64 / answered as f64 * ns / raw.batch.max(1) as f64),
        rate: facts.rate.and_then(|_| per_second(operations, raw.elapsed, ns)),
        histogram: if batch == 1 { data.histogram.scaled(ns * 1000.0) } else { Compact::default() },
        unanswered: data.unanswered,
        fan: None,
        own: OwnData::Trips(Box::new(TripCosts {
            ways: Ways::of(&data.ways, slice, ns),
            paced: data.paced.as_ref().map(|paced| PacedSlice::of(paced, lead, ns)),
        })),
    }
}

pub(super) fn measure(
    cell: &mut Cell,
    accepted: &[&Sliced],
    kept: &[&Sliced],
    batch: u64,
    mut centre: Metric,
) {
    if batch > 1 {
        centre.reason.get_or_insert_with(|| {
            format!("median of means of {batch} operations, timed together")
        });
    }
    cell.rtt_ns = Some(round_trips(accepted, kept, batch, centre));
    cell.operation_modes = operation_modes(kept);
    cell.one_way_ns = cell.key.load.one_way.then(|| special::one_way(kept));
    let rate = |of: fn(&Round) -> Option<f64>| {
        let rates: Vec<f64> = kept.iter().filter_map(|slice| of(&slice.round)).collect();
        (!rates.is_empty()).then(|| over_rounds(&rates))
    };
    cell.messages_per_second = rate(|round| round.messages_per_second);
    cell.achieved_per_second = rate(|round| round.achieved_per_second);
    paced::measure(cell, kept);
}
