//! A cell as a comparison takes it: in each round its primary metric and, beside it, its tail and its CPU time.

use super::metric::MetricKind;
use super::rounds::{FAR_TAIL, Operations, Sample, TAIL, is_accepted, lacking, sound};
use ipcperf_core::map_of;
use ipcperf_core::result::{Cell, CellKey, HistogramData, KnobReading, Status, Timing};
use ipcperf_stats::{modes, support};
use std::collections::BTreeMap;

/// A cell as a comparison takes it: what it is, and what may be compared of its rounds.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The cell in words.
    pub id: String,
    /// What it must have in common with a cell of the other side: its key but for the CPUs, and the knobs as they were
    /// asked for.
    pub identity: String,
    /// What was measured.
    pub key: CellKey,
    /// Knobs, as asked for and as granted.
    pub knobs: BTreeMap<String, KnobReading>,
    /// Whether it has figures.
    pub status: Status,
    /// It has rounds of the screen alone.
    pub is_unconfirmed: bool,
    /// Why it has none.
    pub reason: Option<String>,
    /// Why its own figure stands for nothing.
    lacking: Option<String>,
    /// How it was timed.
    pub timing: Option<Timing>,
    /// Those that were accepted.
    rounds: Vec<Taken>,
}

impl Arm {
    /// Whether another one has the same figures of the same rounds.
    pub(crate) fn has_the_figures_of(&self, other: &Self) -> bool {
        let figures = |arm: &'_ Self| -> Vec<(u64, Option<f64>, Option<f64>)> {
            arm.rounds.iter().map(|round| (round.number, round.own, round.cpu)).collect()
        };
        self.id == other.id && figures(self) == figures(other)
    }
}

/// What may be compared of a round.
#[derive(Clone, Debug)]
struct Taken {
    number: u64,
    /// The primary metric of the cell.
    own: Option<f64>,
    cpu: Option<f64>,
    /// None where operations were timed in batches, or came faster than they were answered.
    operations: Option<HistogramData>,
    unanswered: u64,
}

impl Taken {
    fn sample(&self) -> Option<Sample<'_>> {
        Sample::read(self.operations.as_ref()?, self.unanswered)
    }
}

impl Arm {
    /// What a comparison needs of a cell.
    pub fn of(mut cell: Cell) -> Self {
        let lacking = lacking(&cell);
        let is_unconfirmed = cell.is_unconfirmed();
        let all = std::mem::take(&mut cell.rounds);
        // Collected, they would stay in the memory of the whole rounds: 736 bytes for each in place of 96.
        let mut rounds = Vec::with_capacity(all.len());
        rounds.extend(all.into_iter().filter(is_accepted).map(|round| Taken {
            number: round.round,
            own: cell.figure_of(&round),
            cpu: round.cpu_ns_per_message(),
            operations: round.histogram.filter(|_| !round.saturated),
            unanswered: round.unanswered,
        }));
        Self {
            rounds,
            lacking,
            is_unconfirmed,
            identity: cell.key.words(&cell.requested()),
            id: cell.id,
            key: cell.key,
            knobs: cell.knobs,
            status: cell.status,
            reason: cell.reason,
            timing: cell.timing,
        }
    }

    /// How many of its rounds were accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.rounds.len()
    }

    /// How it was timed, where single operations and means of batches are two different figures.
    pub(crate) fn mode(&self) -> &str {
        self.timing.as_ref().map_or("", |timing| timing.mode.as_str())
    }

    /// It with the operations of its rounds.
    pub(crate) fn open(&self) -> Opened<'_> {
        Opened { arm: self, samples: self.rounds.iter().map(Taken::sample).collect() }
    }
}

/// An arm with the operations of its rounds, which are counted out once for all figures.
pub struct Opened<'a> {
    pub arm: &'a Arm,
    /// Of each round; none where it has no single operations.
    samples: Vec<Option<Sample<'a>>>,
}

impl MetricKind {
    /// What these two cells are compared by beside their primary metric.
    pub fn beside(a: &[&Opened<'_>], b: &[&Opened<'_>]) -> Vec<Self> {
        let is_used = |arm: &&Opened<'_>| !Self::Cpu.of_arm(arm).is_empty();
        let cpu = a.iter().any(is_used) && b.iter().any(is_used);
        Self::tail(a, b).into_iter().chain(cpu.then_some(Self::Cpu)).collect()
    }

    /// The p99 of each round where every round has the operations for it, else how often the p99 of all of them is
    /// exceeded: of both arms together, so that exchanging them changes nothing. None where a round has no single
    /// operations, or all together are too few.
    fn tail(a: &[&Opened<'_>], b: &[&Opened<'_>]) -> Option<Self> {
        let rounds = a.iter().chain(b).flat_map(|arm| &arm.samples);
        let samples: Vec<&Sample<'_>> = rounds.map(Option::as_ref).collect::<Option<_>>()?;
        let each = || samples.iter().map(|one| one.operations());
        support(each().fold(0, u64::saturating_add), TAIL).ok()?;
        if each().all(|count| support(count, TAIL).is_ok()) {
            return Some(Self::P99);
        }
        Operations::of(samples.iter().copied()).quantile(TAIL).map(Self::Above)
    }

    /// The figures of the accepted rounds of a cell, by number of the round.
    pub fn of_arm(self, opened: &Opened<'_>) -> BTreeMap<u64, f64> {
        let rounds = opened.arm.rounds.iter().zip(&opened.samples);
        let value = |(round, sample): (&Taken, &Option<Sample<'_>>)| {
            Some((round.number, sound(self.of_taken(round, sample.as_ref()))?))
        };
        map_of(rounds.filter_map(value))
    }

    fn of_taken(self, round: &Taken, sample: Option<&Sample<'_>>) -> Option<f64> {
        match self {
            Self::Primary(_) => round.own,
            Self::P99 => sample?.tail(TAIL),
            Self::P999 => sample?.tail(FAR_TAIL),
            Self::Above(limit) => {
                let sample = sample?;
                // Half an operation more, so that a round without any has a logarithm (Haldane 1956, Anscombe 1956).
                Some((sample.above(limit) + 0.5) / (sample.operations() as f64 + 1.0))
            }
            Self::Cpu => round.cpu,
        }
    }

    /// Why this figure of A and B is not compared: that of one of them stands for nothing.
    pub fn objection(self, sides: [&[&Opened<'_>]; 2]) -> Option<String> {
        if !matches!(self, Self::Primary(_)) {
            return None;
        }
        ["A", "B"].into_iter().zip(sides).find_map(|(side, arms)| {
            let why = arms.iter().find_map(|opened| opened.arm.lacking.as_deref())?;
            Some(format!("{side}: {why}"))
        })
    }

    /// Why figures of the tail may not be believed, those of A and of B: it is made by who was not answered, or there are
    /// two of it. What disturbs the machine makes tails as well (`disturbed`), of both arms and of any mechanism.
    pub fn doubt(
        self,
        is_lost: [bool; 2],
        figures: [&[f64]; 2],
        disturbed: Option<&str>,
    ) -> Option<String> {
        if !matches!(self, Self::P99 | Self::P999 | Self::Above(_)) {
            return None;
        }
        let of_sides = ["A", "B"].into_iter().zip(is_lost).zip(figures);
        disturbed.map(|what| format!("the tail is the machine's: {what}")).or_else(|| {
            of_sides.into_iter().find_map(|((side, is_lost), figures)| {
                if is_lost {
                    return Some(format!("the p99 of {side} is among messages never answered"));
                }
                modes::split(figures).map(|_| format!("the rounds of {side} have two tails"))
            })
        })
    }
}
