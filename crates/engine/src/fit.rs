//! Ticks to nanoseconds, by the rate over the whole run rather than a start-up calibration, and the detector of clock
//! jumps.

use ipcperf_sys::clock::Clock;

/// A slice during which the clock left its line by more than this is rejected: a migration between hosts, a pause, a
/// suspend. In ns.
const JUMP_NS: f64 = 50_000.0;
/// And one during which its rate changed by more than this share, where the slice is long enough to tell.
const RATE_CHANGE: f64 = 50e-6;

/// Readings of the clock beside `CLOCK_MONOTONIC_RAW`, one per slice boundary.
#[derive(Clone, Debug)]
pub struct Fit {
    clock: Clock,
    pairs: Vec<(u64, u64)>,
}

impl Fit {
    /// Starts with two readings 10 ms apart, so that a rate exists from the start.
    #[must_use]
    pub fn start(clock: Clock) -> Self {
        let first = clock.pair();
        std::thread::sleep(std::time::Duration::from_millis(10));
        Self { clock, pairs: vec![first, clock.pair()] }
    }

    #[cfg(test)]
    fn of(pairs: Vec<(u64, u64)>) -> Self {
        Self { clock: Clock::monotonic(), pairs }
    }

    /// Takes a reading at a slice boundary; says whether the clock jumped since the last one.
    pub fn boundary(&mut self) -> Option<String> {
        let now = self.clock.pair();
        self.push(now)
    }

    /// Takes this reading, as (ticks, ns).
    pub fn push(&mut self, now: (u64, u64)) -> Option<String> {
        let rate = self.ns_per_tick();
        let last = self.pairs[self.pairs.len() - 1];
        self.pairs.push(now);
        let expected = now.0.wrapping_sub(last.0).cast_signed() as f64 * rate;
        let elapsed = now.1.wrapping_sub(last.1).cast_signed() as f64;
        let residual = (expected - elapsed).abs();
        // Over short stretches the error of a reading (about 50 ns) would look like a change of rate.
        let rate_changed = elapsed > 50e6 && residual / elapsed > RATE_CHANGE;
        (residual > JUMP_NS || rate_changed).then(|| {
            format!("the clock and CLOCK_MONOTONIC_RAW disagree by {:.0} us", residual / 1e3)
        })
    }

    /// Nanoseconds per tick over everything seen so far.
    #[must_use]
    pub fn ns_per_tick(&self) -> f64 {
        let (first, last) = (self.pairs[0], self.pairs[self.pairs.len() - 1]);
        (last.1 - first.1) as f64 / (last.0 - first.0).max(1) as f64
    }

    /// Largest distance of any reading from the line through the first and the last, ns.
    #[must_use]
    pub fn worst_residual_ns(&self) -> f64 {
        let (rate, first) = (self.ns_per_tick(), self.pairs[0]);
        self.pairs
            .iter()
            .map(|pair| ((pair.0 - first.0) as f64 * rate - (pair.1 - first.1) as f64).abs())
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings every 100 ms of a 2.6 GHz counter, with an error of up to 40 ns.
    fn reading(index: u64) -> (u64, u64) {
        let nanos = index * 100_000_000;
        (nanos * 26 / 10, nanos + index * 7919 % 41)
    }

    #[test]
    fn a_clean_run_of_ten_minutes_raises_no_alarm() {
        let mut fit = Fit::of(vec![reading(0), reading(1)]);
        for index in 2..6000 {
            assert_eq!(fit.push(reading(index)), None, "reading {index}");
        }
        assert!((fit.ns_per_tick() * 2.6 - 1.0).abs() < 20e-6);
        assert!(fit.worst_residual_ns() < 100.0);
    }

    #[test]
    fn a_jump_of_5_ms_and_a_drift_of_200_ppm_are_seen() {
        let mut jumped = Fit::of((0..10).map(reading).collect());
        let (ticks, nanos) = reading(10);
        assert!(jumped.push((ticks, nanos + 5_000_000)).is_some());
        let mut drifted = Fit::of((0..10).map(reading).collect());
        assert!(drifted.push((ticks, nanos + 20_000)).is_some());
    }
}
