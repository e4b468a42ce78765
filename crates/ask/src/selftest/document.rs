//! The JSON of `ipcperf selftest`: whether the program finds on this machine what it claims to find.

use ipcperf_core::result::{Host, Kernel, Origin, Tool};
use serde::Serialize;

/// The schema of [`SelfTest`].
pub(crate) const SELFTEST_SCHEMA: &str = "ipcperf.selftest/1";

/// What the checks of a self-test came to. Readers ignore keys they do not know.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SelfTest {
    /// Kind and version of this document.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^ipcperf\.selftest/1(\.[0-9]+)*$")))]
    pub(crate) schema: &'static str,
    /// Which document it is.
    #[serde(flatten)]
    pub(crate) origin: Origin,
    /// What was tested.
    pub(crate) tool: Tool,
    /// The machine.
    pub(crate) host: Host,
    /// The kernel and its settings.
    pub(crate) kernel: Kernel,
    /// Wall-clock seconds of all checks.
    pub(crate) duration_s: f64,
    /// The checks, in the order in which they ran.
    pub(crate) checks: Vec<Trial>,
    /// Whether medians and rates of this machine can be believed: no check failed, and none that is about them was left open.
    pub(crate) centre: Trust,
    /// The same of high quantiles.
    pub(crate) tail: Trust,
    /// Both in one sentence.
    pub(crate) conclusion: String,
}

/// What one check came to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Trial {
    /// One word for programs and for `--only`: `timer-linear`.
    pub(crate) name: String,
    /// What it is about.
    pub(crate) about: About,
    /// What it came to.
    pub(crate) outcome: TrialOutcome,
    /// What was found, with its unit; why it failed, or why nothing can be told.
    pub(crate) found: String,
}

/// What figures a check speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum About {
    /// Every figure.
    All,
    /// High quantiles.
    Tail,
    /// Whether one fault would be found; left open where this machine cannot have it.
    Fault,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TrialOutcome {
    /// As it must be.
    Passed,
    /// It cannot be told on this machine, or not now.
    CannotTell,
    /// Not as it must be.
    Failed,
}

/// Whether figures can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Trust {
    /// They can.
    Believed,
    /// It was left open.
    Undecided,
    /// They cannot.
    Refuted,
}
