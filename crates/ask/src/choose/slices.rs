//! How long the slices of a choice have to be for its rate, pauses and tails.

use crate::survey::SHORTEST;
use ipcperf_core::result::{Goal, Requirements};
use ipcperf_core::units::{format_duration, format_per_second};
use ipcperf_engine::run::Tail;
use ipcperf_kit::error::Stop;
use std::time::Duration;

/// Operations that a slice should have at the least: a median needs 40, a p99 2,000 in all rounds together, and a p99.9
/// 20,000 (docs/METHOD.md). A tail that decides needs them in each round ([`Tail::of_each_round`]).
const OF_MEDIAN: f64 = 40.0;
const OF_P99: f64 = 200.0;
const OF_P999: f64 = 2000.0;

/// The longest slice that slow rates and long pauses may ask for.
pub(super) const LONGEST: Duration = Duration::from_secs(2);

/// Refuses a tail at a pace at which the slices of a choice are too short for it.
pub(super) fn has_time_for_tails(wanted: &Requirements) -> Result<(), Stop> {
    let longest = LONGEST.as_secs_f64();
    let pace = load_words(wanted);
    let words = |operations: f64| {
        let most = format_duration((longest / operations * 1e9) as u64);
        let least = format_per_second(operations / longest);
        format!("a rate of at least {least}, or pauses of at most {most}")
    };
    if let Some(each) =
        decides(wanted).of_each_round().filter(|each| paced(wanted, *each) > longest)
    {
        let by = wanted.by;
        let easier = if by == Goal::P999 { "p99" } else { "p50" };
        return Err(Stop::usage(format!(
            "--by {by}:{pace} the operations of one round take {:.0} s for each mechanism: --by {easier}, {}",
            paced(wanted, each),
            words(each)
        )));
    }
    if wanted.p999_ns.is_some() && paced(wanted, OF_P999) > longest {
        return Err(Stop::usage(format!(
            "--p99.9:{pace} its 20,000 operations take {:.0} s for each mechanism: --p99, {}",
            paced(wanted, 20_000.0),
            words(OF_P999)
        )));
    }
    Ok(())
}

/// ` at 30.0 /s`: what makes slices long.
pub(super) fn load_words(wanted: &Requirements) -> String {
    match (wanted.rate_per_second, wanted.think_ns) {
        (Some(rate), _) => format!(" at {}", format_per_second(rate)),
        (None, 0) => String::new(),
        (None, pause) => format!(" after pauses of {}", format_duration(pause)),
    }
}

/// The tail that has a limit.
pub(super) fn tail(wanted: &Requirements) -> Tail {
    match (wanted.p999_ns, wanted.p99_ns) {
        (Some(_), _) => Tail::P999,
        (None, Some(_)) => Tail::P99,
        (None, None) => Tail::None,
    }
}

/// The tail that decides.
pub(super) fn decides(wanted: &Requirements) -> Tail {
    match wanted.by {
        Goal::P99 => Tail::P99,
        Goal::P999 => Tail::P999,
        Goal::P50 | Goal::Cpu | Goal::Throughput => Tail::None,
    }
}

/// How long a slice has to be for what is asked of it.
pub(super) fn shortest(wanted: &Requirements) -> Duration {
    let limited = match tail(wanted) {
        Tail::P999 => OF_P999,
        Tail::P99 => OF_P99,
        Tail::None => OF_MEDIAN,
    };
    let operations = decides(wanted).of_each_round().map_or(limited, |each| each.max(limited));
    Duration::from_secs_f64(paced(wanted, operations).min(LONGEST.as_secs_f64())).max(SHORTEST)
}

/// Seconds that this number of operations takes at the required rate or pauses.
fn paced(wanted: &Requirements, operations: f64) -> f64 {
    let rate = wanted.rate_per_second.map_or(0.0, |rate| operations / rate);
    rate.max(operations * wanted.think_ns as f64 / 1e9)
}
