//! Measures the arms of a study: in every round each of them once, in random order, and cells whose slice was rejected once
//! more.

use super::bounds::{self, BoundWork};
use super::cell::{self, ArmKeys, CellWork};
use super::expect::{Expected, Pilot, Took};
use super::kinds::{CELL, make};
use super::work::{Turn, Work};
use crate::claims::{Arm, Measured, Study};
use crate::replication::Scale;
use ipcperf_core::result::{Noise, Status};
use ipcperf_engine::exec::Watch;
use ipcperf_engine::plan::Host;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{self, Bench, Bounded, CellRun, Measure, PAUSE, Progress, Ran, rounds};
use ipcperf_engine::task::TaskError;
use ipcperf_engine::{RunFacts, result_set};
use ipcperf_kit::error::note;
use ipcperf_stats::Rng;
use ipcperf_sys::signals::Interrupts;
use std::cell::RefCell;
use std::io;
use std::time::{Duration, Instant};

/// What does an arm's work.
enum Doing {
    Cell(Box<CellWork>),
    Bound(BoundWork),
    Other(Box<dyn Work>),
}

/// An arm, what does its work, and what it has found so far.
struct ArmRun {
    doing: Option<Doing>,
    measured: Measured,
    /// What its last turn took.
    took: Option<Took>,
}

/// What is needed to measure.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) host: &'a Host,
    pub(crate) interrupts: &'a Interrupts,
    pub(crate) watch: &'a RefCell<Watch>,
}

/// How long one turn of one arm may take before it is taken to hang.
fn patience(scale: Scale) -> Duration {
    Duration::from_secs(match scale {
        Scale::Smoke => 30,
        Scale::Quick => 120,
        Scale::Full => 3600,
    })
}

/// What is wrong with an arm, as far as only this machine's program can tell: an unknown mechanism, a knob out of range.
pub(crate) fn objection(
    study: &Study,
    scale: Scale,
    registry: &Registry,
    host: &Host,
) -> Option<String> {
    let cells = study.arms.iter().filter(|arm| arm.work == CELL);
    cells.into_iter().find_map(|arm| {
        let keys = ArmKeys::of(&study.keys(arm, scale));
        let planned = keys.and_then(|keys| keys.plan(registry, host));
        planned.err().map(|error| format!("arm {}: {error}", arm.id))
    })
}

/// What the rounds of a study have found.
pub(crate) struct Found {
    pub(crate) arms: Vec<Measured>,
    pub(crate) noise: Noise,
    /// Rounds that were measured, where time ran out before all were.
    pub(crate) rounds: u64,
    /// What its turns took, and what came beside them.
    pub(crate) pilot: Pilot,
    /// The user interrupted.
    pub(crate) interrupted: bool,
}

/// How long the rounds of a study may take, and how long the user expects them to take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// No round begins that is not expected to end before this.
    pub(crate) until: Option<Instant>,
    /// What the user expects; a first round that takes something else corrects it.
    pub(crate) expected: Option<Expected>,
}

/// Measures a study.
pub(crate) fn measure(
    study: &Study,
    (scale, count): (Scale, u64),
    limits: Limits,
    seed: u64,
    context: Context<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<Found> {
    let began = Instant::now();
    let bench = Bench::open(seed, Some(context.interrupts))?;
    let arms = study.arms.iter().map(|arm| ArmRun::prepare(arm, study, scale, context)).collect();
    let mut run = StudyRun { study, scale, count, bench, arms, context };
    let mut in_rounds = Duration::ZERO;
    progress(Progress::Bounds);
    let mut ran = Ran { rounds: 0, interrupted: run.prepare()? };
    if !ran.interrupted {
        let mut order = Rng::stream(seed, study.name());
        let mut show = |shown: Progress<'_>| {
            if let Progress::Round { round, took } = shown {
                in_rounds += took;
                let expected = limits.expected.filter(|_| round == 0);
                let other = expected.and_then(|expected| expected.correction(took, count));
                other.iter().for_each(|words| note(words));
            }
            progress(shown);
        };
        ran = rounds(&mut run, count, limits.until, &mut order, &mut show)?;
    }
    progress(Progress::Done);
    let mut cells = Vec::new();
    let mut beside = Vec::new();
    let mut measured = Vec::new();
    let StudyRun { bench, arms, .. } = run;
    let turns = arms.iter().map(|arm| arm.took).collect();
    for ArmRun { doing, measured: arm, .. } in arms {
        if let Some(Doing::Cell(cell)) = doing
            && !cell.lengths.time_calls
        {
            beside.push((measured.len(), cell.beside(bench.ns_per_tick())));
            cells.push(cell.run);
        }
        measured.push(arm);
    }
    // Its document says what a run of these cells would say of them: which rounds do not count, and how disturbed it was.
    let set = result_set(bench.finish(cells, ran.interrupted)?, RunFacts::default());
    for ((at, beside), assembled) in beside.into_iter().zip(&set.cells) {
        cell::keep(&mut measured[at], assembled, beside);
    }
    let mut noise = set.noise;
    let others = measured.iter_mut().filter(|arm| arm.arm.work != CELL);
    noise.findings.extend(others.filter_map(Measured::divide));
    let pilot = Pilot { turns, beside: began.elapsed().saturating_sub(in_rounds) };
    // Or when the clock was read last.
    let interrupted = set.interrupted;
    Ok(Found { arms: measured, noise, rounds: ran.rounds, pilot, interrupted })
}

/// The arms of a study while they are measured.
struct StudyRun<'a> {
    study: &'a Study,
    scale: Scale,
    /// Rounds that are planned.
    count: u64,
    bench: Bench<'a>,
    arms: Vec<ArmRun>,
    context: Context<'a>,
}

impl StudyRun<'_> {
    /// Finds out whether all is here that the arms need, then the cost of the clock and the other bounds, once for all cells;
    /// true if the user interrupted.
    fn prepare(&mut self) -> io::Result<bool> {
        for arm in &mut self.arms {
            if arm.look(self.context) {
                return Ok(true);
            }
        }
        let plans = self.arms.iter().filter_map(ArmRun::cell).map(|cell| cell.plan.clone());
        let cells: Vec<CellRun> = plans.map(CellRun::new).collect();
        if cells.is_empty() { Ok(false) } else { self.bench.prepare(&cells) }
    }
}

impl Measure for StudyRun<'_> {
    type Error = io::Error;

    fn arms(&self) -> Vec<run::Arm<'_>> {
        let arm = |one: &ArmRun| run::Arm {
            name: format!("{} {}", self.study.name(), one.measured.arm.id).into(),
            is_open: one.measured.ended.is_none(),
            idle: None,
            block: 0,
        };
        self.arms.iter().map(arm).collect()
    }

    fn pause(&mut self) -> io::Result<bool> {
        self.bench.pause(PAUSE)
    }

    fn measure(&mut self, arm: usize, round: u64, position: u64) -> io::Result<bool> {
        let (arm, began) = (&mut self.arms[arm], Instant::now());
        let at = (round, position);
        let interrupted = arm.take_turn(at, self.scale, &mut self.bench, self.context);
        let all_s = began.elapsed().as_secs_f64();
        arm.took = Some(Took { all_s, timed: arm.timed(self.bench.ns_per_tick()) });
        Ok(interrupted)
    }

    fn rejected(&self, arms: &[usize], round: u64) -> Vec<usize> {
        let cells = arms.iter().filter_map(|arm| Some((*arm, self.arms[*arm].cell()?)));
        self.bench.rejected(cells, round, self.count)
    }
}

impl ArmRun {
    fn prepare(arm: &Arm, study: &Study, scale: Scale, context: Context<'_>) -> Self {
        let keys = study.keys(arm, scale);
        let mut ended = None;
        let doing = if arm.work == CELL {
            let planned =
                ArmKeys::of(&keys).and_then(|keys| keys.plan(context.registry, context.host));
            planned.map(|mut cell| {
                // Findings name it as tables and claims do.
                cell.run.plan.id.clone_from(&arm.id);
                if let Some(missing) = &cell.run.plan.objection {
                    ended = Some((Status::Unavailable, missing.to_string()));
                }
                Doing::Cell(Box::new(cell))
            })
        } else if bounds::KINDS.contains(&arm.work.as_str()) {
            BoundWork::of(&arm.work, &keys).map(|bound| {
                ended = bound.on(context.host).err().map(|why| (Status::Unavailable, why));
                Doing::Bound(bound)
            })
        } else {
            make(&arm.work, &keys).map(Doing::Other)
        };
        let doing = match doing {
            Ok(doing) => Some(doing),
            Err(reason) => {
                ended = Some((Status::Failed, reason));
                None
            }
        };
        let mut measured = Measured::new(arm);
        measured.ended = ended;
        Self { doing, measured, took: None }
    }

    /// Finds out whether all is here that its work needs; true if the user interrupted.
    fn look(&mut self, context: Context<'_>) -> bool {
        let Some(Doing::Other(other)) = &self.doing else { return false };
        match other.look(Some(context.interrupts)) {
            Ok(()) => {}
            Err(TaskError::Interrupted) => return true,
            Err(why) => self.measured.ended = Some((Status::Unavailable, why.to_string())),
        }
        false
    }

    /// The cell that it is, if it is one.
    fn cell(&self) -> Option<&CellRun> {
        match &self.doing {
            Some(Doing::Cell(cell)) => Some(&cell.run),
            _ => None,
        }
    }

    /// Seconds of its last turn that were timed, and how many operations these were.
    fn timed(&self, ns_per_tick: f64) -> Option<(f64, u64)> {
        if let Some(cell) = self.cell() {
            let raw = &cell.slices.last()?.raw;
            return Some((raw.elapsed as f64 * ns_per_tick / 1e9, raw.operations));
        }
        self.measured.last("wall_s").map(|seconds| (seconds, 0))
    }

    /// One turn; true if the user interrupted.
    fn take_turn(
        &mut self,
        (round, order): (u64, u64),
        scale: Scale,
        bench: &mut Bench<'_>,
        context: Context<'_>,
    ) -> bool {
        let found = match &mut self.doing {
            None => return false,
            Some(Doing::Cell(cell)) => {
                if bench.measure(&mut cell.run, cell.lengths, round, order) {
                    return true;
                }
                let ended = cell.run.ended.clone();
                if let Some((status, _, reason)) = ended {
                    Err((status, reason))
                } else if cell.lengths.time_calls {
                    cell.calls(bench.ns_per_tick()).map_err(|reason| (Status::Rejected, reason))
                } else {
                    // Its slices are kept, and assembled when all rounds are over.
                    return false;
                }
            }
            Some(Doing::Bound(work)) => match work.on(context.host) {
                Err(reason) => Err((Status::Unavailable, reason)),
                Ok((bound, cpus)) => {
                    match bench.measure_bound(&bound, work.workers(&cpus), patience(scale)) {
                        Ok(Bounded::Interrupted) => return true,
                        Ok(Bounded::Failed(status, reason)) => Err((status, reason)),
                        Err(error) => Err((Status::Failed, error.to_string())),
                        Ok(Bounded::Found { values, samples }) => {
                            Ok(work.readings(values, &samples, bench.ns_per_tick(), cpus))
                        }
                    }
                }
            },
            Some(Doing::Other(other)) => {
                let nonce = bench.nonce();
                let turn = bench.directory().map(|directory| Turn {
                    nonce,
                    directory,
                    deadline: Instant::now() + patience(scale),
                    registry: context.registry,
                    interrupts: Some(context.interrupts),
                    watch: context.watch,
                });
                match turn.map(|turn| other.measure(&turn)) {
                    Err(missing) => Err((Status::Unavailable, missing.to_string())),
                    Ok(Ok(readings)) => Ok(readings),
                    Ok(Err(TaskError::Interrupted)) => return true,
                    Ok(Err(TaskError::Deadline(reason))) => Err((Status::Deadline, reason)),
                    Ok(Err(TaskError::Failed(reason))) => Err((Status::Failed, reason)),
                }
            }
        };
        match found {
            Ok(readings) => self.measured.keep(round, order, readings),
            // A slice that does not count (moved, throttled) is followed by others; anything else ends the arm.
            Err((Status::Rejected, reason)) => self.measured.reject(round, reason),
            Err(ended) => self.measured.ended = Some(ended),
        }
        false
    }
}
