//! The work of the arms of a study.
//!
//! An arm is measured once in every round, by processes of its own. What it finds out is a set of named numbers, and
//! for single operations their distribution.

use crate::claims::Readings;
use ipcperf_engine::exec::Watch;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::signals::Interrupts;
use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

/// How one arm is measured.
pub(crate) trait Work {
    /// Finds out whether all is here that it needs; nothing is left behind.
    ///
    /// # Errors
    /// What is missing, or the user interrupted.
    fn look(&self, _: Option<&Interrupts>) -> Result<(), TaskError> {
        Ok(())
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
    /// The mechanisms of this program.
    pub(crate) registry: &'a Registry,
    /// Interrupts of the user.
    pub(crate) interrupts: Option<&'a Interrupts>,
    /// What starts programs that nobody here wrote.
    pub(crate) watch: &'a RefCell<Watch>,
}
