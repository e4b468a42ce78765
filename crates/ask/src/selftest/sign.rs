//! Signs by which a run shows that something is wrong.

use ipcperf_core::findings;
use ipcperf_core::result::{ResultSet, Status};
use ipcperf_engine::job::FailureKind;
use ipcperf_engine::measured::Findings;
use std::collections::BTreeSet;
use std::fmt;

/// One sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// A finding of this code.
    Finding(&'static str),
    /// A slice was not done in time.
    Deadline,
    /// A worker ended before it was done.
    Died,
    /// A message arrived shortened.
    Truncated,
}

impl fmt::Display for Sign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Finding(code) => code,
            Self::Deadline => "deadline",
            Self::Died => "the worker ended",
            Self::Truncated => "a message arrived shortened",
        })
    }
}

/// How the cells of a run ended that did not end well.
pub(super) fn ends(found: &Findings) -> impl Iterator<Item = Sign> {
    found.cells.iter().filter_map(|cell| match cell.ended.as_ref()? {
        (Status::Deadline, ..) => Some(Sign::Deadline),
        (_, FailureKind::Died, _) => Some(Sign::Died),
        (_, FailureKind::Truncated, _) => Some(Sign::Truncated),
        _ => None,
    })
}

/// What a document finds.
pub(super) fn found(set: &ResultSet) -> impl Iterator<Item = Sign> {
    let is_found = |row: &&findings::Row| set.noise.findings.iter().any(|one| row.is_of(one));
    findings::ALL.iter().filter(is_found).map(|row| Sign::Finding(row.code))
}

/// Findings that make a result invalid.
pub(super) fn errors(set: &ResultSet) -> BTreeSet<Sign> {
    found(set)
        .filter(|sign| matches!(sign, Sign::Finding(code) if code.starts_with("E-")))
        .collect()
}

/// Signs in a sentence.
pub(super) fn listed<'a>(signs: impl IntoIterator<Item = &'a Sign>) -> String {
    signs.into_iter().map(Sign::to_string).collect::<Vec<_>>().join(", ")
}
