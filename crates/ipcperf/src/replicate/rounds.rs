//! Measures the arms of a study: in every round each of them once, in random order.

use super::study::{Arm, Study};
use super::work::cell::{CellWork, Keys};
use super::work::{self, Readings, Turn, Work};
use ipcperf_core::result::{ArmResult, ArmRound, Scale, Status};
use ipcperf_engine::errand::Mishap;
use ipcperf_engine::plan::Ground;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Bench, CellRun, Progress};
use ipcperf_stats::{Histogram, Rng};
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// What does an arm's work.
enum Doing {
    Cell(Box<CellWork>),
    Other(Box<dyn Work>),
}

/// An arm and what it has found so far.
pub(crate) struct Measured {
    pub(crate) arm: Arm,
    doing: Option<Doing>,
    /// Why there is no more.
    pub(crate) ended: Option<(Status, String)>,
    pub(crate) rounds: Vec<ArmRound>,
    /// Single operations, picoseconds, one for each of the rounds.
    pub(crate) histograms: Vec<Histogram>,
    facts: BTreeMap<String, String>,
}

/// Who is asked for what is needed to measure.
pub(crate) struct House<'a, 'b> {
    pub(crate) registry: &'a Registry,
    pub(crate) ground: &'a Ground,
    pub(crate) bench: &'a mut Bench<'b>,
    pub(crate) interrupts: Option<&'b Interrupts>,
    pub(crate) progress: &'a mut dyn FnMut(Progress<'_>),
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
    ground: &Ground,
) -> Option<String> {
    let cells = study.arms.iter().filter(|arm| arm.work == work::CELL);
    cells.into_iter().find_map(|arm| {
        let keys = Keys::of(&study.keys(arm, scale));
        let planned = keys.and_then(|keys| keys.plan(registry, ground));
        planned.err().map(|error| format!("arm {}: {error}", arm.id))
    })
}

/// Measures a study; true if the user interrupted.
pub(crate) fn measure(
    study: &Study,
    scale: Scale,
    rounds: u64,
    seed: u64,
    house: &mut House<'_, '_>,
) -> io::Result<(Vec<Measured>, bool)> {
    let mut arms: Vec<Measured> =
        study.arms.iter().map(|arm| Measured::prepare(arm, study, scale, house)).collect();
    (house.progress)(Progress::Bounds);
    let mut interrupted = prepare_bench(&arms, house)?;
    let mut order = Rng::stream(seed, &study.head.name);
    for round in 0..rounds {
        if interrupted {
            break;
        }
        let mut turn: Vec<usize> = (0..arms.len()).filter(|at| arms[*at].ended.is_none()).collect();
        order.shuffle(&mut turn);
        for (position, at) in turn.iter().enumerate() {
            let total = rounds * turn.len() as u64;
            let done = round * turn.len() as u64 + position as u64;
            let id = format!("{} {}", study.head.name, arms[*at].arm.id);
            (house.progress)(Progress::Slice { done, total, id: &id });
            if arms[*at].take_turn(round, position as u64, scale, house)? {
                interrupted = true;
                break;
            }
        }
    }
    (house.progress)(Progress::Done);
    Ok((arms, interrupted))
}

/// The cost of the clock and the other bounds, once for all cells of a study.
fn prepare_bench(arms: &[Measured], house: &mut House<'_, '_>) -> io::Result<bool> {
    let mut cells = Vec::new();
    for arm in arms {
        if let Some(Doing::Cell(cell)) = &arm.doing {
            let plan = cell.run.plan.clone();
            cells.push(CellRun { plan, slices: Vec::new(), ended: None });
        }
    }
    if cells.is_empty() { Ok(false) } else { house.bench.prepare(&cells) }
}

impl Measured {
    fn prepare(arm: &Arm, study: &Study, scale: Scale, house: &House<'_, '_>) -> Self {
        let keys = study.keys(arm, scale);
        let mut ended = None;
        let doing = if arm.work == work::CELL {
            Keys::of(&keys).and_then(|keys| keys.plan(house.registry, house.ground)).map(|cell| {
                if let Some(missing) = &cell.run.plan.objection {
                    ended = Some((Status::Unavailable, missing.to_string()));
                }
                Doing::Cell(Box::new(cell))
            })
        } else {
            work::make(&arm.work, &keys).map(|other| {
                ended = other.missing().map(|missing| (Status::Unavailable, missing));
                Doing::Other(other)
            })
        };
        let doing = match doing {
            Ok(doing) => Some(doing),
            Err(reason) => {
                ended = Some((Status::Failed, reason));
                None
            }
        };
        Self {
            arm: arm.clone(),
            doing,
            ended,
            rounds: Vec::new(),
            histograms: Vec::new(),
            facts: BTreeMap::new(),
        }
    }

    /// An arm with these rounds, each a list of readings.
    #[cfg(test)]
    pub(crate) fn recorded(arm: &Arm, rounds: &[BTreeMap<String, f64>]) -> Self {
        let round = |(at, values): (usize, &BTreeMap<String, f64>)| ArmRound {
            round: at as u64,
            order: 0,
            values: values.clone(),
        };
        Self {
            arm: arm.clone(),
            doing: None,
            ended: None,
            rounds: rounds.iter().enumerate().map(round).collect(),
            histograms: vec![Histogram::new(); rounds.len()],
            facts: BTreeMap::new(),
        }
    }

    /// One turn; true if the user interrupted.
    fn take_turn(
        &mut self,
        round: u64,
        order: u64,
        scale: Scale,
        house: &mut House<'_, '_>,
    ) -> io::Result<bool> {
        let found = match &mut self.doing {
            None => return Ok(false),
            Some(Doing::Cell(cell)) => {
                if house.bench.measure(&mut cell.run, cell.lengths, round, order)? {
                    return Ok(true);
                }
                let status = cell.run.ended.as_ref().map(|(status, ..)| *status);
                cell.readings(house.bench.ns_per_tick())
                    .map_err(|reason| (status.unwrap_or(Status::Rejected), reason))
            }
            Some(Doing::Other(other)) => {
                let nonce = house.bench.nonce();
                let turn = Turn {
                    round,
                    nonce,
                    directory: house.bench.directory(),
                    deadline: Instant::now() + patience(scale),
                    interrupts: house.interrupts,
                };
                match other.measure(&turn) {
                    Ok(readings) => Ok(readings),
                    Err(Mishap::Interrupted) => return Ok(true),
                    Err(Mishap::Deadline(reason)) => Err((Status::Deadline, reason)),
                    Err(Mishap::Failed(reason)) => Err((Status::Failed, reason)),
                }
            }
        };
        match found {
            Ok(readings) => self.keep(round, order, readings),
            // A slice that does not count (moved, throttled) is followed by others; anything else ends the arm.
            Err((Status::Rejected, reason)) => {
                self.facts.insert(format!("round {round} does not count"), reason);
            }
            Err(ended) => self.ended = Some(ended),
        }
        Ok(false)
    }

    fn keep(&mut self, round: u64, order: u64, readings: Readings) {
        let Readings { values, histogram, facts } = readings;
        let values = values.into_iter().filter(|(_, value)| value.is_finite()).collect();
        self.rounds.push(ArmRound { round, order, values });
        self.histograms.push(histogram.unwrap_or_default());
        self.facts.extend(facts);
    }

    /// Why it has no figures.
    pub(crate) fn reason(&self) -> Option<String> {
        match &self.ended {
            Some((_, reason)) => Some(reason.clone()),
            None if self.rounds.is_empty() => Some(
                self.facts.values().next().cloned().unwrap_or_else(|| "not measured".to_owned()),
            ),
            None => None,
        }
    }

    /// What the arm says of a reading that it does not have.
    pub(crate) fn note(&self, metric: &str) -> Option<String> {
        let family = metric.split('.').next().unwrap_or(metric);
        self.facts.get(family).map(|fact| format!(" ({fact})"))
    }

    /// A reading of one round.
    pub(crate) fn reading(&self, metric: &str, round: u64) -> Option<f64> {
        let at = self.rounds.iter().find(|one| one.round == round)?;
        at.values.get(metric).copied()
    }

    pub(crate) fn result(&self, interrupted: bool) -> ArmResult {
        let (status, reason) = match (&self.ended, self.rounds.is_empty()) {
            (Some((status, reason)), _) => (*status, Some(reason.clone())),
            (None, false) => (Status::Ok, None),
            (None, true) if interrupted => {
                (Status::Skipped, Some("interrupted before its turn".into()))
            }
            (None, true) => (Status::Rejected, self.reason()),
        };
        ArmResult {
            id: self.arm.id.clone(),
            label: self.arm.label.clone(),
            work: self.arm.work.clone(),
            status,
            reason,
            rounds: self.rounds.clone(),
            facts: self.facts.clone(),
        }
    }
}
