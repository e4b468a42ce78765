//! The document.

use ipcperf_core::result::{Finding, Origin};
use serde::{Deserialize, Serialize};

/// Its kind and major version.
pub(crate) const NOOP_SCHEMA: &str = "ipcperf.noop/1";

/// How long a worker process took to start.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Noop {
    /// Kind and version of this document.
    pub(crate) schema: String,
    /// Which document it is.
    #[serde(flatten)]
    pub(crate) origin: Origin,
    /// When it began, UTC, RFC 3339.
    pub(crate) started_utc: String,
    /// The time from the start of the worker to its first word, ns.
    pub(crate) started_ns: u64,
    /// What was found.
    pub(crate) findings: Vec<Finding>,
}
