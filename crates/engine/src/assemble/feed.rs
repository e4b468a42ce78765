//! A feed, from rounds to metrics.

use super::metric::{Timed, distribution, merged, over_rounds};
use super::sliced::{FeedSlice, OwnData, PacedSlice, SliceReading, Sliced, per_second};
use crate::slice::{Compact, RawFeed, RawSlice};
use ipcperf_core::result::{Feed, FeedRound, Metric};
use ipcperf_stats::Histogram;

pub(super) fn reading(data: &RawFeed, raw: &RawSlice, ns: f64) -> SliceReading {
    let picos = |ticks: &Compact| ticks.scaled(ns * 1000.0);
    let latency = Histogram::from(&data.latency);
    let consumers = data.read.len().max(1) as u64;
    let bound = data.offsets.iter().map(|offset| offset.bound).max().unwrap_or(0);
    SliceReading {
        operations: raw.operations,
        p50: latency.quantile(0.5).map(|ticks| ticks as f64 * ns),
        mean: (latency.count() > 0).then(|| latency.sum() as f64 / latency.count() as f64 * ns),
        // Per consumer, so that it can be compared with the rate at which messages were due.
        rate: per_second(raw.operations, raw.elapsed * consumers, ns),
        histogram: picos(&data.latency),
        own: OwnData::Feed(Box::new(FeedSlice {
            round: FeedRound {
                pids: data.pids.clone(),
                read: data.read.clone(),
                lost: data.lost.clone(),
                late: data.late,
                unread: data.unread,
            },
            paced: PacedSlice {
                service: Compact::default(),
                lateness: picos(&data.lateness),
                offered: per_second(data.messages, data.due, ns),
                peak: None,
                saturated: data.saturated,
            },
            by_consumer: data.by_consumer.iter().map(picos).collect(),
            staleness: picos(&data.staleness),
            bound_ns: bound as f64 * ns,
        })),
        ..SliceReading::default()
    }
}

/// What the cell says beside its times; `None` of other patterns.
pub(super) fn cell(accepted: &[&Sliced], kept: &[&Sliced]) -> Option<Feed> {
    let slices: Vec<&FeedSlice> = kept.iter().filter_map(|slice| slice.feed()).collect();
    let consumers = slices.first()?.by_consumer.len();
    let slowest = |q: f64| -> Metric {
        let of = |at: usize| {
            merged(&Timed::answered(slices.iter().filter_map(|slice| slice.by_consumer.get(at))), q)
        };
        let all = (0..consumers).map(of);
        let longest = |a: Metric, b: Metric| if b.value > a.value { b } else { a };
        all.reduce(longest).unwrap_or_else(|| Metric::missing("no samples"))
    };
    let over = |count: fn(&FeedRound) -> u64| {
        let counts: Vec<f64> = slices.iter().map(|slice| count(&slice.round) as f64).collect();
        over_rounds(&counts)
    };
    let mut lost = vec![0; consumers];
    for slice in accepted.iter().filter_map(|slice| slice.feed()) {
        for (sum, more) in lost.iter_mut().zip(&slice.round.lost) {
            *sum += more;
        }
    }
    let staleness = Timed::answered(slices.iter().map(|slice| &slice.staleness));
    Some(Feed {
        consumers: consumers as u64,
        slowest_p50_ns: slowest(0.5),
        slowest_p99_ns: slowest(0.99),
        staleness_ns: distribution(&staleness, &staleness),
        most_late: over(|round| round.late[0]),
        late_at_end: over(|round| round.late[1]),
        most_unread: over(|round| round.unread[0]),
        unread_at_end: over(|round| round.unread[1]),
        lost,
        bound_ns: slices.iter().map(|slice| slice.bound_ns).fold(0.0, f64::max),
    })
}
