//! One end of a slice, in a process of its own: attach, verify, warm up, measure, report.

mod end;
pub(crate) mod runner;

use crate::bounds;
use crate::hot::{AnyWork, Content, Full, Lines, SharedTranscoder, Special, Stamp, Times};
use crate::job::{
    CallsReport, Failure, FailureKind, Job, Names, Order, Segment, SideReport, Task, Word,
};
use crate::offset::{self, Offset};
use crate::page::Page;
use crate::registry::Registry;
use crate::task::{self, NamedTask, WorkerContext};
use crate::transform::Transcoder;
use end::End;
use ipcperf_core::{KnobValue, Meet, Missing, Part, Seat, SetupError, Touch, Wiring};
use ipcperf_stats::Rng;
use ipcperf_sys::call_times::CallTimes;
use ipcperf_sys::control::Control;
use ipcperf_sys::{affinity, pause, process, procfs};
use runner::{Measure, Pass, Runner};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

/// Hidden subcommand that turns the program into a worker; the coordinator's process number follows it.
pub const SUBCOMMAND: &str = "__worker";

/// Runs one task and ends. Standard input is the control channel.
#[must_use]
pub fn main(registry: &Registry, tasks: &[NamedTask], parent: u32) -> ExitCode {
    let Ok(control) = process::enlist(parent) else {
        return ExitCode::FAILURE;
    };
    match serve(registry, tasks, &control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // The coordinator may be gone; then nobody is left to tell.
            let _ = say(&control, &Word::Failed(failure));
            ExitCode::FAILURE
        }
    }
}

fn serve(registry: &Registry, tasks: &[NamedTask], control: &Control) -> Result<(), Failure> {
    let parcel = control.receive(None)?;
    match decode::<Task>(&parcel.text)? {
        Task::Named { name, params } => {
            task::serve(registry, tasks, &name, WorkerContext::new(control, params, parcel.fds));
        }
        Task::Bound(job) => {
            let page = page(parcel.fds)?;
            affinity::pin(job.cpu)?;
            say(control, &Word::Bound(bounds::measure(&job, &page)?))?;
        }
        Task::Slice(job) => {
            let second = control.receive(None)?;
            let Names { names, words } = decode(&second.text)?;
            let wiring = Wiring { fds: second.fds, names, words };
            let page = page(parcel.fds)?;
            if let Some(cpu) = job.cpu {
                affinity::pin(cpu).map_err(|error| not_pinned(cpu, &error))?;
            }
            let entry = registry.find(&job.mechanism).ok_or_else(|| {
                SetupError::Protocol(format!("unknown mechanism '{}'", job.mechanism))
            })?;
            let mut session = Session { control, page: &page, effective: Vec::new() };
            let report = entry.drive(wiring, &job, &mut session)?;
            say(control, &Word::Done(Box::new(report)))?;
        }
    }
    Ok(())
}

fn page(fds: Vec<OwnedFd>) -> io::Result<Page> {
    let fd = fds.into_iter().next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Page::from_fd(fd)
}

/// A sandbox may refuse to let a process choose its CPUs: then this placement cannot be had here.
pub(crate) fn not_pinned(cpu: usize, error: &io::Error) -> Failure {
    let words = ipcperf_core::errno::text(error.raw_os_error().unwrap_or(0));
    let what = format!("cannot be pinned to CPU {cpu} (sched_setaffinity: {words})");
    SetupError::from(Missing::new(what, "--place free does without pinning")).into()
}

fn decode<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure {
        kind: FailureKind::Failed,
        reason: format!("control message: {error}"),
    })
}

fn say(control: &Control, word: &Word) -> io::Result<()> {
    control.send(&serde_json::to_string(word)?, &[])
}

/// What a worker holds beside its port.
#[derive(Debug)]
pub struct Session<'a> {
    control: &'a Control,
    page: &'a Page,
    effective: Vec<(String, KnobValue)>,
}

impl Session<'_> {
    fn order(&self) -> Result<(Order, Vec<OwnedFd>), Failure> {
        let parcel = self.control.receive(None)?;
        Ok((decode(&parcel.text)?, parcel.fds))
    }
}

impl Meet for Session<'_> {
    fn swap(&mut self, mine: Wiring) -> Result<Wiring, SetupError> {
        let failed = |error: &dyn std::fmt::Display| SetupError::Protocol(format!("swap: {error}"));
        let names = Names { names: mine.names, words: mine.words };
        let text = serde_json::to_string(&Word::Swap(names)).map_err(|error| failed(&error))?;
        let fds: Vec<_> = mine.fds.iter().map(AsFd::as_fd).collect();
        self.control.send(&text, &fds).map_err(|error| failed(&error))?;
        match self.order() {
            Ok((Order::Swapped(names), fds)) => {
                Ok(Wiring { fds, names: names.names, words: names.words })
            }
            Ok((Order::Folded, _)) => Err(SetupError::Protocol("swap: wrong answer".into())),
            Err(failure) => Err(SetupError::Protocol(failure.reason)),
        }
    }

    fn effective(&mut self, knob: &str, value: KnobValue) {
        self.effective.push((knob.to_owned(), value));
    }
}

/// The loops over a port, as [`runner`] makes them for one kind of payload work.
type Loops<'a> = &'a mut dyn FnMut(AnyWork<'_>, Measure<'_>) -> Result<SideReport, Failure>;

/// Measures over an attached port.
///
/// # Errors
/// What went wrong.
pub(crate) fn measure(
    loops: Loops<'_>,
    job: &Job,
    session: &mut Session<'_>,
) -> Result<SideReport, Failure> {
    let nonce = job.shape.nonce;
    let transcoder =
        job.load.transform.map(|name| Box::new(Transcoder::new(name, job.payload, job.touch)));
    let shared = Cell::new(transcoder);
    let mut cost = None;
    if let Some(mut transcoder) = shared.take() {
        // The follow waits at the first gate meanwhile.
        cost = (job.seat == Seat::Lead).then(|| transcoder.cost(job.clock()));
        shared.set(Some(transcoder));
    }
    let [_, left, arrived] = session.page.ways();
    let times = job.load.one_way.then(|| Times::new(job.clock(), left, arrived));
    let content = match (job.load.transform, job.touch) {
        (Some(_), _) => Content::Changed(Stamp::new(nonce), SharedTranscoder::new(&shared)),
        (None, Touch::None) => Content::Full(Full::new(nonce, Stamp::LEN)),
        (None, Touch::CacheLine) => Content::Lines(Lines::new(nonce)),
        (None, Touch::Header) => Content::Full(Full::new(nonce, Part::STAMP)),
        (None, Touch::Full) => Content::Full(Full::new(nonce, usize::MAX)),
    };
    let work = if job.load.transform.is_some() || times.is_some() {
        AnyWork::Special(Special::new(content, times))
    } else {
        AnyWork::touching(job.touch, nonce)
    };
    let report = loops(work, &mut |runner| slice(runner, job, session))?;
    Ok(SideReport { transform: cost, ..report })
}

fn slice(
    runner: &mut dyn Runner,
    job: &Job,
    session: &mut Session<'_>,
) -> Result<SideReport, Failure> {
    let clock = job.clock();
    let page = session.page;
    let mut end = End::new(runner, job, page, clock);
    let mut report = SideReport { pid: process::own_pid(), ..SideReport::default() };

    page.gate().meet();
    end.segment(Pass::Verify, job.verify, 1)?;
    let extra = end.runner.form(Pass::Verify).extra;
    report.verified = if job.len == 0 { 0 } else { job.verify * job.load.burst.max(1) + extra };

    if job.touch == Touch::None && job.load.transform.is_none() {
        end.runner.expect(Part::Stamp);
    }
    let (mut per_operation, median) = end.warm_up()?;
    if job.shape.pattern.facts().is_open {
        per_operation = end.peak(per_operation)?;
        report.peak = Some(per_operation);
    }
    if job.load.rate.is_some() || job.load.think_ns > 0 {
        pause::sharpen()?;
    }
    let before = events(end.runner);
    let two_cpus = job.cpus.len() == 2 && job.cpus[0] != job.cpus[1];
    let line = || two_cpus.then(|| bounds::cache_line(page, job.seat, clock)).flatten();
    report.cacheline[0] = line();
    let known = || {
        let measure = || offset::measure(page, job.seat, job.ns_per_tick, || clock.stop());
        if !job.load.one_way || !job.counter || job.cpus.is_empty() {
            None
        } else if two_cpus {
            measure()
        } else {
            // One CPU has one counter.
            (job.seat == Seat::Lead).then(Offset::default)
        }
    };
    let offset = known();

    let mut rng = Rng::stream(job.seed, "arrivals");
    let (asked, expected) = end.intervals(per_operation);
    let (all, batch) = end.decide(expected, median);
    let mut left = all;
    let calls = if job.time_calls { Some(watched(job)?) } else { None };
    let mut moved = 0;
    loop {
        let (samples, batch) = end.agree(left.min(end.room(Pass::Timed, batch)), batch);
        if samples == 0 {
            break;
        }
        let whole = samples + end.runner.form(Pass::Timed).lead_in;
        end.pace(whole, asked, &mut rng);
        // Messages that have a time keep it. Without one, the warm-up may have been many times slower than what
        // follows: then the stop comes early rather than after the end.
        let share = if job.load.rate.is_some() { 2 } else { 20 };
        let middle = (all / share).checked_sub(all - left).filter(|middle| *middle < samples);
        if let Some(middle) = middle.filter(|_| end.leads() && job.load.stall_ns > 0) {
            let ns = (middle * batch) as f64 * expected * job.ns_per_tick;
            say(session.control, &Word::Middle(ns as u64))?;
        }
        let segment = timed(&mut end, whole, batch, &mut report, calls.as_ref())?;
        moved += segment.sent.max(segment.received);
        say(session.control, &Word::Segment(Segment { offset, ..segment }))?;
        match session.order()? {
            (Order::Folded, _) => left = left.saturating_sub(samples),
            (Order::Swapped(_), _) => {
                return Err(SetupError::Protocol("unexpected wiring".into()).into());
            }
        }
    }
    report.calls = calls.map(|calls| told(calls, moved)).transpose()?;
    report.events = events(end.runner);
    for (name, count) in before {
        report.events.entry(name).and_modify(|now| *now -= count.min(*now));
    }
    report.cacheline[1] = line();
    report.machine = end.machine.into();
    report.offset = known();
    report.cpu = affinity::current_cpu();
    report.allowed = procfs::cpus_allowed();
    report.effective = std::mem::take(&mut session.effective);
    Ok(report)
}

/// From here on the system calls of this end can be timed.
fn watched(job: &Job) -> Result<CallTimes, Failure> {
    CallTimes::watch(job.clock()).map_err(|error| {
        let what = format!("its system calls cannot be timed (seccomp: {error})");
        SetupError::from(Missing::new(what, "leave out --time-calls")).into()
    })
}

/// What the system calls took that moved so many messages.
fn told(calls: CallTimes, messages: u64) -> io::Result<CallsReport> {
    let (times, empty) = calls.finish(messages)?;
    let calls = times.into_iter().map(|(name, time)| (name, (time.times, time.median, time.mean)));
    Ok(CallsReport { calls: calls.collect(), messages, empty })
}

/// What the port has counted so far.
fn events(runner: &dyn Runner) -> BTreeMap<String, u64> {
    let mut events = BTreeMap::new();
    runner.events(&mut |name, count| *events.entry(name.to_owned()).or_default() += count);
    events
}

/// One timed segment with what it consumed. Counters that cost file reads are read before the gate and after the
/// peer is done as well.
fn timed(
    end: &mut End<'_>,
    samples: u64,
    batch: u64,
    report: &mut SideReport,
    calls: Option<&CallTimes>,
) -> Result<Segment, Failure> {
    let record = |is_on| calls.into_iter().for_each(|calls| calls.record(is_on));
    let (leads, cpus) = (end.leads(), &end.job.cpus);
    let counts = leads && !cpus.is_empty();
    let ipis = || counts.then(|| procfs::inter_processor_interrupts(cpus)).flatten();
    let (ipis_before, delay_before, moved_before) =
        (ipis(), procfs::run_delay_ns(), procfs::migrations());
    let watch = leads.then(|| end.meter.read());
    let before = procfs::consumption();
    end.page.gate().meet();
    let first = end.next;
    record(true);
    let tally = end.segment(Pass::Timed, samples, batch)?;
    record(false);
    let after = procfs::consumption();
    end.page.gate().meet();
    if let Some(begin) = watch {
        end.machine.add(end.meter.since(&begin));
    }
    let (ipis_after, delay_after, moved_after) =
        (ipis(), procfs::run_delay_ns(), procfs::migrations());

    report.cpu_ns += after.cpu_ns - before.cpu_ns;
    report.user_ns += after.user_ns - before.user_ns;
    report.system_ns += after.system_ns - before.system_ns;
    report.voluntary_switches += after.voluntary_switches - before.voluntary_switches;
    report.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
    report.minor_faults += after.minor_faults - before.minor_faults;
    report.major_faults += after.major_faults - before.major_faults;
    let grown = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    let add = |sum: Option<u64>, more: Option<u64>| Some(sum.unwrap_or(0) + more?);
    report.ipis = add(report.ipis, grown(ipis_before, ipis_after));
    report.migrations = add(report.migrations, grown(moved_before, moved_after));
    report.run_delay_ns = add(report.run_delay_ns, grown(delay_before, delay_after));

    Ok(Segment {
        sent: tally.sent,
        received: tally.received,
        lost: tally.lost,
        begin: tally.begin,
        end: tally.end,
        samples: end.recorder.len(),
        batch,
        lead_in: end.runner.form(Pass::Timed).lead_in,
        due: end.schedule.last().copied().unwrap_or(0),
        spills: end.recorder.spills().to_vec(),
        first,
        offset: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_pinning_is_unavailable_and_names_the_way_out() {
        let refused = affinity::pin(100_000).expect_err("no such CPU");
        let failure = not_pinned(100_000, &refused);
        assert_eq!(failure.kind, FailureKind::Unavailable);
        assert!(failure.reason.contains("CPU 100000") && failure.reason.contains("--place free"));
    }
}
