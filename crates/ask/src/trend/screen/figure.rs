//! What a trend takes from a result.

use ipcperf_core::map_of;
use ipcperf_core::result::{Cell, ResultSet, Status};
use ipcperf_judge::{Facts, facts, metric_of};
use serde::Serialize;
use std::collections::BTreeMap;

/// A result without its cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatedResult {
    /// What its reader calls it: the name of its file.
    pub name: String,
    /// When its run started, UTC.
    pub started_utc: String,
    /// Its noise grade.
    pub grade: String,
    /// Everything that may be the reason for a difference, by its name in a comparison.
    pub facts: Facts,
}

/// The primary metric of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellFigure {
    /// Which figure it is: `rtt_ns.p50`.
    pub metric: String,
    /// How it was timed, `per-op` or `batch`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timed: String,
    /// Whether there is one.
    pub status: Status,
    /// The figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Its rounds fell into two modes, of which the one with more rounds is the figure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub two_modes: bool,
    /// Only the screen measured it, so it is not compared with other documents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_confirmed: bool,
}

/// Cells by their identity in words.
pub type CellFigures = BTreeMap<String, CellFigure>;

impl CellFigure {
    fn of(cell: &Cell) -> Self {
        let figure = cell.figure();
        Self {
            metric: metric_of(&cell.key).to_owned(),
            timed: cell.timing.as_ref().map(|timing| timing.mode.clone()).unwrap_or_default(),
            status: cell.status,
            value: figure.and_then(|figure| figure.value),
            ci95: figure.and_then(|figure| figure.ci95),
            two_modes: figure.is_some_and(|figure| figure.modes.len() > 1),
            not_confirmed: cell.is_unconfirmed(),
        }
    }
}

/// What a trend takes from the result that is called `name`.
#[must_use]
pub fn figures_of(name: String, set: &ResultSet) -> (DatedResult, CellFigures) {
    let figures = set.cells.iter().map(|cell| {
        // As two documents are matched: its key but for the CPUs, and the knobs as they were asked for.
        (cell.key.words(&cell.requested()), CellFigure::of(cell))
    });
    let result = DatedResult {
        name,
        started_utc: set.started_utc.clone(),
        grade: set.noise.grade.clone(),
        facts: facts(set),
    };
    (result, map_of(figures))
}
