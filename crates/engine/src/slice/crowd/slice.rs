//! A slice of a crowd: server and clients in the place of two ends and a channel. The lead is the clients, the follow the
//! server.

use super::connect::Around;
use crate::job::{Segment, SideReport};
use crate::slice::{CrowdSlice, Data, Gaps, RawSlice, Surroundings, Terms};
use crate::supervisor::Stop;
use ipcperf_core::{Seat, SetupError};
use ipcperf_stats::Histogram;
use ipcperf_sys::meter::Span;
use std::path::Path;
use std::time::{Duration, Instant};

/// What server and clients of a slice have around them, for so long.
pub(super) fn around<'a>(
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

/// The slice, whose requests took so long, ticks. Whether nothing moved while the longest of them was under way is not
/// known everywhere.
pub(super) fn raw(crowd: CrowdSlice, requests: &Histogram, shows_gaps: bool) -> RawSlice {
    let after = &crowd.after;
    let part = |count: u64| after.timed(count);
    let side = |at: usize| SideReport {
        pid: after.pids[at].first().copied().unwrap_or(0),
        spent: after.spent[at].map(part),
        cpu: after.cpus[at],
        tracer: after.tracers[at],
        ..SideReport::default()
    };
    let machine = Span {
        window_ns: part(after.machine.window_ns),
        busy_ns: after.machine.busy_ns.map(part),
        energy_uj: after.machine.energy_uj.map(part),
    };
    let [sent, received] = after.all;
    let clients = Segment { sent, received, lost: after.failed(), ..Segment::default() };
    let server = Segment { sent: after.served, received: after.served, ..Segment::default() };
    RawSlice {
        operations: after.answers(),
        elapsed: after.window.ticks,
        counts: [clients, server],
        sides: [SideReport { machine, ..side(0) }, side(1)],
        gaps: Gaps {
            longest: if shows_gaps { after.longest } else { 0 },
            sum: u64::try_from(requests.sum()).unwrap_or(u64::MAX),
            count: requests.count(),
        },
        stopped: after.stopped.clone(),
        ..RawSlice::of(Data::Crowd(Box::new(crowd)))
    }
}
