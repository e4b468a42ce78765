//! Who looks at the calls of an exchange: nobody, or a clock around each of them.

use super::mode::Call;
use ipcperf_sys::clock::{Clock, raw_ns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sees every call.
pub(super) trait Watch {
    /// Makes the call.
    fn call<T>(&mut self, call: Call, body: impl FnOnce() -> T) -> T;
}

/// Looks away.
#[derive(Debug)]
pub(super) struct Unseen;

impl Watch for Unseen {
    #[inline(always)]
    fn call<T>(&mut self, _: Call, body: impl FnOnce() -> T) -> T {
        body()
    }
}

/// What calls of one name took, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Timing {
    pub(super) median_us: f64,
    pub(super) mean_us: f64,
}

impl Timing {
    /// Of times in any unit, `unit_us` microseconds long; `None` for none.
    pub(super) fn of(times: &mut [u32], unit_us: f64) -> Option<Self> {
        times.sort_unstable();
        let (low, high) =
            (times.get(times.len().checked_sub(1)? / 2)?, times.get(times.len() / 2)?);
        let median = f64::from(*low).midpoint(f64::from(*high));
        let sum: u64 = times.iter().map(|time| u64::from(*time)).sum();
        let mean = sum as f64 / times.len() as f64;
        Some(Self { median_us: median * unit_us, mean_us: mean * unit_us })
    }
}

/// Reads a clock before and after every call.
#[derive(Debug)]
pub(super) struct Clocked {
    clock: Clock,
    begin: (u64, u64),
    /// Ticks by [`Call`]; all room is there from the start.
    series: Vec<Vec<u32>>,
}

impl Clocked {
    /// With room for so many exchanges.
    pub(super) fn new(exchanges: usize) -> Self {
        let clock = Clock::choose().0;
        let room = |call: Call| Vec::with_capacity(exchanges.saturating_mul(call.times()));
        Self { clock, begin: clock.pair(), series: Call::ALL.into_iter().map(room).collect() }
    }

    /// What each call took by its name, and what reading the clock twice around nothing takes, in microseconds.
    pub(super) fn finish(mut self) -> (BTreeMap<String, Timing>, f64) {
        let mut empty: Vec<u32> =
            (0..1001).map(|_| ticks(self.clock.start(), self.clock.stop())).collect();
        // Long enough for a rate, however few the exchanges were.
        while raw_ns().saturating_sub(self.begin.1) < 5_000_000 {
            std::hint::spin_loop();
        }
        let end = self.clock.pair();
        let passed_us = end.1.saturating_sub(self.begin.1) as f64 / 1e3;
        let tick_us = passed_us / end.0.saturating_sub(self.begin.0).max(1) as f64;
        let timings = Call::ALL.iter().zip(&mut self.series).filter_map(|(call, times)| {
            Some((call.name().to_owned(), Timing::of(times, tick_us)?))
        });
        let cost_us = Timing::of(&mut empty, tick_us).map_or(0.0, |timing| timing.median_us);
        (timings.collect(), cost_us)
    }
}

fn ticks(begin: u64, end: u64) -> u32 {
    u32::try_from(end.saturating_sub(begin)).unwrap_or(u32::MAX)
}

impl Watch for Clocked {
    #[inline(always)]
    fn call<T>(&mut self, call: Call, body: impl FnOnce() -> T) -> T {
        let begin = self.clock.start();
        let result = body();
        let end = self.clock.stop();
        if let Some(series) = self.series.get_mut(call as usize)
            && series.len() < series.capacity()
        {
            series.push(ticks(begin, end));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_mean_are_those_of_the_times() {
        assert_eq!(Timing::of(&mut [], 1.0), None);
        let odd = Timing::of(&mut [9, 1, 2], 0.5).expect("three");
        assert_eq!(odd, Timing { median_us: 1.0, mean_us: 2.0 });
        let even = Timing::of(&mut [4, 1, 2, 1], 1.0).expect("four");
        assert_eq!(even, Timing { median_us: 1.5, mean_us: 2.0 });
    }

    #[test]
    fn only_what_was_called_has_a_time_and_clocks_cost_something() {
        let mut watch = Clocked::new(2);
        for _ in 0..3 {
            watch.call(Call::Read, || std::thread::sleep(std::time::Duration::from_millis(1)));
        }
        let (timings, cost_us) = watch.finish();
        assert_eq!(timings.keys().collect::<Vec<_>>(), ["read"]);
        assert!(timings["read"].median_us > 900.0, "{timings:?}");
        assert!(cost_us > 0.0 && cost_us < timings["read"].median_us);
    }
}
