//! What the process of a case is sent.

use ipcperf_core::OptionSet;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What a case's process is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) mechanism: String,
    pub(crate) case: String,
    pub(crate) options: OptionSet,
    pub(crate) base: PathBuf,
    pub(crate) seed: u64,
    pub(crate) deadline: Duration,
}
