//! Who is ahead of whom, and when nobody can say.

use crate::figures;
use ipcperf_core::result::{Cell, Metric, Round};
use ipcperf_core::{Figure, PatternKind};
use std::cmp::Ordering;

/// Two figures closer than this factor are a tie whatever their intervals say: rounds share one machine, and its
/// drift alone moves medians by a few percent.
pub(crate) const TIE_FACTOR: f64 = 1.03;

/// What cells are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Yardstick {
    /// The figure that speaks for the cells of a pattern.
    Own(Figure),
    /// CPU time of both ends per message, ns; less is better.
    Cpu,
}

/// A figure with what it may as well be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) value: f64,
    /// Its 95 % interval or, with too few rounds for one, the range of the rounds; `None` for a single round.
    pub(crate) range: Option<[f64; 2]>,
}

impl Reading {
    fn of(value: f64, range: Option<[f64; 2]>) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self { value, range })
    }

    /// Whether the data cannot tell the two apart.
    pub(crate) fn ties(&self, other: &Self) -> bool {
        let (low, high) = (self.value.min(other.value), self.value.max(other.value));
        let is_close = high < low * TIE_FACTOR || high == low;
        let overlaps = match (self.range, other.range) {
            (Some(a), Some(b)) => a[0] <= b[1] && b[0] <= a[1],
            _ => false,
        };
        is_close || overlaps
    }
}

impl Yardstick {
    /// The yardstick of a pattern's table.
    pub(crate) const fn of(pattern: PatternKind) -> Self {
        Self::Own(pattern.facts().figure)
    }

    /// The metric behind a reading, where it is one.
    pub(crate) fn metric(self, cell: &Cell) -> Option<&Metric> {
        match self {
            Self::Own(_) => cell.figure(),
            Self::Cpu => None,
        }
    }

    pub(crate) fn reading(self, cell: &Cell) -> Option<Reading> {
        if self == Self::Cpu {
            let cost = cell.cpu_ns_per_message.as_ref()?;
            return Reading::of(cost.lead + cost.follow, cost.ci95.or_else(|| self.range(cell)));
        }
        let metric = self.metric(cell)?;
        Reading::of(metric.value?, metric.ci95.or_else(|| self.range(cell)))
    }

    /// Smallest and largest of the accepted rounds, if there are several.
    fn range(self, cell: &Cell) -> Option<[f64; 2]> {
        let values: Vec<f64> = cell
            .rounds
            .iter()
            .filter(|round| round.rejected.is_none())
            .filter_map(|round| self.of_round(cell, round))
            .filter(|value| self.is_of_the_mode(cell, *value))
            .collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        (values.len() > 1).then_some([low, high])
    }

    /// Whether a round's value belongs to the mode that speaks, where there are two: a range over both would tie with
    /// everything between them.
    fn is_of_the_mode(self, cell: &Cell, value: f64) -> bool {
        let Some(metric) = self.metric(cell) else { return true };
        let (Some(centre), [_, _]) = (metric.value, metric.modes.as_slice()) else { return true };
        let distance = |to: f64| (value.ln() - to.ln()).abs();
        metric.modes.iter().all(|mode| distance(centre) <= distance(mode.value))
    }

    fn of_round(self, cell: &Cell, round: &Round) -> Option<f64> {
        match self {
            Self::Own(_) => cell.figure_of(round),
            Self::Cpu => {
                let (cpu, moved) = (round.cpu_ns.lead + round.cpu_ns.follow, round.cost_messages());
                (moved > 0).then(|| cpu as f64 / moved as f64)
            }
        }
    }

    /// The better one first.
    pub(crate) fn order(self, a: f64, b: f64) -> Ordering {
        match self {
            Self::Own(Figure::Throughput | Figure::Requests) => b.total_cmp(&a),
            Self::Own(Figure::Time) | Self::Cpu => a.total_cmp(&b),
        }
    }

    /// The units its figures are written in.
    pub(crate) const fn unit(self, size: u64) -> figures::Unit {
        match self {
            Self::Own(Figure::Time) | Self::Cpu => figures::NANOS,
            Self::Own(Figure::Throughput) if size > 0 => figures::BYTES_PER_SECOND,
            Self::Own(Figure::Throughput | Figure::Requests) => figures::PER_SECOND,
        }
    }

    /// A figure of this yardstick in words.
    pub(crate) fn words(self, value: f64, size: u64) -> String {
        match self {
            Self::Own(figure) => figures::of(figure, value, size),
            Self::Cpu => figures::nanos(value),
        }
    }
}

/// What round trips are ordered by.
pub(crate) const ROUND_TRIP: Yardstick = Yardstick::of(PatternKind::PingPong);

/// A place in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    /// From 1; shared by all that tie with the best of this place.
    pub(crate) place: usize,
    /// Somebody shares it.
    pub(crate) is_shared: bool,
}

impl Rank {
    /// `1`, or `1=` where it is shared.
    pub(crate) fn words(self) -> String {
        format!("{}{}", self.place, if self.is_shared { "=" } else { "" })
    }
}

/// Ranks of readings that are in order. All that tie with the first of a place share that place, so no order is
/// claimed among them; ties do not chain, or a long table would be one tie from top to bottom.
pub(crate) fn ranks(ordered: &[Reading]) -> Vec<Rank> {
    let mut places = Vec::with_capacity(ordered.len());
    let mut first = 0;
    for (at, reading) in ordered.iter().enumerate() {
        if !reading.ties(&ordered[first]) {
            first = at;
        }
        places.push(first);
    }
    let sharers = |place: usize| places.iter().filter(|other| **other == place).count();
    places.iter().map(|place| Rank { place: place + 1, is_shared: sharers(*place) > 1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: f64, half: f64) -> Reading {
        Reading { value, range: Some([value - half, value + half]) }
    }

    fn words(readings: &[Reading]) -> Vec<String> {
        ranks(readings).into_iter().map(Rank::words).collect()
    }

    #[test]
    fn overlapping_intervals_share_a_place_and_the_next_place_counts_them() {
        assert_eq!(
            words(&[reading(10.0, 0.1), reading(12.0, 3.0), reading(20.0, 0.1)]),
            ["1=", "1=", "3"]
        );
    }

    #[test]
    fn less_than_three_percent_apart_is_a_tie_without_overlap() {
        assert_eq!(words(&[reading(100.0, 0.0), reading(102.9, 0.0)]), ["1=", "1="]);
        assert_eq!(words(&[reading(100.0, 0.0), reading(103.1, 0.0)]), ["1", "2"]);
    }

    #[test]
    fn with_too_few_rounds_for_an_interval_their_range_decides() {
        use crate::sample::{Build, TWO, cell};
        let of_rounds = |values: [f64; 3]| {
            let mut cell = cell("pipe", 64, TWO).rtt(values[1], 0.0).with_round();
            let p50 = cell.rtt_ns.as_mut().and_then(|table| table.get_mut("p50")).unwrap();
            p50.ci95 = None;
            cell.rounds = values
                .map(|value| Round {
                    p50_ns: Some(value),
                    rejected: None,
                    ..cell.rounds[0].clone()
                })
                .into();
            ROUND_TRIP.reading(&cell).unwrap()
        };
        let (wide, inside, beyond) = (
            of_rounds([90.0, 100.0, 130.0]),
            of_rounds([110.0, 115.0, 120.0]),
            of_rounds([140.0, 141.0, 142.0]),
        );
        assert_eq!(words(&[wide, inside, beyond]), ["1=", "1=", "3"]);
    }

    #[test]
    fn the_range_of_a_cell_in_two_modes_is_that_of_the_mode_that_speaks() {
        use crate::sample::{Build, TWO, cell};
        let mut cell = cell("pipe", 64, TWO).modes([(700.0, 5), (40_000.0, 4)]).with_round();
        cell.rtt_ns.as_mut().and_then(|table| table.get_mut("p50")).unwrap().ci95 = None;
        let values = [690.0, 700.0, 710.0, 700.0, 695.0, 39_000.0, 40_000.0, 41_000.0, 40_500.0];
        let round = cell.rounds[0].clone();
        cell.rounds = values
            .map(|value| Round { p50_ns: Some(value), rejected: None, ..round.clone() })
            .into();
        let reading = ROUND_TRIP.reading(&cell).unwrap();
        assert_eq!(reading.range, Some([690.0, 710.0]));
    }

    #[test]
    fn without_intervals_only_closeness_ties() {
        let bare = |value| Reading { value, range: None };
        assert_eq!(words(&[bare(10.0), bare(10.1), bare(11.0)]), ["1=", "1=", "3"]);
        assert_eq!(words(&[bare(0.0), bare(0.0)]), ["1=", "1="]);
        assert!(words(&[]).is_empty());
    }
}
