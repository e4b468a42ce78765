//! What a probe tries, and what it means when that fails.

use ipcperf_core::PatternKind;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::errno;
use ipcperf_sys::random;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::{self, Held};

/// What lasts as long as something is tried: the directory, if it takes one, and signals that are held back until it is
/// gone.
#[derive(Debug)]
pub(crate) struct Trial {
    run: Option<RunDirectory>,
    _held: Held,
}

/// A channel of the smallest size for a probe to try, in a directory like that of a run: if the process is killed
/// meanwhile, the next one finds what it had made, and nobody else could have guessed the names.
pub(crate) fn trial() -> Result<(Trial, Shape), Missing> {
    trial_where(true)
}

/// The same for what has a name with some knobs only: without one it needs no directory.
pub(crate) fn trial_where(has_name: bool) -> Result<(Trial, Shape), Missing> {
    let held = signals::hold();
    let run = has_name.then(RunDirectory::create).transpose()?;
    let trial = Trial { run, _held: held };
    let shape = Shape {
        size: 0,
        pattern: PatternKind::PingPong,
        nonce: random::number(),
        buffer_offset: 0,
        directory: trial.run.as_ref().map(|run| run.path().to_owned()),
    };
    Ok((trial, shape))
}

/// What a failed trial means for availability.
pub(crate) fn missing(error: SetupError) -> Missing {
    match error {
        SetupError::Unavailable(missing) => missing,
        SetupError::Sys { code: errno::EACCES | errno::ENOSYS | errno::EPERM, .. } => {
            let how = "a sandbox that allows it (docker run --security-opt seccomp=unconfined)";
            Missing::new(format!("refused here: {error}"), how)
        }
        other => Missing::new(format!("refused here: {other}"), ""),
    }
}
