//! How long a study takes on this machine: what one round at scale `smoke` took, arm by arm, with the keys of another scale.
//!
//! Before this a study's file said how long it takes, as if all machines were one, and was off by a factor of seven: a
//! round trip takes 5 us on one of them and 50 us on another. What a turn costs beside what it times (processes, warm-up, proofs) hardly
//! depends on the scale, and what it times grows with what is asked for; both are known after one round of seconds.

use super::bounds::{self, BoundWork};
use super::cell::ArmKeys;
use super::kinds::CELL;
use super::pipeline;
use crate::claims::{Arm, Study};
use crate::replication::Scale;
use ipcperf_engine::bounds::Intervals;
use ipcperf_engine::plan::Host;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::Lengths;
use ipcperf_kit::measure::rounds_within;
use std::time::Duration;

/// What a turn of an arm took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Took {
    /// All of it, seconds.
    pub(crate) all_s: f64,
    /// What was timed, seconds, and how many operations that were; `None` where nobody knows.
    pub(crate) timed: Option<(f64, u64)>,
}

/// What an arm is asked for, as far as its time depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ArmExtent {
    /// A cell: its warm-up and its slice in seconds, and the operations of both, where these are counted.
    Cell { warmup_s: f64, warmup: u64, slice_s: f64, operations: u64 },
    /// So many operations, bytes or repetitions.
    Amount(f64),
    /// So many seconds.
    Seconds(f64),
    /// It is the same at every scale.
    Same,
}

impl ArmExtent {
    fn of(arm: &Arm, keys: &toml::Table, registry: &Registry, host: &Host) -> Self {
        match arm.work.as_str() {
            CELL => {
                let planned = ArmKeys::of(keys).and_then(|keys| keys.plan(registry, host));
                planned.map_or(Self::Same, |cell| Self::cell(cell.lengths))
            }
            pipeline::KIND => {
                pipeline::bytes(keys).map_or(Self::Same, |bytes| Self::Amount(bytes as f64))
            }
            work if bounds::KINDS.contains(&work) => match BoundWork::of(work, keys) {
                Ok(BoundWork::SelfLoop(trips)) => {
                    Self::Amount((trips.samples + trips.warmup) as f64)
                }
                Ok(BoundWork::Copying(chunks)) => Self::Amount(chunks.repeats as f64),
                Ok(BoundWork::Clocks(asked)) => Self::Seconds(clocks(&asked)),
                Ok(BoundWork::Apart) | Err(_) => Self::Same,
            },
            _ => Self::Same,
        }
    }

    fn cell(lengths: Lengths) -> Self {
        Self::Cell {
            warmup_s: lengths.warmup.as_secs_f64(),
            warmup: lengths.counts.warmup,
            slice_s: lengths.slice.as_secs_f64(),
            operations: lengths.counts.samples,
        }
    }
}

/// Seconds of all intervals, on both CPUs.
fn clocks(asked: &Intervals) -> f64 {
    let decades = (0..8).map(|decade| 10_u64.pow(decade)).take_while(|us| *us <= asked.longest_us);
    let spend_us = asked.spend_ms as f64 * 1e3;
    let of = |us: u64| (us as f64 * asked.repeats as f64).min(spend_us).max(us as f64);
    2.0 * decades.map(of).sum::<f64>() / 1e6
}

/// What a turn takes that is asked for `to`, where one that was asked for `from` took so long.
fn predicted(took: Took, from: ArmExtent, to: ArmExtent) -> f64 {
    let Took { all_s, timed } = took;
    match (from, to) {
        (
            ArmExtent::Cell { warmup_s, warmup, slice_s, operations },
            ArmExtent::Cell {
                warmup_s: warmup_s_then,
                warmup: warmup_then,
                slice_s: slice_then,
                operations: then,
            },
        ) => {
            let (timed_s, done) = timed.unwrap_or((slice_s, 0));
            let each = timed_s / done.max(1) as f64;
            let warming = |seconds: f64, count: u64| match count {
                0 => seconds,
                count => each * count as f64,
            };
            let beside = (all_s - warming(warmup_s, warmup) - timed_s).max(0.0);
            let timed_then = match (then, operations) {
                (0, _) => slice_then,
                (then, 0) => each * then as f64,
                (then, now) => timed_s * then as f64 / now as f64,
            };
            beside + warming(warmup_s_then, warmup_then) + timed_then
        }
        (ArmExtent::Amount(now), ArmExtent::Amount(then)) => {
            let timed_s = timed.map_or(all_s, |(seconds, _)| seconds).min(all_s);
            (all_s - timed_s) + timed_s * then / now.max(1.0)
        }
        (ArmExtent::Seconds(now), ArmExtent::Seconds(then)) => (all_s - now).max(0.0) + then,
        _ => all_s,
    }
}

/// What a first round at scale `smoke` has shown of a study.
#[derive(Clone, Debug)]
pub(crate) struct Pilot {
    /// For each arm; `None` where it had no turn, and will have none.
    pub(crate) turns: Vec<Option<Took>>,
    /// Beside all turns: the machine's own limits, what is assembled at the end.
    pub(crate) beside: Duration,
}

impl Pilot {
    /// How long a round takes at a scale.
    pub(crate) fn round(
        &self,
        study: &Study,
        scale: Scale,
        registry: &Registry,
        host: &Host,
    ) -> Duration {
        let turns = study.arms.iter().zip(&self.turns);
        let of = |(arm, took): (&Arm, &Option<Took>)| {
            let asked = |scale| ArmExtent::of(arm, &study.keys(arm, scale), registry, host);
            took.map_or(0.0, |took| predicted(took, asked(Scale::Smoke), asked(scale)))
        };
        let seconds: f64 = turns.map(of).sum();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// What is run of a study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extent {
    pub(crate) scale: Scale,
    pub(crate) rounds: u64,
    /// What was cut to fit a budget.
    pub(crate) cut: Option<String>,
}

/// What of a study fits into a time: the scale that was asked for with all its rounds, else with as few as its claims
/// need, else a smaller scale; and what does not fit in this way is said. `round` says how long a round takes at a scale.
pub(crate) fn fit(
    wanted: &Extent,
    least: u64,
    (room, beside): (Duration, Duration),
    round: &dyn Fn(Scale) -> Duration,
) -> Extent {
    let fitting = |scale| rounds_within(room, beside, round(scale)).min(wanted.rounds);
    let scales = Scale::ALL.iter().rev().skip_while(|scale| **scale != wanted.scale);
    let least = least.min(wanted.rounds);
    let chosen = scales.map(|scale| (*scale, fitting(*scale))).find(|(_, rounds)| *rounds >= least);
    let (scale, rounds) = chosen.unwrap_or((Scale::Smoke, fitting(Scale::Smoke).max(1)));
    if (scale, rounds) == (wanted.scale, wanted.rounds) {
        return wanted.clone();
    }
    let mut cut = format!("Cut to fit the budget: {rounds} rounds at scale {scale}");
    if scale != wanted.scale {
        let takes = words(round(wanted.scale));
        cut += &format!(" and not {}, where one round takes {takes} here", wanted.scale);
    } else {
        cut += &format!(" and not {}", wanted.rounds);
    }
    if rounds < least {
        cut += &format!("; its claims need {least} rounds to be judged");
    }
    Extent { scale, rounds, cut: Some(cut + ".") }
}

/// A time as a reader expects it: "24 s", "3 min", "1 h 20 min".
pub(crate) fn words(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..=1 => "a second".into(),
        2..=89 => format!("{seconds} s"),
        90..=5399 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// What the user was told to expect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// A round takes this long.
    Round(Duration),
    /// All rounds together take this long at most.
    Most(Duration),
}

impl Expected {
    /// What is said after the first of `rounds` rounds, if it took something else.
    pub(crate) fn correction(self, took: Duration, rounds: u64) -> Option<String> {
        let left = took * u32::try_from(rounds.saturating_sub(1)).unwrap_or(u32::MAX);
        let is_other = match self {
            Self::Round(expected) => {
                let ratio = took.as_secs_f64() / expected.as_secs_f64().max(1e-3);
                !(0.67..=1.5).contains(&ratio)
            }
            Self::Most(most) => took + left > most,
        };
        (is_other && !left.is_zero())
            .then(|| format!("The first round took {}: about {} more", words(took), words(left)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study was said to take 20 s, took a minute, and nothing more was said.
    #[test]
    fn a_first_round_that_takes_another_time_than_expected_is_told() {
        let after = |expected: Expected, seconds, rounds| {
            expected.correction(Duration::from_secs(seconds), rounds)
        };
        let told = Some("The first round took 12 s: about 84 s more".to_owned());
        let most = Expected::Most(Duration::from_secs(60));
        assert_eq!(
            [after(most, 7, 8), after(most, 12, 8), after(most, 61, 1)],
            [None, told.clone(), None]
        );
        let round = |seconds| Expected::Round(Duration::from_secs(seconds));
        assert_eq!([after(round(12), 12, 8), after(round(6), 12, 8)], [None, told]);
    }

    fn cell(warmup_s: f64, slice_s: f64, operations: u64) -> ArmExtent {
        ArmExtent::Cell { warmup_s, warmup: 0, slice_s, operations }
    }

    #[test]
    fn a_warm_up_that_is_counted_takes_as_long_as_its_operations_and_grows_with_them() {
        let counted = |warmup, operations| ArmExtent::Cell {
            warmup_s: 9.0,
            warmup,
            slice_s: 9.0,
            operations,
        };
        // 10 us each: 5 ms of warm-up, 20 ms timed, 30 ms beside them.
        let took = Took { all_s: 0.055, timed: Some((0.020, 2000)) };
        let then = predicted(took, counted(500, 2000), counted(10_000, 20_000));
        assert!((then - (0.030 + 0.100 + 0.200)).abs() < 1e-9, "{then}");
        let by_time = predicted(took, counted(500, 2000), cell(0.2, 0.1, 20_000));
        assert!((by_time - (0.030 + 0.200 + 0.200)).abs() < 1e-9, "{by_time}");
    }

    /// marhubi at quick, which its file said takes 3 minutes: a slice is 35 ms of which 8 ms are 2500 round trips.
    #[test]
    fn what_is_beside_a_slice_does_not_grow_with_it() {
        let took = Took { all_s: 0.045, timed: Some((0.008, 2500)) };
        let then = predicted(took, cell(0.01, 0.1, 2500), cell(0.05, 0.1, 20_000));
        assert!((then - (0.027 + 0.05 + 0.064)).abs() < 1e-9, "{then}");
        let by_time = predicted(took, cell(0.01, 0.1, 2500), cell(0.05, 2.0, 0));
        assert!((by_time - (0.027 + 0.05 + 2.0)).abs() < 1e-9, "{by_time}");
        let counted = predicted(took, cell(0.01, 0.1, 0), cell(0.01, 0.1, 1_000_000));
        assert!((counted - (0.027 + 0.01 + 3.2)).abs() < 1e-9, "{counted}");
    }

    #[test]
    fn bytes_count_and_what_does_not_depend_on_them_stays() {
        let took = Took { all_s: 0.1, timed: Some((0.06, 0)) };
        let then = predicted(took, ArmExtent::Amount(50e6), ArmExtent::Amount(2e9));
        assert!((then - (0.04 + 2.4)).abs() < 1e-9, "{then}");
        assert_eq!(predicted(took, ArmExtent::Same, ArmExtent::Same), 0.1);
        assert!(
            (predicted(took, ArmExtent::Seconds(0.05), ArmExtent::Seconds(1.0)) - 1.05).abs()
                < 1e-9
        );
    }

    #[test]
    fn a_budget_cuts_rounds_first_then_the_scale_and_says_what_it_cut() {
        let round = |scale| {
            Duration::from_secs(match scale {
                Scale::Smoke => 2,
                Scale::Quick => 20,
                Scale::Full => 600,
            })
        };
        let wanted = Extent { scale: Scale::Full, rounds: 12, cut: None };
        let fits = |seconds| {
            fit(&wanted, 8, (Duration::from_secs(seconds), Duration::from_secs(10)), &round)
        };
        assert_eq!(fits(7300), wanted);
        let extent = fits(5500);
        assert_eq!((extent.scale, extent.rounds), (Scale::Full, 9));
        assert_eq!(
            extent.cut.as_deref(),
            Some("Cut to fit the budget: 9 rounds at scale full and not 12.")
        );
        let extent = fits(3600);
        assert_eq!((extent.scale, extent.rounds), (Scale::Quick, 12));
        let cut = extent.cut.expect("told");
        assert!(cut.contains("scale quick and not full, where one round takes 10 min"), "{cut}");
        let extent = fits(20);
        assert_eq!((extent.scale, extent.rounds), (Scale::Smoke, 5));
        assert!(extent.cut.is_some_and(|cut| cut.contains("need 8 rounds to be judged")));
        assert_eq!(fits(0).rounds, 1);
    }

    #[test]
    fn times_are_told_in_the_unit_that_is_read() {
        let of = |seconds| words(Duration::from_secs_f64(seconds));
        assert_eq!(
            [of(0.2), of(23.4), of(100.0), of(5400.0)],
            ["a second", "24 s", "2 min", "1 h 30 min"]
        );
    }
}
