//! Every kind of work that an arm of a study can name.

use super::bounds::{self, BoundWork};
use super::cell::ArmKeys;
use super::work::Work;
use super::{after_kill, emsgsize, exec, facts, pipeline};

/// Makes the work of an arm from what its study says: the keys of the arm and of the scale in one table.
type Maker = fn(&toml::Table) -> Result<Box<dyn Work>, String>;

/// Every kind of work by the name that studies use.
const KINDS: &[(&str, Maker)] = &[
    ("after-kill", after_kill::make),
    ("probe-emsgsize", emsgsize::make),
    (exec::KIND, exec::make),
    (pipeline::KIND, pipeline::make),
    ("facts", facts::make),
];

/// The engine's own work, which needs more than the others.
pub(crate) const CELL: &str = "cell";

/// Whether a kind of work exists and understands these keys.
pub(crate) fn check(kind: &str, keys: &toml::Table) -> Result<(), String> {
    if kind == CELL {
        return ArmKeys::of(keys).map(drop);
    }
    if bounds::KINDS.contains(&kind) {
        return BoundWork::of(kind, keys).map(drop);
    }
    make(kind, keys).map(drop)
}

/// Makes the work of an arm, for every kind but [`CELL`] and the bounds.
pub(crate) fn make(kind: &str, keys: &toml::Table) -> Result<Box<dyn Work>, String> {
    match KINDS.iter().find(|(name, _)| *name == kind) {
        Some((_, maker)) => maker(keys),
        None => {
            let known = KINDS.iter().map(|(name, _)| *name).chain(bounds::KINDS).chain([CELL]);
            let near = ipcperf_core::nearest(kind, known);
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            Err(format!("there is no work '{kind}'{hint}"))
        }
    }
}
