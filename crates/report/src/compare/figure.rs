//! The figures that two cells are compared by, one of each round: the one that speaks for them and, beside it, their tail
//! and their CPU time.

use ipcperf_core::Figure;
use ipcperf_core::result::{Cell, CellKey, HistogramData, Round};
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
        Sample::together(&samples).quantile(TAIL).map(Self::Above)
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
            Self::P99 => Some(Sample::of(round)?.quantile(TAIL)? as f64 / 1e3),
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

fn accepted(cell: &Cell) -> impl Iterator<Item = &Round> {
    cell.rounds.iter().filter(|round| round.rejected.is_none() && round.proof.holds)
}

/// The single operations of a round, or of several.
pub(crate) struct Sample {
    /// ps.
    answered: Histogram,
    /// Those that are longer than any.
    unanswered: u64,
}

impl Sample {
    /// None where operations were timed in batches, or came faster than they were answered.
    fn of(round: &Round) -> Option<Self> {
        let HistogramData { min, max, sum, buckets, .. } = round.histogram.as_ref()?;
        let answered = Histogram::from_parts(*min, *max, u128::from(*sum), buckets).ok()?;
        (!round.saturated).then_some(Self { answered, unanswered: round.unanswered })
    }

    fn together(samples: &[Self]) -> Self {
        let mut together = Self { answered: Histogram::new(), unanswered: 0 };
        for one in samples {
            together.answered.merge(&one.answered);
            together.unanswered = together.unanswered.saturating_add(one.unanswered);
        }
        together
    }

    /// Those of all accepted rounds of a cell; none where a round has none.
    pub(crate) fn of_cell(cell: &Cell) -> Option<Self> {
        let samples: Vec<Self> = accepted(cell).map(Self::of).collect::<Option<_>>()?;
        (!samples.is_empty()).then(|| Self::together(&samples))
    }

    pub(crate) fn operations(&self) -> u64 {
        self.answered.count().saturating_add(self.unanswered)
    }

    /// In ps. None where it lies among those that were not answered.
    pub(crate) fn quantile(&self, q: f64) -> Option<u64> {
        self.answered.quantile(q * self.operations() as f64 / self.answered.count() as f64)
    }

    /// Operations that took longer than this; of those that cannot be told from it half.
    fn above(&self, limit: u64) -> f64 {
        let counted = |(low, high, n): (u64, u64, u64)| match limit {
            limit if limit < low => n as f64,
            limit if limit <= high => n as f64 / 2.0,
            _ => 0.0,
        };
        self.answered.buckets().map(counted).sum::<f64>() + self.unanswered as f64
    }
}
