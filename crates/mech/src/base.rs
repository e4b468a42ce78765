//! What a probe tries, and what it means when that fails.

use ipcperf_core::PatternKind;
use ipcperf_core::prelude::*;
use ipcperf_sys::random;
use ipcperf_sys::rundir::RunDirectory;

/// A channel of the smallest size for a probe to try, in a directory like that of a run: if the process is killed
/// meanwhile, the next one finds what it had made, and nobody else could have guessed the names.
pub(crate) fn trial() -> Result<(RunDirectory, Shape), Missing> {
    let run = RunDirectory::create()
        .map_err(|error| Missing::new(error.to_string(), "a directory that may be written"))?;
    let shape = Shape {
        size: 0,
        pattern: PatternKind::PingPong,
        nonce: random::number(),
        buffer_offset: 0,
        directory: run.path().to_owned(),
    };
    Ok((run, shape))
}

/// What a failed trial means for availability.
pub(crate) fn missing(error: SetupError) -> Missing {
    match error {
        SetupError::Unavailable(missing) => missing,
        other => Missing::new(format!("refused here: {other}"), ""),
    }
}
