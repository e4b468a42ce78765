//! The settings of a run, its progress reports, and its results.

mod pipelines;

pub use pipelines::{PipelinePlan, PipelineRun, Ran, RoundRun};

use crate::fit::Fit;
use crate::inject::Injection;
use crate::job::{CallsReport, FailureKind};
use crate::plan::CellPlan;
use crate::slice::{Data, RawSlice};
use ipcperf_core::findings;
use ipcperf_core::result::{Metric, Question, Rejection, Stage, Status};
use ipcperf_core::{Idle, Neighbour, Placement, Seat};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::Span;
use ipcperf_sys::rundir::RemovedObject;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The shortest pause of a round.
pub const PAUSE: Duration = Duration::from_millis(20);

/// The longest: what an energy counter needs.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How a run is to go.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Rounds.
    pub rounds: u64,
    /// Timed region of a slice.
    pub slice: Duration,
    /// Warm-up before it.
    pub warmup: Duration,
    /// What of it is counted rather than timed.
    pub counts: Counts,
    /// Whether every operation that was timed is kept, beside the histograms.
    pub keeps_samples: bool,
    /// Seed of every random choice.
    pub seed: u64,
    /// When no further round may begin.
    pub budget: Option<Duration>,
    /// Whether the system calls of each cell are timed, in a slice of their own after all rounds.
    pub time_calls: bool,
}

/// Parts of a slice that are so many operations, in place of a time. 0: what there is to say of a part is a time, or is
/// decided by the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples of the timed region, each of `batch` operations: round trips, messages of a stream, bursts, requests. Of the
    /// pattern `connect` requests of each client.
    pub samples: u64,
    /// Operations of the warm-up.
    pub warmup: u64,
    /// Operations of a sample.
    pub batch: u64,
}

/// How long a round does nothing, so that the machine can be seen without a load: as long as a slice. [`Bench::pause`](crate::run::Bench::pause)
/// leaves it out where the last one was less than a second ago.
#[must_use]
pub fn pause(settings: &Settings) -> Duration {
    settings.slice.clamp(PAUSE, LONGEST_PAUSE)
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
        /// The median of its figures so far, in words.
        so_far: Option<&'a str>,
    },
    /// A round has ended.
    Round {
        /// Which.
        round: u64,
        /// How long it took, with its pause if it had one.
        took: Duration,
    },
    /// All is measured.
    Done,
}

/// What a run found, in ticks.
#[derive(Debug)]
pub struct Findings {
    /// One for each cell of the plan, in its order.
    pub cells: Vec<CellRun>,
    /// What the cells were to answer, in the order of importance.
    pub questions: Vec<Question>,
    /// Which stage begins with which round; empty where all rounds are alike.
    pub stages: Vec<(u64, Stage)>,
    /// Programs that nobody here wrote.
    pub pipelines: Vec<PipelineRun>,
    /// How much the rounds of what is neither a cell nor a pipeline differ: one share for each arm.
    pub spreads: Vec<f64>,
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
    /// In how many pauses.
    pub pauses: u64,
    /// The longest time for which the coordinator itself did not run.
    pub stood: Duration,
    /// For how long the machine was suspended meanwhile.
    pub suspended: Duration,
    /// What earlier, killed runs had left and was removed.
    pub reaped: Vec<RemovedObject>,
}

/// The operations of a slice that were kept one by one.
#[derive(Debug)]
pub struct Kept {
    /// Which cell of the plan.
    pub cell: usize,
    /// Its round.
    pub round: u64,
    /// Its position in it.
    pub order: u64,
    /// How many were timed together.
    pub batch: u64,
    /// How long each batch took, ticks, in the order of timing.
    pub ticks: Vec<u64>,
}

impl Findings {
    /// Takes what was kept of all slices, those that will be rejected among them, and the length of a tick in nanoseconds.
    pub fn take_kept(&mut self) -> (Vec<Kept>, f64) {
        let cells = self.cells.iter_mut().enumerate();
        let slices = cells.flat_map(|(at, cell)| cell.slices.iter_mut().map(move |one| (at, one)));
        let kept = slices.filter_map(|(cell, SliceRun { round, order, raw, .. })| {
            let Data::Trips(trips) = &mut raw.data else { return None };
            let (round, order, batch) = (*round, *order, raw.batch);
            trips.kept.take().map(|ticks| Kept { cell, round, order, batch, ticks })
        });
        (kept.collect(), self.fit.ns_per_tick())
    }
}

/// All slices of one cell.
#[derive(Debug)]
pub struct CellRun {
    /// What was to be measured.
    pub plan: CellPlan,
    /// Slices that ran to their end.
    pub slices: Vec<SliceRun>,
    /// Operations per sample of all its slices, as the first one decided: single operations in one round and means of
    /// many in another are no figures of one cell. `None` before it, and where the batch only sets how often the clock is
    /// read.
    pub batch: Option<u64>,
    /// Why no more slices were tried.
    pub ended: Option<(Status, FailureKind, String)>,
    /// What the system calls of both ends took, or why that is not known; `None`: nobody asked.
    pub calls: Option<Result<[CallsReport; 2], String>>,
    /// What is to go wrong on purpose in its next slice, if that has two ends.
    pub injections: Vec<Injection>,
    /// Which cells are measured one after the other with it.
    pub block: usize,
    /// What its slices are to the cell.
    pub part: Part,
}

/// What slices are to their cell, which is at this place of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it, or what decides whether it is confirmed.
    #[default]
    Whole,
    /// Those that count for what is said of it.
    Confirm(usize),
    /// Those that were to count, until another cell became the reference.
    Superseded(usize),
    /// Those of the reference, measured a second time.
    Control(usize),
}

impl CellRun {
    /// Before its first slice.
    #[must_use]
    pub fn new(plan: CellPlan) -> Self {
        Self {
            plan,
            slices: Vec::new(),
            batch: None,
            ended: None,
            calls: None,
            injections: Vec::new(),
            block: 0,
            part: Part::Whole,
        }
    }

    /// Keeps a slice that ran to its end, rejected where something around it says that it measured something else.
    pub(crate) fn keep(&mut self, mut slice: SliceRun, around: Around, bounds: &mut BoundReadings) {
        if !self.slices.is_empty() {
            // The first slice speaks for all, and a run keeps thousands.
            slice.raw.effective = Vec::new();
        }
        if let [Some(before), Some(after)] = slice.raw.sides[0].cacheline {
            let key = &self.plan.key;
            let seen = match key.load.neighbour.clone() {
                None => bounds.cacheline.entry(key.placement).or_default(),
                Some(one) => bounds.beside_neighbour.entry((key.placement, one)).or_default(),
            };
            seen.extend([before, after]);
        }
        let stopped = around.throttled.filter(|times| *times > 0).map(|times| {
            findings::THROTTLE
                .rejection(format_args!("the control group's CPU limit stopped it {times} times"))
        });
        let rejected = around
            .jumped
            .map(|text| findings::CLOCKJUMP.rejection(text))
            .or_else(|| traced(&slice.raw))
            .or_else(|| misplaced(&slice.raw, &slice.cpus, self.plan.key.placement))
            .or(stopped);
        if self.slices.len() == self.slices.capacity() {
            // Twice as many at once, for all cells in the same round, doubled the memory of a long run.
            self.slices.reserve_exact(self.slices.len() / 8 + 4);
        }
        self.slices.push(SliceRun { rejected, steal_ns: around.steal_ns, ..slice });
    }

    /// Takes the last slice, in which system calls were timed.
    ///
    /// # Errors
    /// Why they were not.
    pub fn calls(&mut self) -> Result<[CallsReport; 2], String> {
        let Some(slice) = self.slices.pop() else {
            let ended = self.ended.as_ref();
            return Err(ended.map_or_else(|| "not measured".into(), |(_, _, why)| why.clone()));
        };
        match slice.raw.sides.map(|side| side.calls) {
            [Some(lead), Some(follow)] => Ok([lead, follow]),
            _ => Err("the calls of fans are not timed".into()),
        }
    }
}

/// What was read before a slice and after it.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// What the clock did that it must not do.
    pub(crate) jumped: Option<String>,
    /// How often the CPU limit of a control group stopped it: then it measured the limit.
    pub(crate) throttled: Option<u64>,
    /// Time stolen from all CPUs, ns.
    pub(crate) steal_ns: Option<u64>,
}

/// Whether an end was stopped by a tracer at its system calls, which may make it fifty times slower (`strace -f`).
fn traced(raw: &RawSlice) -> Option<Rejection> {
    let tracer = raw.sides.iter().find_map(|side| side.tracer)?;
    Some(findings::TRACED.rejection(format_args!("process {tracer} traced it")))
}

/// Whether an end was not where it was put.
fn misplaced(raw: &RawSlice, cpus: &[usize], placement: Placement) -> Option<Rejection> {
    for (side, end) in raw.sides.iter().zip(Seat::BOTH) {
        let cpu = cpus.get(end.index()).copied().or_else(|| placement.alone(end));
        let Some(cpu) = cpu else { continue };
        let allowed = side.allowed.as_deref().is_none_or(|allowed| allowed == [cpu]);
        if side.cpu != cpu || !allowed || side.migrations.is_some_and(|count| count > 0) {
            return Some(findings::MIGRATE.rejection(format_args!(
                "pinned to CPU {cpu}, found on CPU {} (allowed: {:?})",
                side.cpu, side.allowed
            )));
        }
    }
    None
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
    pub rejected: Option<Rejection>,
    /// Time stolen from all CPUs meanwhile, ns.
    pub steal_ns: Option<u64>,
    /// How long its timed region was to be, ticks; `None` where a number of samples was asked for.
    pub planned: Option<u64>,
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
    /// The same in slices with a neighbour, which may slow it down: they are bounds of nothing.
    pub beside_neighbour: BTreeMap<(Placement, Neighbour), Vec<f64>>,
    /// CPUs by placement.
    pub cpus: BTreeMap<Placement, Vec<usize>>,
    /// What calls through pointers add to a message, ns; `None` where there is no plug-in.
    pub plugin_calls: Option<Metric>,
    /// Why some could not be measured.
    pub missing: BTreeSet<String>,
}

impl BoundReadings {
    /// Median cost of one start and stop of the clock before the rounds, ticks: of the CPU on which it is largest, and
    /// one tick at the least. A clock that goes in steps errs by up to half of one at both ends, whatever it costs.
    pub(crate) fn overhead(&self) -> u64 {
        let costs = self.clock[0].values().map(|values| {
            let value = |name| values.get(name).copied().unwrap_or_default();
            f64::max(value("p50"), value("granularity") / 2.0)
        });
        costs.fold(1.0, f64::max) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::SideReport;
    use crate::slice::Window;

    #[test]
    fn a_slice_of_which_either_end_was_traced_does_not_count() {
        let of = |tracers: [Option<u32>; 2]| {
            let sides = tracers.map(|tracer| SideReport { tracer, ..SideReport::default() });
            traced(&RawSlice { sides, ..RawSlice::of(Data::Stream(Window::default())) })
        };
        assert_eq!(of([None, None]), None);
        for tracers in [[Some(7), None], [None, Some(7)]] {
            assert_eq!(of(tracers), Some(findings::TRACED.rejection("process 7 traced it")));
        }
    }

    #[test]
    fn an_end_that_alone_is_pinned_is_looked_for_where_it_was_put_and_the_other_one_nowhere() {
        let side = |cpu: usize, allowed: &[usize]| SideReport {
            cpu,
            allowed: Some(allowed.to_vec()),
            ..SideReport::default()
        };
        let found = |sides: [SideReport; 2], seat| {
            let raw = RawSlice { sides, ..RawSlice::of(Data::Stream(Window::default())) };
            misplaced(&raw, &[], Placement::OneEnd { seat, cpu: 1 })
        };
        let [there, anywhere] = [side(1, &[1]), side(0, &[0, 1])];
        let lead_is_there = [there.clone(), anywhere.clone()];
        assert_eq!(found(lead_is_there.clone(), Seat::Lead), None);
        assert_eq!(found([anywhere, there], Seat::Follow), None);
        let told = found(lead_is_there, Seat::Follow).expect("it is elsewhere");
        assert!(told.reason.starts_with("pinned to CPU 1, found on CPU 0"), "{told}");
    }
}
