//! One of two equal arms delayed: how often is it found, and is what is said of it true?

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::binomial::fewest;
use super::live::{Found, Trials};
use super::options::Options;

/// What the example `delayed` is called as a cell, with a delay in ns.
pub(super) fn cell(ns: u64) -> String {
    format!("delayed 64 same-cpu ns={ns}")
}

/// The undelayed round trip and what a delay really is, found before the comparisons.
pub(super) struct Arm {
    /// Median round trip, ns.
    pub(super) round_trip: f64,
    /// How long the lead stays in the delay, ns; reading the clock is part of it in both arms.
    pub(super) delay: f64,
}

impl Arm {
    /// Measures the cell with this delay.
    pub(super) fn measure(binary: &Path, ns: u64, seed: u64) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["run", "-m", "delayed", "-s", "64", "--place", "same-cpu"]);
        command.args(["--set", &format!("delayed.ns={ns}"), "--rounds", "12"]);
        command.args(["--seed", &seed.to_string(), "-q", "--no-progress", "-o", "-"]);
        let output = command.output().with_context(|| binary.display().to_string())?;
        let document: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
        Self::read(&document["cells"][0])
    }

    fn read(cell: &Value) -> Result<Self> {
        let number = |value: &Value| value.as_f64().filter(|value| *value > 0.0);
        let [round_trip, spent, delays] = [
            &cell["rtt_ns"]["p50"]["value"],
            &cell["events"]["ns delayed"],
            &cell["events"]["delays"],
        ]
        .map(number);
        let told = round_trip.zip(spent.zip(delays));
        let (round_trip, (spent, delays)) =
            told.with_context(|| format!("the delayed cell has no figures: {}", cell["reason"]))?;
        Ok(Self { round_trip, delay: spent / delays })
    }
}

pub(super) fn run(_name: &str, count: u64, options: &Options) -> Result<bool> {
    ensure!(options.percent > 0.0, "--percent: B must be the slower one");
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::cargo::build_example("delayed")?,
    };
    let plain = Arm::measure(&binary, 0, options.seed)?;
    let ns = (plain.round_trip * options.percent / 100.0).round() as u64;
    let delayed = Arm::measure(&binary, ns, options.seed)?;
    let added = delayed.delay - plain.delay;
    ensure!(added > 0.0, "{ns} ns of delay add {added:.1} ns: --percent is too small");
    let (a, b) = (cell(0), cell(ns));
    let trials = Trials::carry_out(&binary, [&a, &b], options, count)?;
    let (text, is_kept) = told(&trials, added);
    println!(
        "power: '{b}' beside '{a}', a UNIX stream socket of {:.0} ns; the delay adds {added:.0} ns, {:.2} %\n{text}",
        plain.round_trip,
        100.0 * added / plain.round_trip,
    );
    Ok(is_kept)
}

/// What was found of a delay that adds so much, and whether it is what is asked for.
fn told(trials: &Trials, added: f64) -> (String, bool) {
    let n = trials.len();
    let truth = |one: &Found| 1.0 + added / one.a_ns;
    // Only what the plan said that it would find counts as missed.
    let promised = trials.count(|one| one.smallest_effect <= truth(one) - 1.0);
    let found =
        trials.count(|one| one.smallest_effect <= truth(one) - 1.0 && one.verdict == "SLOWER");
    let (wrong, holding) = (trials.verdicts("FASTER"), trials.count(|one| one.holds(truth(one))));
    let (fewest_found, fewest_holding) = (fewest(promised, 0.95), fewest(n, 0.9));
    let (plans, are_plans_kept) = trials.plans();
    let text = format!(
        "- SLOWER: {} of {n}; {found} of the {promised} whose plan was to find it (95 of 100 are asked for; fewer than \
         {fewest_found} are not chance)\n\
         - FASTER, which is wrong: {wrong}\n\
         - 95 % intervals that hold the true ratio: {holding} of {n} (90 of 100 are asked for; fewer than \
         {fewest_holding} are not chance)\n\
         - ratio: {:.4}, true {:.4} (medians); NO DIFFERENCE: {}; CAN'T TELL: {}\n\
         {plans}",
        trials.verdicts("SLOWER"),
        trials.median(|one| one.ratio),
        trials.median(truth),
        trials.verdicts("NO DIFFERENCE"),
        trials.doubts(),
    );
    let is_kept = found >= fewest_found && wrong == 0 && holding >= fewest_holding;
    (text, is_kept && are_plans_kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_trial_is_broken_by_what_is_missed_by_a_wrong_direction_and_by_a_ratio_that_is_not_true() {
        // 500 ns on 10,000 are 5 %. Of 100: at least 89 of 95 %, and 82 of 90 %.
        let is_kept = |missed: usize, wrong: usize, off: usize| {
            let rest = 100 - missed - wrong - off;
            told(
                &Trials::of(&[
                    (missed, Found::sample("CAN'T TELL", 1.04)),
                    (wrong, Found { interval: [0.9, 1.1], ..Found::sample("FASTER", 0.95) }),
                    (off, Found::sample("SLOWER", 1.10)),
                    (rest, Found::sample("SLOWER", 1.05)),
                ]),
                500.0,
            )
            .1
        };
        assert!(is_kept(0, 0, 0) && is_kept(11, 0, 0) && is_kept(0, 0, 17));
        assert!(!is_kept(12, 0, 0), "missed");
        assert!(!is_kept(0, 1, 0), "a wrong direction");
        assert!(!is_kept(0, 0, 19), "intervals beside the true ratio");
    }

    #[test]
    fn what_no_plan_has_promised_is_not_missed() {
        let noisy = Found { smallest_effect: 0.08, ..Found::sample("CAN'T TELL", 1.05) };
        let (text, is_kept) = told(&Trials::of(&[(50, noisy)]), 500.0);
        assert!(is_kept && text.contains("0 of the 0 whose plan"), "{text}");
    }

    #[test]
    fn a_delay_is_what_the_lead_has_spent_in_it_and_no_figure_is_no_delay() {
        let cell = json!({"rtt_ns": {"p50": {"value": 5000.0}}, "events": {"delays": 10, "ns delayed": 2620}});
        let arm = Arm::read(&cell).unwrap();
        assert_eq!((arm.round_trip, arm.delay), (5000.0, 262.0));
        assert!(Arm::read(&json!({"reason": "hung"})).is_err());
    }
}
