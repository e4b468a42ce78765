//! What a page of many hosts takes from each result.

use ipcperf_core::Figure;
use ipcperf_core::map_of;
use ipcperf_core::result::{ResultSet, Severity, Status};
use ipcperf_judge::{Facts, MetricKind, facts};
use std::collections::BTreeMap;

/// A result without its rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostResult {
    /// Its label `host`, or the name of its file.
    pub(super) host: String,
    /// It has that label.
    pub(super) is_named: bool,
    pub(super) cpu: String,
    pub(super) kernel: String,
    pub(super) started_utc: String,
    /// Its noise grade.
    pub(super) grade: String,
    /// What may be the reason of a difference.
    pub(super) facts: Facts,
    /// The words of its errors and warnings, each once.
    pub(super) findings: Vec<String>,
    /// The primary figure of each cell.
    pub(super) cells: BTreeMap<String, HostFigure>,
}

/// The primary figure of a cell.
#[derive(Clone, Debug)]
pub(super) struct HostFigure {
    pub(super) value: f64,
    pub(super) kind: MetricKind,
    pub(super) size: u64,
}

impl HostFigure {
    /// The figure as a time: the inverse of a rate, so that more is slower.
    pub(super) fn slowness(&self) -> f64 {
        match self.kind {
            MetricKind::Primary(Figure::Time) => self.value,
            _ => 1.0 / self.value,
        }
    }
}

impl HostResult {
    /// Whether both are of one host.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.host == other.host
    }

    /// Of the result in the file of this name.
    pub(crate) fn of(file: &str, set: &ResultSet) -> Self {
        let cells = set.cells.iter().filter(|cell| cell.status == Status::Ok);
        let cells = cells.filter_map(|cell| {
            let value = cell.figure()?.value.filter(|value| value.is_finite() && *value > 0.0)?;
            let (kind, size) = (MetricKind::of(cell.key.pattern), cell.key.size_bytes);
            Some((cell.key.words(&cell.requested()), HostFigure { value, kind, size }))
        });
        let found = set.noise.findings.iter().filter(|one| one.severity != Severity::Info);
        let mut findings: Vec<String> = found.map(|one| one.code.clone()).collect();
        findings.sort_unstable();
        findings.dedup();
        let name = file.rsplit('/').next().unwrap_or(file);
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let name = name.strip_suffix(".json").unwrap_or(name);
        let label = set.origin.host();
        Self {
            host: label.map_or(name, String::as_str).to_owned(),
            is_named: label.is_some(),
            cpu: set.host.cpu_model.clone(),
            kernel: set.kernel.release.clone(),
            started_utc: set.started_utc.clone(),
            grade: set.noise.grade.clone(),
            facts: facts(set),
            findings,
            cells: map_of(cells),
        }
    }
}
