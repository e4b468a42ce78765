//! Cells beside another that differs from them in one thing: a library beside the bare mechanism that it is built on, a
//! program at the place of the follow beside our own follow, a cell with a neighbour beside the same one alone.

use super::metric::MetricKind;
use super::rounds::{accepted, sound};
use ipcperf_core::result::{self, Cell, CellKey, OfAlone, ResultSet, Round, RoundsRatio, Status};
use ipcperf_core::{Figure, map_of};
use ipcperf_stats::Evidence;
use std::collections::BTreeMap;

/// Of the interval of a ratio.
const CONFIDENCE: f64 = 0.95;

/// A ratio and its 95 % interval, where there are rounds enough for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio, B over A.
    pub value: f64,
    /// Its 95 % interval; `None` of too few rounds.
    pub ci95: Option<[f64; 2]>,
}

impl Ratio {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let interval = evidence.interval(CONFIDENCE);
        Self { value: evidence.ratio(), ci95: interval.map(|one| [one.low, one.high]) }
    }
}

impl MetricKind {
    /// The figure of one cell as a multiple of that of another, by the rounds that have both.
    pub fn ratio(self, cell: &Cell, best: &Cell) -> Option<Ratio> {
        let (best, own) = self.common(best, cell);
        Evidence::paired(&best, &own).as_ref().map(Ratio::of)
    }
}

/// Puts each cell beside its other, where there is one and the document does not say so already. `over`: on which mechanism
/// another one is built.
pub fn beside<'a>(set: &mut ResultSet, over: impl Fn(&str) -> Option<&'a str>) {
    for at in 0..set.cells.len() {
        let cell = &set.cells[at];
        let ours = || ratio(cell, ours(&set.cells, cell)?);
        let bare = || ratio(cell, bare(&set.cells, cell, over(&cell.key.mechanism)?)?);
        let of_ours = cell.of_ours.clone().or_else(ours);
        let of_bare = cell.of_bare.clone().or_else(bare);
        let of_alone = cell.of_alone.clone().or_else(|| of_alone(&set.cells, cell));
        set.cells[at] = Cell { of_ours, of_bare, of_alone, ..std::mem::take(&mut set.cells[at]) };
    }
}

fn ours<'a>(cells: &'a [Cell], cell: &Cell) -> Option<&'a Cell> {
    if cell.key.load.is_ours() {
        return None;
    }
    let key = CellKey { load: cell.key.load.with_ours(), ..cell.key.clone() };
    cells.iter().find(|other| other.key == key && other.requested() == cell.requested())
}

/// A cell with a neighbour beside the one that has none.
fn of_alone(cells: &[Cell], cell: &Cell) -> Option<OfAlone> {
    cell.key.load.neighbour.as_ref()?;
    let key = CellKey { load: cell.key.load.alone(), ..cell.key.clone() };
    let is_it = |other: &&Cell| other.key == key && other.requested() == cell.requested();
    let alone = cells.iter().find(is_it).filter(|_| cell.status == Status::Ok)?;
    let told = |found: Ratio| RoundsRatio { ratio: found.value, ci95: found.ci95 };
    let over = |kind: MetricKind| kind.ratio(cell, alone).map(told);
    let is_time = cell.key.pattern.facts().figure == Figure::Time;
    let of = OfAlone {
        p50: if is_time { over(MetricKind::Primary(Figure::Time)) } else { None },
        p99: if is_time { over(MetricKind::P99) } else { None },
        rate: rates(cell, alone).map(told),
    };
    (of != OfAlone::default()).then_some(of)
}

/// The messages per second of the timed region of one cell as a multiple of those of another, by the rounds that have both.
fn rates(cell: &Cell, other: &Cell) -> Option<Ratio> {
    let rates = |cell: &Cell| {
        let rate = |round: &Round| sound(Some(round.messages as f64 / round.elapsed_ns));
        let all: BTreeMap<u64, f64> =
            map_of(accepted(cell).filter_map(|round| Some((round.round, rate(round)?))));
        all
    };
    let (own, others) = (rates(cell), rates(other));
    let both = own.into_iter().filter_map(|(round, own)| Some((*others.get(&round)?, own)));
    let (others, own): (Vec<f64>, Vec<f64>) = both.unzip();
    Evidence::paired(&others, &own).as_ref().map(Ratio::of)
}

fn bare<'a>(cells: &'a [Cell], cell: &Cell, bare: &str) -> Option<&'a Cell> {
    let alike = |other: &&Cell| {
        let (mechanism, wait) = (cell.key.mechanism.clone(), cell.key.wait);
        let other_key = CellKey { mechanism, wait, ..other.key.clone() };
        other.key.mechanism == bare && other_key == cell.key
    };
    // Of several with knobs of their own the one that is most as it comes.
    let asked =
        |other: &&Cell| other.knobs.values().filter(|knob| knob.requested.is_some()).count();
    cells.iter().filter(alike).min_by_key(asked)
}

/// `None` where one of them has no number, or two modes, of which no ratio is true.
fn ratio(cell: &Cell, other: &Cell) -> Option<result::Beside> {
    let kind = MetricKind::of(cell.key.pattern);
    let is_one = |cell: &Cell| {
        let metric = kind.of_cell(cell).filter(|_| cell.status == Status::Ok);
        metric.is_some_and(|metric| metric.modes.len() < 2)
    };
    let found = kind.ratio(cell, other).filter(|_| is_one(cell) && is_one(other))?;
    let mechanism = other.key.mechanism.clone();
    Some(result::Beside { mechanism, ratio: found.value, ci95: found.ci95 })
}

#[cfg(test)]
mod tests;
