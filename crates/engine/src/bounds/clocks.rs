//! How far clocks are off after an interval: `CLOCK_MONOTONIC` and the counter of the CPU, both against
//! `CLOCK_MONOTONIC_RAW`, on both CPUs of a pair, over intervals from a microsecond upwards. The counter becomes a clock by
//! a rate, twice: by the one that it has over the whole of it (`counter`), and by the frequency that the processor names
//! (`nominal`), as a program does that knows no better.
//!
//! Readings end in the CPU (`a`, `b`) and the interval in nanoseconds: `mono_ns.a.1000`, `counter_ns.b.1000000`, each the
//! median of the absolute errors; `mono_slope.a` and its like are their growth on one CPU, `mono_slope`, `counter_slope`
//! and `nominal_slope` on both, in nanoseconds per second. `nominal_mhz` is the frequency. What begins with `nominal` is
//! absent where the processor names none.
//!
//! How far the clocks of two CPUs are apart at one moment is [`apart`].

use crate::offset;
use crate::page::Page;
use ipcperf_core::Seat;
use ipcperf_stats::median;
use ipcperf_sys::clock::{Clock, monotonic_ns, raw_ns};
use ipcperf_sys::{affinity, procfs};
use serde::{Deserialize, Serialize};

/// Over which intervals, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// From a microsecond up to this one by factors of ten; 10 to 10,000,000 us.
    pub longest_us: u64,
    /// How often each is measured at most, 1 to 1000.
    pub repeats: u64,
    /// Less often where that would take longer than this on one CPU, but at least once.
    pub spend_ms: u64,
}

impl Intervals {
    /// # Errors
    /// What makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if !(10..=10_000_000).contains(&self.longest_us) {
            return Err("'longest_us' must be 10 to 10000000".into());
        }
        if !(1..=1000).contains(&self.repeats) {
            return Err("'repeats' must be 1 to 1000".into());
        }
        Ok(())
    }

    fn all_ns(&self) -> Vec<u64> {
        std::iter::successors(Some(1000), |interval| Some(interval * 10))
            .take_while(|interval| *interval <= self.longest_us * 1000)
            .collect()
    }

    fn repeats(&self, interval_ns: u64) -> u64 {
        (self.spend_ms * 1_000_000 / interval_ns).clamp(1, self.repeats)
    }
}

/// Median errors on one CPU, by interval.
#[derive(Clone, Debug, Default, PartialEq)]
struct Errors {
    mono_ns: Vec<f64>,
    counter_ns: Vec<f64>,
    /// Empty where no rate is named.
    nominal_ns: Vec<f64>,
}

fn readings(intervals: &Intervals, errors: &[Errors; 2]) -> Vec<(String, f64)> {
    let mut readings = Vec::new();
    let all_ns = intervals.all_ns();
    for (name, of) in [
        ("mono", (|errors| &errors.mono_ns) as fn(&Errors) -> &Vec<f64>),
        ("counter", |errors| &errors.counter_ns),
        ("nominal", |errors| &errors.nominal_ns),
    ] {
        let mut all = Vec::new();
        for (cpu, errors) in ["a", "b"].iter().zip(errors) {
            let points = all_ns.iter().zip(of(errors));
            let points: Vec<_> =
                points.map(|(interval, error)| (*interval as f64 / 1e9, *error)).collect();
            for (interval, (_, error)) in all_ns.iter().zip(&points) {
                readings.push((format!("{name}_ns.{cpu}.{interval}"), *error));
            }
            readings.extend(slope(&points).map(|slope| (format!("{name}_slope.{cpu}"), slope)));
            all.extend(points);
        }
        readings.extend(slope(&all).map(|slope| (format!("{name}_slope"), slope)));
    }
    readings
}

/// The slope of the straight line with the least squares through points; `None` if they have one place.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let product: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (square > 0.0).then(|| product / square)
}

/// All clocks at one moment: the reference before and after the others.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockMoment {
    before: u64,
    mono: u64,
    counter: u64,
    after: u64,
}

/// Whatever stands for the counter where there is none reads the monotonic clock.
const COUNTER: Clock = Clock::counter();

impl ClockMoment {
    /// The tightest of so many.
    fn take(tries: u32) -> Self {
        let one = || {
            let before = raw_ns();
            let (mono, counter) = (monotonic_ns(), COUNTER.stop());
            Self { before, mono, counter, after: raw_ns() }
        };
        (1..tries).fold(one(), |best, _| {
            let next = one();
            if next.width() < best.width() { next } else { best }
        })
    }

    fn width(self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    /// The moment by the reference. All readings have the same order, so what it is off by is the same in all.
    fn moment(self) -> f64 {
        self.before as f64 + self.width() as f64 / 2.0
    }
}

/// Two readings around one interval.
type Span = (ClockMoment, ClockMoment);

/// By how much the monotonic clock is off after `span`.
fn mono_error((begin, end): Span) -> f64 {
    let reference = end.moment() - begin.moment();
    (end.mono as f64 - begin.mono as f64 - reference).abs()
}

/// By how much the counter is off after `span`, at this rate.
fn counter_error((begin, end): Span, ns_per_tick: f64) -> f64 {
    let reference = end.moment() - begin.moment();
    (end.counter.wrapping_sub(begin.counter) as f64 * ns_per_tick - reference).abs()
}

/// Waits without sleeping: a CPU that sleeps may change its frequency, and comes back late.
fn span(interval_ns: u64) -> Span {
    // 25 readings take three microseconds: short intervals have no room for them.
    let tries = if interval_ns < 100_000 { 1 } else { 25 };
    let begin = ClockMoment::take(tries);
    while raw_ns().saturating_sub(begin.before) < interval_ns {}
    (begin, ClockMoment::take(tries))
}

/// Nanoseconds per tick, from two readings of ticks and nanoseconds.
fn rate(before: (u64, u64), after: (u64, u64)) -> f64 {
    let (ticks, nanos) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    nanos as f64 / ticks.max(1) as f64
}

/// Reads the clocks on both CPUs.
pub(super) fn errors_on(
    intervals: &Intervals,
    cpus: [usize; 2],
) -> Result<Vec<(String, f64)>, String> {
    let first = ClockMoment::take(25);
    let mut spans: [Vec<Vec<Span>>; 2] = [Vec::new(), Vec::new()];
    for (cpu, spans) in cpus.iter().zip(&mut spans) {
        affinity::pin(*cpu).map_err(|error| format!("CPU {cpu}: {error}"))?;
        for interval in intervals.all_ns() {
            spans.push((0..intervals.repeats(interval)).map(|_| span(interval)).collect());
        }
    }
    let last = ClockMoment::take(25);
    // One rate for the whole of it, on both CPUs: a rate from a short beginning would be the larger error.
    let pair = |reading: ClockMoment| (reading.counter, reading.moment() as u64);
    let ns_per_tick = rate(pair(first), pair(last));
    let nominal_mhz = COUNTER.is_counter().then(procfs::named_mhz).flatten();
    let nominal = nominal_mhz.map(|mhz| 1e3 / mhz);
    let errors = spans.map(|spans| of_cpu(&spans, ns_per_tick, nominal));
    let mut readings = readings(intervals, &errors);
    readings.extend(nominal_mhz.map(|mhz| ("nominal_mhz".to_owned(), mhz)));
    Ok(readings)
}

fn of_cpu(intervals: &[Vec<Span>], ns_per_tick: f64, nominal: Option<f64>) -> Errors {
    let mut found = Errors::default();
    for spans in intervals {
        let middle = |error: &dyn Fn(Span) -> f64| {
            median(&spans.iter().map(|span| error(*span)).collect::<Vec<_>>())
        };
        found.mono_ns.extend(middle(&mono_error));
        found.counter_ns.extend(middle(&|span| counter_error(span, ns_per_tick)));
        if let Some(nominal) = nominal {
            found.nominal_ns.extend(middle(&|span| counter_error(span, nominal)));
        }
    }
    found
}

/// How far the counters and the monotonic clocks of two CPUs are apart at one moment, found out by a word that goes there
/// and back between them: `counter_ticks` and `mono_ns`, with how far that can be off (`counter_bound_ticks`,
/// `mono_bound_ns`). Nothing of the follow.
pub(super) fn apart(page: &Page, seat: Seat) -> Vec<(String, f64)> {
    // The length of a tick only says when it is long enough: CPU counters have a quarter of a nanosecond to one.
    let counter = offset::measure(page, seat, 0.5, || COUNTER.stop());
    // The next one begins with a word that would hide the last of this one from a follow that has not seen it yet.
    page.gate().meet();
    let mono = offset::measure(page, seat, 1.0, monotonic_ns);
    let both = counter.into_iter().zip(mono).flat_map(|(counter, mono)| {
        [
            ("counter_ticks", counter.ticks as f64),
            ("counter_bound_ticks", counter.bound as f64),
            ("mono_ns", mono.ticks as f64),
            ("mono_bound_ns", mono.bound as f64),
        ]
    });
    both.map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::skipped::skipped;
    use std::collections::BTreeMap;

    /// A span by a counter of `ghz` and a monotonic clock that gains `ppm`.
    fn synthetic(interval_ns: u64, ghz: f64, ppm: f64) -> Span {
        let at = |time: u64| ClockMoment {
            before: 1_000_000 + time,
            mono: 7_000_000 + (time as f64 * (1.0 + ppm * 1e-6)) as u64 + 10,
            counter: ((time + 20) as f64 * ghz) as u64,
            after: 1_000_000 + time + 30,
        };
        (at(0), at(interval_ns))
    }

    #[test]
    fn a_clock_that_runs_true_has_no_error_and_one_that_gains_has_a_slope() {
        let intervals = [1000_u64, 1_000_000, 1_000_000_000];
        let judged = |ghz: f64, ppm: f64| {
            let spans: Vec<_> =
                intervals.iter().map(|interval| vec![synthetic(*interval, ghz, ppm)]).collect();
            of_cpu(&spans, 0.5, Some(0.5001))
        };
        let slope_of = |values: &[f64]| {
            let points =
                intervals.iter().map(|interval| *interval as f64 / 1e9).zip(values.iter().copied());
            slope(&points.collect::<Vec<_>>()).expect("three places")
        };
        let exact = judged(2.0, 0.0);
        assert_eq!((&exact.mono_ns, &exact.counter_ns), (&vec![0.0; 3], &vec![0.0; 3]));
        let gaining = judged(2.0, 40.0);
        assert!((slope_of(&gaining.mono_ns) - 40_000.0).abs() < 1.0, "{gaining:?}");
        assert!(slope_of(&gaining.counter_ns).abs() < 1e-9);
        // Taken for 2 GHz, and 200 ppm slower.
        let slow = judged(1.9996, 0.0);
        assert!((slope_of(&slow.counter_ns) - 200_000.0).abs() < 10.0, "{slow:?}");
        assert!((slow.counter_ns[1] - 200.0).abs() < 1.0);
        // The rate that is named is 200 ppm too slow: the counter itself runs true.
        assert!((slope_of(&exact.nominal_ns) - 200_000.0).abs() < 10.0, "{exact:?}");
    }

    /// Again and again: the follow may be slow to see that the first clock is done.
    #[test]
    fn one_monotonic_clock_is_not_apart_from_itself() {
        if affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() < 2) {
            return skipped("two CPUs", "on one each exchange takes two time slices");
        }
        let page = Page::create(crate::page::CAPACITY).expect("memory");
        for _ in 0..10 {
            let found: BTreeMap<_, _> = std::thread::scope(|scope| {
                scope.spawn(|| apart(&page, Seat::Follow));
                apart(&page, Seat::Lead).into_iter().collect()
            });
            assert!(found["mono_ns"].abs() <= found["mono_bound_ns"], "{found:?}");
            assert_eq!(found.len(), 4);
        }
    }

    #[test]
    fn a_tick_is_as_long_as_both_readings_say() {
        assert!((rate((1000, 500), (4000, 1500)) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_line_needs_two_places() {
        assert_eq!(slope(&[(0.0, 1.0), (2.0, 5.0)]), Some(2.0));
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 5.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    #[test]
    fn intervals_go_by_tens_and_long_ones_are_repeated_less() {
        let asked = Intervals { longest_us: 100_000, repeats: 50, spend_ms: 20 };
        assert_eq!(asked.all_ns(), [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]);
        assert_eq!([1000, 1_000_000, 100_000_000].map(|ns| asked.repeats(ns)), [50, 20, 1]);
    }

    #[test]
    fn readings_are_told_by_cpu_and_interval_and_slopes_also_of_both() {
        let asked = Intervals { longest_us: 1000, repeats: 1, spend_ms: 1 };
        let errors = |factor: f64| Errors {
            mono_ns: vec![5.0; 4],
            counter_ns: [1e3, 1e4, 1e5, 1e6].map(|interval| interval * factor).to_vec(),
            nominal_ns: Vec::new(),
        };
        let readings: BTreeMap<_, _> =
            readings(&asked, &[errors(1e-3), errors(3e-3)]).into_iter().collect();
        let value = |name: &str| readings.get(name).map(|value| value.round());
        assert_eq!(value("counter_ns.b.1000000"), Some(3000.0));
        assert_eq!(value("mono_slope"), Some(0.0));
        let slopes = ["counter_slope.a", "counter_slope.b", "counter_slope"].map(value);
        assert_eq!(slopes, [Some(1e6), Some(3e6), Some(2e6)]);
        assert_eq!(value("nominal_slope"), None, "the machine names no rate");
    }

    #[test]
    fn the_clocks_of_this_machine_agree_within_the_interval() {
        let (begin, end) = span(200_000);
        let per_tick =
            rate((begin.counter, begin.moment() as u64), (end.counter, end.moment() as u64));
        let (mono, counter) = (mono_error((begin, end)), counter_error((begin, end), per_tick));
        assert!(mono < 200_000.0 && counter < 1000.0, "{mono} {counter}");
    }
}
