//! One of the workers of a fan, in a process of its own.

use super::feed;
use super::roles::Roles;
use super::tapes::Tapes;
use super::{FanPart, Left, Order, Phase, PhaseResult, Said, channel};
use crate::arrivals;
use crate::faulty;
use crate::hot::fan::Plan;
use crate::hot::grid::{GridPlan, GridWords};
use crate::hot::{AnyWork, Content, Pace, Private, Recorder, Special, Stamp};
use crate::job::{Failure, SideReport};
use crate::offset::{self, Offset};
use crate::page::Page;
use crate::registry::{Entry, Registry};
use crate::task::{WorkerContext, pin};
use crate::usage::Usage;
use crate::worker::fans::{Channels, FanLoops, Role};
use crate::worker::private_buffer;
use ipcperf_core::{Attach, Lends, Part as MessagePart, Seat, Touch, Wiring};
use ipcperf_sys::{affinity, process, procfs};
use serde_json::Value;
use std::cell::Cell;

/// Attaches, and runs all phases.
pub(crate) fn serve(
    registry: &Registry,
    context: &mut WorkerContext<'_>,
) -> Result<Value, Failure> {
    let part: FanPart = context.params()?;
    let page = context.page(part.roles().slots())?;
    let wiring = context.wiring()?;
    pin(part.job.cpu)?;
    let name = &part.job.key.mechanism;
    let entry = registry.find(name);
    let mut loops: Box<dyn FanLoops> = if part.roles().to_each() {
        let entry = entry.ok_or_else(|| format!("there is no mechanism '{name}'"))?;
        Box::new(channels(entry, &part, wiring, context)?)
    } else {
        let attach = entry.and_then(|entry| entry.fan);
        let attach = attach.ok_or_else(|| format!("'{name}' has no ends that can be shared"))?;
        attach(part.job.end(wiring, context))?
    };
    let nonce = part.job.shape.nonce;
    let proof = AnyWork::touching(Touch::Full, nonce);
    let lends = entry.map(|entry| entry.lends(&part.job.options)).transpose();
    let lends = lends.map_err(|error| error.to_string())?.unwrap_or([Lends::Place; 2]);
    let mut buffer = private_buffer(&part.job, lends)?;
    let memory = Cell::new(buffer.all_mut());
    let private = Private::new(&memory, lends);
    let work = if part.job.key.touch == Touch::Copy && private.copies() {
        AnyWork::Special(Special::new(Content::Copied(Stamp::new(nonce), private), None))
    } else {
        AnyWork::touching(part.job.key.touch, nonce)
    };
    let mut said = Said::Attached(std::mem::take(&mut context.effective));
    loop {
        let Order::Run(phase) = serde_json::from_value(context.ready(&said)?)? else {
            return Ok(Value::Null);
        };
        let work = if phase.is_verification { proof } else { work };
        if !phase.is_verification && part.job.key.touch == Touch::None {
            loops.expect(MessagePart::Stamp);
        }
        said = Said::Ran(Box::new(passage(&mut *loops, &part, &page, phase, work)?));
    }
}

/// The ends of a broadcast in this process: of the one object for all, or of all channels at the producer, whose wirings
/// come one after the other.
fn channels(
    entry: &Entry,
    part: &FanPart,
    first: Wiring,
    context: &mut WorkerContext<'_>,
) -> Result<Channels, Failure> {
    if let Some(to_each) = entry.to_each {
        let consumer = part.is_peer().then_some(part.number);
        let port = (to_each.attach)(part.job.end(first, context), consumer)?;
        return Ok(Channels {
            ports: vec![faulty::around(port, &part.job)],
            drops: entry.is_lossy,
        });
    }
    let own = if part.is_peer() { part.number..part.number + 1 } else { 0..part.roles().consumers };
    let (mut first, mut ports) = (Some(first), Vec::new());
    for consumer in own {
        let wiring = match first.take() {
            Some(wiring) => wiring,
            None => context.wiring()?,
        };
        let shape = channel(&part.job.shape, consumer);
        let options = &part.job.options;
        let end = Attach { wiring, seat: part.job.seat, shape: &shape, options, meet: context };
        ports.push(faulty::around(entry.attach(end)?, &part.job));
    }
    Ok(Channels { ports, drops: part.roles().is_feed() && entry.is_lossy })
}

/// One phase with what it consumed.
fn passage(
    loops: &mut dyn FanLoops,
    part: &FanPart,
    page: &Page,
    phase: Phase,
    work: AnyWork<'_>,
) -> Result<PhaseResult, Failure> {
    let job = &part.job;
    let roles = part.roles();
    let (fans_in, is_peer, is_grid) = (roles.fans_in(), part.is_peer(), roles.is_grid());
    let Roles { producers, consumers, .. } = roles;
    let sends = job.seat == Seat::Lead;
    let tapes = Tapes::new(page, part.roles().tapes());
    let accounts = tapes.accounts(part.spins);
    let mut calls = Recorder::new(match (is_peer, part.roles().is_feed()) {
        (true, _) => tapes.calls(part.number),
        (false, false) if is_grid && sends => tapes.calls(part.number),
        // The producer of a feed notes when it has sent each message.
        (false, true) => tapes.calls(part.roles().peers()),
        (false, false) => &[],
    });
    let mut rows = match (fans_in, is_peer) {
        _ if is_grid && !sends => Recorder::new(tapes.rows_of_all(part.number)),
        (true, false) => Recorder::new(tapes.rows_of_all(0)),
        // The producer of a broadcast notes how far it is.
        (false, false) if part.roles().to_each() => Recorder::new(tapes.rows_of_all(0)),
        (false, true) => Recorder::new(tapes.rows(part.number)),
        _ => Recorder::new(&[]),
    };
    // What may be under way is shared out among the producers.
    let window = if job.window == 0 { 0 } else { (job.window / part.roles().peers()).max(1) };
    let plan = Plan {
        len: job.len,
        producer: if fans_in || is_grid && sends { part.number } else { 0 },
        first: phase.first,
        count: phase.count,
        marks: if fans_in { 0 } else { consumers },
        window: u32::try_from(window).unwrap_or(u32::MAX >> 1),
        every: phase.every,
        batch: phase.batch,
    };
    let clock = job.clock();
    let ([finished, _], [taken, left]) = (page.progress(Seat::Lead), page.progress(Seat::Follow));
    let words = GridWords { finished, taken, left };
    let of_grid = GridPlan { producers, pieces: part.pieces };
    let grid = is_grid.then_some((of_grid, words, sends));
    let due = if phase.is_paced { feed::due(job, phase.first, phase.count) } else { Vec::new() };
    let pace = part.roles().is_feed().then(|| Pace {
        due: &due,
        pause: if phase.is_paced { feed::settles(job) } else { 0 },
        near: (arrivals::NEAR_NS / job.ns_per_tick) as u64,
        // Consumers on the same CPU need it to get back to waiting.
        yields: !job.is_apart(),
        ns_per_tick: job.ns_per_tick,
        ..Pace::default()
    });
    let role = Role { fans_in, is_peer, accounts: &accounts, grid, pace };
    let offset =
        if part.roles().is_feed() && phase.is_verification { offset(part, page) } else { None };
    if phase.is_paced {
        calls.touch(phase.count);
    }
    // One of all workers counts what the machine does.
    let counts = if is_grid { !sends && part.number == 0 } else { !is_peer };
    let mut usage = Usage::open(if counts { &job.cpus } else { &[] }, None);
    let met = page.meet(clock);
    usage.begin();
    let tally = loops.run(role, clock, plan, work, &mut rows, &mut calls)?;
    usage.end();
    if rows.len() > rows.capacity() {
        return Err(format!("{} readings do not fit the tape", rows.len()).into());
    }
    let mut side = SideReport { pid: process::own_pid(), ..SideReport::default() };
    usage.close(&mut side);
    side.cpu = affinity::current_cpu();
    side.allowed = affinity::allowed_cpus().ok();
    side.tracer = procfs::tracer();
    let left = |recorder: &Recorder<'_>| Left {
        len: recorder.len().min(recorder.capacity()),
        spills: recorder.spills().to_vec(),
    };
    Ok(PhaseResult { met, tally, rows: left(&rows), calls: left(&calls), side, offset })
}

/// How the clock of the consumers, who share a CPU, differs from that of the producer, who knows it then.
fn offset(part: &FanPart, page: &Page) -> Option<Offset> {
    let job = &part.job;
    if !job.counter || job.cpus.is_empty() {
        return None;
    }
    if !job.is_apart() {
        // One CPU has one counter.
        return (!part.is_peer()).then(Offset::default);
    }
    let clock = job.clock();
    if part.is_peer() && part.number > 0 {
        // One of them is enough, and all pass this gate.
        page.gate().meet();
        return None;
    }
    offset::measure(page, job.seat, job.ns_per_tick, || clock.stop())
}
