//! What the arms of a study do: one file for each kind of work.
//!
//! An arm is measured once in every round, by processes of its own. What it finds out is a set of named numbers, and
//! for single operations their distribution.

use ipcperf_engine::errand::{Errand, Mishap};
use ipcperf_stats::Histogram;
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// What workers can be sent to do for a study.
pub(crate) const ERRANDS: &[Errand] = &[];

/// Makes the work of an arm from what its study says: the keys of the arm and of the scale in one table.
pub(crate) type Maker = fn(&toml::Table) -> Result<Box<dyn Work>, String>;

/// Every kind of work by the name that studies use.
pub(crate) const KINDS: &[(&str, Maker)] = &[];

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
    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, Mishap>;
}

/// One turn of one arm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    /// Which round.
    pub(crate) round: u64,
    /// A number no other turn has: for names, nonces and stamps.
    pub(crate) nonce: u64,
    /// The run's own directory (mode 0700), for everything that needs a path.
    pub(crate) directory: &'a Path,
    /// When everything must be over.
    pub(crate) deadline: Instant,
    /// Interrupts of the user.
    pub(crate) interrupts: Option<&'a Interrupts>,
}

/// What one turn found out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings {
    /// By name: `p50_ns`, `cpu_s`, `bits_per_second`.
    pub(crate) values: BTreeMap<String, f64>,
    /// Single operations, picoseconds.
    pub(crate) histogram: Option<Histogram>,
    /// What a reader must know, once for the arm: "SO_SNDBUF 212992, max_dgram_qlen 10".
    pub(crate) facts: BTreeMap<String, String>,
}

impl Readings {
    /// Adds a number.
    pub(crate) fn set(&mut self, name: impl Into<String>, value: f64) {
        self.values.insert(name.into(), value);
    }
}
