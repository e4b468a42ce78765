//! The peers of a fan, from rounds to metrics.

use super::metric::{Timed, distribution, over_rounds};
use super::sliced::{SliceReading, Sliced};
use super::stream;
use crate::hot::fan::Arrived;
use crate::slice::{RawFan, RawSlice};
use ipcperf_core::Ends;
use ipcperf_core::result::{CellKey, Fan, FanRound, GridConsumers, Metric};
use ipcperf_stats::{jain, median};

pub(super) fn reading(data: &RawFan, raw: &RawSlice, to_each: bool, ns: f64) -> SliceReading {
    let seconds = data.window.ticks as f64 * ns / 1e9;
    let each = data.served.iter().filter(|_| to_each && seconds > 0.0);
    SliceReading {
        histogram: data.calls.scaled(ns * 1000.0),
        fan: Some(FanRound {
            served: data.served.iter().map(|messages| messages.round() as u64).collect(),
            jain: jain(&data.served),
            pids: data.pids.clone(),
            per_second: each.map(|messages| messages / seconds).collect(),
            behind: median(&data.behind),
            most_behind: data.behind.iter().copied().reduce(f64::max),
            taken: data.taken.iter().map(|messages| messages.round() as u64).collect(),
            arrived: data.arrived.map(|(Arrived { whole, mixed }, all)| {
                [whole, mixed, all.saturating_sub(whole + mixed)]
            }),
        }),
        ..stream::reading(data.window, raw, ns)
    }
}

pub(super) fn cell(accepted: &[&Sliced], kept: &[&Sliced], key: &CellKey) -> Fan {
    let ([producers, consumers], facts) = (key.load.sides(key.pattern), key.pattern.facts());
    let (to_each, is_grid) = (facts.to_each, facts.ends == Ends::Grid);
    let peers = if is_grid { producers } else { producers.max(consumers) };
    let rounds = || kept.iter().filter_map(|slice| slice.round.fan.as_ref());
    let over = |value: fn(&FanRound) -> Option<f64>| -> Metric {
        let values: Vec<f64> = rounds().filter_map(value).collect();
        if values.is_empty() {
            return Metric::missing(
                "the first peer finished before enough messages had arrived to compute shares",
            );
        }
        over_rounds(&values)
    };
    let is_cut = rounds().any(|round| round.arrived.is_some());
    Fan {
        peers,
        jain: over(|round| round.jain),
        least_share: over(|round| share(&round.served, u64::min)),
        most_share: over(|round| share(&round.served, u64::max)),
        call_ns: distribution(&Timed::of(accepted), &Timed::of(kept)),
        slowest_per_second: to_each
            .then(|| over(|round| round.per_second.iter().copied().reduce(f64::min))),
        behind: to_each.then(|| over(|round| round.behind)),
        most_behind: to_each.then(|| over(|round| round.most_behind)),
        consumers: is_grid.then(|| GridConsumers {
            count: consumers,
            jain: over(|round| {
                jain(&round.taken.iter().map(|messages| *messages as f64).collect::<Vec<_>>())
            }),
            least_share: over(|round| share(&round.taken, u64::min)),
            most_share: over(|round| share(&round.taken, u64::max)),
        }),
        whole: is_cut.then(|| over(|round| arrived(round, 0))),
        mixed: is_cut.then(|| over(|round| arrived(round, 1))),
        split: is_cut.then(|| over(|round| arrived(round, 2))),
    }
}

/// The smallest or largest share of the messages of some.
fn share(messages: &[u64], pick: fn(u64, u64) -> u64) -> Option<f64> {
    let all: u64 = messages.iter().sum();
    let picked = messages.iter().copied().reduce(pick);
    picked.filter(|_| all > 0).map(|picked| picked as f64 / all as f64)
}

/// The share of messages that came in this way.
fn arrived(round: &FanRound, way: usize) -> Option<f64> {
    let counts = round.arrived?;
    let all: u64 = counts.iter().sum();
    (all > 0).then(|| counts[way] as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::tests::{fan_of, round_trips, trips};
    use crate::slice::{Data, Window};

    #[test]
    fn shares_are_per_round_and_their_median_is_told() {
        let slices = (0..7).map(|round| {
            let mut slice = round_trips(round, 5000, 1000);
            slice.raw.counts[0].received = 0;
            slice.raw.counts[1].sent = 0;
            let window = Window { messages: 400, ticks: 1_000_000 };
            let served = if round == 6 { vec![400.0, 0.0] } else { vec![100.0, 300.0] };
            let calls = trips(&mut slice).histogram.clone();
            slice.raw.data = Data::Fan(RawFan {
                window,
                calls,
                served,
                pids: vec![10, 12],
                ..RawFan::default()
            });
            slice
        });
        let cell = fan_of(slices.collect());
        let near = |value: Option<f64>, to: f64| {
            assert!(value.is_some_and(|value| (value / to - 1.0).abs() < 2e-3), "{value:?} {to}");
        };
        let fan = cell.fan.as_ref().expect("a fan");
        // The fan of four peers by default is what was asked for; the slices decide the rest.
        assert_eq!((fan.peers, cell.verified, cell.messages), (4, true, 7000));
        near(fan.jain.value, 0.8);
        near(fan.least_share.value, 0.25);
        near(fan.most_share.value, 0.75);
        near(fan.call_ns["p90"].value, 5000.0);
        near(fan.call_ns["max"].value, 5000.0);
        near(cell.messages_per_second.expect("a rate").value, 400_000.0);
        assert!(cell.rtt_ns.is_none());
        let round = cell.rounds[6].fan.as_ref().expect("each round tells it");
        assert_eq!((round.served.as_slice(), round.jain), (&[400, 0][..], Some(0.5)));
    }
}
