//! What can be found.

use ipcperf_core::findings::{Limit, Row, finding};

pub(crate) const SLOW_START: Row = finding(
    "W-SLOW-START",
    Limit::Longer(1e9),
    "a worker process took {value} to start",
    "a survey has fewer rounds",
    "stop other work",
);

/// All of them.
pub(crate) const ALL: &[Row] = &[SLOW_START];
