//! The JSON of `ipcperf doctor`: whether a machine is fit to measure.

use super::{Finding, Host, Kernel, Origin, Tool};
use serde::Serialize;

/// The schema of [`Examination`].
pub const DOCTOR_SCHEMA: &str = "ipcperf.doctor/1";

/// What a machine does to figures that are measured on it. Readers ignore keys they do not know.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Examination {
    /// Kind and version of this document.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^ipcperf\.doctor/1(\.[0-9]+)*$")))]
    pub schema: &'static str,
    /// Which document it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// What looked.
    pub tool: Tool,
    /// The machine.
    pub host: Host,
    /// The kernel and its settings.
    pub kernel: Kernel,
    /// What was looked at, in the order of its subjects.
    pub checks: Vec<Check>,
    /// What may be claimed of medians and rates.
    pub centre: Fitness,
    /// What may be claimed of high quantiles.
    pub tail: Fitness,
}

/// How far a machine can be trusted with one kind of figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fitness {
    /// `A` (quiet) to `F` (no claims).
    pub grade: String,
    /// What decides it.
    pub because: String,
    /// What it allows.
    pub allows: String,
}

/// How much a check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// Lowers what may be claimed, or keeps something from being measured.
    Warning,
    /// Figures are to be read with it.
    Note,
    /// As it should be.
    Fine,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// One word for programs: `STEAL`.
    pub code: &'static str,
    /// The same for people.
    pub subject: &'static str,
    /// What was found, with its unit.
    pub found: String,
    /// How much it matters.
    pub rating: Rating,
    /// What it means for the figures; empty where nothing follows.
    pub consequence: String,
    /// What to do about it, a command where there is one; empty where nothing need be done or can be.
    pub remedy: String,
}

impl Check {
    /// The same as a finding of a result, where something follows from it.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let letter = match self.rating {
            Rating::Warning => 'W',
            Rating::Note => 'I',
            Rating::Fine => return None,
        };
        let text = format!("{}: {}: {}", self.subject, self.found, self.consequence);
        Some(Finding::new(&format!("{letter}-{}", self.code), text, &self.remedy))
    }
}
