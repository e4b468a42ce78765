//! The rounds of a cell that count, why its primary metric may stand for nothing, and the single operations of rounds.

use ipcperf_core::result::{Buckets, Cell, HistogramData, Round};
use ipcperf_stats::{Histogram, quantile_of_buckets, support};

/// The quantile of the tail, and of the tail that only many operations have.
pub(super) const TAIL: f64 = 0.99;
pub(super) const FAR_TAIL: f64 = 0.999;

pub(super) fn is_accepted(round: &Round) -> bool {
    round.rejected.is_none() && round.proof.holds
}

pub(super) fn accepted(cell: &Cell) -> impl Iterator<Item = &Round> {
    cell.rounds.iter().filter(|round| is_accepted(round))
}

/// How many messages may be lost, as a share of those that arrived: had these arrived too, a rate would change by no more
/// than a tie in a ranking allows.
const MOST_LOST: f64 = 0.03;

/// Whether so many messages never arrived that no figure of the cell stands for a way to pass messages.
pub fn lost_too_much(cell: &Cell) -> bool {
    cell.lost > 0 && cell.lost as f64 > MOST_LOST * cell.messages as f64
}

/// Why the figure of a cell stands for nothing. A mechanism that loses its messages would look fast. Where at least half of the
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

/// This quantile of the operations of a round, ns; `None` where they are too few for it.
pub(crate) fn tail_of(round: &Round, q: f64) -> Option<f64> {
    let sample = Sample::of_round(round)?;
    support(sample.operations(), q).ok()?;
    sample.tail(q)
}

/// The single operations of a round, as its document has them: to lay them out in a histogram takes a hundred times as
/// long as to count them, and a comparison of many cells has a million such rounds.
pub(super) struct Sample<'a> {
    data: &'a HistogramData,
    /// Lower edge (ps) and count.
    buckets: Vec<(u64, u64)>,
    answered: u64,
    /// Those that are longer than any.
    unanswered: u64,
}

impl<'a> Sample<'a> {
    fn of_round(round: &'a Round) -> Option<Self> {
        let single = round.histogram.as_ref().filter(|_| !round.saturated)?;
        Self::read(single, round.unanswered)
    }

    pub(super) fn read(data: &'a HistogramData, unanswered: u64) -> Option<Self> {
        let buckets = data.buckets.read().filter(|_| data.min <= data.max)?;
        let answered = buckets.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
        Some(Self { data, buckets, answered, unanswered })
    }

    pub(super) fn operations(&self) -> u64 {
        self.answered.saturating_add(self.unanswered)
    }

    fn add_to(&self, histogram: &mut Histogram) {
        for (low, count) in &self.buckets {
            // The ends are exact.
            histogram.record_n((*low).clamp(self.data.min, self.data.max), *count);
        }
    }

    /// A quantile, ns. None where it lies among those that were not answered.
    pub(super) fn tail(&self, q: f64) -> Option<f64> {
        let edges = |(low, count): &(u64, u64)| (*low, Buckets::upper_edge(*low), *count);
        let ends = [self.data.min, self.data.max];
        let q = of_answered(q, self.answered, self.operations());
        let tail = quantile_of_buckets(self.buckets.iter().map(edges), ends, self.answered, q)?;
        Some(tail as f64 / 1e3)
    }

    /// Operations that took longer than this; of those that cannot be told from it half.
    pub(super) fn above(&self, limit: u64) -> f64 {
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
pub struct Operations {
    /// ps.
    answered: Histogram,
    /// With those that were not answered, which are longer than any.
    count: u64,
}

impl Operations {
    pub(super) fn of<'a>(samples: impl Iterator<Item = &'a Sample<'a>>) -> Self {
        let (mut answered, mut count) = (Histogram::new(), 0_u64);
        for one in samples {
            one.add_to(&mut answered);
            count = count.saturating_add(one.operations());
        }
        Self { answered, count }
    }

    /// Those of all accepted rounds of a cell; none where a round has none.
    pub fn of_cell(cell: &Cell) -> Option<Self> {
        let samples: Vec<Sample<'_>> =
            accepted(cell).map(Sample::of_round).collect::<Option<_>>()?;
        (!samples.is_empty()).then(|| Self::of(samples.iter()))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In ps. None where it lies among those that were not answered.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.answered.quantile(of_answered(q, self.answered.count(), self.count))
    }
}

/// A cell as it is called beside others of its frame: its mechanism, and the knobs that were set.
pub fn short_name(cell: &Cell) -> String {
    let mut words = vec![cell.key.mechanism.clone()];
    let base = cell.key.mechanism.split('/').next().unwrap_or_default();
    words.extend(cell.knobs.iter().filter_map(|(name, reading)| {
        let name =
            name.strip_prefix(base).map_or(name.as_str(), |rest| rest.trim_start_matches('.'));
        Some(format!("{name}={}", reading.requested.as_ref()?))
    }));
    words.join(" ")
}
