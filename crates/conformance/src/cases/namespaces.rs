//! C24: the namespaces that both ends must share, and those that they need not.

use crate::pair::WorkerPair;
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Script, Sizes};
use ipcperf_core::{FollowIn, Namespace, Namespaces, OptionError, OptionSet};
use ipcperf_sys::namespaces;
use std::time::Duration;

/// How long ends have that are said not to meet: an end may wait for the other for ever.
const WHILE: Duration = Duration::from_secs(3);

/// The ends meet where the follow is in another namespace of a kind that they are not said to share, and do not where it is one
/// that they are. With each set of knobs that says something else.
pub(crate) fn declared_namespaces(scene: &Scene<'_>) -> Result<(), Trouble> {
    let mut tried: Vec<Namespaces> = Vec::new();
    for options in scene.entry.setups() {
        let refused = |error: OptionError| Trouble::failed(error.to_string());
        let shares = scene.entry.base.shares(&options).map_err(refused)?;
        if tried.contains(&shares) {
            continue;
        }
        tried.push(shares);
        for kind in Namespace::ALL {
            let which = FollowIn::New(Namespaces::NONE.with(*kind));
            // An ordinary user leaves the namespace of users with any other.
            let left = namespaces::left(which)
                .map_err(|missing| Trouble::Unavailable(missing.to_string()))?;
            let must_fail = !shares.common(left).is_none();
            let knobs = || {
                let each = options.0.iter().map(|(knob, value)| format!(" {knob}={value}"));
                each.collect::<String>()
            };
            match (meet(scene, &options, which, must_fail), must_fail) {
                (Ok(()), false) | (Err(Trouble::Failed(_)), true) => {}
                (Ok(()), true) => {
                    return Err(Trouble::failed(format!(
                        "shares: {shares}, but they met with the follow in another {kind} namespace{}",
                        knobs()
                    )));
                }
                (Err(Trouble::Failed(why)), false) => {
                    return Err(Trouble::failed(format!(
                        "shares: {shares}, but with the follow in another {kind} namespace{}: {why}",
                        knobs()
                    )));
                }
                (Err(other), _) => return Err(other),
            }
        }
    }
    ensure(!tried.is_empty(), || "no set of knobs can be had here".into())
}

/// Round trips over a fresh channel whose follow has entered this.
fn meet(
    scene: &Scene<'_>,
    options: &OptionSet,
    which: FollowIn,
    must_fail: bool,
) -> Result<(), Trouble> {
    let size = scene.size(64, options);
    let mut pair = WorkerPair::start(scene, options, scene.cpus()?, &[], Some(which))?;
    let script = Script::default().exchange(scene.batch(8, Sizes::List(vec![size]), size));
    pair.open(size, script)?;
    if must_fail {
        pair.hurry(WHILE);
    }
    pair.done().map(drop)
}
