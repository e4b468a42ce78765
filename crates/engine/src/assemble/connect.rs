//! Connections for single requests: the outcome of all requests, over all rounds.

use super::metric::{Timed, distribution};
use super::sliced::{Crowd, OwnData, SliceReading, Sliced, per_second, summed};
use crate::plan::CellPlan;
use crate::slice::crowd::Ports;
use crate::slice::{Compact, CrowdSlice};
use ipcperf_core::ClientKind;
use ipcperf_core::result::{BeforeAfter, Connections, EphemeralPorts, Metric};
use ipcperf_stats::Histogram;
use std::collections::BTreeMap;

/// Stands for the time of a request that was never answered: later than all that were, as picoseconds of a histogram.
const NEVER: u64 = u64::MAX;

pub(super) fn reading(crowd: &CrowdSlice, ns: f64) -> SliceReading {
    let window = crowd.after.window;
    SliceReading {
        operations: crowd.after.answers(),
        rate: per_second(window.messages, window.ticks, ns),
        histogram: crowd.times[0].scaled(ns * 1000.0),
        own: OwnData::Crowd(Box::new(Crowd { slice: crowd.clone(), paced: None })),
        ..SliceReading::default()
    }
}

/// What the accepted rounds add up to; `None` without any.
pub(super) fn connections<'a>(
    accepted: &[&'a Sliced],
    kept: &[&'a Sliced],
    plan: &CellPlan,
    rate: Metric,
    ns: f64,
) -> Option<Connections> {
    let connects = |slices: &[&'a Sliced]| -> Vec<&'a CrowdSlice> {
        slices.iter().filter_map(|slice| slice.crowd()).collect()
    };
    let (kept, connects) = (connects(kept), connects(accepted));
    // In the order of the rounds.
    let (backlog, first) = connects.first().map(|one| (one.backlog, &one.after.connects))?;
    let last = &connects.last()?.after.connects;
    let sum =
        |count: &dyn Fn(&CrowdSlice) -> u64| connects.iter().map(|connect| count(connect)).sum();
    let crowding =
        |at: usize| connects.iter().map(|connect| Some(connect.after.connects.crowding?[at])).sum();
    let errors = |of: &dyn Fn(&CrowdSlice) -> &BTreeMap<String, u64>| {
        summed(connects.iter().map(|connect| of(connect)))
    };
    let (asked, answered): (u64, u64) =
        (sum(&|connect| connect.after.asked), sum(&|connect| connect.after.answers()));
    let part = |at: usize| {
        let histograms = |connects: &[&CrowdSlice]| -> Vec<Compact> {
            connects.iter().map(|connect| picoseconds(connect, at, ns)).collect()
        };
        let (all, kept) = (histograms(&connects), histograms(&kept));
        distribution(&Timed::answered(&all), &Timed::answered(&kept))
    };
    let mut request = part(0);
    let failed = format!("{} of {asked} requests failed", asked - answered);
    for metric in request.values_mut() {
        *metric = without_failed(std::mem::take(metric), &failed);
    }
    let serving = plan.entry.listener(&plan.options).ok()?.ok()?.1;
    let both = |[before, _]: [Option<u64>; 2], [_, after]: [Option<u64>; 2]| {
        Some(BeforeAfter { before: before?, after: after? })
    };
    let ports = |first: Ports, last: Ports| {
        let (low, high) = first.range;
        Some(EphemeralPorts { first: low, last: high, in_use: both(first.in_use, last.in_use)? })
    };
    Some(Connections {
        conns: plan.key.load.conns,
        clients: ClientKind::Threads.name().into(),
        server: serving.name().into(),
        closes: Some(plan.key.load.closes()),
        backlog,
        asked,
        answered,
        refused: sum(&|connect| connect.after.connects_refused()),
        retried: sum(&|connect| connect.after.connects.retried),
        not_at_once: errors(&|connect| &connect.after.connects.not_at_once),
        resent: sum(&|connect| connect.after.connects.resent),
        overflows: crowding(0),
        syn_resent: crowding(1),
        errors: errors(&|connect| &connect.after.errors),
        server_errors: errors(&|connect| &connect.after.server_errors),
        requests_per_second: rate,
        request_ns: request,
        socket_ns: part(1),
        connect_ns: part(2),
        first_byte_ns: part(3),
        close_ns: part(4),
        time_wait: both(first.time_wait, last.time_wait),
        ephemeral_ports: first.ports.zip(last.ports).and_then(|(a, b)| ports(a, b)),
    })
}

/// What is left of a quantile among which some that failed may be: nothing where it falls on one of them, and no interval
/// where that reaches up to them.
fn without_failed(metric: Metric, failed: &str) -> Metric {
    let is_never = |ns: f64| ns > NEVER as f64 / 2e3;
    if metric.value.is_some_and(is_never) {
        return Metric::missing(failed);
    }
    match metric.ci95 {
        Some(ends) if ends.into_iter().any(is_never) => {
            Metric { ci95: None, reason: Some(failed.to_owned()), ..metric }
        }
        _ => metric,
    }
}

/// Times of a part. Whole requests that failed are among them, so that they stay in the denominator.
fn picoseconds(connect: &CrowdSlice, at: usize, ns: f64) -> Compact {
    let ticks = connect.times.get(at).map(Histogram::from).unwrap_or_default();
    let mut picos = ticks.scaled(ns * 1000.0);
    if at == 0 {
        picos.record_n(NEVER, connect.after.failed());
    }
    Compact::from(&picos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::crowd::CrowdStats;

    #[test]
    fn no_interval_ends_at_a_request_that_failed() {
        // Of 1000 requests of each round; 81 in all, fewer than the hundredth, but not in every round.
        let failed = [0, 18, 9, 0, 18, 9, 0, 18, 9];
        let rounds = failed.map(|failed| {
            let mut ticks = Histogram::new();
            ticks.record_n(5000, 1000 - failed);
            let after = CrowdStats {
                asked: 1000,
                answered: vec![1000 - failed],
                errors: [("ETIMEDOUT".to_owned(), failed)].into(),
                ..CrowdStats::default()
            };
            let times = vec![Compact::from(&ticks)];
            let (by_client, paced) = (Vec::new(), None);
            picoseconds(&CrowdSlice { after, times, by_client, paced, backlog: 128 }, 0, 1.0)
        });
        let timed = Timed::answered(&rounds);
        let all = distribution(&timed, &timed);
        let p99 = all["p99"].clone();
        assert!(p99.ci95.is_some_and(|[_, high]| high > 1e15), "{p99:?}");
        let p99 = without_failed(p99, "81 of 9000 requests failed");
        assert!(p99.value.is_some_and(|value| (value / 5000.0 - 1.0).abs() < 2e-3), "{p99:?}");
        let reason = Some("81 of 9000 requests failed");
        assert_eq!((p99.ci95, p99.reason.as_deref()), (None, reason));
        assert_eq!(without_failed(all["max"].clone(), "failed").value, None);
        assert_eq!(without_failed(all["p50"].clone(), "failed"), all["p50"]);
    }
}
