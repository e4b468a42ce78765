//! The figures that two cells are compared by, one of each round: the one that speaks for them and, beside it, their tail
//! and their CPU time.

use ipcperf_core::Figure;
use ipcperf_core::result::{Buckets, Cell, CellKey, HistogramData, Round};
use ipcperf_stats::{Histogram, modes, support};
use std::collections::BTreeMap;

/// The quantile of the tail.
const TAIL: f64 = 0.99;

/// How much larger the session floor of a tail is than that of a median.
const TAIL_FLOOR: f64 = 3.0;

/// What is read of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The figure that speaks for the cell.
    Own,
    /// The p99 of the round's operations.
    P99,
    /// The share of its operations that took longer than this, ps.
    Above(u64),
    /// CPU time for each message.
    Cpu,
}

/// Whether more of the figure that speaks for a cell is better.
pub(crate) fn more_is_better(key: &CellKey) -> bool {
    key.pattern.facts().figure != Figure::Time
}

/// The figure that speaks for a cell, as the result document calls it.
pub(crate) fn metric(key: &CellKey) -> &'static str {
    match key.pattern.facts().figure {
        Figure::Time => "rtt_ns.p50",
        Figure::Throughput if key.size_bytes == 0 => "messages_per_second",
        Figure::Throughput => "bytes_per_second",
        Figure::Requests => "connect.requests_per_second",
    }
}

/// How many times as often a value is exceeded by 1 in 100 if all of the tail moves by this share, and the tail is that
/// of an exponential distribution: its quantile moves as e^(x/m) does, which at p99 is the power ln 100.
fn exceeded(share: f64) -> f64 {
    (100.0_f64.ln() * share.ln_1p()).exp_m1()
}

impl Reading {
    /// What these two cells are compared by beside the figure that speaks for them.
    pub(crate) fn beside(a: &[&Cell], b: &[&Cell]) -> Vec<Self> {
        let used = |cell: &&Cell| !Self::Cpu.by_round(cell).is_empty();
        let cpu = a.iter().any(used) && b.iter().any(used);
        Self::tail(a, b).into_iter().chain(cpu.then_some(Self::Cpu)).collect()
    }

    /// The p99 of each round where every round has the operations for it, else how often the p99 of all of them is
    /// exceeded: of both arms together, so that exchanging them changes nothing. None where a round has no single
    /// operations, or all together are too few.
    fn tail(a: &[&Cell], b: &[&Cell]) -> Option<Self> {
        let rounds: Vec<&Round> = a.iter().chain(b).flat_map(|cell| accepted(cell)).collect();
        let samples: Vec<Sample> =
            rounds.iter().map(|one| Sample::of(one)).collect::<Option<_>>()?;
        let all: u64 = samples.iter().map(Sample::operations).fold(0, u64::saturating_add);
        support(all, TAIL).ok()?;
        if samples.iter().all(|one| support(one.operations(), TAIL).is_ok()) {
            return Some(Self::P99);
        }
        Operations::of(&samples).quantile(TAIL).map(Self::Above)
    }

    /// The figures of the accepted rounds of a cell, by number of the round.
    pub(crate) fn by_round(self, cell: &Cell) -> BTreeMap<u64, f64> {
        accepted(cell)
            .filter_map(|round| Some((round.round, self.of(cell, round)?)))
            .filter(|(_, figure)| figure.is_finite() && *figure > 0.0)
            .collect()
    }

    fn of(self, cell: &Cell, round: &Round) -> Option<f64> {
        match self {
            Self::Own => cell.figure_of(round),
            Self::P99 => Sample::of(round)?.tail(),
            Self::Above(limit) => {
                let sample = Sample::of(round)?;
                // Half an operation more, so that a round without any has a logarithm (Haldane 1956, Anscombe 1956).
                Some((sample.above(limit) + 0.5) / (sample.operations() as f64 + 1.0))
            }
            Self::Cpu => round.cpu_ns_per_message(),
        }
    }

    /// Which family of claims it belongs to, in the order in which they are told.
    pub(crate) fn family(self) -> usize {
        match self {
            Self::Own => 0,
            Self::P99 | Self::Above(_) => 1,
            Self::Cpu => 2,
        }
    }

    /// Its name in the document.
    pub(crate) fn metric(self, key: &CellKey) -> &'static str {
        match self {
            Self::Own => metric(key),
            Self::P99 => "rtt_ns.p99",
            Self::Above(_) => "above_p99",
            Self::Cpu => "cpu_ns_per_message",
        }
    }

    pub(crate) fn more_is_better(self, key: &CellKey) -> bool {
        self == Self::Own && more_is_better(key)
    }

    /// Ratios within 1 ± this do not matter, where that of the figure that speaks is `own`.
    pub(crate) fn margin(self, own: f64) -> f64 {
        match self {
            Self::Own => own,
            Self::P99 => 0.05,
            Self::Above(_) => exceeded(0.05),
            Self::Cpu => 0.01,
        }
    }

    /// What sessions differ by, where medians of sessions differ by `own`.
    pub(crate) fn floor(self, own: f64) -> f64 {
        match self {
            Self::Own | Self::Cpu => own,
            Self::P99 => TAIL_FLOOR * own,
            Self::Above(_) => exceeded(TAIL_FLOOR * own),
        }
    }

    /// Why figures of the tail may not be believed, those of A and of B: it is made by who was not answered, or there are
    /// two of it. What disturbs the machine makes tails as well (`disturbed`), of both arms and of any mechanism.
    pub(crate) fn doubt(
        self,
        cells: [&[&Cell]; 2],
        figures: [&[f64]; 2],
        disturbed: Option<&str>,
    ) -> Option<String> {
        if self.family() != Self::P99.family() {
            return None;
        }
        let is_lost = |cell: &&&Cell| accepted(cell).count() > self.by_round(cell).len();
        let of_sides = ["A", "B"].into_iter().zip(cells).zip(figures);
        disturbed.map(|what| format!("the tail is the machine's: {what}")).or_else(|| {
            of_sides.into_iter().find_map(|((side, cells), figures)| {
                if cells.iter().any(|cell| is_lost(&cell)) {
                    return Some(format!("the p99 of {side} is among messages never answered"));
                }
                modes::split(figures).map(|_| format!("the rounds of {side} have two tails"))
            })
        })
    }
}

/// The p99 of the operations of a round, ns; `None` where they are too few for one.
pub(crate) fn p99_of(round: &Round) -> Option<f64> {
    let sample = Sample::of(round)?;
    support(sample.operations(), TAIL).ok()?;
    sample.tail()
}

fn accepted(cell: &Cell) -> impl Iterator<Item = &Round> {
    cell.rounds.iter().filter(|round| round.rejected.is_none() && round.proof.holds)
}

/// The single operations of a round, as its document has them: to lay them out in a histogram takes a hundred times as
/// long as to count them, and a comparison of many cells has a million such rounds.
struct Sample<'a> {
    data: &'a HistogramData,
    /// Lower edge (ps) and count.
    buckets: Vec<(u64, u64)>,
    /// Those that are longer than any.
    unanswered: u64,
}

impl<'a> Sample<'a> {
    /// None where operations were timed in batches, or came faster than they were answered.
    fn of(round: &'a Round) -> Option<Self> {
        let data = round.histogram.as_ref().filter(|data| data.min <= data.max)?;
        let buckets = data.buckets.read()?;
        (!round.saturated).then_some(Self { data, buckets, unanswered: round.unanswered })
    }

    fn operations(&self) -> u64 {
        let counts = self.buckets.iter().map(|(_, count)| *count);
        counts.fold(self.unanswered, u64::saturating_add)
    }

    fn add_to(&self, histogram: &mut Histogram) {
        for (low, count) in &self.buckets {
            // The ends are exact.
            histogram.record_n((*low).clamp(self.data.min, self.data.max), *count);
        }
    }

    /// None where it lies among those that were not answered.
    fn quantile(&self, q: f64) -> Option<u64> {
        let HistogramData { min, max, sum, .. } = *self.data;
        let answered = Histogram::from_parts(min, max, sum.into(), &self.buckets).ok()?;
        quantile(&answered, self.operations(), q)
    }

    /// The p99, ns.
    fn tail(&self) -> Option<f64> {
        Some(self.quantile(TAIL)? as f64 / 1e3)
    }

    /// Operations that took longer than this; of those that cannot be told from it half.
    fn above(&self, limit: u64) -> f64 {
        let counted = |(low, n): &(u64, u64)| match limit {
            limit if limit < *low => *n as f64,
            limit if limit <= Buckets::upper_edge(*low) => *n as f64 / 2.0,
            _ => 0.0,
        };
        self.buckets.iter().map(counted).sum::<f64>() + self.unanswered as f64
    }
}

/// A quantile of all operations, of which only some were answered.
fn quantile(answered: &Histogram, operations: u64, q: f64) -> Option<u64> {
    answered.quantile(q * operations as f64 / answered.count() as f64)
}

/// The single operations of several rounds together.
pub(crate) struct Operations {
    /// ps.
    answered: Histogram,
    /// With those that were not answered, which are longer than any.
    count: u64,
}

impl Operations {
    fn of(samples: &[Sample<'_>]) -> Self {
        let mut answered = Histogram::new();
        samples.iter().for_each(|one| one.add_to(&mut answered));
        let count = samples.iter().map(Sample::operations).fold(0, u64::saturating_add);
        Self { answered, count }
    }

    /// Those of all accepted rounds of a cell; none where a round has none.
    pub(crate) fn of_cell(cell: &Cell) -> Option<Self> {
        let samples: Vec<Sample<'_>> = accepted(cell).map(Sample::of).collect::<Option<_>>()?;
        (!samples.is_empty()).then(|| Self::of(&samples))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// In ps. None where it lies among those that were not answered.
    pub(crate) fn quantile(&self, q: f64) -> Option<u64> {
        quantile(&self.answered, self.count, q)
    }
}
