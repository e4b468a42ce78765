//! Everything that measures slices, and the measurement of one.

use crate::error::named;
use crate::fit::Fit;
use crate::job::{FailureKind, Job, ProgramJob};
use crate::measured::{
    Around, BoundReadings, CellRun, Counts, Findings, Progress, Settings, SliceRun,
};
use crate::neighbour;
use crate::noise;
use crate::page::{CAPACITY, Page};
use crate::plan::Family;
use crate::scheduled;
use crate::shim;
use crate::slice::crowd::connect::Model;
use crate::slice::{self, SliceOutcome, Surroundings, Terms};
use crate::slice_length::FEWEST;
use crate::topology::{is_rejected, usual};
use ipcperf_core::result::CellKey;
use ipcperf_core::result::Status;
use ipcperf_core::{Align, Idle, Missing, Seat, Shape};
use ipcperf_stats::{FEWEST_ROUNDS, Rng};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::{Meter, Span};
use ipcperf_sys::procfs::Withheld;
use ipcperf_sys::qos::PollIdle;
use ipcperf_sys::rundir::{RemovedObject, RunDirectory};
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::{limits, procfs, pulse, random, rundir};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A slice that takes longer than this plus thirty times its planned length is taken to hang. Generous, because a
/// hypervisor may stop a machine for seconds.
pub const HANG: Duration = Duration::from_secs(10);

/// What an operation takes at the most where their number is given, for deadlines: half a mebibyte in packets between
/// busy CPUs takes more than a millisecond.
const SLOWEST: Duration = Duration::from_millis(20);

/// What starting and proving one more channel takes at the most, for deadlines: two processes on a busy CPU.
const PER_CHANNEL: Duration = Duration::from_millis(500);

/// The same of one more process of a pattern that has several on a side.
const PER_PROCESS: Duration = Duration::from_millis(250);

/// How long what a shim says of a program that was late is waited for.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Messages checked byte by byte at the start of every slice, for sizes up to 64 KiB; fewer above.
const VERIFIED: u64 = 16;

/// What measures slices: shared page, run directory, clock and bounds. An experiment holds one.
pub struct Bench<'a> {
    pub(super) began: Instant,
    /// Time stolen from all CPUs until then, ns.
    steal_ns: Option<u64>,
    pub(super) page: Page,
    directory: Result<RunDirectory, Missing>,
    pub(super) clock: Clock,
    pub(super) fallback: Option<String>,
    pub(super) fit: Fit,
    pub(super) interrupts: Option<&'a Interrupts>,
    pub(super) bounds: BoundReadings,
    /// Median clock overhead, ticks.
    pub(super) overhead: u64,
    /// Peaks of open loops, ticks of a round trip.
    pub(super) peaks: Vec<(Family, f64)>,
    names: Rng,
    setup: Rng,
    arrivals: Rng,
    /// What earlier, killed runs had left and was removed.
    pub reaped: Vec<RemovedObject>,
    meter: Meter,
    /// What the meter showed in the pauses, and how many these were.
    rest: Span,
    pauses: u64,
    watch: IdleLook,
    withheld: Withheld,
    /// For how long the machine had been suspended when this was opened.
    suspended: Duration,
    /// Idle CPUs were asked to poll and have not had the time to stop it.
    pub(super) polled: bool,
    /// Operations that are kept one by one.
    kept: u64,
}

/// The shortest time from the end of one pause to the next one. Load comes and goes in seconds, and a round of short slices
/// takes less time than its pause.
const UNWATCHED: Duration = Duration::from_secs(1);

/// When the machine is looked at without a load.
#[derive(Debug, Default)]
struct IdleLook {
    /// When the last pause ended.
    ended: Option<Instant>,
}

/// Processes beyond the two that every pattern has.
fn more_processes(key: &CellKey) -> u32 {
    let sides = key.load.sides(key.pattern);
    sides.map(|side| side.saturating_sub(1) as u32).iter().sum()
}

impl IdleLook {
    /// Whether it is time for a pause.
    fn is_due(&self, now: Instant) -> bool {
        self.ended.is_none_or(|ended| now.saturating_duration_since(ended) >= UNWATCHED)
    }
}

/// How long the parts of a slice are.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Warm-up.
    pub warmup: Duration,
    /// Timed region.
    pub slice: Duration,
    /// What of it is counted rather than timed.
    pub counts: Counts,
    /// Whether every operation that was timed is kept, beside the histogram.
    pub keeps_samples: bool,
    /// How the clients of the pattern `connect` call.
    pub client: Model,
    /// Whether each system call is timed, and the slice yields nothing else.
    pub time_calls: bool,
    /// How much longer than thirty times its planned length a slice may take before it is taken to hang: [`HANG`].
    pub patience: Duration,
    /// Whether the ends change their CPUs; `None`: in every other round.
    pub is_swapped: Option<bool>,
}

/// Operations of a slice whose system calls are timed, and bytes that they move at the most one way.
const TIMED_CALLS: u64 = 1000;
const TIMED_BYTES: u64 = 64 << 20;

/// Operations of a slice whose system calls are timed, of messages of this size: of large ones fewer, which have more
/// calls each.
#[must_use]
pub fn timed_calls(size: u64) -> u64 {
    (TIMED_BYTES / size.max(1)).clamp(12, TIMED_CALLS)
}

impl Counts {
    /// The operations that they ask for. Where the samples are not counted a slice has a few at the least, however many
    /// operations these have.
    fn operations(self) -> f64 {
        let samples = match self.batch {
            0 | 1 => self.samples,
            _ => self.samples.max(2 * FEWEST),
        };
        samples as f64 * self.batch.max(1) as f64 + self.warmup as f64
    }
}

impl Settings {
    pub(super) fn lengths(&self) -> Lengths {
        Lengths {
            warmup: self.warmup,
            slice: self.slice,
            counts: self.counts,
            keeps_samples: self.keeps_samples,
            client: Model::Blocking,
            time_calls: false,
            patience: HANG,
            is_swapped: None,
        }
    }

    /// Of a slice whose system calls are timed.
    fn timing_calls(&self, size: u64) -> Lengths {
        let counts = Counts { samples: timed_calls(size), ..Counts::default() };
        Lengths { counts, keeps_samples: false, time_calls: true, ..self.lengths() }
    }
}

/// What is held while idle CPUs shall poll; nothing otherwise.
type Held = Option<PollIdle>;

impl std::fmt::Debug for Bench<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Bench")
    }
}

impl<'a> Bench<'a> {
    /// Opens one, and removes what killed runs have left; random choices follow from `seed`.
    ///
    /// # Errors
    /// No page can be had.
    pub fn open(seed: u64, interrupts: Option<&'a Interrupts>) -> io::Result<Self> {
        let (began, steal_ns) = (Instant::now(), procfs::steal_ns());
        let bases = rundir::bases();
        let reaped = bases.iter().filter_map(|base| rundir::reap(base).ok());
        let reaped = reaped.flat_map(|reaped| reaped.removed).collect();
        let (clock, fallback) = Clock::choose();
        // What was before concerns no one here.
        let _ = interrupts.map(|interrupts| interrupts.pulse().take());
        Ok(Self {
            began,
            steal_ns,
            page: Page::create(CAPACITY)
                .map_err(|error| named("shared memory (memfd_create)", &error))?,
            directory: RunDirectory::create(),
            clock,
            fallback,
            fit: Fit::start(clock),
            interrupts,
            bounds: BoundReadings::default(),
            overhead: 1,
            peaks: Vec::new(),
            // Names and nonces must differ between runs, whatever the seed.
            names: Rng::from_seed(random::number()),
            setup: Rng::stream(seed, "setup"),
            arrivals: Rng::stream(seed, "arrivals"),
            reaped,
            meter: Meter::find(),
            rest: Span::default(),
            pauses: 0,
            watch: IdleLook::default(),
            withheld: Withheld::open(),
            suspended: pulse::suspended(),
            polled: false,
            kept: 0,
        })
    }

    /// The run's own directory, for what has a path.
    ///
    /// # Errors
    /// None can be made: what needs one cannot be had.
    pub fn directory(&self) -> Result<&Path, Missing> {
        self.directory.as_ref().map(RunDirectory::path).map_err(Missing::clone)
    }

    /// A number that nobody has had before.
    pub fn nonce(&mut self) -> u64 {
        self.names.next_u64()
    }

    /// Bytes of extra environment for a worker, to vary the layout of its stack.
    pub(super) fn pad(&mut self) -> usize {
        usize::try_from(self.setup.below(4096)).unwrap_or(0)
    }

    /// Length of a tick so far, ns.
    #[must_use]
    pub fn ns_per_tick(&self) -> f64 {
        self.fit.ns_per_tick()
    }

    /// Which of these cells have a slice of this round that does not count, by what their caller calls them; `rounds` are
    /// planned.
    pub fn rejected<'c, T>(
        &self,
        cells: impl Iterator<Item = (T, &'c CellRun)>,
        round: u64,
        rounds: u64,
    ) -> Vec<T> {
        let usual = (rounds >= FEWEST_ROUNDS as u64).then(|| usual(&self.bounds));
        let rejected = cells.filter(|(_, cell)| is_rejected(cell, round, usual.as_ref()));
        rejected.map(|(name, _)| name).collect()
    }

    /// Ends the rounds of these cells: measures the clock once more, and gives what was found. An interrupt meanwhile is one
    /// of the run.
    ///
    /// # Errors
    /// No worker can be had.
    pub fn finish(mut self, cells: Vec<CellRun>, mut interrupted: bool) -> io::Result<Findings> {
        if !interrupted && !cells.is_empty() {
            interrupted = self.measure_clock(&cells, 1)?;
        }
        interrupted |= self.settle()?;
        interrupted |= !interrupted && self.pause_enough()?;
        self.fit.boundary();
        let stood = self.interrupts.map(|interrupts| interrupts.pulse().take());
        let stolen = procfs::steal_ns().zip(self.steal_ns);
        Ok(Findings {
            cells,
            pipelines: Vec::new(),
            questions: Vec::new(),
            stages: Vec::new(),
            spreads: Vec::new(),
            clock: self.clock,
            fallback: self.fallback,
            fit: self.fit,
            bounds: self.bounds,
            interrupted,
            duration: self.began.elapsed(),
            steal_ns: stolen.map(|(after, before)| after.saturating_sub(before)),
            idle: self.rest,
            pauses: self.pauses,
            stood: stood.unwrap_or_default(),
            suspended: pulse::suspended().saturating_sub(self.suspended),
            reaped: self.reaped,
        })
    }

    /// Sets what idle CPUs do for as long as the result lives; `None` if the user interrupted.
    pub(super) fn idle(&mut self, idle: Idle) -> io::Result<Option<Held>> {
        match idle {
            Idle::Poll => {
                self.polled = true;
                PollIdle::hold().map(|held| Some(Some(held)))
            }
            Idle::AsIs => Ok((!self.settle()?).then_some(None)),
        }
    }

    /// Does nothing for this time and watches what the machine does meanwhile; true if the user interrupted. Nothing happens
    /// within a second of the last time: rounds may be shorter than a pause.
    ///
    /// # Errors
    /// No worker can be had.
    pub fn pause(&mut self, length: Duration) -> io::Result<bool> {
        if self.watch.is_due(Instant::now()) { self.look(length) } else { Ok(false) }
    }

    /// Does nothing for this time and watches what the machine does meanwhile; true if the user interrupted.
    fn look(&mut self, length: Duration) -> io::Result<bool> {
        if self.settle()? {
            return Ok(true);
        }
        let pulse = self.interrupts.map(Interrupts::pulse);
        pulse.inspect(|pulse| pulse.begin());
        let before = self.meter.read();
        std::thread::sleep(length);
        pulse.inspect(|pulse| pulse.beat(length));
        self.rest.add(self.meter.since(&before));
        self.pauses += 1;
        // The process may have been moved to other control groups meanwhile.
        self.withheld = Withheld::open();
        self.watch.ended = Some(Instant::now());
        Ok(false)
    }

    /// Does nothing for what the pauses lack to tell how busy the machine was; true if the user interrupted.
    fn pause_enough(&mut self) -> io::Result<bool> {
        match noise::lacking(&self.rest, procfs::tick_ns()) {
            0 => Ok(false),
            ns => self.look(Duration::from_nanos(ns)),
        }
    }

    /// Times the system calls of every cell that has been measured; true if the user interrupted.
    pub(super) fn time_calls(
        &mut self,
        cells: &mut [CellRun],
        settings: &Settings,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> bool {
        let measured = |cell: &&mut CellRun| !cell.slices.is_empty() && cell.ended.is_none();
        let total = cells.len() as u64;
        for (done, cell) in (0..).zip(cells.iter_mut().filter(measured)) {
            progress(Progress::Slice { done, total, id: &cell.plan.id, so_far: None });
            let mut timed = CellRun::new(cell.plan.clone());
            let lengths = settings.timing_calls(cell.plan.key.size_bytes);
            if self.measure(&mut timed, lengths, 0, 0) {
                return true;
            }
            cell.calls = Some(timed.calls());
        }
        false
    }

    /// One slice of one cell, after what has to be known of it; true if the user interrupted. What goes wrong on the way
    /// ends this cell and no other: what has been measured is worth more than what has not.
    pub fn measure(
        &mut self,
        cell: &mut CellRun,
        lengths: Lengths,
        round: u64,
        order: u64,
    ) -> bool {
        let tried = self.find_peak(cell, lengths).and_then(|interrupted| {
            if interrupted || cell.ended.is_some() {
                return Ok(interrupted);
            }
            self.measure_one(cell, lengths, round, order)
        });
        tried.unwrap_or_else(|error| {
            cell.ended = Some((Status::Failed, FailureKind::Failed, error.to_string()));
            false
        })
    }

    /// One slice of one cell; true if the user interrupted.
    pub(super) fn measure_one(
        &mut self,
        cell: &mut CellRun,
        lengths: Lengths,
        round: u64,
        order: u64,
    ) -> io::Result<bool> {
        let plan = cell.plan.clone();
        let mut cpus = plan.key.cpus.clone();
        // Whatever is special about one CPU (interrupts, a busier sibling) must not stick to one seat, unless that was
        // asked for.
        let is_swapped = lengths.is_swapped.unwrap_or(round % 2 == 1);
        if is_swapped && plan.key.placement.named().is_none() {
            cpus.reverse();
        }
        let nonce = self.names.next_u64();
        let pads = [self.pad(), self.pad()];
        let line = usize::try_from(self.setup.below(64)).unwrap_or(0) * 64;
        let offset = plan.key.load.align.map_or(line, Align::offset);
        let ns_per_tick = self.fit.ns_per_tick();
        let ticks = |duration: Duration| (duration.as_nanos() as f64 / ns_per_tick) as u64;
        let planned = ticks(lengths.slice);
        let largest = plan.wire.max(plan.carried());
        let job = Job {
            key: plan.key.clone(),
            seat: Seat::Lead,
            shape: Shape {
                size: plan.carried(),
                pattern: plan.key.pattern,
                nonce,
                buffer_offset: offset,
                directory: self.directory().ok().map(Path::to_owned),
                is_apart: plan.key.load.is_apart(),
                network: plan.key.load.net,
            },
            options: plan.options.clone(),
            len: plan.entry.port_len(plan.wire),
            window: plan.window,
            trial: plan.trial(),
            cpu: None,
            cpus: cpus.clone(),
            counter: self.clock.is_counter(),
            ns_per_tick,
            seed: self.arrivals.next_u64(),
            overhead: self.overhead,
            warmup: ticks(lengths.warmup),
            warmup_operations: lengths.counts.warmup,
            slice: planned,
            peak: self.peak(&plan),
            operations: lengths.counts.samples,
            batch: if lengths.counts.batch > 0 {
                lengths.counts.batch
            } else {
                cell.batch.unwrap_or(0)
            },
            verify: if largest <= 64 << 10 { VERIFIED } else { 2 },
            time_calls: lengths.time_calls,
            channel: 0,
            injections: cell.injections.clone(),
            program: None,
            group: None,
            realtime_for: None,
            neighbour: None,
        };
        let counted =
            SLOWEST.mul_f64(lengths.counts.operations() * plan.key.load.conns.max(1) as f64);
        // One pause, or one message of a second, may be longer than the whole slice.
        let idle = Duration::from_nanos(plan.key.load.stall_ns + 2 * plan.key.load.think_ns);
        let fresh = SLOWEST.mul_f64(plan.key.load.fresh as f64 / largest.max(1) as f64)
            + moving(usize::try_from(plan.key.load.fresh).unwrap_or(usize::MAX));
        let deadline = lengths.patience
            + 30 * (lengths.slice + lengths.warmup)
            + fresh
            + moving(largest)
            // Of several channels one may wait for its CPU until all others had theirs.
            + PER_CHANNEL * u32::try_from(plan.key.load.channels).unwrap_or(0)
            + (lengths.slice + lengths.warmup) * u32::try_from(plan.key.load.channels).unwrap_or(0)
            + PER_PROCESS * more_processes(&plan.key)
            + counted
            + idle;
        let patience = scheduled::patience(&plan.key.load) * neighbour::patience(&plan.key);
        let deadline = deadline * patience;
        let program = (!plan.key.load.is_ours()).then(|| ProgramJob {
            words: plan.key.load.follow.clone(),
            running: None,
            flip: shim::flip(&plan.key),
            patience: deadline,
            files: limits::of_programs(),
        });
        // The shim says which answer did not come, if it is given the time.
        let deadline = if program.is_some() { deadline + LAST_WORDS } else { deadline };
        let realtime_for = scheduled::realtime_for(&plan.key.load, deadline);
        let job = Job { program, realtime_for, ..job };
        let room = lengths.keeps_samples.then(|| slice::MOST_KEPT - self.kept);
        let mut channel_cpus = plan.channels.cpus.clone();
        if cpus != plan.key.cpus {
            channel_cpus.iter_mut().for_each(|pair| pair.reverse());
        }
        let client = lengths.client;
        let terms = Terms { job, pads, deadline, client, room, channel_cpus };
        let (steal, throttled) = (self.withheld.steal_ns(), self.withheld.throttled());
        let outcome = {
            let Some(_held) = self.idle(plan.key.idle)? else { return Ok(true) };
            let around = Surroundings { page: &self.page, interrupts: self.interrupts };
            slice::run(&plan.entry, &plan.options, &terms, around)
        };
        let jumped = self.fit.boundary();
        match outcome {
            SliceOutcome::Interrupted => return Ok(true),
            SliceOutcome::Ended(status, kind, reason) => cell.ended = Some((status, kind, reason)),
            SliceOutcome::Measured(raw) => {
                if plan.key.pattern.facts().is_batched && !lengths.time_calls {
                    cell.batch.get_or_insert(raw.batch);
                }
                let grown = |before: Option<u64>, after: Option<u64>| {
                    after.zip(before).map(|(after, before)| after.saturating_sub(before))
                };
                let around = Around {
                    jumped,
                    throttled: grown(throttled, self.withheld.throttled()),
                    steal_ns: grown(steal, self.withheld.steal_ns()),
                };
                let slice = SliceRun {
                    round,
                    order,
                    cpus,
                    nonce,
                    raw: *raw,
                    rejected: None,
                    steal_ns: None,
                    planned: (lengths.counts.samples == 0 && plan.key.load.fresh == 0)
                        .then_some(planned),
                };
                self.kept += slice.raw.kept().len() as u64;
                cell.keep(slice, around, &mut self.bounds);
            }
        }
        Ok(false)
    }
}

/// What a slice moves at the least, whatever its length (verification, warm-up, twelve samples, both ways), at a rate
/// that no working mechanism is below: 64 messages at 100 MB/s.
fn moving(size: usize) -> Duration {
    Duration::from_secs_f64(64.0 * size as f64 / 100e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pauses this number of rounds has, where each round takes `each`.
    fn pauses(rounds: u32, each: Duration) -> u32 {
        let (mut watch, mut now, mut pauses) = (IdleLook::default(), Instant::now(), 0);
        for _ in 0..rounds {
            if watch.is_due(now) {
                now += Duration::from_millis(20);
                watch.ended = Some(now);
                pauses += 1;
            }
            now += each;
        }
        pauses
    }

    #[test]
    fn short_rounds_have_a_pause_a_second_and_long_ones_one_each() {
        assert_eq!(pauses(2000, Duration::from_millis(10)), 20);
        assert_eq!(pauses(60, Duration::from_millis(400)), 20);
        assert_eq!(pauses(9, Duration::from_secs(1)), 9);
        assert_eq!(pauses(9, Duration::from_secs(6)), 9);
        assert_eq!(pauses(1, Duration::from_millis(10)), 1, "the first round has one");
    }

    #[test]
    fn a_pause_is_left_out_until_a_second_has_passed_but_what_lacks_at_the_end_is_made_up_for() {
        let mut bench = Bench::open(1, None).expect("a page");
        let pause = |bench: &mut Bench<'_>| {
            assert!(!bench.pause(Duration::from_millis(1)).expect("no error"));
            bench.pauses
        };
        assert_eq!(pause(&mut bench), 1);
        bench.watch.ended = Some(Instant::now() + Duration::from_secs(3600));
        assert_eq!(pause(&mut bench), 1);
        bench.watch.ended = Instant::now().checked_sub(UNWATCHED);
        assert_eq!(pause(&mut bench), 2);
        bench.watch.ended = Some(Instant::now() + Duration::from_secs(3600));
        let findings = bench.finish(Vec::new(), false).expect("findings");
        assert_eq!((findings.pauses, noise::lacking(&findings.idle, procfs::tick_ns())), (3, 0));
    }
}
