//! What a check came to.

use ipcperf_core::result::TrialOutcome;

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
