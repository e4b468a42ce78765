//! What the mechanisms of libraries share.

use ipcperf::prelude::*;
use ipcperf::tools::socket::{self, Kind};
use ipcperf::tools::unpinned;
use std::path::Path;

/// Facts of most libraries: messages whose memory is made for each, and an end that is announced.
pub(crate) const LIBRARY: Spec = Spec {
    family: Family::Library,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    memory: Memory::Fresh,
    ..Spec::NOTHING
};

/// Where the threads of a library may run.
pub(crate) const THREADS: &[&str] = &["pinned", "free"];

/// Starts a library. Its threads inherit the CPUs of the one that starts them: that of its end, or with `free` all that
/// this process had before it was pinned.
pub(crate) fn start<T>(
    threads: &str,
    begin: impl FnOnce() -> Result<T, SetupError>,
) -> Result<T, SetupError> {
    match threads {
        "free" => unpinned(begin).map_err(SetupError::io("sched_setaffinity"))?,
        _ => begin(),
    }
}

/// Whether a pair of UNIX sockets can be had, which is what these libraries stand on.
pub(crate) fn has_unix(kind: Kind) -> Result<(), Missing> {
    socket::pair(kind).map(drop).map_err(ipcperf::tools::missing)
}

/// Where sockets of messaging libraries meet.
#[cfg(any(has_nng, has_zeromq))]
pub(crate) fn address(path: &Path) -> String {
    format!("ipc://{}", path.display())
}
