//! All rounds of a run: every cell once per round, in random order, each slice in fresh processes.

mod bench;
mod bounds;

pub use bench::{Bench, Lengths};
pub use bounds::Bounded;

use crate::exec::PipelineRun;
use crate::fit::Fit;
use crate::job::{CallsReport, FailureKind};
use crate::plan::CellPlan;
use crate::slice::RawSlice;
use ipcperf_core::result::Status;
use ipcperf_core::{Idle, Placement};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs;
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

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
    /// Whether the system calls of each cell are timed, in a slice of their own after all rounds.
    pub time_calls: bool,
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
    /// Programs that nobody here wrote.
    pub pipelines: Vec<PipelineRun>,
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
    /// What the system calls of both ends took, or why that is not known; `None`: nobody asked.
    pub calls: Option<Result<[CallsReport; 2], String>>,
}

impl CellRun {
    /// Before its first slice.
    #[must_use]
    pub fn new(plan: CellPlan) -> Self {
        Self { plan, slices: Vec::new(), ended: None, calls: None }
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
            _ => Err("the calls of a crowd of processes are not timed".into()),
        }
    }
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
    let mut run = Bench::open(settings.seed, interrupts)?;
    let mut cells: Vec<CellRun> = plan.into_iter().map(CellRun::new).collect();
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
    if settings.time_calls && !interrupted {
        interrupted = run.time_calls(&mut cells, settings, progress)?;
    }
    progress(Progress::Done);
    if !interrupted {
        run.measure_clock(&cells, 1)?;
    }
    run.settle()?;
    Ok(run.close(cells, interrupted, began, steal_before))
}

/// The same error with what was tried.
pub(crate) fn named(what: &str, error: &io::Error) -> io::Error {
    let words = match error.raw_os_error() {
        Some(code) => ipcperf_core::errno::text(code),
        None => error.to_string(),
    };
    io::Error::new(error.kind(), format!("{what}: {words}"))
}

/// The cells of one round in random order. Those with idle polling come in one block, first or last, so that the
/// machine has to settle only once.
fn turn(cells: &[CellRun], order: &mut Rng) -> Vec<usize> {
    let mut turn: Vec<usize> = (0..cells.len())
        .filter(|index| cells[*index].plan.objection.is_none() && cells[*index].ended.is_none())
        .collect();
    order.shuffle(&mut turn);
    let first = if order.below(2) == 0 { Idle::AsIs } else { Idle::Poll };
    turn.sort_by_key(|index| cells[*index].plan.key.idle != first);
    turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Ground, Request};
    use ipcperf_core::{OptionSet, PatternKind, Touch};
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
            .map(CellRun::new)
            .collect();
        let (mut order, mut first) = (Rng::from_seed(1), [0; 2]);
        for _ in 0..50 {
            let turn = turn(&cells, &mut order);
            let mut sorted = turn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..24).collect::<Vec<_>>());
            let idle: Vec<Idle> = turn.iter().map(|index| cells[*index].plan.key.idle).collect();
            assert_eq!(idle.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{idle:?}");
            first[usize::from(idle[0] == Idle::Poll)] += 1;
        }
        assert!(
            first.iter().all(|count| *count > 10),
            "either block comes first at times: {first:?}"
        );
    }
}
