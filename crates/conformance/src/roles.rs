//! What the test program is when it finds the hidden first argument: a worker, the coordinator of one case, or a
//! coordinator that only waits to be killed.

use ipcperf_sys::process::{Worker, own_pid};
use std::io;

/// The hidden first argument; a role and the parent's process number follow.
pub(crate) const HIDDEN: &str = "__conformance";
/// One end of channels.
pub(crate) const WORKER: &str = "worker";
/// The coordinator of one case.
pub(crate) const CASE: &str = "case";
/// A coordinator with an open channel that waits to be killed.
pub(crate) const VICTIM: &str = "victim";

/// Starts this program again in a role.
pub(crate) fn start(role: &str) -> io::Result<Worker> {
    Worker::start(&[HIDDEN, role, &own_pid().to_string()], 0)
}
