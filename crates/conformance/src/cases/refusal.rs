//! C22: where a sandbox refuses a system call, the mechanism says so before it is used, in words.

use crate::pair::WorkerPair;
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, Sizes};
use ipcperf_core::{OptionSet, SetupError};
use ipcperf_sys::seccomp::{self, Refusal};
use std::thread;

/// Whether this kernel has filters of system calls, tried in a thread that ends.
pub(crate) fn can_filter() -> Result<(), Trouble> {
    match thread::spawn(|| seccomp::refuse(&[], Refusal::NotPermitted)).join() {
        Ok(Err(error)) => Err(Trouble::Unavailable(format!(
            "system calls cannot be refused or trapped here (seccomp: {error})"
        ))),
        _ => Ok(()),
    }
}

/// With each call refused in turn, either the probe says that the mechanism cannot run, or it runs.
pub(crate) fn unavailable_is_polite(scene: &Scene<'_>) -> Result<(), Trouble> {
    can_filter()?;
    for (name, number) in seccomp::OFTEN_REFUSED {
        for refusal in [Refusal::NotPermitted, Refusal::NotImplemented] {
            if is_missed(scene, name, *number, refusal)? {
                // The probe knows; nobody that asks it comes further.
                continue;
            }
            if refusal == Refusal::NotPermitted {
                works(scene, name, *number)?;
            }
        }
    }
    Ok(())
}

/// Whether the probe says no. If it says yes, a channel must open.
fn is_missed(
    scene: &Scene<'_>,
    name: &str,
    number: i64,
    refusal: Refusal,
) -> Result<bool, Trouble> {
    let (entry, shape) = (*scene.entry, scene.shape(scene.size(64, &OptionSet::default())));
    // Filters are a matter of threads, and cannot be taken back.
    let tried = thread::spawn(move || -> Result<bool, Trouble> {
        seccomp::refuse(&[number], refusal)?;
        if let Some(missing) = entry.missing() {
            ensure(!missing.what.is_empty() && !missing.to_string().contains('\n'), || {
                format!("the probe gives no reason of one line: '{missing}'")
            })?;
            return Ok(true);
        }
        match entry.base.open(&shape, &OptionSet::default()) {
            Ok(_) => Ok(false),
            Err(SetupError::Unavailable(_)) => {
                Err(Trouble::failed("the probe says yes, but open says that it is unavailable"))
            }
            Err(error) => Err(Trouble::failed(format!("the probe says yes, but: {error}"))),
        }
    });
    let tried = tried.join().unwrap_or_else(|_| Err(Trouble::failed("a panic")));
    tried.map_err(|trouble| Trouble::failed(format!("{name} refused ({refusal:?}): {trouble}")))
}

/// The probe did not mind, so two ends must do without the call.
fn works(scene: &Scene<'_>, name: &str, number: i64) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    let batch = |count| Batch::new(count, Sizes::List(vec![size]), 0);
    let mut pair = WorkerPair::start(scene, &options, scene.cpus()?, &[number], None)?;
    pair.open(size, Script::default().exchange(batch(3)))?;
    pair.done().map(drop).map_err(|trouble| {
        Trouble::failed(format!("{name} refused: the probe says yes, but {trouble}"))
    })
}
