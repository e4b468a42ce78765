//! A clock whose faults are known.

use crate::bounds::clock_cost;
use ipcperf_stats::Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A clock that counts virtual time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualClock {
    /// Ticks of a nanosecond.
    pub rate: f64,
    /// What a reading costs, ns.
    pub cost_ns: f64,
    /// The steps in which it goes, ns; 0: each tick.
    pub step_ns: f64,
    /// What goes wrong with it.
    pub fault: Option<ClockFault>,
}

/// What can go wrong with a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockFault {
    /// It jumps ahead of the reference.
    Jump {
        /// In this slice, counted over the run.
        slice: u64,
        /// By so much, ns.
        by_ns: f64,
    },
    /// Its rate changes.
    Drift {
        /// From this slice on.
        slice: u64,
        /// By this share.
        by: f64,
    },
    /// Some readings lie before an earlier one.
    Backwards {
        /// Share of readings.
        share: f64,
        /// By so much, ns.
        by_ns: f64,
    },
    /// A reading costs more after the run than before.
    Slower {
        /// So many times.
        times: f64,
    },
}

impl Default for VirtualClock {
    /// The counter of a CPU of 2.6 GHz.
    fn default() -> Self {
        Self { rate: 2.6, cost_ns: 20.0, step_ns: 0.0, fault: None }
    }
}

/// How far the readings of a clock lie from the reference beside it, ns, at the most.
const ERROR_NS: u64 = 40;

/// Pairs of readings that tell what a reading costs: a virtual one hardly varies.
const PAIRS: usize = 1000;

/// A virtual clock in virtual time.
pub(super) struct Time {
    pub(super) clock: VirtualClock,
    /// What the reference shows, ns.
    pub(super) now: f64,
    /// Where the present line begins: reference and ticks.
    from: (f64, f64),
    /// Ticks of a nanosecond by now.
    rate: f64,
}

impl Time {
    pub(super) fn start(clock: VirtualClock) -> Self {
        // A machine that was started an hour ago, whose counter counts from there.
        let now = 3.6e12;
        Self { clock, now, from: (now, now * clock.rate), rate: clock.rate }
    }

    /// What the clock shows at a time.
    pub(super) fn ticks_at(&self, nanos: f64) -> u64 {
        let step = (self.clock.step_ns * self.clock.rate).max(1.0);
        let ticks = self.from.1 + (nanos - self.from.0) * self.rate;
        ((ticks / step).floor() * step) as u64
    }

    /// Ticks of so many nanoseconds.
    pub(super) fn ticks(&self, nanos: f64) -> f64 {
        nanos * self.clock.rate
    }

    /// A reading of the clock beside the reference.
    pub(super) fn pair(&self, rng: &mut Rng) -> (u64, u64) {
        (self.ticks_at(self.now), self.now as u64 + rng.below(ERROR_NS + 1))
    }

    /// What goes wrong with it in this slice.
    pub(super) fn go_wrong(&mut self, at: u64) {
        let ticks = self.from.1 + (self.now - self.from.0) * self.rate;
        match self.clock.fault {
            Some(ClockFault::Jump { slice, by_ns }) if slice == at => {
                self.from = (self.now, ticks + by_ns * self.rate);
            }
            Some(ClockFault::Drift { slice, by }) if slice == at => {
                self.from = (self.now, ticks);
                self.rate *= 1.0 + by;
            }
            _ => {}
        }
    }

    /// What is found out about the clock before the run and after it, by the code that does it on real clocks.
    pub(super) fn cost(&self, is_after: bool, rng: &mut Rng) -> BTreeMap<String, f64> {
        let (back, cost) = match self.clock.fault {
            Some(ClockFault::Backwards { share, by_ns }) => ((share, by_ns), self.clock.cost_ns),
            Some(ClockFault::Slower { times }) if is_after => {
                ((0.0, 0.0), self.clock.cost_ns * times)
            }
            _ => ((0.0, 0.0), self.clock.cost_ns),
        };
        let state = RefCell::new((self.now, rng));
        let read = || {
            let (now, rng) = &mut *state.borrow_mut();
            *now += cost * (0.9 + 0.2 * rng.unit());
            let late = if rng.unit() < back.0 { back.1 } else { 0.0 };
            self.ticks_at(*now - late)
        };
        clock_cost(PAIRS, read, read).into_iter().collect()
    }
}
