//! Where nothing differs, the interval of `compare` holds 1 as often as it says, and hardly anything is claimed.

use crate::common::{arms, compared, percent, run, tell, trials};
use ipcperf_core::result::{Comparison, Difference};
use ipcperf_engine::simulate::{Level, Simulation};
use ipcperf_stats::Evidence;

/// Rounds of a comparison that nobody has asked for more of.
const ROUNDS: u64 = 20;

/// What disturbs slice after slice.
fn noises() -> Vec<(&'static str, Vec<Level>)> {
    vec![
        ("independent", vec![]),
        (
            "one in 20 with the tail of a Pareto distribution",
            vec![Level::Strays { share: 0.05, mean: 0.5 }],
        ),
        ("autoregressive, 0.9", vec![Level::Autoregressive { memory: 0.9, spread: 0.1 }]),
        ("two regimes 30 % apart", vec![Level::Regimes { factor: 1.3, stay: 10.0 }]),
        ("drift by 10 %", vec![Level::Drift { total: 0.1 }]),
        ("stolen time in two of seven", vec![Level::Steal { share: 2.0 / 7.0, most: 0.5 }]),
        ("3 % between processes", vec![Level::Process { spread: 0.03 }]),
    ]
}

/// What was found of nothing.
struct Outcome {
    /// The interval holds 1.
    held: usize,
    /// One arm is said to be faster.
    claims: usize,
}

/// All slices of A in the first half of the run, and all of B in the second, as if they had been run one after the other:
/// whether the interval holds 1.
fn in_turn(seed: usize, levels: &[Level]) -> bool {
    let mut one = run(seed, 2 * ROUNDS, arms(1.0)[..1].to_vec());
    one.levels = levels.to_vec();
    let set = one.document();
    let figures: Vec<f64> = set.cells[0].rounds.iter().filter_map(|round| round.p50_ns).collect();
    let (a, b) = figures.split_at(ROUNDS as usize);
    let evidence = Evidence::paired(a, b).expect("figures");
    evidence.interval(0.95).expect("20 rounds").contains(1.0)
}

fn simulate(levels: &[Level], count: usize) -> Outcome {
    let mut outcome = Outcome { held: 0, claims: 0 };
    for seed in 0..count {
        let simulation = Simulation { levels: levels.to_vec(), ..run(seed, ROUNDS, arms(1.0)) };
        let Comparison { comparisons, .. } = compared(&simulation.document(), 0.01);
        let [low, high] = comparisons[0].primary.ratio.ci95.expect("20 rounds");
        outcome.held += usize::from(low <= 1.0 && 1.0 <= high);
        let verdict = comparisons[0].primary.verdict;
        outcome.claims += usize::from(matches!(verdict, Difference::Faster | Difference::Slower));
    }
    outcome
}

#[test]
fn intervals_of_equal_arms_hold_1_under_seven_kinds_of_noise() {
    let count = trials(16);
    // Three standard errors of a share of 5 %, beside the 1.5 % that the claim allows.
    let error = 300.0 * (0.05 * 0.95 / count as f64).sqrt();
    for (name, levels) in noises() {
        let Outcome { held, claims } = simulate(&levels, count);
        let [held, claims] = [held, claims].map(|one| percent(one, count));
        tell(&format!("{name}: {held:.1} % hold 1, {claims:.1} % claims"));
        assert!(held >= 93.5 - error && held <= 96.5 + error, "{name}: {held} %");
        assert!(claims <= 2.5 + error / 2.0, "{name}: {claims} %");
    }
}

#[test]
fn one_arm_after_the_other_the_same_noise_makes_differences() {
    let count = trials(16);
    for (name, levels) in
        noises().into_iter().filter(|(name, _)| name.contains("30 %") || name.contains("10 %"))
    {
        let held = percent((0..count).filter(|seed| in_turn(*seed, &levels)).count(), count);
        tell(&format!("{name}, one arm after the other: {held:.1} % hold 1"));
        assert!(held < 80.0, "{name}: the noise is not hard enough, {held} %");
    }
}
