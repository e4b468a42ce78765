//! What the arms of a study do: one file for each kind of work.
//!
//! An arm is measured once in every round, by processes of its own. What it finds out is a set of named numbers, and
//! for single operations their distribution.

mod after_kill;
pub(crate) mod bounds;
pub(crate) mod cell;
mod connect;
mod exchange;
pub(crate) mod exec;
mod facts;
mod pipeline;

use ipcperf_engine::task::{NamedTask, TaskError};
use ipcperf_study::Readings;
use ipcperf_sys::signals::Interrupts;
use std::path::Path;
use std::time::Instant;

/// What workers can be sent to do for a study.
pub(crate) const TASKS: &[NamedTask<'_>] = &[exchange::SEND, exchange::RECEIVE, pipeline::TASK];

/// Makes the work of an arm from what its study says: the keys of the arm and of the scale in one table.
pub(crate) type Maker = fn(&toml::Table) -> Result<Box<dyn Work>, String>;

/// Every kind of work by the name that studies use.
pub(crate) const KINDS: &[(&str, Maker)] = &[
    ("after-kill", after_kill::make),
    exchange::WHOLE,
    exchange::MORE,
    exchange::SLOW,
    exchange::CALLS,
    exchange::COUNT,
    exchange::STRACE,
    exchange::EMSGSIZE,
    (exec::KIND, exec::make),
    ("pipeline", pipeline::make),
    ("facts", facts::make),
];

/// The engine's own work, which needs more than the others.
pub(crate) const CELL: &str = "cell";

/// Whether a kind of work exists and understands these keys.
pub(crate) fn check(kind: &str, keys: &toml::Table) -> Result<(), String> {
    if kind == CELL {
        return cell::Keys::of(keys).map(drop);
    }
    if bounds::KINDS.contains(&kind) {
        return bounds::BoundWork::of(kind, keys).map(drop);
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

/// How one arm is measured.
pub(crate) trait Work {
    /// What is missing here, in words; nothing is left behind.
    fn missing(&self) -> Option<String> {
        None
    }

    /// Measures one round.
    ///
    /// # Errors
    /// Why there is nothing.
    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError>;
}

/// One turn of one arm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    /// A number no other turn has: for names, nonces and stamps.
    pub(crate) nonce: u64,
    /// The run's own directory (mode 0700), for everything that needs a path.
    pub(crate) directory: &'a Path,
    /// When everything must be over.
    pub(crate) deadline: Instant,
    /// Interrupts of the user.
    pub(crate) interrupts: Option<&'a Interrupts>,
}
