//! The figures that two cells are compared by, one of each round: the primary one for them and, beside it, their tail
//! and their CPU time.

use super::metric::MetricKind;
use ipcperf_core::map_of;
use ipcperf_core::result::{
    Buckets, Cell, CellKey, HistogramData, KnobReading, Round, Status, Timing,
};
use ipcperf_stats::{Histogram, modes, quantile_of_buckets, support};
use std::collections::BTreeMap;

/// The quantile of the tail.
const TAIL: f64 = 0.99;

/// A cell as a comparison takes it: what it is, and what may be compared of its rounds.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) id: String,
    /// What it must have in common with a cell of the other side: its key but for the CPUs, and the knobs as they were
    /// asked for.
    pub(crate) identity: String,
    pub(crate) key: CellKey,
    pub(crate) knobs: BTreeMap<String, KnobReading>,
    pub(crate) status: Status,
    pub(crate) reason: Option<String>,
    /// Why its own figure stands for nothing.
    lacking: Option<String>,
    pub(crate) timing: Option<Timing>,
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

impl Arm {
    pub(crate) fn of(mut cell: Cell) -> Self {
        let lacking = lacking(&cell);
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
        Opened { arm: self, samples: self.rounds.iter().map(Sample::of).collect() }
    }
}

/// An arm with the operations of its rounds, which are counted out once for all figures.
pub(crate) struct Opened<'a> {
    pub(crate) arm: &'a Arm,
    /// Of each round; none where it has no single operations.
    samples: Vec<Option<Sample<'a>>>,
}

fn is_accepted(round: &Round) -> bool {
    round.rejected.is_none() && round.proof.holds
}

pub(super) fn accepted(cell: &Cell) -> impl Iterator<Item = &Round> {
    cell.rounds.iter().filter(|round| is_accepted(round))
}

/// How many messages may be lost, as a share of those that arrived: had these arrived too, a rate would change by no more
/// than a tie in a ranking allows.
const MOST_LOST: f64 = 0.03;

/// Whether so many messages never arrived that no figure of the cell stands for a way to pass messages.
pub(crate) fn lost_too_much(cell: &Cell) -> bool {
    cell.lost > 0 && cell.lost as f64 > MOST_LOST * cell.messages as f64
}

/// Why the figure of a cell stands for nothing. Whoever loses its messages would look fast. Where at least half of the
/// rounds have no figure it did not keep up, which is slower than any other, and the rest are its good ones.
pub(crate) fn lacking(cell: &Cell) -> Option<String> {
    if lost_too_much(cell) {
        return Some("lost too many messages".to_owned());
    }
    let all = accepted(cell).count();
    let without: Vec<&Round> =
        accepted(cell).filter(|round| cell.figure_of(round).is_none()).collect();
    if without.is_empty() || 2 * without.len() < all {
        return None;
    }
    let is_saturated = without.iter().any(|round| round.saturated);
    let what = if is_saturated { "saturated" } else { "no figure" };
    Some(format!("{what} in {} of {all} rounds", without.len()))
}

/// A value that has a logarithm.
pub(super) fn sound(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

impl MetricKind {
    /// What these two cells are compared by beside their primary metric.
    pub(crate) fn beside(a: &[&Opened<'_>], b: &[&Opened<'_>]) -> Vec<Self> {
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
    pub(crate) fn of_arm(self, opened: &Opened<'_>) -> BTreeMap<u64, f64> {
        let rounds = opened.arm.rounds.iter().zip(&opened.samples);
        let value = |(round, sample): (&Taken, &Option<Sample<'_>>)| {
            Some((round.number, sound(self.of_taken(round, sample.as_ref()))?))
        };
        map_of(rounds.filter_map(value))
    }

    fn of_taken(self, round: &Taken, sample: Option<&Sample<'_>>) -> Option<f64> {
        match self {
            Self::Primary(_) => round.own,
            Self::P99 => sample?.tail(),
            Self::Above(limit) => {
                let sample = sample?;
                // Half an operation more, so that a round without any has a logarithm (Haldane 1956, Anscombe 1956).
                Some((sample.above(limit) + 0.5) / (sample.operations() as f64 + 1.0))
            }
            Self::Cpu => round.cpu,
        }
    }

    /// Why this figure of A and B is not compared: that of one of them stands for nothing.
    pub(crate) fn objection(self, sides: [&[&Opened<'_>]; 2]) -> Option<String> {
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
    pub(crate) fn doubt(
        self,
        is_lost: [bool; 2],
        figures: [&[f64]; 2],
        disturbed: Option<&str>,
    ) -> Option<String> {
        if !matches!(self, Self::P99 | Self::Above(_)) {
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

/// The p99 of the operations of a round, ns; `None` where they are too few for one.
pub(crate) fn p99_of(round: &Round) -> Option<f64> {
    let sample = Sample::of_round(round)?;
    support(sample.operations(), TAIL).ok()?;
    sample.tail()
}

/// The single operations of a round, as its document has them: to lay them out in a histogram takes a hundred times as
/// long as to count them, and a comparison of many cells has a million such rounds.
struct Sample<'a> {
    data: &'a HistogramData,
    /// Lower edge (ps) and count.
    buckets: Vec<(u64, u64)>,
    answered: u64,
    /// Those that are longer than any.
    unanswered: u64,
}

impl<'a> Sample<'a> {
    fn of(round: &'a Taken) -> Option<Self> {
        Self::read(round.operations.as_ref()?, round.unanswered)
    }

    fn of_round(round: &'a Round) -> Option<Self> {
        let single = round.histogram.as_ref().filter(|_| !round.saturated)?;
        Self::read(single, round.unanswered)
    }

    fn read(data: &'a HistogramData, unanswered: u64) -> Option<Self> {
        let buckets = data.buckets.read().filter(|_| data.min <= data.max)?;
        let answered = buckets.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
        Some(Self { data, buckets, answered, unanswered })
    }

    fn operations(&self) -> u64 {
        self.answered.saturating_add(self.unanswered)
    }

    fn add_to(&self, histogram: &mut Histogram) {
        for (low, count) in &self.buckets {
            // The ends are exact.
            histogram.record_n((*low).clamp(self.data.min, self.data.max), *count);
        }
    }

    /// The p99, ns. None where it lies among those that were not answered.
    fn tail(&self) -> Option<f64> {
        let edges = |(low, count): &(u64, u64)| (*low, Buckets::upper_edge(*low), *count);
        let ends = [self.data.min, self.data.max];
        let q = of_answered(TAIL, self.answered, self.operations());
        let tail = quantile_of_buckets(self.buckets.iter().map(edges), ends, self.answered, q)?;
        Some(tail as f64 / 1e3)
    }

    /// Operations that took longer than this; of those that cannot be told from it half.
    fn above(&self, limit: u64) -> f64 {
        // Up to here no bucket reaches it.
        let first = self.buckets.partition_point(|(low, _)| Buckets::upper_edge(*low) < limit);
        let counted = |(low, n): &(u64, u64)| *n as f64 / if limit < *low { 1.0 } else { 2.0 };
        self.buckets[first..].iter().map(counted).sum::<f64>() + self.unanswered as f64
    }
}

/// Which quantile of those that were answered is this one of all.
fn of_answered(q: f64, answered: u64, operations: u64) -> f64 {
    q * operations as f64 / answered as f64
}

/// The single operations of several rounds together.
pub(crate) struct Operations {
    /// ps.
    answered: Histogram,
    /// With those that were not answered, which are longer than any.
    count: u64,
}

impl Operations {
    fn of<'a>(samples: impl Iterator<Item = &'a Sample<'a>>) -> Self {
        let (mut answered, mut count) = (Histogram::new(), 0_u64);
        for one in samples {
            one.add_to(&mut answered);
            count = count.saturating_add(one.operations());
        }
        Self { answered, count }
    }

    /// Those of all accepted rounds of a cell; none where a round has none.
    pub(crate) fn of_cell(cell: &Cell) -> Option<Self> {
        let samples: Vec<Sample<'_>> =
            accepted(cell).map(Sample::of_round).collect::<Option<_>>()?;
        (!samples.is_empty()).then(|| Self::of(samples.iter()))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// In ps. None where it lies among those that were not answered.
    pub(crate) fn quantile(&self, q: f64) -> Option<u64> {
        self.answered.quantile(of_answered(q, self.answered.count(), self.count))
    }
}
