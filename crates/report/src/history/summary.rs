//! What an index knows of a document, so that it need not be read again.

use crate::judge::{Facts, facts, metric_of};
use crate::load::{is_replication, load, load_replication};
use ipcperf_core::map_of;
use ipcperf_core::result::{Cell, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A document beside its cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// `run`, `survey`, `replicate`.
    pub command: String,
    /// When it was started, UTC.
    pub started_utc: String,
    /// Stopped before its plan was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Its noise grade; empty where there is none.
    #[serde(default)]
    pub grade: String,
    /// Cells, pipelines or arms of studies that have figures.
    pub measured: u64,
    /// All of them.
    pub planned: u64,
    /// Version of ipcperf.
    pub tool: String,
    /// The kernel's release.
    pub kernel: String,
    /// Whatever may be the reason of a difference, by its name in a comparison. Nothing of a replication.
    #[serde(default)]
    pub facts: Facts,
    /// Why it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The primary metric of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellFigure {
    /// Which figure it is: `rtt_ns.p50`.
    pub metric: String,
    /// How it was timed, `per-op` or `batch`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timed: String,
    /// Whether there is one.
    pub status: Status,
    /// The figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Its rounds fell into two modes, of which the one with more rounds is the figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_modes: bool,
    /// Only the screen measured it, so it is not compared with other documents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
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

/// What is known of the document with this text.
#[must_use]
pub fn summary(text: &str) -> (Summary, CellFigures) {
    let unreadable = |problem: String| {
        (Summary { problem: Some(problem), ..Summary::default() }, CellFigures::new())
    };
    if is_replication(text) {
        let document = match load_replication(text) {
            Ok(document) => document,
            Err(error) => return unreadable(error.to_string()),
        };
        let arms = document.studies.iter().flat_map(|study| &study.arms);
        let summary = Summary {
            command: "replicate".to_owned(),
            measured: arms.clone().filter(|arm| arm.status == Status::Ok).count() as u64,
            planned: arms.count() as u64,
            started_utc: document.started_utc,
            interrupted: document.interrupted,
            tool: document.tool.version,
            kernel: document.kernel.release,
            ..Summary::default()
        };
        return (summary, CellFigures::new());
    }
    let set = match load(text) {
        Ok(set) => set,
        Err(error) => return unreadable(error.to_string()),
    };
    let cells = set.cells.iter().map(|cell| cell.status);
    let statuses = cells.chain(set.pipelines.iter().map(|one| one.status));
    let summary = Summary {
        measured: statuses.clone().filter(|status| *status == Status::Ok).count() as u64,
        planned: statuses.count() as u64,
        facts: facts(&set),
        command: set.invocation.plan.command,
        started_utc: set.started_utc,
        interrupted: set.interrupted,
        grade: set.noise.grade,
        tool: set.tool.version,
        kernel: set.kernel.release,
        problem: None,
    };
    let figures = set.cells.iter().map(|cell| {
        // As two documents are matched: its key but for the CPUs, and the knobs as they were asked for.
        (cell.key.words(&cell.requested()), CellFigure::of(cell))
    });
    (summary, map_of(figures))
}
