//! What cells are compared and ranked by.

use super::rounds::{FAR_TAIL, TAIL, accepted, sound, tail_of};
use crate::figures;
use ipcperf_core::result::{Cell, CellKey, ClockFacts, Metric, Round};
use ipcperf_core::{Figure, PatternKind, map_of};
use ipcperf_stats::FEWEST_ROUNDS;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Idle polling that changes two figures by less than this factor is no gain to speak of: the drift of a machine alone moves
/// medians by a few percent.
pub const TIE_FACTOR: f64 = 1.03;

/// How much larger the session floor of a tail is than that of a median.
const TAIL_FLOOR: f64 = 3.0;

/// A metric that cells are compared or ranked by, with one value in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// The primary metric of a pattern.
    Primary(Figure),
    /// The p99 of the single operations of a round, ns, where the round has enough of them.
    P99,
    /// The p99.9, likewise.
    P999,
    /// The share of the operations of a round that took longer than this, ps.
    Above(u64),
    /// CPU time of both ends per message, ns.
    Cpu,
}

/// The primary metric of a cell, by the name that it has in the document: cells can be compared where it is the same.
#[must_use]
pub fn metric_of(key: &CellKey) -> &'static str {
    MetricKind::of(key.pattern).name(key)
}

/// How many times as often a value is exceeded by 1 in 100 if all of the tail moves by this share, and the tail is that
/// of an exponential distribution: its quantile moves as e^(x/m) does, which at p99 is the power ln 100.
fn exceeded(share: f64) -> f64 {
    (100.0_f64.ln() * share.ln_1p()).exp_m1()
}

impl MetricKind {
    /// The primary metric of a pattern.
    pub const fn of(pattern: PatternKind) -> Self {
        Self::Primary(pattern.facts().figure)
    }

    /// Its name in the document.
    pub fn name(self, key: &CellKey) -> &'static str {
        match self {
            Self::Primary(Figure::Time) => "rtt_ns.p50",
            Self::Primary(Figure::Throughput) if key.size_bytes == 0 => "messages_per_second",
            Self::Primary(Figure::Throughput) => "bytes_per_second",
            Self::Primary(Figure::Requests) if key.pattern == PatternKind::Serve => {
                "serve.requests_per_second"
            }
            Self::Primary(Figure::Requests) => "connect.requests_per_second",
            Self::P99 => "rtt_ns.p99",
            Self::P999 => "rtt_ns.p99.9",
            Self::Above(_) => "above_p99",
            Self::Cpu => "cpu_ns_per_message",
        }
    }

    /// Whether more is better.
    pub(crate) const fn more_is_better(self) -> bool {
        matches!(self, Self::Primary(Figure::Throughput | Figure::Requests))
    }

    /// The better one first.
    pub fn order(self, a: f64, b: f64) -> Ordering {
        if self.more_is_better() { b.total_cmp(&a) } else { a.total_cmp(&b) }
    }

    /// The units that its values are written in.
    pub const fn unit(self, size: u64) -> figures::Unit {
        match self {
            Self::Primary(Figure::Time) | Self::Cpu | Self::P99 | Self::P999 => figures::NANOS,
            Self::Primary(Figure::Throughput) if size > 0 => figures::BYTES_PER_SECOND,
            Self::Primary(Figure::Throughput | Figure::Requests) => figures::PER_SECOND,
            Self::Above(_) => &[(0.01, "%")],
        }
    }

    /// A value of this metric in words.
    pub fn words(self, value: f64, size: u64) -> String {
        match self {
            Self::Primary(figure) => figures::of(figure, value, size),
            Self::Cpu | Self::P99 | Self::P999 => figures::nanos(value),
            Self::Above(_) => figures::share(value),
        }
    }

    /// Which family of claims it belongs to, in the order in which they are reported.
    pub(crate) const fn family(self) -> usize {
        match self {
            Self::Primary(_) => 0,
            Self::P99 | Self::P999 | Self::Above(_) => 1,
            Self::Cpu => 2,
        }
    }

    /// Ratios within 1 ± this do not matter, where it is `primary` for the primary metric.
    pub fn margin(self, primary: f64) -> f64 {
        match self {
            Self::Primary(_) => primary,
            Self::P99 | Self::P999 => 0.05,
            Self::Above(_) => exceeded(0.05),
            Self::Cpu => 0.01,
        }
    }

    /// How much sessions differ, where medians of sessions differ by `primary`.
    pub(crate) fn session_floor(self, primary: f64) -> f64 {
        match self {
            Self::Primary(_) | Self::Cpu => primary,
            Self::P99 | Self::P999 => TAIL_FLOOR * primary,
            Self::Above(_) => exceeded(TAIL_FLOOR * primary),
        }
    }

    /// The metric of a cell, where it has it as one.
    pub fn of_cell(self, cell: &Cell) -> Option<&Metric> {
        match self {
            // Of requests, too, where their times decide and not their number.
            Self::Primary(Figure::Time) => cell.rtt_ns.as_ref()?.get("p50"),
            Self::Primary(_) => cell.figure(),
            Self::P99 => cell.times()?.get("p99"),
            Self::P999 => cell.times()?.get("p99.9"),
            Self::Cpu | Self::Above(_) => None,
        }
    }

    /// What a cell is ranked by; `None` where it has no such value.
    pub fn reading(self, cell: &Cell, clock: &ClockFacts) -> Option<Reading> {
        let value = match self {
            Self::Primary(_) | Self::P99 | Self::P999 => self.of_cell(cell)?.value?,
            Self::Cpu => cell.cpu_ns_per_message.as_ref()?.figure().value?,
            Self::Above(_) => return None,
        };
        let clock = if self.more_is_better() { 0.0 } else { clock_share(cell, clock) };
        (value.is_finite() && value >= 0.0).then_some(Reading { value, clock })
    }

    /// Whether a cell has as many accepted rounds as an order takes.
    pub fn has_enough_rounds(self, cell: &Cell) -> bool {
        self.by_round(cell).len() >= FEWEST_ROUNDS
    }

    /// The value of each round that counts, by its number.
    pub fn by_round(self, cell: &Cell) -> BTreeMap<u64, f64> {
        let values = accepted(cell).map(|round| (round.round, self.of_round(cell, round)));
        map_of(values.filter_map(|(round, value)| Some((round, sound(value)?))))
    }

    /// The values of two cells in the rounds that count for both.
    pub(super) fn common(self, a: &Cell, b: &Cell) -> (Vec<f64>, Vec<f64>) {
        let of_b = self.by_round(b);
        self.by_round(a).into_iter().filter_map(|(round, a)| Some((a, *of_b.get(&round)?))).unzip()
    }

    fn of_round(self, cell: &Cell, round: &Round) -> Option<f64> {
        match self {
            Self::Primary(Figure::Time) => round.p50_ns,
            Self::Primary(_) => cell.figure_of(round),
            Self::Cpu => round.cpu_ns_per_message(),
            Self::P99 => tail_of(round, TAIL),
            Self::P999 => tail_of(round, FAR_TAIL),
            Self::Above(_) => None,
        }
    }
}

/// A figure, and the part of it that the mechanism does not cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The figure.
    pub value: f64,
    /// How much of it is the reading of the clock, ns: of operations timed one by one the cost of one start and stop.
    pub(super) clock: f64,
}

/// The primary metric of round trips.
pub const ROUND_TRIP: MetricKind = MetricKind::of(PatternKind::PingPong);

/// The cost of one start and stop of the clock inside a figure of this cell, ns. Of a batch it is a hundredth of the
/// figure at most.
pub fn clock_share(cell: &Cell, clock: &ClockFacts) -> f64 {
    if !is_timed_alone(cell) {
        return 0.0;
    }
    let readings = clock.before.iter().chain(&clock.after);
    let own = |cpu: &usize| cell.key.cpus.is_empty() || cell.key.cpus.contains(cpu);
    readings.filter(|one| own(&one.cpu)).map(|one| one.p50_ns).fold(0.0, f64::max)
}

/// Whether each operation was timed by itself.
pub fn is_timed_alone(cell: &Cell) -> bool {
    cell.timing.as_ref().is_some_and(|timing| timing.mode == "per-op")
}

/// Whether a cell has fewer accepted rounds than an order takes.
pub fn has_too_few_rounds(cell: &Cell) -> bool {
    !MetricKind::of(cell.key.pattern).has_enough_rounds(cell)
}

/// Whether so many rounds of a cell were rejected that it has no order to others, though it was measured often enough. That it
/// ties with what takes a five-hundredth of its time would be right, and absurd.
pub fn lost_its_rounds(cell: &Cell) -> bool {
    cell.by_round().count() >= FEWEST_ROUNDS && has_too_few_rounds(cell)
}
