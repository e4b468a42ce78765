//! Connections for single requests.

use super::{Build, TWO, metric, set};
use ipcperf_core::PatternKind;
use ipcperf_core::result::*;
use std::collections::BTreeMap;

/// Connections for single requests, by one client and by ten.
pub(crate) fn connections() -> ResultSet {
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
