//! A slice of the pattern that connects for every request: server and clients in the place of two ends and a channel.

use super::{Around, ConnectPlan, ConnectStats, has_path};
use crate::job::{Segment, SideReport};
use crate::registry::Entry;
use crate::slice::{Compact, ConnectSlice, Data, Gaps, RawSlice, Surroundings, Terms};
use crate::supervisor::Stop;
use ipcperf_core::{ClientKind, KnobValue, ListenerKind, OptionSet, Seat, SetupError};
use ipcperf_sys::io::socket::meeting;
use ipcperf_sys::meter::Span;
use std::path::Path;
use std::time::{Duration, Instant};

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
    around: Surroundings<'_>,
) -> Result<RawSlice, Stop> {
    let found = entry.listener(options).map_err(|error| error.to_string())?;
    let (listener, serving) = found.map_err(SetupError::from)?;
    let Terms { job, deadline, client, .. } = terms;
    let count = (job.operations > 0).then_some(job.operations);
    let connect = ConnectPlan {
        listener,
        serving,
        model: *client,
        client_kind: ClientKind::Threads,
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
    let around = self::around(terms, needs_directory, patience, around)?;
    Ok(slice(super::run(&connect, &around)?, &connect, entry, around.cpus))
}

/// What server and clients of a slice have around them, for so long.
pub(crate) fn around<'a>(
    terms: &'a Terms,
    needs_directory: bool,
    patience: Duration,
    given: Surroundings<'a>,
) -> Result<Around<'a>, Stop> {
    let job = &terms.job;
    Ok(Around {
        directory: match needs_directory {
            true => job.shape.directory().map_err(SetupError::from)?,
            false => Path::new("/"),
        },
        nonce: job.shape.nonce,
        cpus: Seat::BOTH.map(|end| job.cpu_of(end)),
        counter: job.counter,
        pads: terms.pads,
        deadline: Instant::now() + patience,
        interrupts: given.interrupts,
    })
}

/// The lead is the clients, the follow the server.
fn slice(
    mut after: ConnectStats,
    connect: &ConnectPlan,
    entry: &Entry,
    cpus: [Option<usize>; 2],
) -> RawSlice {
    let times = std::mem::take(&mut after.times);
    let [requests, ..] = &times.parts;
    // Where clients may find no room at the server, TCP lets them wait for a second and more.
    let longest = if connect.clients > connect.backlog + 1 { 0 } else { after.longest };
    let sum = u64::try_from(requests.sum()).unwrap_or(u64::MAX);
    let gaps = Gaps { longest, sum, count: requests.count() };
    let times = times.parts.each_ref().map(Compact::from);
    let part = |count: u64| after.timed(count);
    let side = |at: usize| SideReport {
        pid: after.pids[at].first().copied().unwrap_or(0),
        spent: after.spent[at].map(part),
        cpu: cpus[at].unwrap_or(0),
        ..SideReport::default()
    };
    let machine = Span {
        window_ns: part(after.machine.window_ns),
        busy_ns: after.machine.busy_ns.map(part),
        energy_uj: after.machine.energy_uj.map(part),
    };
    let bind = if connect.listener == ListenerKind::UnixAbstract { "abstract" } else { "path" };
    let granted = [KnobValue::Word(bind.to_owned()), KnobValue::Number(connect.backlog)];
    let effective = KNOBS.iter().zip(granted).filter_map(|(name, value)| {
        let known = entry.knobs.iter().any(|knob| knob.name == *name);
        known.then(|| ((*name).to_owned(), value))
    });
    RawSlice {
        operations: after.answered,
        elapsed: after.elapsed,
        counts: [
            Segment {
                sent: after.all_asked,
                received: after.all_answered,
                lost: after.failed(),
                ..Segment::default()
            },
            Segment { sent: after.served, received: after.served, ..Segment::default() },
        ],
        sides: [SideReport { machine, ..side(0) }, side(1)],
        effective: effective.collect(),
        gaps,
        stopped: after.stopped.take(),
        ..RawSlice::of(Data::Connect(Box::new(ConnectSlice {
            after,
            times,
            backlog: connect.backlog,
            clients: connect.clients,
        })))
    }
}
