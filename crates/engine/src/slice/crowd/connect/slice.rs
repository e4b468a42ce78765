//! A slice of the pattern that connects for every request: server and clients in the place of two ends and a channel.

use super::super::slice::{around, raw};
use super::run::run as run_workers;
use super::{ConnectPlan, has_path};
use crate::registry::Entry;
use crate::slice::{Compact, CrowdSlice, RawSlice, Surroundings, Terms};
use crate::supervisor::Stop;
use ipcperf_core::{KnobValue, ListenerKind, OptionSet, SetupError};
use ipcperf_sys::io::socket::meeting;

/// What a connection for one request leaves of a mechanism's knobs.
pub(crate) const KNOBS: [&str; 2] = ["bind", "backlog"];

/// How many may wait at the server.
fn backlog(entry: &Entry, options: &OptionSet) -> u64 {
    let asked = options.of(entry.spec.name).find(|(knob, _)| *knob == "backlog");
    asked.and_then(|(_, text)| text.parse().ok()).unwrap_or_else(meeting::backlog)
}

/// Runs one in fresh processes.
pub(crate) fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    given: Surroundings<'_>,
) -> Result<RawSlice, Stop> {
    let found = entry.listener(options).map_err(|error| error.to_string())?;
    let (listener, serving) = found.map_err(SetupError::from)?;
    let Terms { job, deadline, client, .. } = terms;
    let count = (job.operations > 0).then_some(job.operations);
    let connect = ConnectPlan {
        listener,
        serving,
        model: *client,
        clients: job.key.load.conns.max(1),
        requests: count.unwrap_or(u64::MAX),
        slice: if count.is_some() { u64::MAX } else { job.slice },
        warmup: job.warmup,
        answer_bytes: job.len,
        backlog: backlog(entry, options),
        closes: job.key.load.closes(),
        nonblocking: job.key.load.nonblocking,
    };
    let (needs_directory, patience) = (has_path(listener), *deadline + connect.waiting());
    let around = around(terms, needs_directory, patience, given)?;
    let (after, times) = run_workers(&connect, &around)?;
    let [requests, ..] = &times;
    let crowd = CrowdSlice {
        after,
        times: times.iter().map(Compact::from).collect(),
        by_client: Vec::new(),
        paced: None,
        backlog: connect.backlog,
    };
    // Where clients may find no room at the server, TCP lets them wait for a second and more.
    let shows_gaps = connect.clients <= connect.backlog + 1;
    let bind = if listener == ListenerKind::UnixAbstract { "abstract" } else { "path" };
    let granted = [KnobValue::Word(bind.to_owned()), KnobValue::Number(connect.backlog)];
    let effective = KNOBS.iter().zip(granted).filter_map(|(name, value)| {
        let known = entry.knobs.iter().any(|knob| knob.name == *name);
        known.then(|| ((*name).to_owned(), value))
    });
    Ok(RawSlice { effective: effective.collect(), ..raw(crowd, requests, shows_gaps) })
}
