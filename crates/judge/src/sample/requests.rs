//! Connections for single requests, and those that stay.

use super::{Build, TWO, metric, set};
use ipcperf_core::result::*;
use ipcperf_core::{Load, Offered, PatternKind, ServerStyle};
use std::collections::BTreeMap;

/// Connections for single requests, by one client and by ten.
pub fn connections() -> ResultSet {
    let cell = |mechanism| super::cell(mechanism, 64, TWO);
    let mut set = set(vec![
        requests(cell("unix-stream"), 31_000.0, 10, 0),
        requests(cell("tcp"), 16_000.0, 10, 12),
        requests(cell("unix-stream"), 18_500.0, 5, 0),
        requests(cell("tcp"), 10_900.0, 5, 0),
    ]);
    set.invocation.plan.command = "run".to_owned();
    set
}

/// Requests per second over connections of their own, by so many clients, of which so many of 20,000 failed.
fn requests(mut cell: Cell, rate: f64, conns: u64, failed: u64) -> Cell {
    cell.key.pattern = PatternKind::Connect;
    cell.id = format!("{} conns={conns}", cell.id.replace("ping-pong", "connect"));
    cell.key.load.conns = conns;
    (cell.messages, cell.lost) = (20_000 - failed, failed);
    let times = |p50: f64| {
        let tail = Metric { value: Some(p50 * 3.0), ..Metric::default() };
        [("p50".to_owned(), metric(p50, 1.0)), ("p99".to_owned(), tail)].into()
    };
    let request = conns as f64 / rate * 1e9;
    let rates = super::rounds(&cell, rate, rate / 50.0);
    let round = |(at, rate)| Round { messages_per_second: Some(rate), ..super::slice(at, 20_000) };
    cell.rounds = rates.into_iter().enumerate().map(round).collect();
    cell.connect = Some(Connections {
        conns,
        clients: "threads".to_owned(),
        server: "accept".to_owned(),
        closes: Some(ipcperf_core::Closes::Server),
        backlog: 128,
        asked: 20_000,
        answered: 20_000 - failed,
        refused: failed,
        retried: 0,
        not_at_once: BTreeMap::new(),
        resent: 0,
        overflows: None,
        syn_resent: None,
        errors: (failed > 0).then(|| ("ECONNREFUSED".to_owned(), failed)).into_iter().collect(),
        server_errors: (failed > 0).then(|| ("EMFILE".to_owned(), 1)).into_iter().collect(),
        requests_per_second: metric(rate, rate / 50.0),
        request_ns: times(request),
        socket_ns: times(request / 10.0),
        connect_ns: times(request / 2.0),
        first_byte_ns: times(request / 5.0),
        close_ns: times(request / 10.0),
        time_wait: Some(BeforeAfter { before: 3, after: 20_003 }),
        ephemeral_ports: Some(EphemeralPorts {
            first: 32_768,
            last: 60_999,
            in_use: BeforeAfter { before: 1, after: 2 },
        }),
    });
    cell.cpu(2e9 / rate)
}

/// One server with one and with 16 connections, and one that is asked for too much.
pub fn served() -> ResultSet {
    let cell = |mechanism| super::cell(mechanism, 64, TWO);
    let mut flooded = serves(cell("unix-stream"), 20_000.0, 16, "server", 0);
    flooded.key.load.rate = Some(Offered::PerSecond(90_000.0));
    flooded.id.push_str(" rate=90000/s");
    flooded.offered_per_second = Some(metric(90_000.0, 100.0));
    flooded.achieved_per_second = Some(metric(20_000.0, 100.0));
    let p50 = flooded.rtt_ns.as_ref().and_then(|times| times.get("p50")).cloned();
    flooded.service_ns = p50.map(|p50| [("p50".to_owned(), p50)].into());
    flooded.rtt_ns = Some([("p50".to_owned(), Metric::missing("saturated"))].into());
    let mut set = set(vec![
        serves(cell("unix-stream"), 90_000.0, 16, "server", 0),
        serves(cell("tcp"), 60_000.0, 16, "both", 3),
        serves(cell("unix-stream"), 40_000.0, 1, "neither", 0),
        serves(cell("tcp"), 30_000.0, 1, "neither", 0),
        flooded,
    ]);
    set.invocation.plan.command = "run".to_owned();
    set
}

/// Requests per second over connections that stay, of which so many of 20,000 failed.
fn serves(mut cell: Cell, rate: f64, conns: u64, limit: &str, failed: u64) -> Cell {
    cell.key.pattern = PatternKind::Serve;
    cell.id = format!("{} conns={conns}", cell.id.replace("ping-pong", "serve"));
    let style = Some(ServerStyle::Threads);
    cell.key.load = Load { conns, clients: 2, inflight: 1, style, ..Load::default() };
    (cell.messages, cell.lost) = (20_000 - failed, failed);
    let p50 = conns as f64 / rate * 1e9;
    let times = |p50: f64| {
        let tail = Metric { value: Some(p50 * 3.0), ..Metric::default() };
        [("p50".to_owned(), metric(p50, 1.0)), ("p99".to_owned(), tail)].into()
    };
    cell.rtt_ns = Some(times(p50));
    let rates = super::rounds(&cell, rate, rate / 50.0);
    let round = |(at, rate)| Round { messages_per_second: Some(rate), ..super::slice(at, 20_000) };
    cell.rounds = rates.into_iter().enumerate().map(round).collect();
    let share = |value: f64| metric(value, 0.01);
    let client = || ServedClient { answered: (20_000 - failed) / 2, response_ns: times(p50 * 1.1) };
    cell.serve = Some(Served {
        conns,
        clients: 2,
        style: ServerStyle::Threads,
        asked: 20_000,
        answered: 20_000 - failed,
        errors: (failed > 0).then(|| ("ECONNRESET".to_owned(), failed)).into_iter().collect(),
        refused: failed,
        server_errors: (failed > 0).then(|| ("ECONNRESET".to_owned(), 1)).into_iter().collect(),
        client_eagain: 1,
        server_eagain: 2,
        unsent: failed,
        mix: vec![ServedPart { request_bytes: 64, reply_bytes: 5, answered: 20_000 - failed }],
        requests_per_second: metric(rate, rate / 50.0),
        server_cpu_ns: metric(0.6e9 / rate, 10.0),
        client_cpu_ns: metric(0.4e9 / rate, 10.0),
        server_busy: share(0.97),
        client_busy: share(0.6),
        limit: limit.to_owned(),
        jain: share(0.99),
        least_share: share(0.9 / conns as f64),
        rest_busy: share(0.001),
        rest_ns: 10_000_000,
        by_client: vec![client(), client()],
    });
    cell.cpu(1e9 / rate)
}
