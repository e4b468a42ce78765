//! How many rounds a live comparison takes, and how long they take: arithmetic on the request and the result of a
//! pilot.

use ipcperf_core::Figure;
use ipcperf_core::result::ComparisonPlan;
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::run::Settings;
use ipcperf_kit::measure::rounds_within;
use ipcperf_stats::{rounds_to_find, smallest_effect};
use std::time::Duration;

/// Fewest rounds of the pilot: those that the control needs.
const PILOT: u64 = 8;

/// How long a slice is that nobody has said. What moves a round moves short and long ones alike: in 8 s there is time for 17,
/// 29, 46 and 62 rounds of a socket on one CPU with slices of 100, 50, 25 and 12 ms, and half of the interval was 6.3, 4.4,
/// 4.1 and 2.9 % (a virtual machine, medians of 5). Whatever fills buffers, waits, or starts a program for each slice
/// needs the longer one.
pub(crate) fn slice(cells: &[CellPlan], starts_programs: bool) -> Duration {
    let is_closed = |cell: &CellPlan| {
        let (facts, load) = (cell.key.pattern.facts(), &cell.key.load);
        facts.figure == Figure::Time && !facts.is_open && load.think_ns == 0 && load.stall_ns == 0
    };
    let is_brief = !starts_programs && cells.iter().all(is_closed);
    Duration::from_millis(if is_brief { 20 } else { 100 })
}

/// Rounds of the pilot, of slices that last so long: where they are short so many that they see what changes from one second
/// to the next, as the rounds of the plan will.
pub(super) fn pilot_rounds(slice: Duration) -> u64 {
    if slice < Duration::from_millis(50) { ROUNDS[0] } else { PILOT }
}

/// Rounds of a plan that nobody else has said: at least, and at most.
const ROUNDS: [u64; 2] = [20, 400];

/// What a plan that nobody else has said is to find, and how surely: the spread of a pilot is itself a guess.
const EFFECT: f64 = 0.05;
const POWER: f64 = 0.99;

/// How many rounds were asked for.
pub(super) enum RoundsAsked {
    Rounds(u64),
    Time(Duration),
    /// As many as find a difference of [`EFFECT`] or of twice the margin.
    Enough,
    /// The same, if they take no longer than this with all that comes before them.
    EnoughWithin(Duration),
}

/// What the pilot has found.
pub(super) struct Pilot {
    /// Of the log-ratio of single rounds.
    pub(super) spread: f64,
    /// How long one round takes.
    pub(super) each: Duration,
    /// How long everything takes that comes once, before and after the rounds.
    pub(super) around: Duration,
}

impl Pilot {
    /// Rounds that find what nobody else has said.
    fn enough(&self, margin: f64) -> u64 {
        let wanted = rounds_to_find(margin, EFFECT.max(2.0 * margin), self.spread, POWER);
        wanted.unwrap_or(ROUNDS[1]).clamp(ROUNDS[0], ROUNDS[1])
    }

    /// What is going to be done with these settings, whose rounds are those of the pilot.
    pub(super) fn plan(
        &self,
        asked: &RoundsAsked,
        margin: f64,
        settings: &Settings,
    ) -> ComparisonPlan {
        let rounds = match asked {
            RoundsAsked::Rounds(rounds) => *rounds,
            RoundsAsked::Time(time) => {
                rounds_within(*time, Duration::ZERO, self.each).clamp(PILOT, 10_000)
            }
            RoundsAsked::Enough => self.enough(margin),
            RoundsAsked::EnoughWithin(time) => {
                let pilot = self.around + self.each.mul_f64(settings.rounds as f64);
                let fitting = rounds_within(*time, self.around + pilot, self.each);
                self.enough(margin).min(fitting).max(PILOT)
            }
        };
        ComparisonPlan {
            pilot_rounds: settings.rounds,
            spread: Some(self.spread),
            rounds,
            sessions: Vec::new(),
            slice_ms: settings.slice.as_secs_f64() * 1e3,
            expected_s: (self.around + self.each.mul_f64(rounds as f64)).as_secs_f64(),
            duration_s: 0.0,
            smallest_effect: smallest_effect(margin, self.spread, rounds),
            seed: settings.seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_stats::Rng;

    fn settings() -> Settings {
        Settings {
            rounds: PILOT,
            slice: Duration::from_millis(100),
            warmup: Duration::from_millis(20),
            seed: 1,
            ..Settings::default()
        }
    }

    /// Seconds of a round of three slices, each of 120 ms and what starting and ending it takes; one in 20 is held up.
    fn round(rng: &mut Rng, load: f64) -> f64 {
        let mut slice = || {
            let stall = if rng.below(20) == 0 { rng.exponential(0.1) } else { 0.0 };
            0.12 + load * (0.008 * (0.8 * rng.normal()).exp() + stall)
        };
        slice() + slice() + slice()
    }

    fn rounds(rng: &mut Rng, count: u64, load: f64) -> f64 {
        (0..count).map(|_| round(rng, load)).sum()
    }

    #[test]
    fn the_time_that_is_printed_is_kept_within_a_quarter() {
        let (mut rng, trials) = (Rng::stream(1, "time"), 500);
        let once = 2.4;
        let (mut kept, mut without) = (0, 0);
        for _ in 0..trials {
            let each = Duration::from_secs_f64(rounds(&mut rng, PILOT, 1.0) / PILOT as f64);
            let spread = 0.02 + 0.1 * rng.unit();
            let pilot = Pilot { spread, each, around: Duration::from_secs_f64(once) };
            let plan = pilot.plan(&RoundsAsked::Enough, 0.01, &settings());
            // The machine is as busy as in the pilot, or half as busy again.
            let load = 1.0 + 0.5 * rng.unit();
            let taken = once + rounds(&mut rng, plan.rounds, load);
            let is_near = |planned: f64| (0.75..=1.25).contains(&(taken / planned));
            kept += u64::from(is_near(plan.expected_s));
            without += u64::from(is_near(0.12 * 3.0 * plan.rounds as f64));
        }
        assert!(kept >= 490, "{kept} of {trials}");
        // Slices alone are not the time: what comes once and what each start costs belongs to it.
        assert!(without < 400, "{without} of {trials}");
    }

    #[test]
    fn a_plan_has_the_rounds_that_were_asked_for_or_those_that_find_a_difference() {
        let pilot = |spread: f64| Pilot {
            spread,
            each: Duration::from_millis(400),
            around: Duration::from_secs(2),
        };
        let plan = |asked: &RoundsAsked, spread: f64| pilot(spread).plan(asked, 0.01, &settings());
        assert_eq!(plan(&RoundsAsked::Rounds(50), 0.05).rounds, 50);
        assert_eq!(plan(&RoundsAsked::Time(Duration::from_secs(20)), 0.05).rounds, 50);
        assert_eq!(plan(&RoundsAsked::Time(Duration::from_secs(1)), 0.05).rounds, PILOT);
        // 34 rounds find 5 % at a spread of 5 % in 99 of 100.
        let planned = plan(&RoundsAsked::Enough, 0.05);
        assert!((33..=37).contains(&planned.rounds), "{}", planned.rounds);
        assert!((planned.expected_s - (2.0 + 0.4 * planned.rounds as f64)).abs() < 1e-9);
        assert!(planned.smallest_effect.is_some_and(|effect| effect < 0.05));
        assert_eq!(plan(&RoundsAsked::Enough, 0.001).rounds, ROUNDS[0]);
        assert_eq!(plan(&RoundsAsked::Enough, 1.0).rounds, ROUNDS[1]);
        // Of 20 s the pilot and what comes once take 7.2.
        let within = |seconds, spread| {
            plan(&RoundsAsked::EnoughWithin(Duration::from_secs(seconds)), spread).rounds
        };
        assert_eq!(within(20, 1.0), 32);
        assert_eq!(within(20, 0.001), ROUNDS[0], "no more than it takes");
        assert_eq!(within(1, 1.0), PILOT, "and no fewer than the control needs");
    }
}
