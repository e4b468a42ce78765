//! The follow is stopped for a while in the middle of a slice, on request: it shows whether a load model can see such
//! a stop at all.

use crate::supervisor::Supervisor;
use ipcperf_core::Seat;
use std::time::{Duration, Instant};

/// One stop of the follow.
#[derive(Debug)]
pub(super) struct Stall {
    length: Duration,
    stopped: bool,
    /// It has stood and gone on.
    is_over: bool,
}

impl Stall {
    pub(super) fn of(length: Duration) -> Self {
        Self { length, stopped: false, is_over: false }
    }

    /// The alarm rang: stops the follow, and lets it go on at the next alarm.
    pub(super) fn step(&mut self, workers: &mut Supervisor<'_>) {
        if self.stopped {
            workers.worker(Seat::Follow.index()).resume();
            self.is_over = true;
        } else {
            // From here on, so that what the stop itself takes makes it longer and not shorter.
            workers.hold(Seat::Follow.index());
            workers.call_at(Instant::now() + self.length);
        }
        self.stopped = !self.stopped;
    }

    /// Whether a stop was asked for that never came, because the slice ended first.
    pub(super) fn was_missed(&self) -> bool {
        !self.length.is_zero() && !self.is_over
    }
}
