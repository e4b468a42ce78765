//! Probes: what each tries, and what a failure means.

use ipcperf_core::errno;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::errno as libc_errno;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::{self, Held};
use ipcperf_sys::{limits, random};
use std::rc::Rc;

/// What lasts as long as something is tried: the directory, if it takes one, and signals that are held back until it is
/// gone.
#[derive(Debug)]
#[must_use]
pub struct Trial {
    run: Option<Rc<RunDirectory>>,
    _held: Held,
}

/// A channel of the smallest size for a probe to try, in a directory like that of a run: if the process is killed
/// meanwhile, the next one finds what it had made, and nobody else could have guessed the names.
///
/// # Errors
/// No directory could be made.
pub fn trial() -> Result<(Trial, Shape), Missing> {
    trial_where(true)
}

/// The same for what has a name with some knobs only: without one it needs no directory.
///
/// # Errors
/// As [`trial`].
pub fn trial_where(has_name: bool) -> Result<(Trial, Shape), Missing> {
    let held = signals::hold();
    let run = has_name.then(RunDirectory::of_trials).transpose()?;
    let trial = Trial { run, _held: held };
    let shape = Shape {
        nonce: random::number(),
        directory: trial.run.as_ref().map(|run| run.path().to_owned()),
        ..Shape::default()
    };
    Ok((trial, shape))
}

/// What a failed trial means for availability.
#[must_use]
pub fn missing(error: SetupError) -> Missing {
    match error {
        SetupError::Unavailable(missing) => missing,
        SetupError::Sys { call, code } => match limits::reached(code) {
            Some(limit) => Missing::new(format!("{call}: {}", limit.what), limit.how),
            None => {
                let is_refused =
                    [libc_errno::EACCES, libc_errno::ENOSYS, libc_errno::EPERM].contains(&code);
                let how = "a sandbox that allows it (docker run --security-opt seccomp=unconfined; Kubernetes: seccompProfile Unconfined)";
                let what = format!("refused here: {call}: {}", errno::text(code));
                Missing::new(what, if is_refused { how } else { "" })
            }
        },
        other => Missing::new(format!("refused here: {other}"), ""),
    }
}
