//! The outcome of a check.

use crate::selftest::document::TrialOutcome;
use ipcperf_engine::inject::Service;

/// What a check came to, and what was found.
pub(super) type Found = (TrialOutcome, String);

pub(super) fn passed(what: impl Into<String>) -> Found {
    (TrialOutcome::Passed, what.into())
}

pub(super) fn failed(what: impl Into<String>) -> Found {
    (TrialOutcome::Failed, what.into())
}

pub(super) fn cannot_tell(why: impl Into<String>) -> Found {
    (TrialOutcome::CannotTell, why.into())
}

/// Passed if it is so.
pub(super) fn told(is_so: bool, what: impl Into<String>) -> Found {
    if is_so { passed(what) } else { failed(what) }
}

/// What came out of one distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovered {
    pub(super) service: Service,
    /// Measured over known: median and 99th percentile; not a number where nothing was measured.
    pub(super) ratios: [f64; 2],
    /// Whether the machine was at something else for more than 0.1 % of the time.
    pub(super) is_disturbed: bool,
}
