//! All rounds of a run: every cell once per round, in random order, each slice in fresh processes.

mod bounds;

use crate::fit::Fit;
use crate::job::{FailureKind, Job};
use crate::page::Page;
use crate::plan::CellPlan;
use crate::slice::{self, Outcome, RawSlice, Surroundings, Terms};
use ipcperf_core::result::Status;
use ipcperf_core::{Idle, PatternKind, Placement, Seat};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::{Meter, Span};
use ipcperf_sys::qos::PollIdle;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::{procfs, rundir};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A slice that takes longer than this plus thirty times its planned length is taken to hang. Generous, because a
/// hypervisor may stop a machine for seconds.
const HANG: Duration = Duration::from_secs(10);

/// What an operation takes at the most where their number is given: for deadlines.
const SLOWEST: Duration = Duration::from_millis(1);

/// Messages checked byte by byte at the start of every slice, for sizes up to 64 KiB; fewer above.
const VERIFIED: u64 = 16;

/// Least and longest pause of a round. A second is what an energy counter needs.
const PAUSE: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// How a run is to go.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rounds.
    pub rounds: u64,
    /// Timed region of a slice.
    pub slice: Duration,
    /// Warm-up before it.
    pub warmup: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// When no further round may begin.
    pub budget: Option<Duration>,
}

/// How long a round does nothing, so that the machine can be seen without a load: as long as a slice.
#[must_use]
pub fn pause(settings: &Settings) -> Duration {
    settings.slice.clamp(PAUSE[0], PAUSE[1])
}

/// What a run tells while it goes; never during a slice.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The bounds are measured.
    Bounds,
    /// A slice begins.
    Slice {
        /// Slices done.
        done: u64,
        /// Slices in all.
        total: u64,
        /// Which cell.
        id: &'a str,
    },
    /// All is measured.
    Done,
}

/// What a run found, in ticks.
#[derive(Debug)]
pub struct Findings {
    /// One for each cell of the plan, in its order.
    pub cells: Vec<CellRun>,
    /// The clock.
    pub clock: Clock,
    /// Why not the counter.
    pub fallback: Option<String>,
    /// Ticks to nanoseconds.
    pub fit: Fit,
    /// Bounds, named values in ticks.
    pub bounds: BoundReadings,
    /// Interrupted by the user.
    pub interrupted: bool,
    /// Wall-clock time.
    pub duration: Duration,
    /// Time stolen from all CPUs, ns.
    pub steal_ns: Option<u64>,
    /// The whole machine while this run did nothing, between the slices.
    pub idle: Span,
    /// What earlier, killed runs had left and was removed.
    pub reaped: Vec<String>,
}

/// All slices of one cell.
#[derive(Debug)]
pub struct CellRun {
    /// What was to be measured.
    pub plan: CellPlan,
    /// Slices that ran to their end.
    pub slices: Vec<SliceRun>,
    /// Why no more slices were tried.
    pub ended: Option<(Status, FailureKind, String)>,
}

/// One slice and its circumstances.
#[derive(Debug)]
pub struct SliceRun {
    /// Round.
    pub round: u64,
    /// Position in it.
    pub order: u64,
    /// CPUs of lead and follow.
    pub cpus: Vec<usize>,
    /// Its number.
    pub nonce: u64,
    /// What was measured.
    pub raw: RawSlice,
    /// Why it does not count.
    pub rejected: Option<String>,
    /// Time stolen from all CPUs meanwhile, ns.
    pub steal_ns: Option<u64>,
}

/// Bound readings, ticks.
#[derive(Debug, Default)]
pub struct BoundReadings {
    /// Clock cost by CPU, before and after.
    pub clock: [BTreeMap<usize, BTreeMap<String, f64>>; 2],
    /// System call and copies.
    pub alone: BTreeMap<String, f64>,
    /// Futex wake round trips by placement and idle policy.
    pub futex: BTreeMap<(Placement, Idle), Vec<f64>>,
    /// Cache-line round trips by placement.
    pub cacheline: BTreeMap<Placement, Vec<f64>>,
    /// CPUs by placement.
    pub cpus: BTreeMap<Placement, Vec<usize>>,
}

/// A random number that has nothing to do with the seed: names and nonces must differ between runs.
#[must_use]
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A seed for a run that was given none: below 2^53, so that every JSON reader gives it back unchanged.
#[must_use]
pub fn fresh_seed() -> u64 {
    random() >> 11
}

/// What measures slices: shared page, run directory, clock and bounds. A run holds one; whoever orders its rounds
/// itself opens one of its own.
pub struct Bench<'a> {
    page: Page,
    directory: RunDirectory,
    clock: Clock,
    fallback: Option<String>,
    fit: Fit,
    interrupts: Option<&'a Interrupts>,
    bounds: BoundReadings,
    /// Median clock overhead, ticks.
    overhead: u64,
    names: Rng,
    setup: Rng,
    arrivals: Rng,
    meter: Meter,
    /// What the meter showed in the pauses.
    rest: Span,
    /// Idle CPUs were asked to poll and have not had the time to stop it.
    polled: bool,
}

/// Measures all cells of `plan` that can be.
///
/// # Errors
/// No page, no run directory, or no worker can be had at all.
pub fn run(
    plan: Vec<CellPlan>,
    settings: &Settings,
    interrupts: Option<&Interrupts>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<Findings> {
    let began = Instant::now();
    let reaped =
        rundir::bases().iter().flat_map(|base| rundir::reap(base).unwrap_or_default()).collect();
    let mut run = Bench::open(settings.seed, interrupts)?;
    let mut cells: Vec<CellRun> =
        plan.into_iter().map(|plan| CellRun { plan, slices: Vec::new(), ended: None }).collect();
    let steal_before = procfs::steal_ns();
    progress(Progress::Bounds);
    let mut interrupted = run.measure_bounds(&cells)?;
    let mut rounds = 0;
    let mut order = Rng::stream(settings.seed, "order");
    let measurable = cells.iter().filter(|cell| cell.plan.objection.is_none()).count() as u64;
    while rounds < settings.rounds && !interrupted {
        let spent = began.elapsed();
        let per_round =
            spent.checked_div(u32::try_from(rounds).unwrap_or(u32::MAX)).unwrap_or_default();
        if rounds > 0 && settings.budget.is_some_and(|budget| spent + per_round > budget) {
            break;
        }
        if run.pause(settings)? {
            interrupted = true;
            break;
        }
        for (position, index) in turn(&cells, &mut order).into_iter().enumerate() {
            let done = rounds * measurable + position as u64;
            let cell = &mut cells[index];
            progress(Progress::Slice {
                done,
                total: settings.rounds * measurable,
                id: &cell.plan.id,
            });
            if run.measure(cell, settings.lengths(), rounds, position as u64)? {
                interrupted = true;
                break;
            }
        }
        rounds += 1;
    }
    progress(Progress::Done);
    if !interrupted {
        run.measure_clock(&cells, 1)?;
    }
    run.settle()?;
    run.fit.boundary();
    Ok(Findings {
        cells,
        clock: run.clock,
        fallback: run.fallback,
        fit: run.fit,
        bounds: run.bounds,
        interrupted,
        duration: began.elapsed(),
        steal_ns: procfs::steal_ns()
            .zip(steal_before)
            .map(|(after, before)| after.saturating_sub(before)),
        idle: run.rest,
        reaped,
    })
}

/// The same error with what was tried.
pub(crate) fn named(what: &str, error: &io::Error) -> io::Error {
    let words = match error.raw_os_error() {
        Some(code) => ipcperf_core::errno::text(code),
        None => error.to_string(),
    };
    io::Error::new(error.kind(), format!("{what}: {words}"))
}

fn run_directory() -> io::Result<RunDirectory> {
    let base = rundir::base();
    RunDirectory::create(&base, random()).map_err(|error| {
        let what = format!("a run directory in '{}' (XDG_RUNTIME_DIR, TMPDIR)", base.display());
        named(&what, &error)
    })
}

/// The cells of one round in random order. Those with idle polling come in one block, first or last, so that the
/// machine has to settle only once.
fn turn(cells: &[CellRun], order: &mut Rng) -> Vec<usize> {
    let mut turn: Vec<usize> = (0..cells.len())
        .filter(|index| cells[*index].plan.objection.is_none() && cells[*index].ended.is_none())
        .collect();
    order.shuffle(&mut turn);
    let first = if order.below(2) == 0 { Idle::AsIs } else { Idle::Poll };
    turn.sort_by_key(|index| cells[*index].plan.idle != first);
    turn
}

/// How long the parts of a slice are.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Warm-up.
    pub warmup: Duration,
    /// Timed region.
    pub slice: Duration,
    /// Operations in the timed region, each timed by itself; 0: as many as fit into it.
    pub operations: u64,
}

impl Settings {
    fn lengths(&self) -> Lengths {
        Lengths { warmup: self.warmup, slice: self.slice, operations: 0 }
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
    /// Opens one; random choices follow from `seed`.
    ///
    /// # Errors
    /// No page or no run directory can be had.
    pub fn open(seed: u64, interrupts: Option<&'a Interrupts>) -> io::Result<Self> {
        let (clock, fallback) = Clock::choose();
        Ok(Self {
            page: Page::create().map_err(|error| named("shared memory (memfd_create)", &error))?,
            directory: run_directory()?,
            clock,
            fallback,
            fit: Fit::start(clock),
            interrupts,
            bounds: BoundReadings::default(),
            overhead: 1,
            names: Rng::from_seed(random()),
            setup: Rng::stream(seed, "setup"),
            arrivals: Rng::stream(seed, "arrivals"),
            meter: Meter::find(),
            rest: Span::default(),
            polled: false,
        })
    }

    /// Measures the bounds that these cells are read against, the cost of the clock among them; true if the user
    /// interrupted.
    ///
    /// # Errors
    /// No worker can be had.
    pub fn prepare(&mut self, cells: &[CellRun]) -> io::Result<bool> {
        self.measure_bounds(cells)
    }

    /// The run's own directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A number that nobody has had before.
    pub fn nonce(&mut self) -> u64 {
        self.names.next_u64()
    }

    /// Length of a tick so far, ns.
    #[must_use]
    pub fn ns_per_tick(&self) -> f64 {
        self.fit.ns_per_tick()
    }

    /// Sets what idle CPUs do for as long as the result lives; `None` if the user interrupted.
    fn idle(&mut self, idle: Idle) -> io::Result<Option<Held>> {
        match idle {
            Idle::Poll => {
                self.polled = true;
                PollIdle::hold().map(|held| Some(Some(held)))
            }
            Idle::AsIs => Ok((!self.settle()?).then_some(None)),
        }
    }

    /// Does nothing for a while, and sees what the machine does meanwhile; true if the user interrupted.
    fn pause(&mut self, settings: &Settings) -> io::Result<bool> {
        if self.settle()? {
            return Ok(true);
        }
        let before = self.meter.read();
        std::thread::sleep(pause(settings));
        self.rest.add(self.meter.since(&before));
        Ok(false)
    }

    /// One slice of one cell; true if the user interrupted.
    ///
    /// # Errors
    /// Idle CPUs cannot be asked to poll, or to stop it.
    pub fn measure(
        &mut self,
        cell: &mut CellRun,
        lengths: Lengths,
        round: u64,
        order: u64,
    ) -> io::Result<bool> {
        let plan = cell.plan.clone();
        let mut cpus = plan.cpus.clone();
        // Whatever is special about one CPU (interrupts, a busier sibling) must not stick to one seat.
        if round % 2 == 1 {
            cpus.reverse();
        }
        let nonce = self.names.next_u64();
        let pads = [self.setup.below(4096), self.setup.below(4096)]
            .map(|pad| usize::try_from(pad).unwrap_or(0));
        let offset = usize::try_from(self.setup.below(64)).unwrap_or(0) * 64;
        let ns_per_tick = self.fit.ns_per_tick();
        let ticks = |duration: Duration| (duration.as_nanos() as f64 / ns_per_tick) as u64;
        let job = Job {
            mechanism: plan.entry.spec.full_name(),
            seat: Seat::Lead,
            shape: slice::shape(plan.wire, plan.pattern, nonce, offset, self.directory.path()),
            options: plan.options.clone(),
            touch: plan.touch,
            load: plan.load.clone(),
            len: plan.entry.port_len(plan.wire),
            payload: plan.size,
            window: plan.window,
            cpu: None,
            cpus: cpus.clone(),
            counter: self.clock.is_counter(),
            ns_per_tick,
            seed: self.arrivals.next_u64(),
            overhead: self.overhead,
            warmup: ticks(lengths.warmup),
            slice: ticks(lengths.slice),
            operations: lengths.operations,
            batch: settled_batch(cell),
            verify: if plan.wire <= 64 << 10 { VERIFIED } else { 2 },
        };
        let counted = SLOWEST.mul_f64(lengths.operations as f64);
        // One pause, or one message of a second, may be longer than the whole slice.
        let idle = Duration::from_nanos(plan.load.stall_ns + 2 * plan.load.think_ns);
        let deadline =
            HANG + 30 * (lengths.slice + lengths.warmup) + moving(plan.wire) + counted + idle;
        let terms = Terms { job, pads, deadline };
        let (steal, throttled) = (procfs::steal_ns(), procfs::throttled());
        let outcome = {
            let Some(_held) = self.idle(plan.idle)? else { return Ok(true) };
            let around = Surroundings { page: &self.page, interrupts: self.interrupts };
            slice::run(&plan.entry, &plan.options, &terms, around)
        };
        let jumped = self.fit.boundary().map(|text| format!("E-CLOCKJUMP: {text}"));
        match outcome {
            Outcome::Interrupted => return Ok(true),
            Outcome::Ended(status, kind, reason) => cell.ended = Some((status, kind, reason)),
            Outcome::Measured(raw) => {
                if let [Some(before), Some(after)] = raw.sides[0].cacheline {
                    let seen = self.bounds.cacheline.entry(plan.placement).or_default();
                    seen.extend([before, after]);
                }
                let rejected =
                    jumped.or_else(|| misplaced(&raw, &cpus)).or_else(|| stopped(throttled));
                let steal_ns =
                    procfs::steal_ns().zip(steal).map(|(now, then)| now.saturating_sub(then));
                cell.slices.push(SliceRun {
                    round,
                    order,
                    cpus,
                    nonce,
                    raw: *raw,
                    rejected,
                    steal_ns,
                });
            }
        }
        Ok(false)
    }
}

/// Operations per sample as the first round decided: per-operation and batch timing must not mix in one cell. Streams
/// decide anew, since there the batch only sets how often the clock is read.
fn settled_batch(cell: &CellRun) -> u64 {
    match cell.plan.pattern {
        PatternKind::PingPong => cell.slices.first().map_or(0, |slice| slice.raw.batch),
        PatternKind::Stream
        | PatternKind::FanIn
        | PatternKind::FanOut
        | PatternKind::Connect
        | PatternKind::Rate
        | PatternKind::Burst => 0,
    }
}

/// Whether the CPU limit of a control group stopped the slice: then it measured the limit.
fn stopped(before: Option<u64>) -> Option<String> {
    let times = procfs::throttled()?.saturating_sub(before?);
    (times > 0)
        .then(|| format!("E-THROTTLE: the control group's CPU limit stopped it {times} times"))
}

/// What a slice moves at the least, whatever its length (verification, warm-up, twelve samples, both ways), at a rate
/// that no working mechanism is below: 64 messages at 100 MB/s.
fn moving(size: usize) -> Duration {
    Duration::from_secs_f64(64.0 * size as f64 / 100e6)
}

/// Whether an end was not where it was put.
fn misplaced(raw: &RawSlice, cpus: &[usize]) -> Option<String> {
    for (side, cpu) in raw.sides.iter().zip(cpus) {
        let allowed = side.allowed.as_deref().is_none_or(|allowed| allowed == [*cpu]);
        if side.cpu != *cpu || !allowed || side.migrations.is_some_and(|count| count > 0) {
            return Some(format!(
                "E-MIGRATE: pinned to CPU {cpu}, found on CPU {} (allowed: {:?})",
                side.cpu, side.allowed
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Ground, Request};
    use ipcperf_core::{OptionSet, Touch};
    use ipcperf_sys::topology::{Cpu, Topology};

    #[test]
    fn every_round_takes_every_cell_once_and_idle_polling_in_one_block() {
        let cpus = (0..2).map(|id| Cpu { id, core: id, llc: 0, node: 0 }).collect();
        let ground = Ground { topology: Topology { cpus }, idle_objection: None, memory: None };
        let request = Request {
            mechanisms: vec![crate::testing::entries()[0]],
            patterns: PatternKind::ALL.to_vec(),
            sizes: vec![1, 64, 4096],
            placements: vec![Placement::SameLlc],
            idle: Idle::ALL.to_vec(),
            touch: Touch::CacheLine,
            loads: vec![ipcperf_core::Load::default()],
            options: OptionSet::default(),
        };
        let cells: Vec<CellRun> = plan::cells(&request, &ground)
            .expect("good knobs")
            .into_iter()
            .map(|plan| CellRun { plan, slices: Vec::new(), ended: None })
            .collect();
        let (mut order, mut first) = (Rng::from_seed(1), [0; 2]);
        for _ in 0..50 {
            let turn = turn(&cells, &mut order);
            let mut sorted = turn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..24).collect::<Vec<_>>());
            let idle: Vec<Idle> = turn.iter().map(|index| cells[*index].plan.idle).collect();
            assert_eq!(idle.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{idle:?}");
            first[usize::from(idle[0] == Idle::Poll)] += 1;
        }
        assert!(
            first.iter().all(|count| *count > 10),
            "either block comes first at times: {first:?}"
        );
    }
}
