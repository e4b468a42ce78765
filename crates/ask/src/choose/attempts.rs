//! More requests in flight and more connections, where one request in flight does not reach the rate that was asked for.

use crate::choose::screen::field::achieved;
use crate::choose::screen::pace::SHARE;
use crate::experiment::{Beforehand, Experiment, plan};
use crate::results::chapters::name;
use ipcperf_core::PatternKind;
use ipcperf_core::result::{Attempt, Cell, Goal, Origin, Requirements, ResultSet, Status};
use ipcperf_core::units::format_per_second;
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::registry::Entry;
use ipcperf_engine::run::{self, Settings};
use ipcperf_judge::ROUND_TRIP;
use ipcperf_kit::error::Stop;
use ipcperf_kit::measure;
use ipcperf_kit::progress::ProgressLine;
use std::time::{Duration, Instant};

/// Requests in flight on each connection, and connections where none were asked for, in the order in which they are tried.
const WAYS: [(u64, u64); 5] = [(2, 1), (4, 1), (16, 1), (16, 4), (16, 16)];

/// A rate that leaves a request this long is reached with one in flight, per second: the slowest round trips of the
/// mechanisms take some 100 us.
const EASY: f64 = 1000.0;

/// Shares of the budget that one attempt and all attempts may take. The rest is for the choice.
const ONE: f64 = 0.2;
const ALL: f64 = 0.5;

/// Rounds of an attempt: a mechanism must keep up in each of them.
const ROUNDS: u64 = 2;

/// Requests of a slice, and the shortest and longest slice of an attempt.
const REQUESTS: f64 = 400.0;
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(200);

/// Plans the cells of these mechanisms with a pattern under requirements.
pub(super) type Planned<'a> =
    dyn Fn(&[Entry], PatternKind, &Requirements) -> Result<Vec<CellPlan>, Stop> + 'a;

/// Whether more than one request in flight is tried: for times at a rate, where nothing else says when a request is sent.
pub(super) fn are_made(wanted: &Requirements) -> bool {
    let is_of_times = matches!(wanted.by, Goal::P50 | Goal::P99 | Goal::P999);
    let is_fast = wanted.rate_per_second.is_some_and(|rate| rate > EASY);
    is_fast && is_of_times && wanted.think_ns == 0 && wanted.consumers == 0
}

/// The requirements with as few requests in flight and connections as the rate takes, by short measurements, unchanged where
/// one request in flight is enough; and what the measurements have taken of the budget.
pub(super) fn made(
    candidates: &[Entry],
    wanted: &Requirements,
    (budget, seed, is_silent): (Duration, u64, bool),
    planned: &Planned<'_>,
) -> Result<(Requirements, Beforehand), Stop> {
    let began = Instant::now();
    let mut skipped = Duration::ZERO;
    let wanted = fewest(wanted, |way| {
        let Some(mut experiment) = planned_for(candidates, way, seed, planned)? else {
            return Ok(None);
        };
        let expected = experiment.expected();
        experiment.settings.budget = left(budget, began.elapsed(), expected);
        if experiment.settings.budget.is_none() {
            skipped += expected;
            return Ok(None);
        }
        measured(experiment, way, is_silent).map(Some)
    })?;
    Ok((wanted, Beforehand { spent: began.elapsed().min(budget), skipped }))
}

/// How long an attempt may take at most that is expected to take so long, after others; `None` where it does not fit.
fn left(budget: Duration, spent: Duration, expected: Duration) -> Option<Duration> {
    let left = budget.mul_f64(ALL).saturating_sub(spent);
    (expected <= budget.mul_f64(ONE).min(left)).then_some(left)
}

/// The first way in which a mechanism keeps up. Where none does, the one that came nearest. `measured` has nothing where no
/// mechanism can have the requests in flight, or where there is no time for it: such a way is skipped.
fn fewest(
    wanted: &Requirements,
    mut measured: impl FnMut(&Requirements) -> Result<Option<ResultSet>, Stop>,
) -> Result<Requirements, Stop> {
    let ways = WAYS.into_iter().map(|(inflight, conns)| Requirements {
        inflight,
        conns: if conns == 1 { wanted.conns } else { conns },
        ..wanted.clone()
    });
    // A number of connections that was asked for is kept.
    let ways = ways.filter(|way| wanted.conns == 0 || way.conns == wanted.conns);
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut best = (f64::NEG_INFINITY, wanted.clone());
    for (tried, way) in std::iter::once(wanted.clone()).chain(ways).enumerate() {
        let set = measured(&way)?;
        if set.as_ref().is_some_and(|set| set.interrupted) {
            return Err(Stop::interrupted("interrupted before the choice was measured"));
        }
        match set.map_or(Sufficiency::Unknown, |set| sufficiency(&set, &way)) {
            Sufficiency::KeepsUp => return Ok(Requirements { attempts, ..way }),
            // Nothing says that one request in flight is not enough.
            Sufficiency::Unknown if tried == 0 => break,
            Sufficiency::Unknown => {}
            Sufficiency::Behind(attempt) => {
                if attempt.achieved_per_second > best.0 {
                    best = (attempt.achieved_per_second, way);
                }
                attempts.push(attempt);
            }
        }
    }
    Ok(Requirements { attempts, ..best.1 })
}

/// What is tried, for a dry run.
pub(super) fn words(wanted: &Requirements) -> String {
    let conns = if wanted.conns == 0 { ", then 4 and 16 connections" } else { "" };
    let rate = wanted.rate_per_second.map_or_else(String::new, format_per_second);
    format!(
        "Where no mechanism keeps up with {rate}, 2, 4 and 16 requests in flight are tried first{conns}"
    )
}

/// A short measurement of the mechanisms that can have these requests in flight; `None` where none can.
fn planned_for(
    candidates: &[Entry],
    way: &Requirements,
    seed: u64,
    planned: &Planned<'_>,
) -> Result<Option<Experiment>, Stop> {
    let can = |entry: &&Entry| {
        // A server waits in its own way.
        let is_plain = !way.is_served() || entry.spec.variant.is_none();
        !entry.spec.is_floor() && is_plain && way.unmet(entry.spec).is_empty()
    };
    let eligible: Vec<Entry> = candidates.iter().filter(can).copied().collect();
    let pattern = if way.is_served() { PatternKind::Serve } else { PatternKind::PingPong };
    let mut cells = planned(&eligible, pattern, way)?;
    cells.retain(|cell| cell.objection.is_none());
    if cells.is_empty() {
        return Ok(None);
    }
    let rate = way.rate_per_second.unwrap_or(EASY);
    let slice = Duration::from_secs_f64(REQUESTS / rate).clamp(SHORTEST, LONGEST);
    let settings =
        Settings { rounds: ROUNDS, slice, warmup: slice / 5, seed, ..Settings::default() };
    Ok(Some(Experiment::new("choose", cells, settings)))
}

fn measured(
    experiment: Experiment,
    way: &Requirements,
    is_silent: bool,
) -> Result<ResultSet, Stop> {
    let (cells, settings) = (experiment.runnable(), &experiment.settings);
    let plan = ipcperf_core::result::Plan {
        requirements: Some(way.clone()),
        ..plan("choose", cells, settings, experiment.expected())
    };
    let interrupts = measure::interrupts()?;
    let line = ProgressLine::counting("slices", is_silent);
    let mut show = |progress: run::Progress<'_>| line.show(progress);
    let Experiment { cells, settings, .. } = experiment;
    measure::take(plan, settings.seed, Origin::default(), &jiff::Timestamp::now(), || {
        run::run(cells, &settings, Some(&interrupts), &mut show)
    })
}

/// Whether a short measurement of a way keeps up with the rate.
enum Sufficiency {
    /// A mechanism keeps up with the rate at all sizes.
    KeepsUp,
    /// None does. This one came nearest.
    Behind(Attempt),
    /// No mechanism has a figure.
    Unknown,
}

/// Requests per second that a cell shows a mechanism to answer: of a closed loop, which waits for nothing, random arrivals
/// can have [`SHARE`]. `None` without a figure.
fn answered(cell: &Cell) -> Option<f64> {
    match cell.key.pattern {
        PatternKind::PingPong => Some(SHARE * 1e9 / cell.rtt_ns.as_ref()?.get("mean")?.value?),
        _ => achieved(cell),
    }
}

/// Whether a cell shows that a mechanism keeps up with the rate.
fn keeps_up(cell: &Cell, rate: f64) -> bool {
    match cell.key.pattern {
        PatternKind::PingPong => answered(cell).is_some_and(|most| most >= rate),
        _ => ROUND_TRIP.of_cell(cell).is_some_and(|time| time.value.is_some()),
    }
}

/// What came nearest to the rate, where no mechanism keeps up with it at all sizes.
fn sufficiency(set: &ResultSet, way: &Requirements) -> Sufficiency {
    let ok = || set.cells.iter().filter(|cell| cell.status == Status::Ok);
    let of = |one: &Cell| -> Vec<&Cell> {
        let key = &one.key;
        ok().filter(|cell| cell.key.mechanism == key.mechanism).collect()
    };
    let rate = way.rate_per_second.unwrap_or_default();
    let mut best: Option<(f64, &Cell)> = None;
    for cell in ok() {
        let sizes = of(cell);
        if sizes.len() == way.sizes.len() && sizes.iter().all(|cell| keeps_up(cell, rate)) {
            return Sufficiency::KeepsUp;
        }
        let least = sizes.iter().filter_map(|cell| answered(cell)).fold(f64::INFINITY, f64::min);
        if least.is_finite() && best.is_none_or(|(most, _)| least > most) {
            best = Some((least, cell));
        }
    }
    best.map_or(Sufficiency::Unknown, |(achieved_per_second, cell)| {
        Sufficiency::Behind(Attempt {
            inflight: way.inflight.max(1),
            conns: way.conns.max(1),
            mechanism: name(cell),
            // A slice that begins with requests of the warm-up answers more than come in it.
            achieved_per_second: achieved_per_second.min(rate),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{self, Build, TWO, cell, set};
    use ipcperf_core::result::Metric;

    /// What a mechanism with round trips of 50 us answers in this way.
    fn measured(way: &Requirements, most: f64) -> ResultSet {
        let rate = way.rate_per_second.expect("a rate");
        let together = way.inflight.max(1) * way.conns.max(1);
        let answered = (together as f64 * 20_000.0).min(most);
        let closed = cell("unix-stream", 64, TWO).rtt(50_000.0, 90.0);
        if !way.is_served() {
            return set(vec![closed]);
        }
        let mut cell = closed.open_loop(rate);
        let pattern = PatternKind::Serve;
        (cell.key.pattern, cell.key.load) = (pattern, way.load(pattern));
        if answered < rate {
            let times = cell.rtt_ns.as_mut().expect("times");
            times.values_mut().for_each(|time| *time = Metric::missing("saturated"));
        }
        cell.achieved_per_second = Some(sample::metric(answered.min(rate), 1.0));
        set(vec![cell])
    }

    fn of(rate: f64, conns: u64, most: f64) -> (u64, u64, usize) {
        let sizes = vec![64];
        let wanted =
            Requirements { sizes, rate_per_second: Some(rate), conns, ..Requirements::default() };
        let found = fewest(&wanted, |way| Ok(Some(measured(way, most)))).expect("measured");
        (found.inflight, found.conns, found.attempts.len())
    }

    #[test]
    fn as_few_requests_are_in_flight_as_the_rate_takes() {
        let enough = 1e9;
        assert_eq!(of(15_000.0, 0, enough), (0, 0, 0));
        assert_eq!(of(30_000.0, 0, enough), (2, 0, 1));
        assert_eq!(of(60_000.0, 0, enough), (4, 0, 2));
        assert_eq!(of(300_000.0, 0, enough), (16, 0, 3));
        assert_eq!(of(1_000_000.0, 0, enough), (16, 4, 4));
        assert_eq!(of(3_000_000.0, 0, enough), (16, 16, 5));
        assert_eq!(of(30_000.0, 3, enough), (0, 3, 0), "the connections are enough");
        assert_eq!(of(100_000.0, 3, enough), (2, 3, 1));
    }

    #[test]
    fn where_no_way_is_enough_the_one_that_came_nearest_is_measured() {
        assert_eq!(of(9_000_000.0, 0, 1e9), (16, 16, 6));
        assert_eq!(of(9_000_000.0, 0, 70_000.0), (4, 0, 6), "more in flight add nothing");
        assert_eq!(of(9_000_000.0, 2, 1e9), (16, 2, 4));
    }

    #[test]
    fn a_choice_for_times_at_a_high_rate_makes_attempts() {
        let fast = Requirements { rate_per_second: Some(20_000.0), ..Requirements::default() };
        assert!(are_made(&fast));
        let slow = Requirements { rate_per_second: Some(500.0), ..fast.clone() };
        assert!(!are_made(&slow) && !are_made(&Requirements { think_ns: 1, ..fast.clone() }));
        assert!(!are_made(&Requirements { by: Goal::Cpu, ..fast.clone() }));
        let served = Requirements { inflight: 4, ..fast };
        let load = served.load(PatternKind::Serve);
        assert_eq!((served.timed(), load.inflight, load.conns), (vec![PatternKind::Serve], 4, 1));
    }

    #[test]
    fn an_attempt_of_a_closed_loop_that_is_not_enough_is_below_the_rate() {
        let wanted = Requirements {
            sizes: vec![64],
            rate_per_second: Some(20_000.0),
            ..Requirements::default()
        };
        // Some 22,000 one after the other, of which random arrivals can have 17,600.
        let closed = set(vec![cell("pipe", 64, TWO).rtt(1e9 / 23_000.0, 90.0)]);
        let mean = closed.cells[0].rtt_ns.as_ref().expect("times")["mean"].value.expect("a mean");
        assert!(1e9 / mean > 20_000.0);
        let Sufficiency::Behind(attempt) = sufficiency(&closed, &wanted) else {
            panic!("not enough")
        };
        assert!(attempt.achieved_per_second < 20_000.0, "{attempt:?}");
        let enough = set(vec![cell("pipe", 64, TWO).rtt(1e9 / 28_000.0, 90.0)]);
        assert!(matches!(sufficiency(&enough, &wanted), Sufficiency::KeepsUp));
        // A server whose slices are saturated, and in which requests of the warm-up were answered, too.
        let served = Requirements { inflight: 4, ..wanted };
        let mut set = measured(&served, 10_000.0);
        set.cells[0].achieved_per_second = Some(sample::metric(22_500.0, 1.0));
        let Sufficiency::Behind(attempt) = sufficiency(&set, &served) else { panic!("saturated") };
        assert!(attempt.achieved_per_second <= 20_000.0, "{attempt:?}");
    }

    #[test]
    fn what_has_no_figure_is_no_proof_that_a_mechanism_keeps_up() {
        let sizes = vec![64];
        let rate_per_second = Some(30_000.0);
        let wanted = Requirements { sizes, rate_per_second, ..Requirements::default() };
        let failed = |way: &Requirements| {
            let mut set = measured(way, 1e9);
            set.cells.iter_mut().for_each(|cell| cell.status = Status::Failed);
            set
        };
        let silent = |way: &Requirements| {
            let mut set = measured(way, 1e9);
            for cell in &mut set.cells {
                cell.achieved_per_second = None;
                let times = cell.rtt_ns.as_mut().expect("times");
                times.values_mut().for_each(|time| *time = Metric::missing("all rounds rejected"));
            }
            set
        };
        for without in [&failed as &dyn Fn(&Requirements) -> ResultSet, &silent] {
            // Of one request in flight nothing is known: no more are tried.
            let found = fewest(&wanted, |way| Ok(Some(without(way)))).expect("measured");
            assert_eq!((found.inflight, found.attempts.len()), (0, 0));
            // Two gave nothing, so that they are not taken, and four are enough.
            let found = fewest(&wanted, |way| {
                Ok(Some(if way.inflight == 2 { without(way) } else { measured(way, 1e9) }))
            });
            let found = found.expect("measured");
            assert_eq!((found.inflight, found.attempts.len()), (4, 1));
        }
        // Nor what was not measured for lack of time.
        let found = fewest(&wanted, |way| Ok((way.inflight != 2).then(|| measured(way, 1e9))));
        assert_eq!(found.expect("measured").inflight, 4);
    }

    #[test]
    fn attempts_have_a_share_of_the_budget_together() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(60), seconds(0), seconds(12)), Some(seconds(30)));
        assert_eq!(left(seconds(60), seconds(0), seconds(13)), None, "too much for one");
        assert_eq!(left(seconds(60), seconds(20), seconds(9)), Some(seconds(10)));
        assert_eq!(left(seconds(60), seconds(20), seconds(11)), None);
        assert_eq!(left(seconds(60), seconds(40), seconds(1)), None);
    }
}
