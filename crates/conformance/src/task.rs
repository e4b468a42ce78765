//! The task that the process of a case receives.

use ipcperf_core::OptionSet;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The tasks of such a process: to conduct the case, or to wait with an open channel to be killed.
pub(crate) const CASE: &str = "conformance-case";
pub(crate) const VICTIM: &str = "conformance-victim";

/// What a case's process is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) mechanism: String,
    pub(crate) case: String,
    pub(crate) options: OptionSet,
    pub(crate) base: PathBuf,
    pub(crate) seed: u64,
    pub(crate) deadline: Duration,
    /// The case uses the full amounts of the long run.
    pub(crate) is_long: bool,
}
