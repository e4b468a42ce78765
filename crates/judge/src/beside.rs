//! Cells beside another that differs from them in one thing: a library beside the bare mechanism that it is built on, a
//! program at the place of the follow beside our own follow.

use super::metric::MetricKind;
use ipcperf_core::result::{self, Cell, CellKey, ResultSet, Status};
use ipcperf_stats::Evidence;

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
        set.cells[at] = Cell { of_ours, of_bare, ..std::mem::take(&mut set.cells[at]) };
    }
}

fn ours<'a>(cells: &'a [Cell], cell: &Cell) -> Option<&'a Cell> {
    if cell.key.load.is_ours() {
        return None;
    }
    let key = CellKey { load: cell.key.load.with_ours(), ..cell.key.clone() };
    cells.iter().find(|other| other.key == key && other.requested() == cell.requested())
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
