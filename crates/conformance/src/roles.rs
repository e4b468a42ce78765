//! What the test program is when it finds the hidden first argument: a worker, the coordinator of one case, or a
//! coordinator that only waits to be killed.

use crate::entry::Entries;
use crate::{case, worker};
use ipcperf_sys::process::{Worker, own_pid};
use std::io;

/// The hidden first argument; a role and the parent's process number follow.
const HIDDEN: &str = "__conformance";
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

/// Plays the role this process was started for and says whether it went well; `None` if this is the test program
/// itself.
pub(crate) fn enter(entries: &Entries) -> Option<bool> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != HIDDEN {
        return None;
    }
    let role = arguments.next()?;
    let parent = arguments.next()?.parse().ok()?;
    match role.as_str() {
        WORKER => Some(worker::main(entries, parent)),
        CASE => Some(case::main(entries, parent)),
        VICTIM => Some(case::victim(entries, parent)),
        _ => Some(false),
    }
}
