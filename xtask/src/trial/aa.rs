//! A cell beside itself, again and again: how often is a difference claimed where there is none?

use anyhow::Result;

use super::binomial::{band, most};
use super::live::Trials;
use super::options::Options;

/// The cell: the cheapest kernel mechanism, on one CPU, where no idling is in the figure.
const CELL: &str = "pipe 64 same-cpu";

/// Claims that are asked for at most.
const CLAIMS: f64 = 0.02;

pub(super) fn run(_name: &str, count: u64, options: &Options) -> Result<bool> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::cargo::build_product()?,
    };
    let trials = Trials::carry_out(&binary, [CELL, CELL], options, count)?;
    let (text, is_kept) = told(&trials);
    println!("aa: '{CELL}' beside itself\n{text}");
    Ok(is_kept)
}

/// What was found, and whether it is what is asked for.
fn told(trials: &Trials) -> (String, bool) {
    let n = trials.len();
    let (claims, excluding) =
        (trials.count(|one| one.is_claim()), trials.count(|one| !one.holds(1.0)));
    let (limit, [fewest, highest]) = (most(n, CLAIMS), band(n, 0.05));
    let (plans, are_plans_kept) = trials.plans();
    let text = format!(
        "- SLOWER or FASTER: {claims} of {n} (2 of 100 are asked for at most; more than {limit} of {n} are not chance)\n\
         - 95 % intervals that exclude 1: {excluding} of {n} (chance allows {fewest} to {highest})\n\
         - NO DIFFERENCE: {}; CAN'T TELL: {}\n\
         {plans}",
        trials.verdicts("NO DIFFERENCE"),
        trials.doubts(),
    );
    let is_kept = claims <= limit && (fewest..=highest).contains(&excluding);
    (text, is_kept && are_plans_kept)
}

#[cfg(test)]
mod tests {
    use super::super::live::Found;
    use super::*;

    #[test]
    fn a_trial_is_broken_by_more_claims_or_exclusions_than_chance_allows_and_by_too_few() {
        // Of 200: at most 9 claims of 2 %, and 3 to 19 intervals of 5 % that exclude 1.
        let is_kept = |claims: usize, leaning: usize| {
            let rest = 200 - claims - leaning;
            told(&Trials::of(&[
                (claims, Found::sample("SLOWER", 1.04)),
                (leaning, Found::sample("CAN'T TELL", 0.97)),
                (rest, Found::sample("NO DIFFERENCE", 1.0)),
            ]))
            .1
        };
        assert!(is_kept(0, 10) && is_kept(4, 6) && is_kept(9, 0));
        assert!(!is_kept(10, 0), "too many claims");
        assert!(!is_kept(2, 18), "too many that exclude 1");
        assert!(!is_kept(0, 2), "intervals that are too wide are no better");
    }
}
