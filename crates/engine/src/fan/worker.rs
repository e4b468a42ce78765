//! One of the workers of a fan, in a process of its own.

use super::loops::{FanLoops, Role};
use super::page::Page;
use super::{Ended, Left, Order, Part, Phase, Ran, Said};
use crate::hot::account::Account;
use crate::hot::fan::Plan;
use crate::hot::{AnyWork, Recorder};
use crate::job::{Failure, FailureKind, SideReport};
use crate::registry::Registry;
use crate::task::WorkerContext;
use crate::worker::not_pinned;
use ipcperf_core::{KnobValue, Meet, Part as Looked, SetupError, Touch, Wiring};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::{affinity, process, procfs};
use serde_json::Value;

/// What a worker of a fan has beside its end.
pub(crate) struct Fan<'a, 'b> {
    part: &'a Part,
    page: &'a Page,
    context: &'a mut WorkerContext<'b>,
}

/// Runs all phases.
pub(crate) fn serve(registry: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, String> {
    let ended: Ended = attend(registry, context).err();
    serde_json::to_value(ended).map_err(|error| error.to_string())
}

fn attend(registry: &Registry, context: &mut WorkerContext<'_>) -> Result<(), Failure> {
    let part: Part = context.params().map_err(SetupError::Protocol)?;
    let mut fds = std::mem::take(&mut context.fds).into_iter();
    let fd = fds.next().ok_or_else(|| SetupError::Protocol("no page arrived".into()))?;
    let page = Page::from_fd(fd, part.peers())?;
    if let Some(cpu) = part.job.cpu {
        affinity::pin(cpu).map_err(|error| not_pinned(cpu, &error))?;
    }
    let name = &part.job.mechanism;
    let attach = registry.find(name).and_then(|entry| entry.fan).ok_or_else(|| {
        SetupError::Protocol(format!("'{name}' is no mechanism whose ends can be shared"))
    })?;
    let wiring = Wiring {
        fds: fds.collect(),
        names: part.names.names.clone(),
        words: part.names.words.clone(),
    };
    let mut apart = Apart::default();
    let mut loops = attach(part.job.end(wiring, &mut apart))?;
    phases(&mut *loops, Fan { part: &part, page: &page, context }, apart.effective)
}

/// Attaches one of several processes to one side, so that there is nobody to swap anything with.
#[derive(Default)]
struct Apart {
    effective: Vec<(String, KnobValue)>,
}

impl Meet for Apart {
    fn swap(&mut self, _: Wiring) -> Result<Wiring, SetupError> {
        Err(SetupError::Protocol("the ends of a fan have no single peer to swap with".into()))
    }

    fn effective(&mut self, knob: &str, value: KnobValue) {
        self.effective.push((knob.to_owned(), value));
    }
}

/// Runs all phases.
fn phases(
    loops: &mut dyn FanLoops,
    fan: Fan<'_, '_>,
    effective: Vec<(String, KnobValue)>,
) -> Result<(), Failure> {
    let Fan { part, page, context } = fan;
    let nonce = part.job.shape.nonce;
    let proof = AnyWork::touching(Touch::Full, nonce);
    let work = AnyWork::touching(part.job.touch, nonce);
    let accounts = page.accounts(part.spins);
    let mut said = Said::Attached(effective);
    loop {
        let order = context.ready(&said).map_err(SetupError::Protocol)?;
        let order: Order = serde_json::from_value(order)
            .map_err(|error| SetupError::Protocol(format!("order: {error}")))?;
        let Order::Run(phase) = order else { return Ok(()) };
        let ran = if phase.is_verification {
            passage(loops, part, page, &accounts, phase, proof)?
        } else {
            if part.job.touch == Touch::None {
                loops.expect(Looked::Stamp);
            }
            passage(loops, part, page, &accounts, phase, work)?
        };
        said = Said::Ran(Box::new(ran));
    }
}

/// One phase with what it consumed.
fn passage(
    loops: &mut dyn FanLoops,
    part: &Part,
    page: &Page,
    accounts: &[Account<'_>],
    phase: Phase,
    work: AnyWork<'_>,
) -> Result<Ran, Failure> {
    let job = &part.job;
    let fans_in = part.fans_in();
    let tape = if part.is_peer() { page.calls(part.number) } else { &[] };
    let mut calls = Recorder::new(tape);
    let mut rows = match (fans_in, part.is_peer()) {
        (true, false) => Recorder::new(page.rows_of_all()),
        (false, true) => Recorder::new(page.rows(part.number)),
        _ => Recorder::new(&[]),
    };
    // What may be under way is shared out among the producers.
    let window = if job.window == 0 { 0 } else { (job.window / part.peers()).max(1) };
    let plan = Plan {
        len: job.len,
        producer: if fans_in { part.number } else { 0 },
        first: phase.first,
        count: phase.count,
        marks: if fans_in { 0 } else { part.peers() },
        window: u32::try_from(window).unwrap_or(u32::MAX >> 1),
        every: phase.every,
        batch: phase.batch,
    };
    let clock = if job.counter { Clock::counter() } else { Clock::monotonic() };
    let (rows, calls) = (&mut rows, &mut calls);
    let watched = !part.is_peer() && !job.cpus.is_empty();
    let ipis = || watched.then(|| procfs::inter_processor_interrupts(&job.cpus)).flatten();
    let (ipis_before, delay_before, moved_before) =
        (ipis(), procfs::run_delay_ns(), procfs::migrations());
    let before = procfs::consumption();
    let met = page.meet(clock);
    let role = Role { fans_in, is_peer: part.is_peer(), accounts };
    let tally = loops.run(role, clock, plan, work, rows, calls)?;
    let after = procfs::consumption();
    let grown = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    let left = |recorder: &Recorder<'_>| Left {
        len: recorder.len().min(recorder.capacity()),
        spills: recorder.spills().to_vec(),
    };
    if rows.len() > rows.capacity() {
        let reason = format!("{} readings do not fit the tape", rows.len());
        return Err(Failure { kind: FailureKind::Failed, reason });
    }
    Ok(Ran {
        met,
        tally,
        rows: left(rows),
        calls: left(calls),
        side: SideReport {
            pid: process::own_pid(),
            cpu_ns: after.cpu_ns - before.cpu_ns,
            user_ns: after.user_ns - before.user_ns,
            system_ns: after.system_ns - before.system_ns,
            voluntary_switches: after.voluntary_switches - before.voluntary_switches,
            involuntary_switches: after.involuntary_switches - before.involuntary_switches,
            minor_faults: after.minor_faults - before.minor_faults,
            major_faults: after.major_faults - before.major_faults,
            migrations: grown(moved_before, procfs::migrations()),
            run_delay_ns: grown(delay_before, procfs::run_delay_ns()),
            ipis: grown(ipis_before, ipis()),
            cpu: affinity::current_cpu(),
            allowed: procfs::cpus_allowed(),
            ..SideReport::default()
        },
    })
}
