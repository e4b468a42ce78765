//! Jobs of workers that measure the machine, and their reports.

use super::{Chunks, Intervals};
use crate::hot::Spill;
use crate::page::CAPACITY;
use ipcperf_core::Seat;
use serde::{Deserialize, Serialize};

/// How often a process talks to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trips {
    /// Single round trips, 1 to [`CAPACITY`].
    pub samples: u64,
    /// Round trips before them.
    #[serde(default)]
    pub warmup: u64,
}

impl Trips {
    /// # Errors
    /// What makes no sense.
    pub fn check(self) -> Result<(), String> {
        if (1..=CAPACITY as u64).contains(&self.samples) {
            return Ok(());
        }
        Err(format!("samples: {} is not between 1 and {CAPACITY}", self.samples))
    }
}

/// One end of a bound measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoundJob {
    /// Which end.
    pub seat: Seat,
    /// CPU to pin to.
    pub cpu: usize,
    /// Whether the CPU counter is the clock.
    pub counter: bool,
    /// What to measure.
    pub what: Bound,
}

/// A limit of the machine, or what else is measured without a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Clock cost and granularity; lead only.
    Clock,
    /// System call and copy costs; lead only.
    Alone,
    /// One cache line there and back, both spinning.
    CacheLine,
    /// Futex wake there and back.
    FutexWake,
    /// What copying takes by where a buffer begins in its page; lead only.
    Offsets,
    /// What the first return takes after a system call, by two ends on one CPU.
    Returns,
    /// No limit: lets idle CPUs forget that they were polling.
    Settle,
    /// How far two clocks are off after an interval, on these CPUs one after the other; lead only.
    Clocks(Intervals, [usize; 2]),
    /// How far the clocks of two CPUs are apart.
    Apart,
    /// A pipe and shared memory with both ends in one process; lead only.
    Copying(Chunks),
    /// A process that reads its own byte from a socket pair; lead only.
    SelfLoop(Trips),
}

/// What a worker found out about a bound.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BoundReport {
    /// Named values, ticks unless the name says otherwise.
    pub values: Vec<(String, f64)>,
    /// Samples in the slots.
    #[serde(default)]
    pub samples: u64,
    /// Samples that did not fit a slot.
    #[serde(default)]
    pub spills: Vec<Spill>,
}
