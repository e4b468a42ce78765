//! `clean`: removes what killed runs left behind.

use crate::error::Stop;
use crate::output;
use ipcperf_sys::rundir;
use std::process::ExitCode;

pub(crate) fn run() -> Result<ExitCode, Stop> {
    let mut removed = Vec::new();
    for base in rundir::bases() {
        let found = rundir::reap(&base).map_err(|error| {
            Stop::internal(format!("cannot clean '{}': {}", base.display(), output::words(&error)))
        })?;
        removed.extend(found);
    }
    if removed.is_empty() {
        return output::lines(["nothing was left behind".into()]);
    }
    output::lines(removed.iter().map(|what| format!("removed {what}")))
}
