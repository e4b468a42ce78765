//! Slices that are counted rather than timed (`--samples`, `--warmup-ops`, `--batch`), and the patterns that can be
//! measured so.

use crate::error::Stop;
use ipcperf_core::{Ends, Load, LoadKey, PatternKind, Seat};
use ipcperf_engine::run::{Counts, Settings};

/// Most operations of a slice, and of a warm-up: at 10 us each they take 17 minutes, and a deadline is known for them.
pub const MOST_OPERATIONS: u64 = 100_000_000;

/// Most operations of a sample.
const MOST_IN_A_BATCH: u64 = 1_000_000;

/// A count as it is typed: 20000, 20k, 1M.
///
/// # Errors
/// It is none.
pub fn amount(text: &str) -> Result<u64, String> {
    let units = [("k", 1_000), ("K", 1_000), ("M", 1_000_000)];
    let unit =
        units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (digits, factor) = unit.unwrap_or((text, 1));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| format!("'{text}' is not a count (like 20000, 20k or 1M)"))
}

/// A count within a range; 0 where there is none.
pub fn count(name: &str, given: Option<u64>, most: u64) -> Result<u64, Stop> {
    match given {
        Some(count) if !(1..=most).contains(&count) => {
            Err(Stop::usage(format!("{name}: {count} is not between 1 and {most}")))
        }
        given => Ok(given.unwrap_or(0)),
    }
}

/// What is counted rather than timed.
pub fn counts(
    samples: Option<u64>,
    warmup: Option<u64>,
    batch: Option<u64>,
) -> Result<Counts, Stop> {
    let samples = count("--samples", samples, MOST_OPERATIONS)?;
    let warmup = count("--warmup-ops", warmup, MOST_OPERATIONS)?;
    let batch = count("--batch", batch, MOST_IN_A_BATCH)?;
    let all = samples.saturating_mul(batch.max(1));
    if all > MOST_OPERATIONS {
        return Err(Stop::usage(format!(
            "--samples {samples} of --batch {batch} are {all} round trips, and {MOST_OPERATIONS} are the most of a slice"
        )));
    }
    Ok(Counts { samples, warmup, batch })
}

/// With every operation timed by itself, unless more of them were asked for.
pub fn each_alone(counts: Counts) -> Counts {
    Counts { batch: counts.batch.max(1), ..counts }
}

/// Refuses what patterns cannot be asked for that are to be measured so.
pub fn fits<'a>(
    settings: &Settings,
    cells: impl IntoIterator<Item = (PatternKind, &'a Load)>,
) -> Result<(), Stop> {
    let Counts { samples, warmup, batch } = settings.counts;
    for (pattern, load) in cells {
        let facts = pattern.facts();
        let is_pair = facts.ends == Ends::Pair;
        let why = if samples > 0 && matches!(facts.ends, Ends::Many(_)) {
            format!(
                "--samples: {pattern} goes by time, since its peers share what is moved; use --slice"
            )
        } else if load.fresh > 0 && pattern.takes(LoadKey::Fresh) && samples + warmup > 0 {
            let flag = if samples > 0 { "--samples" } else { "--warmup-ops" };
            format!(
                "{flag}: a stream of --fresh has as many messages as its bytes take, and no warm-up; leave out one of them"
            )
        } else if warmup > 0 && !is_pair {
            format!("--warmup-ops: {pattern} is warmed up by time; use --warmup")
        } else if settings.keeps_samples && (!is_pair || facts.timed_by != Seat::Lead) {
            format!(
                "--raw: no operation of {pattern} is timed by itself; those of {} are",
                kept_patterns()
            )
        } else if batch > 1 && !facts.is_batched {
            format!("--batch: {pattern} has no round trips that are timed together; ping-pong has")
        } else if batch > 1 && (load.think_ns > 0 || load.stall_ns > 0) {
            let flag = if load.think_ns > 0 { "--think" } else { "--stall" };
            format!(
                "--batch: what {flag} does is seen in single round trips only; leave out one of them"
            )
        } else {
            continue;
        };
        return Err(Stop::usage(why));
    }
    Ok(())
}

/// The patterns whose operations are timed one by one at one end.
fn kept_patterns() -> String {
    let is_kept = |pattern: &&PatternKind| {
        let facts = pattern.facts();
        facts.ends == Ends::Pair && facts.timed_by == Seat::Lead
    };
    let names: Vec<String> =
        PatternKind::ALL.iter().filter(is_kept).map(ToString::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn a_count_may_have_a_unit_of_thousands_or_millions() {
        for (text, count) in
            [("20000", 20_000), ("20k", 20_000), ("20K", 20_000), ("1M", 1_000_000)]
        {
            assert_eq!(amount(text), Ok(count), "{text}");
        }
        for text in ["", "k", "1.5M", "-1", "1G", "99999999999999999999", "18446744073709551615M"] {
            let error = amount(text).expect_err(text);
            assert_eq!(error, format!("'{text}' is not a count (like 20000, 20k or 1M)"));
        }
    }
}
