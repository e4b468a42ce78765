//! Small runs of one cell, at which the checks look.

use super::check::Recovered;
use super::injectors::{Disturbance, Does, Injector};
use crate::compare::arm;
use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_engine::measured::Findings;
use ipcperf_engine::plan::Host;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Arm, Bench, CellRun, Counts, Lengths, Measure, fresh_seed, rounds};
use ipcperf_engine::slice::crowd::connect::Model;
use ipcperf_engine::{RunFacts, result_set};
use ipcperf_kit::error::Stop;
use ipcperf_stats::Rng;
use ipcperf_sys::signals::Interrupts;
use std::cell::OnceCell;
use std::io;
use std::time::Duration;

/// How much longer than thirty times its planned length a slice may take: less than in a run, because somebody waits, and
/// enough for a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(5);

/// What all checks share.
pub(super) struct Stage<'a> {
    pub(super) registry: &'a Registry,
    pub(super) host: Host,
    pub(super) interrupts: &'a Interrupts,
    /// What goes wrong in every check.
    pub(super) sabotage: Vec<Injector>,
    /// Whether what detectors tell is not heard.
    pub(super) is_blind: bool,
    /// What came out of known distributions.
    pub(super) recovered: OnceCell<Vec<Recovered>>,
}

/// Why a check came to nothing.
pub(super) enum Halt {
    /// The user interrupted.
    Interrupted,
    /// This machine cannot do it.
    Missing(String),
    /// It went wrong.
    Failed(String),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Failed(stop.to_string())
    }
}

/// How a cell is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    /// In words, as for `compare --live`.
    pub(super) cell: &'static str,
    pub(super) rounds: u64,
    /// Timed length of a slice, ms.
    pub(super) slice_ms: u64,
    /// Operations, each timed alone; 0: as many as fit the slice.
    pub(super) operations: u64,
    /// Whether the system calls are timed, and nothing else.
    pub(super) time_calls: bool,
    /// Whether the bounds of the machine are measured first.
    pub(super) bounds: bool,
}

impl Act {
    /// A short slice. A CPU with much else to do has to come to the operation in which something goes wrong.
    pub(super) const fn of(cell: &'static str) -> Self {
        Self { cell, rounds: 1, slice_ms: 20, operations: 0, time_calls: false, bounds: false }
    }
}

impl Stage<'_> {
    /// Runs the cell once for each of these arms in each round.
    pub(super) fn run(&self, act: &Act, arms: &[&[Injector]]) -> Result<Findings, Halt> {
        let mut plans = arm::cells(self.registry, &self.host, act.cell, None)?;
        let plan = plans.pop().ok_or_else(|| Halt::Failed("no cell".into()))?;
        if let Some(missing) = &plan.objection {
            return Err(Halt::Missing(format!("{}: {missing}", act.cell)));
        }
        let lengths = Lengths {
            warmup: Duration::from_millis(2),
            slice: Duration::from_millis(act.slice_ms),
            counts: Counts { samples: act.operations, ..Counts::default() },
            keeps_samples: false,
            client: Model::Blocking,
            time_calls: act.time_calls,
            patience: PATIENCE,
            is_swapped: None,
        };
        let mut bench = Bench::open(fresh_seed(), Some(self.interrupts))?;
        let cells: Vec<CellRun> = arms.iter().map(|_| CellRun::new(plan.clone())).collect();
        if act.bounds && bench.prepare(&cells)? {
            return Err(Halt::Interrupted);
        }
        let mut run = CheckRun { stage: self, lengths, arms, bench, cells };
        let mut order = Rng::from_seed(fresh_seed());
        if rounds(&mut run, act.rounds, None, &mut order, &mut |_| ())?.interrupted {
            return Err(Halt::Interrupted);
        }
        let found = run.bench.finish(run.cells, false)?;
        if found.interrupted {
            return Err(Halt::Interrupted);
        }
        Ok(found)
    }

    /// The same, as a document.
    pub(super) fn play(&self, act: &Act, arms: &[&[Injector]]) -> Result<ResultSet, Halt> {
        self.run(act, arms).map(document)
    }

    /// The same with one arm in which nothing goes wrong but what goes wrong everywhere.
    pub(super) fn play_one(&self, act: &Act) -> Result<Cell, Halt> {
        self.play_with(act, &[])
    }

    /// The same with one arm.
    pub(super) fn play_with(&self, act: &Act, injectors: &[Injector]) -> Result<Cell, Halt> {
        let cell = self.play(act, &[injectors])?.cells.pop();
        cell.ok_or_else(|| Halt::Failed("no cell".into()))
    }
}

/// The document of a run.
pub(super) fn document(found: Findings) -> ResultSet {
    result_set(found, RunFacts { tool: ipcperf_kit::build::tool(), ..RunFacts::default() })
}

/// The arms of a check, in each of which something goes wrong.
struct CheckRun<'a> {
    stage: &'a Stage<'a>,
    lengths: Lengths,
    arms: &'a [&'a [Injector]],
    bench: Bench<'a>,
    cells: Vec<CellRun>,
}

impl Measure for CheckRun<'_> {
    type Error = io::Error;

    fn arms(&self) -> Vec<Arm<'_>> {
        self.cells.iter().map(Arm::from).collect()
    }

    fn measure(&mut self, arm: usize, round: u64, position: u64) -> io::Result<bool> {
        let cell = &mut self.cells[arm];
        let wrong: Vec<Injector> =
            self.stage.sabotage.iter().chain(self.arms[arm]).copied().collect();
        cell.injections = wrong.iter().flat_map(|one| one.does.injections(round)).collect();
        let _beside = Disturbance::start(&wrong, &cell.plan.key.cpus);
        if self.bench.measure(cell, self.lengths, round, position) {
            return Ok(true);
        }
        for injector in &wrong {
            if let (Does::Slice(change), Some(slice)) = (injector.does, cell.slices.last_mut()) {
                change(slice);
            }
        }
        if self.lengths.time_calls {
            cell.calls = Some(cell.calls());
        }
        Ok(false)
    }
}
