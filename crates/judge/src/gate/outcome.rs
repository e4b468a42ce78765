//! What becomes of a gate.

/// What becomes of a gate; with sentences that say why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What it forbids is certainly not so.
    Passed,
    /// What it forbids is certainly so.
    Failed(Vec<String>),
    /// Neither is certain.
    CannotTell(Vec<String>),
}

impl Outcome {
    /// Failed if anything failed, else open if anything is.
    pub(super) fn of(failed: Vec<String>, open: Vec<String>) -> Self {
        if !failed.is_empty() {
            Self::Failed(failed)
        } else if !open.is_empty() {
            Self::CannotTell(open)
        } else {
            Self::Passed
        }
    }
}
