//! Clients that stay connected to one server: the outcome of all requests, over all rounds.

use super::metric::{Timed, among_answered, distribution, over_rounds};
use super::paced::{self, PacedSlice};
use super::sliced::{Crowd, OwnData, SliceReading, Sliced, per_second, summed};
use crate::plan::CellPlan;
use crate::slice::{CrowdSlice, RawSlice};
use ipcperf_core::result::{Cell, Metric, Served, ServedClient, ServedPart};
use ipcperf_core::{MixPart, Seat};
use ipcperf_stats::{Histogram, jain};

/// From this share of one CPU on a process is busy: the rest is what the kernel counts as idle between two wake-ups, or took.
const BUSY: f64 = 0.85;

pub(super) fn reading(serve: &CrowdSlice, raw: &RawSlice, ns: f64) -> SliceReading {
    let [lead, _] = &raw.sides;
    let window = serve.after.window;
    let (responses, failed) = (Histogram::from(&serve.times[0]), serve.after.failed());
    SliceReading {
        p50: among_answered(responses.count(), failed, 0.5)
            .and_then(|q| responses.quantile(q))
            .map(|ticks| ticks as f64 * ns),
        operations: raw.operations,
        rate: per_second(window.messages, window.ticks, ns),
        histogram: serve.times[0].scaled(ns * 1000.0),
        unanswered: failed,
        own: OwnData::Crowd(Box::new(Crowd {
            slice: serve.clone(),
            paced: serve.paced.as_ref().map(|paced| PacedSlice::of(paced, lead, ns)),
        })),
        ..SliceReading::default()
    }
}

/// Bytes that answered requests and their answers had.
pub(super) fn bytes(serve: &CrowdSlice, parts: &[MixPart]) -> u64 {
    let each = parts.iter().zip(&serve.after.answered);
    each.map(|(part, answered)| answered * (part.request + part.reply)).sum()
}

/// Adds what the accepted rounds come to.
pub(super) fn measure(
    cell: &mut Cell,
    accepted: &[&Sliced],
    kept: &[&Sliced],
    plan: &CellPlan,
    rate: Metric,
    ns: f64,
) {
    cell.rtt_ns = Some(distribution(&Timed::of(accepted), &Timed::of(kept)));
    if plan.key.is_open() {
        cell.achieved_per_second = Some(rate.clone());
    }
    cell.serve = served(accepted, kept, plan, rate, ns);
    paced::measure(cell, kept);
}

fn served(
    accepted: &[&Sliced],
    kept: &[&Sliced],
    plan: &CellPlan,
    rate: Metric,
    ns: f64,
) -> Option<Served> {
    let slices = |all: &[&Sliced]| -> Vec<CrowdSlice> {
        all.iter().filter_map(|slice| Some(slice.crowd()?.clone())).collect()
    };
    let (all, kept) = (slices(accepted), slices(kept));
    let clients = all.first()?.after.clients;
    let sum = |count: &dyn Fn(&CrowdSlice) -> u64| all.iter().map(count).sum();
    let over = |value: &dyn Fn(&CrowdSlice) -> Option<f64>| -> Metric {
        over_rounds(&kept.iter().filter_map(value).collect::<Vec<f64>>())
    };
    let share = |part: u64, whole: f64| (whole > 0.0).then(|| part as f64 / whole);
    let each = |seat: Seat| {
        over(&|one| share(one.after.spent[seat.index()].cpu_ns, one.after.all[1] as f64))
    };
    let lasted = |one: &CrowdSlice| one.after.whole as f64 * ns;
    let server_busy = over(&|one| share(one.after.spent[1].cpu_ns, lasted(one)));
    let client_busy = over(&|one| share(one.after.busiest_ns, lasted(one)));
    let moved = |one: &CrowdSlice| -> Vec<f64> {
        one.after.moved.iter().map(|count| *count as f64).collect()
    };
    let least = |one: &CrowdSlice| {
        share(one.after.moved.iter().copied().min()?, one.after.window.messages as f64)
    };
    let load = &plan.key.load;
    let parts = load.mix.iter().flat_map(|mix| mix.parts()).enumerate();
    let part = |(at, part): (usize, &MixPart)| ServedPart {
        request_bytes: part.request,
        reply_bytes: part.reply,
        answered: sum(&|one| one.after.answered.get(at).copied().unwrap_or(0)),
    };
    let by_client = |at: usize| {
        let times = |slices: &'_ [CrowdSlice]| -> Vec<crate::slice::Compact> {
            slices.iter().filter_map(|one| one.by_client.get(at).cloned()).collect()
        };
        let (all, kept) = (times(&all), times(&kept));
        ServedClient {
            answered: sum(&|one| one.after.by_client.get(at).copied().unwrap_or(0)),
            response_ns: distribution(&Timed::answered(&all), &Timed::answered(&kept)),
        }
    };
    Some(Served {
        conns: load.conns,
        clients,
        style: all.first()?.after.style,
        asked: sum(&|one| one.after.asked),
        answered: sum(&|one| one.after.answers()),
        errors: summed(all.iter().map(|one| &one.after.errors)),
        refused: sum(&|one| one.after.refused),
        server_errors: summed(all.iter().map(|one| &one.after.server_errors)),
        client_eagain: sum(&|one| one.after.eagain[0]),
        server_eagain: sum(&|one| one.after.eagain[1]),
        unsent: sum(&|one| one.after.unsent),
        mix: parts.map(part).collect(),
        requests_per_second: rate,
        server_cpu_ns: each(Seat::Follow),
        client_cpu_ns: each(Seat::Lead),
        limit: limit(plan.key.placement.is_one_cpu(), &server_busy, &client_busy).to_owned(),
        server_busy,
        client_busy,
        jain: over(&|one| jain(&moved(one))),
        least_share: over(&least),
        rest_busy: over(&|one| share(one.after.rest_ns[1], one.after.rest_ns[0] as f64)),
        rest_ns: all.first()?.after.rest_ns[0],
        by_client: match clients {
            1 => Vec::new(),
            clients => (0..clients as usize).map(by_client).collect(),
        },
    })
}

/// What was busy: nothing else limits how many requests are answered.
fn limit(is_one_cpu: bool, server: &Metric, clients: &Metric) -> &'static str {
    let [server, clients] = [server, clients].map(|busy| busy.value.unwrap_or(0.0));
    match (server >= BUSY, clients >= BUSY) {
        (true, true) => "both",
        (true, false) => "server",
        (false, true) => "clients",
        (false, false) if is_one_cpu && server + clients >= BUSY => "cpu",
        (false, false) => "neither",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_busy_is_the_limit() {
        let busy = |value: f64| Metric { value: Some(value), ..Metric::default() };
        for (is_one_cpu, server, clients, told) in [
            (false, 0.97, 0.5, "server"),
            (false, 2.5, 0.9, "both"),
            (false, 0.4, 0.99, "clients"),
            (false, 0.5, 0.5, "neither"),
            (true, 0.5, 0.45, "cpu"),
            (true, 0.3, 0.2, "neither"),
        ] {
            assert_eq!(limit(is_one_cpu, &busy(server), &busy(clients)), told);
        }
        assert_eq!(limit(true, &Metric::default(), &Metric::default()), "neither");
    }
}
