//! One end of a slice, in a process of its own: attach, verify, warm up, measure, report.

mod end;
pub(crate) mod fans;
mod room;
pub(crate) mod runner;

use crate::bounds;
use crate::hot::{AnyWork, Content, Full, Lines, Private, SharedTranscoder, Special, Stamp, Times};
use crate::job::{CallsReport, Failure, Job, Segment, SideReport};
use crate::neighbour::Progress;
use crate::offset::{self, Offset};
use crate::page::Page;
use crate::slice_length::{Expected, SliceLength};
use crate::source::{Cut, PayloadSource};
use crate::task::WorkerContext;
use crate::transform::Transcoder;
use crate::usage::Usage;
use end::End;
use ipcperf_core::{Lends, Missing, Part, PayloadFile, Seat, SetupError, Touch, map_of};
use ipcperf_stats::Rng;
use ipcperf_sys::call_times::CallTimes;
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::io::Buffer;
use ipcperf_sys::process_tree::Account;
use ipcperf_sys::{affinity, pause, process, procfs};
use runner::{Measure, Pass, Runner};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;

/// The loops over a port, as [`runner`] makes them for one kind of payload work.
pub(crate) type Loops<'a> =
    &'a mut dyn FnMut(AnyWork<'_>, Measure<'_>) -> Result<SideReport, Failure>;

/// Measures over an attached port that lends this memory.
///
/// # Errors
/// What went wrong.
pub(crate) fn measure(
    loops: Loops<'_>,
    lends: [Lends; 2],
    job: &Job,
    page: &Page,
    context: &mut WorkerContext<'_>,
) -> Result<SideReport, Failure> {
    let nonce = job.shape.nonce;
    let load = &job.key.load;
    let size = job.key.size();
    let cut = load.payload.as_ref().map(|file| cut(file, job)).transpose()?;
    let transcoder = load
        .transform
        .map(|name| Box::new(Transcoder::new(name, size, job.key.touch, cut.as_ref())));
    let shared = Cell::new(transcoder);
    let mut cost = None;
    if let Some(mut transcoder) = shared.take() {
        // The follow waits at the first gate meanwhile.
        cost = (job.seat == Seat::Lead).then(|| transcoder.cost(job.clock()));
        shared.set(Some(transcoder));
    }
    let [_, left, arrived] = page.ways();
    let times = job.key.load.one_way.then(|| Times::new(job.clock(), left, arrived));
    let mut buffer = private_buffer(job, lends)?;
    let memory = Cell::new(buffer.all_mut());
    let private = Private::new(&memory, lends);
    let content = match (load.transform, job.key.touch, &cut) {
        (Some(_), ..) => Content::Changed(Stamp::new(nonce), SharedTranscoder::new(&shared)),
        (None, Touch::None, _) => Content::Full(Full::new(nonce, Stamp::LEN)),
        (None, Touch::CacheLine, _) => Content::Lines(Lines::new(nonce)),
        (None, Touch::Header, _) => Content::Full(Full::new(nonce, Part::STAMP)),
        (None, Touch::Copy, _) => Content::Copied(Stamp::new(nonce), private),
        (None, Touch::Full, Some(cut)) => Content::Cut(Stamp::new(nonce), cut),
        (None, Touch::Full, None) => Content::Full(Full::new(nonce, usize::MAX)),
    };
    let copies = job.key.touch == Touch::Copy && private.copies();
    let work = if load.transform.is_some() || times.is_some() || cut.is_some() || copies {
        AnyWork::Special(Special::new(content, times))
    } else {
        AnyWork::touching(job.key.touch, nonce)
    };
    let report = loops(work, &mut |runner| slice(runner, job, page, context, None))?;
    Ok(SideReport { transform: cost, ..report })
}

/// The memory in which an end has its messages where it copies them into what its port lends, or out of it; else nothing.
pub(crate) fn private_buffer(job: &Job, lends: [Lends; 2]) -> Result<Buffer, SetupError> {
    let copies = job.key.touch == Touch::Copy && lends.contains(&Lends::Shared);
    Buffer::new(if copies { job.shape.size } else { 0 }, job.shape.buffer_offset)
}

/// The messages of a cell, cut from a file.
fn cut(file: &PayloadFile, job: &Job) -> Result<Cut, Failure> {
    let (source, _) = PayloadSource::read(file)
        .map_err(|error| Failure::from(format!("payload '{}': {error}", file.file)))?;
    let size = job.key.size();
    Ok(source.cut(size, job.key.load.answer(job.key.pattern, size)))
}

/// The work of one end. Where a program is the follow, its `account` is that of the follow.
pub(crate) fn slice(
    runner: &mut dyn Runner,
    job: &Job,
    page: &Page,
    context: &mut WorkerContext<'_>,
    account: Option<&RefCell<Account>>,
) -> Result<SideReport, Failure> {
    let clock = job.clock();
    let mut end = End::new(runner, job, page, clock);
    let mut report = SideReport { pid: process::own_pid(), ..SideReport::default() };

    page.gate().meet();
    let is_fresh = job.key.load.fresh > 0;
    // What all channels share, where there are several.
    let all = (job.key.load.channels > 0).then(|| context.page(0)).transpose()?;
    end.fits(all.is_some())?;
    let mut first_ns = None;
    if !is_fresh {
        room::prove(&mut end)?;
    }
    if job.program.is_some() {
        if end.leads() {
            // Both ends are attached, and the coordinator lets go of what it holds for that.
            context.alarm(0)?;
        }
        end.segment(Pass::Verify, 1, 1)?;
        first_ns = end.leads().then(monotonic_ns);
    }
    if !is_fresh {
        end.segment(Pass::Verify, job.verify, 1)?;
    }
    let extra = end.runner.form(Pass::Verify).extra;
    report.verified = if job.len == 0 { 0 } else { job.verify * job.key.load.burst.max(1) + extra };

    if job.key.touch == Touch::None && job.key.load.transform.is_none() {
        end.runner.port().expect(Part::Stamp);
    }
    reach_down();
    if let Some(all) = &all {
        all.gate().meet();
    }
    let expected = if is_fresh { Expected::default() } else { end.warm_up()? };
    let Expected { mut per_operation, mut median, .. } = expected;
    if let Some(all) = &all {
        // What is timed together is of one length in all channels: the first one decides.
        let decides = job.channel == 0 && end.leads();
        let [ticks, of_median] = all.agree(0, decides.then_some([per_operation.to_bits(), median]));
        (per_operation, median) = (f64::from_bits(ticks), of_median);
    }
    report.answered = first_ns.map(|first| [first, monotonic_ns().saturating_sub(first)]);
    if job.key.pattern.facts().is_open {
        let Some(peak) = job.peak else {
            report.peak = Some(end.peak(per_operation)?);
            return Ok(ended(report, context));
        };
        per_operation = peak;
        report.peak = job.peak;
    }
    if job.key.load.rate.is_some() || job.key.load.think_ns > 0 {
        pause::sharpen()?;
    }
    let before = events(end.runner);
    let is_alone = all.is_none();
    let two_cpus = job.cpus.len() == 2 && job.cpus[0] != job.cpus[1] && is_alone;
    let line = || two_cpus.then(|| bounds::cache_line(page, job.seat, clock)).flatten();
    let has_cpu = two_cpus || (end.leads() && !job.cpus.is_empty() && is_alone);
    let step = || has_cpu.then(|| bounds::step(clock));
    report.step[0] = step();
    report.cacheline[0] = line();
    let known = || {
        let measure = || offset::measure(page, job.seat, job.ns_per_tick, || clock.stop());
        if !job.key.load.one_way || !job.counter || job.cpus.is_empty() {
            None
        } else if two_cpus {
            measure()
        } else {
            // One CPU has one counter.
            (job.seat == Seat::Lead).then(Offset::default)
        }
    };
    let offset = known();

    let (asked, expected) = end.intervals(per_operation);
    let (length, batch) = end.decide(expected, median);
    let (samples, batch) = end.agree(length.next(), batch);
    let calls = if job.time_calls { Some(watched(job)?) } else { None };
    let region = Region {
        asked,
        expected,
        batch,
        offset,
        calls: calls.as_ref(),
        account,
        all: all.as_ref(),
    };
    let moved = region.measure(&mut end, samples, length, &mut report, context)?;
    if is_fresh {
        // What is compared byte by byte comes last, so that nothing goes before what is timed.
        end.runner.port().expect(Part::All);
        end.page.gate().meet();
        end.turn_to(job.verify);
        end.segment(Pass::Verify, job.verify, 1)?;
    }
    report.calls = calls.map(|calls| told(calls, moved)).transpose()?;
    report.events = events(end.runner);
    for (name, count) in before {
        report.events.entry(name).and_modify(|now| *now -= count.min(*now));
    }
    report.cacheline[1] = line();
    report.step[1] = step();
    report.machine = end.machine;
    report.offset = known();
    Ok(ended(report, context))
}

/// With where it has ended, and the knobs as granted.
fn ended(report: SideReport, context: &mut WorkerContext<'_>) -> SideReport {
    SideReport {
        cpu: affinity::current_cpu(),
        allowed: affinity::allowed_cpus().ok(),
        tracer: procfs::tracer(),
        effective: std::mem::take(&mut context.effective),
        ..report
    }
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
    Ok(CallsReport { calls: map_of(calls), messages, empty })
}

/// What the port has counted so far.
fn events(runner: &mut dyn Runner) -> BTreeMap<String, u64> {
    let mut events = BTreeMap::new();
    runner.port().events(&mut |name, count| *events.entry(name.to_owned()).or_default() += count);
    events
}

/// Makes so much of the stack resident that no loop gets beyond it. The warm-up may be another loop: that of round trips that
/// begin at times of their own alone has 24 KiB of departures on the stack. It comes before the warm-up, whose caches it
/// would empty.
#[inline(never)]
fn reach_down() {
    std::hint::black_box(&mut [0_u8; 48 << 10]);
}

/// The timed region.
struct Region<'a> {
    /// Ticks from one operation to the next, as asked for, and as it will be.
    asked: f64,
    expected: f64,
    /// Operations per sample.
    batch: u64,
    offset: Option<Offset>,
    calls: Option<&'a CallTimes>,
    /// Of the program that is this end, if one is.
    account: Option<&'a RefCell<Account>>,
    /// What all channels share, where there are several.
    all: Option<&'a Page>,
}

impl Region<'_> {
    /// Runs it, first a segment of so many samples; returns how many messages moved.
    fn measure(
        &self,
        end: &mut End<'_>,
        samples: u64,
        mut length: SliceLength,
        report: &mut SideReport,
        context: &mut WorkerContext<'_>,
    ) -> Result<u64, Failure> {
        let (job, batch, all) = (end.job, self.batch, length.next());
        let lead_in = end.lead_in();
        let room = end.room(Pass::Timed, batch);
        let mut rng = Rng::stream(job.seed, "arrivals");
        let (mut samples, mut moved) = (samples.min(room), 0);
        while samples > 0 {
            // Segments that lie in the slots one behind the other, as long as there is room.
            let mut segments = Vec::new();
            let counts_interrupts = end.leads() && self.all.is_none();
            let watched = if counts_interrupts { &job.cpus[..] } else { &[] };
            let mut usage = Usage::open(watched, self.account);
            let mut neighbour = Progress::of(job, end.page).filter(|_| end.leads());
            neighbour.iter_mut().for_each(Progress::open);
            let watch = end.leads().then(|| end.meter.read());
            loop {
                let whole = samples + lead_in;
                end.pace(whole, self.asked, &mut rng);
                if job.key.load.stall_ns > 0 && end.leads() {
                    self.stall(job, all, length.done(), samples, context)?;
                }
                let at = end.turn_to(whole);
                if segments.is_empty() {
                    match self.all {
                        Some(all) => report.began = all.meet(job.clock()),
                        None => end.page.gate().meet(),
                    }
                    neighbour.iter_mut().for_each(Progress::begin);
                }
                let segment = Segment { at, ..self.segment(end, whole, &mut usage)? };
                moved += segment.sent.max(segment.received);
                length.took(samples, end.took(&segment));
                segments.push(segment);
                // Once both know how it goes on, the peer is done as well.
                samples = end.go_on(length.next()).min(room);
                if samples == 0 || !end.has_room(samples + lead_in, batch) {
                    // The other channels go on, so that the slots stay full.
                    samples = if self.all.is_some() { 0 } else { samples };
                    break;
                }
            }
            if let Some(begin) = watch {
                end.machine.add(end.meter.since(&begin));
            }
            if let Some(mut neighbour) = neighbour {
                let did = report.neighbour.unwrap_or_default().plus(neighbour.close());
                report.neighbour = Some(did);
            }
            usage.close(report);
            if samples == 0 {
                // Nobody writes to the slots again, so that they can go with the report.
                report.segments = segments;
            } else {
                context.ready(&segments)?;
                end.forget();
            }
        }
        Ok(moved)
    }

    /// Asks for the stop, if it falls among the next samples of a region of so many. Messages that have a time keep it.
    /// Without one, the warm-up may have been many times slower than what follows: then the stop comes early rather than
    /// after the end.
    fn stall(
        &self,
        job: &Job,
        all: u64,
        done: u64,
        samples: u64,
        context: &mut WorkerContext<'_>,
    ) -> io::Result<()> {
        let share = if job.key.load.rate.is_some() { 2 } else { 20 };
        let Some(middle) = (all / share).checked_sub(done).filter(|middle| *middle < samples)
        else {
            return Ok(());
        };
        context.alarm(((middle * self.batch) as f64 * self.expected * job.ns_per_tick) as u64)
    }

    /// One segment with what it consumed; both ends are there.
    fn segment(
        &self,
        end: &mut End<'_>,
        samples: u64,
        usage: &mut Usage<'_>,
    ) -> Result<Segment, Failure> {
        let record = |is_on| self.calls.into_iter().for_each(|calls| calls.record(is_on));
        let first = end.next;
        // What a program has consumed takes its time to read, and is read before the lead begins.
        if self.account.is_some() {
            usage.begin();
        }
        if end.job.program.is_some() {
            end.page.gate().meet();
        }
        if self.account.is_none() {
            usage.begin();
        }
        record(true);
        let tally = end.segment(Pass::Timed, samples, self.batch)?;
        record(false);
        usage.end();
        Ok(Segment {
            sent: tally.sent,
            received: tally.received,
            lost: tally.lost,
            begin: tally.begin,
            end: tally.end,
            at: 0,
            samples: end.recorder.len(),
            batch: self.batch,
            lead_in: end.lead_in(),
            due: end.schedule.last().copied().unwrap_or(0),
            spills: end.recorder.spills().to_vec(),
            first,
            offset: self.offset,
        })
    }
}
