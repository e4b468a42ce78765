//! The stand-in for two socat processes: two workers that wait, read and write once for each block.

use super::super::work::Turn;
use super::plan::{Method, Plan, Run};
use super::way::{self, Arranged, Way};
use ipcperf_core::errno;
use ipcperf_engine::supervisor::Supervisor;
use ipcperf_engine::task::{TaskError, WorkerContext};
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::io::pipe::End;
use ipcperf_sys::io::{ready, stream};
use ipcperf_sys::process::Worker;
use ipcperf_sys::procfs::{Consumption, consumption};
use ipcperf_sys::signals::Interrupts;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread::sleep;
use std::time::Duration;

/// What workers are told to be.
pub(super) const NAME: &str = "pipeline";

/// What an end has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Duty {
    pub(super) way: Way,
    pub(super) is_source: bool,
    /// Between the way and a null device; else the end makes or drops the bytes itself.
    pub(super) relays: bool,
    pub(super) block: usize,
    pub(super) bytes: u64,
    pub(super) closing: Duration,
}

/// What an end has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) bytes: u64,
    /// Of the steady part: its length.
    pub(super) steady_bytes: u64,
    /// And how long it took.
    pub(super) steady_ns: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
}

impl Seen {
    pub(super) fn used(self, before: Consumption) -> Self {
        let now = consumption();
        Self {
            user_ns: now.user_ns - before.user_ns,
            system_ns: now.system_ns - before.system_ns,
            ..self
        }
    }
}

/// The numbers of both ends, in the order of their start.
pub(super) const SINK: usize = 0;
pub(super) const SOURCE: usize = 1;

/// Starts the two ends for `plan`.
pub(super) fn start<'a>(
    plan: &Plan,
    turn: &Turn<'a>,
    relays: bool,
    arranged: &Arranged,
    mut between: impl FnMut(),
) -> Result<Supervisor<'a>, TaskError> {
    let mut ends = Supervisor::new(turn.deadline, turn.interrupts);
    for (end, name) in [(End::Read, "the sink"), (End::Write, "the source")] {
        let duty = Duty {
            way: arranged.way.clone(),
            is_source: end == End::Write,
            relays,
            block: plan.block,
            bytes: plan.bytes,
            closing: plan.wait(),
        };
        if end == End::Write {
            between();
        }
        // Up to a page more or less on the stack.
        let pad = usize::from((turn.nonce % 4096) as u16);
        let who = ends.start(name, pad)?;
        ends.assign(who, NAME, &duty, &arranged.given(end))?;
    }
    Ok(ends)
}

/// Measures one run, from the start of the processes to their ends.
pub(super) fn measure(plan: &Plan, turn: &Turn<'_>) -> Result<Run, TaskError> {
    let mut arranged = Arranged::make(plan, turn)?;
    let mut start_ns = monotonic_ns();
    let mut ends = start(plan, turn, true, &arranged, || {
        // Where the two are no pipeline of a shell the sink was started before the watch.
        if plan.method != Method::AnonymousPipe {
            start_ns = monotonic_ns();
        }
    })?;
    arranged.let_go();
    let sent: Seen = ends.done(SOURCE)?;
    let received: Seen = ends.done(SINK)?;
    for who in [SOURCE, SINK] {
        await_end(ends.worker(who), turn)?;
    }
    let end_ns = monotonic_ns();
    complete(plan, "the source passed on", sent.bytes)?;
    complete(plan, "the sink took", received.bytes)?;
    Ok(Run {
        wall_ns: end_ns.saturating_sub(start_ns),
        user_ns: sent.user_ns + received.user_ns,
        system_ns: sent.system_ns + received.system_ns,
        races_lost: 0,
        port: 0,
    })
}

fn await_end(worker: &Worker, turn: &Turn<'_>) -> Result<(), TaskError> {
    let mut fds = vec![worker.pidfd()];
    fds.extend(turn.interrupts.map(Interrupts::fd));
    let ended = wait_any(&fds, turn.deadline)?.first() == Some(&true);
    if let Some(interrupts) = turn.interrupts {
        interrupts.pulse().begin();
    }
    match turn.interrupts {
        Some(interrupts) if interrupts.arrived() => Err(TaskError::Interrupted),
        _ if ended => Ok(()),
        _ => Err(TaskError::Deadline("an end of the pipeline did not end in time".into())),
    }
}

/// A run that lost bytes would look fast.
pub(super) fn complete(plan: &Plan, who: &str, bytes: u64) -> Result<(), TaskError> {
    if bytes == plan.bytes {
        return Ok(());
    }
    Err(TaskError::Failed(format!("{who} {bytes} of {} bytes", plan.bytes)))
}

/// Serves one end, in a worker.
pub(super) fn serve(
    duty: &Duty,
    end: End,
    context: &mut WorkerContext<'_>,
) -> Result<Seen, String> {
    let open = |path: &str, write: bool| {
        let opened = File::options().read(!write).write(write).open(path);
        opened.map_err(|error| format!("{path}: {error}"))
    };
    let mut buffer = vec![0; duty.block];
    let seen = if end == End::Write {
        let zeros = open("/dev/zero", false)?;
        let way = way::open(&duty.way, end, context)?;
        let seen = relay(zeros.as_fd(), way.as_fd(), &mut buffer, duty.bytes)?;
        sleep(duty.closing);
        seen
    } else {
        let way = way::open(&duty.way, end, context)?;
        let null = open("/dev/null", true)?;
        let seen = relay(way.as_fd(), null.as_fd(), &mut buffer, u64::MAX)?;
        sleep(duty.closing);
        seen
    };
    Ok(seen.used(Consumption::default()))
}

/// Passes bytes on until there are no more, or `limit` have passed.
fn relay(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer: &mut [u8],
    limit: u64,
) -> Result<Seen, String> {
    let mut seen = Seen::default();
    while seen.bytes < limit {
        ready::both(from, to).map_err(|code| failed("poll", code))?;
        let wanted = share(buffer, limit - seen.bytes);
        let got = again(|| stream::read(from, wanted)).map_err(|code| failed("read", code))?;
        let (block, _) = wanted.split_at(got);
        if block.is_empty() {
            break;
        }
        write_all(to, block)?;
        seen.bytes += block.len() as u64;
    }
    Ok(seen)
}

/// So much of a block as may still go.
pub(super) fn share(block: &mut [u8], left: u64) -> &mut [u8] {
    let len = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
    block.split_at_mut(len).0
}

/// Writes all of a block, in as many calls as it takes.
pub(super) fn write_all(to: BorrowedFd<'_>, mut block: &[u8]) -> Result<(), String> {
    while !block.is_empty() {
        let sent = again(|| stream::write(to, block)).map_err(|code| failed("write", code))?;
        block = block.split_at(sent).1;
    }
    Ok(())
}

/// Repeats a call that a signal interrupted.
pub(super) fn again(mut call: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
    loop {
        match call() {
            Err(code) if code == ipcperf_sys::io::errno::EINTR => {}
            other => return other,
        }
    }
}

pub(super) fn failed(call: &str, code: i32) -> String {
    format!("{call}: {}", errno::text(code))
}
