//! Ticks to nanoseconds, by the rate over the whole run rather than a start-up calibration, and the detector of clock
//! jumps.

use ipcperf_sys::clock::Clock;

/// A slice during which the clock left its line by more than this is rejected: a migration between hosts, a pause, a
/// suspend. In ns.
const JUMP_NS: f64 = 50_000.0;
/// And one during which its rate changed by more than this share, where the slice is long enough to tell.
const RATE_CHANGE: f64 = 50e-6;

/// Over shorter stretches than this the error of a reading (about 50 ns) would look like a change of rate, ns.
const LONG_NS: u64 = 50_000_000;

/// Readings of the clock beside `CLOCK_MONOTONIC_RAW`, one per slice boundary.
#[derive(Clone, Debug)]
pub struct Fit {
    clock: Clock,
    pairs: Vec<(u64, u64)>,
    /// Ticks and nanoseconds of the stretches in which the clock kept its rate: one jump must not be part of every
    /// figure.
    kept: (u64, u64),
    /// The first reading after the last jump.
    since: usize,
}

impl Fit {
    /// Starts with two readings 10 ms apart, so that a rate exists from the start.
    #[must_use]
    pub fn start(clock: Clock) -> Self {
        let first = clock.pair();
        std::thread::sleep(std::time::Duration::from_millis(10));
        Self::of(clock, [first, clock.pair()])
    }

    /// Starts with two readings that were taken.
    pub(crate) fn of(clock: Clock, pairs: [(u64, u64); 2]) -> Self {
        let kept = (pairs[1].0.wrapping_sub(pairs[0].0), pairs[1].1 - pairs[0].1);
        Self { clock, pairs: pairs.to_vec(), kept, since: 0 }
    }

    /// Takes a reading at a slice boundary; says whether the clock jumped since the last one, or changed its rate.
    pub fn boundary(&mut self) -> Option<String> {
        let now = self.clock.pair();
        self.push(now)
    }

    /// The same of a reading that was taken, as (ticks, ns).
    pub fn push(&mut self, now: (u64, u64)) -> Option<String> {
        let rate = self.ns_per_tick();
        let since = |then: &(u64, u64)| off(*then, now, rate);
        let last = self.pairs[self.pairs.len() - 1];
        let residual = since(&last).0;
        let jumped = residual > JUMP_NS;
        // Slices of a survey are shorter than what it takes to see a rate: then several together show it.
        let is_long = |then: &&(u64, u64)| now.1.saturating_sub(then.1) > LONG_NS;
        let long = self.pairs[self.since..].iter().rev().find(is_long).map(since);
        let changed = long.filter(|(residual, elapsed)| residual / elapsed > RATE_CHANGE);
        if jumped {
            self.since = self.pairs.len();
        } else if changed.is_none() {
            self.kept.0 += now.0.wrapping_sub(last.0);
            self.kept.1 += now.1.saturating_sub(last.1);
        }
        self.pairs.push(now);
        let shown = if jumped { residual } else { changed?.0 };
        Some(format!("the clock and CLOCK_MONOTONIC_RAW disagree by {:.0} us", shown / 1e3))
    }

    /// Nanoseconds per tick over everything seen so far but jumps.
    #[must_use]
    pub fn ns_per_tick(&self) -> f64 {
        self.kept.1 as f64 / self.kept.0.max(1) as f64
    }

    /// Largest distance of any reading from the line through the first one, ns.
    #[must_use]
    pub fn worst_residual_ns(&self) -> f64 {
        let (rate, first) = (self.ns_per_tick(), self.pairs[0]);
        self.pairs.iter().map(|pair| off(first, *pair, rate).0).fold(0.0, f64::max)
    }
}

/// How far the clock is off its line from one reading to another, and how long that is, ns. It may have jumped back.
fn off(then: (u64, u64), now: (u64, u64), ns_per_tick: f64) -> (f64, f64) {
    let expected = now.0.wrapping_sub(then.0).cast_signed() as f64 * ns_per_tick;
    let elapsed = now.1.wrapping_sub(then.1).cast_signed() as f64;
    ((expected - elapsed).abs(), elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading after so many ns of a 2.6 GHz counter, with an error of up to 40 ns.
    fn at(nanos: u64) -> (u64, u64) {
        (nanos * 26 / 10, nanos + nanos / 1_000_000 * 7919 % 41)
    }

    /// After readings every so many ns, the last of them number 20.
    fn regular(every: u64) -> Fit {
        let mut fit = Fit::of(Clock::monotonic(), [at(0), at(every)]);
        for index in 2..=20 {
            assert_eq!(fit.push(at(index * every)), None, "reading {index}");
        }
        fit
    }

    #[test]
    fn a_clean_run_of_ten_minutes_raises_no_alarm() {
        for every in [28_000_000, 100_000_000] {
            let mut fit = Fit::of(Clock::monotonic(), [at(0), at(every)]);
            for index in 2..600_000_000_000 / every {
                assert_eq!(fit.push(at(index * every)), None, "reading {index}");
            }
            assert!((fit.ns_per_tick() * 2.6 - 1.0).abs() < 20e-6);
            assert!(fit.worst_residual_ns() < 100.0);
        }
    }

    #[test]
    fn a_jump_of_5_ms_is_seen_once_and_is_in_no_figure() {
        for every in [28_000_000, 100_000_000] {
            let mut fit = regular(every);
            let after = |index: u64| (at(index * every).0, at(index * every).1 + 5_000_000);
            assert!(fit.push(after(21)).is_some());
            for index in 22..60 {
                assert_eq!(fit.push(after(index)), None, "reading {index}");
            }
            assert!((fit.ns_per_tick() * 2.6 - 1.0).abs() < 20e-6, "{}", fit.ns_per_tick());
            assert!(fit.worst_residual_ns() > 4e6);
        }
    }

    /// As where a machine was moved to a host whose counter was started later.
    #[test]
    fn a_jump_to_before_the_first_reading_is_as_far_as_it_is() {
        let readings = [(5_200_000_000, 0), (5_226_000_000, 10_000_000)];
        let mut fit = Fit::of(Clock::monotonic(), readings);
        assert!(fit.push((26_000_000, 20_000_000)).is_some());
        // 1.99 s of ticks back and 20 ms on.
        let residual = fit.worst_residual_ns();
        assert!((residual / 2.01e9 - 1.0).abs() < 1e-6, "{residual}");
        assert!((fit.ns_per_tick() * 2.6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_drift_of_200_ppm_is_seen_however_short_the_slices_are() {
        for every in [5_000_000, 28_000_000, 100_000_000] {
            let mut fit = regular(every);
            let drifted = |index: u64| {
                let (ticks, nanos) = at(index * every);
                (ticks, nanos + (index - 20) * every / 5000)
            };
            let seen: Vec<bool> =
                (21..80).map(|index| fit.push(drifted(index)).is_some()).collect();
            let first = seen.iter().position(|seen| *seen).expect("seen");
            assert!(first as u64 * every <= LONG_NS, "{first}");
            assert!(seen[first..].iter().all(|seen| *seen), "it stays another clock: {seen:?}");
        }
    }
}
