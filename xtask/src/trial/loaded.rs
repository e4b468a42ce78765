//! Short comparisons on a busy machine: how often is something claimed that is false?

use anyhow::Result;
use ipcperf_stats::MARGIN;

use super::binomial::most;
use super::live::{Found, Trials};
use super::load::{KINDS, Kind, Load};
use super::options::Options;
use super::power::{Arm, cell};

/// False claims that are allowed: 2 of 300.
const CLAIMS: f64 = 2.0 / 300.0;

/// Rounds of each comparison take this long, s, if nothing else is asked for.
const SECONDS: u64 = 3;

/// Comparisons with one load, of a cell with itself or with one that takes longer.
struct Part {
    kind: Kind,
    /// How much longer B takes, ns; 0 of a cell and itself.
    added: f64,
    trials: Trials,
}

pub(super) fn run(_name: &str, count: u64, options: &Options) -> Result<bool> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::cargo::build_example("delayed")?,
    };
    // The planted delay is measured without load: it does not depend on the load.
    let plain = Arm::measure(&binary, 0, options.seed)?;
    let ns = (plain.round_trip * options.percent / 100.0).round().max(1.0) as u64;
    let added = Arm::measure(&binary, ns, options.seed)?.delay - plain.delay;
    let mut kinds = Vec::new();
    for kind in KINDS {
        match Load::begin(kind) {
            Ok(_) => kinds.push(kind),
            Err(error) => println!("{kind:?}: left out, {error:#}"),
        }
    }
    let (each, mut parts) = (count.div_ceil(2 * kinds.len() as u64), Vec::new());
    for (at, kind) in kinds.into_iter().enumerate() {
        let load = Load::begin(kind)?;
        for (ns, added) in [(0, 0.0), (ns, added)] {
            let options = Options {
                minutes: options.minutes,
                seconds: options.seconds.or(Some(SECONDS)),
                seed: options.seed + 10_000 * (2 * at as u64 + u64::from(ns > 0)),
                percent: options.percent,
                name: None,
                count: None,
                binary: None,
            };
            let trials = Trials::carry_out(&binary, [&cell(0), &cell(ns)], &options, each)?;
            parts.push(Part { kind, added, trials });
        }
        drop(load);
    }
    let (text, is_kept) = outcome(&parts);
    println!(
        "loaded: a UNIX stream socket of {:.0} ns, B delayed by 0 or {added:.0} ns\n{text}",
        plain.round_trip
    );
    Ok(is_kept)
}

/// What the interval of a comparison would claim, whatever its grade is: 1 for SLOWER, −1 for FASTER.
fn claimed(one: &Found) -> i8 {
    let is_sound = !one.reason.starts_with("the control failed");
    match one.interval {
        [low, _] if is_sound && low > 1.0 + MARGIN => 1,
        [_, high] if is_sound && high < 1.0 / (1.0 + MARGIN) => -1,
        _ => 0,
    }
}

/// The outcome in words, and whether it is as required.
fn outcome(parts: &[Part]) -> (String, bool) {
    let (mut text, mut all, mut said, mut held) = (String::new(), 0, 0, 0);
    for Part { kind, added, trials } in parts {
        let truth = i8::from(*added > 0.0);
        let is_false = |claim: i8| claim != 0 && claim != truth;
        let verdict = |one: &Found| match one.verdict.as_str() {
            "SLOWER" => 1,
            "FASTER" => -1,
            _ => 0,
        };
        let says_equal = |one: &Found| truth != 0 && one.verdict == "NO DIFFERENCE";
        let wrong = trials.count(|one| is_false(verdict(one)) || says_equal(one));
        let wrong_by_interval = trials.count(|one| is_false(claimed(one)));
        text.push_str(&format!(
            "- {kind:?}, B {}: {} comparisons, {wrong} false verdicts, {wrong_by_interval} false by the interval at any grade; \
             SLOWER or FASTER {} (by the interval {}), CAN'T TELL {}; half of the interval {:.1} % (median)\n",
            if truth == 0 { "equal" } else { "delayed" },
            trials.len(),
            trials.count(Found::is_claim),
            trials.count(|one| claimed(one) != 0),
            trials.doubts(),
            100.0 * trials.median(Found::half_width),
        ));
        all += trials.len();
        said += wrong;
        held += wrong_by_interval;
    }
    let limit = most(all, CLAIMS);
    text.push_str(&format!(
        "- false: {said} verdicts and {held} intervals of {all} (2 of 300 are allowed; more than {limit} of {all} are \
         not chance)\n"
    ));
    (text, said <= limit && held <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(added: f64, kinds: &[(usize, Found)]) -> Part {
        Part { kind: Kind::Busy, added, trials: Trials::of(kinds) }
    }

    #[test]
    fn a_claim_is_false_where_nothing_differs_and_in_the_wrong_direction_whatever_the_grade_is() {
        // Of 300: at most 6 of 2 in 300 are chance.
        let noisy = |ratio: f64| Found {
            reason: "this run has the noise grade F".to_owned(),
            ..Found::sample("CAN'T TELL", ratio)
        };
        let is_kept = |equal: &[(usize, Found)], delayed: &[(usize, Found)]| {
            outcome(&[part(0.0, equal), part(500.0, delayed)]).1
        };
        let (same, slower) = (Found::sample("NO DIFFERENCE", 1.0), Found::sample("SLOWER", 1.05));
        assert!(is_kept(&[(150, same.clone())], &[(150, slower.clone())]));
        assert!(is_kept(&[(145, same.clone()), (5, slower.clone())], &[(150, slower.clone())]));
        assert!(!is_kept(&[(140, same.clone()), (10, slower.clone())], &[(150, slower.clone())]));
        assert!(!is_kept(&[(140, same.clone()), (10, noisy(1.05))], &[(150, slower.clone())]));
        assert!(!is_kept(&[(150, same.clone())], &[(140, slower.clone()), (10, noisy(0.9))]));
        assert!(!is_kept(&[(150, same.clone())], &[(140, slower), (10, same)]));
    }

    #[test]
    fn a_failed_control_claims_nothing() {
        let failed =
            Found { reason: "the control failed".to_owned(), ..Found::sample("CAN'T TELL", 1.3) };
        assert_eq!(claimed(&failed), 0);
        assert_eq!(claimed(&Found::sample("CAN'T TELL", 1.3)), 1);
    }
}
