//! Do the 95 % intervals hold the truth 95 times in 100? Simulated, with fixed seeds.
//!
//! Each claim has its negative control: the method that tools commonly use, on the same data,
//! which must fail. It shows that the data are hard enough for the claim to mean something.

use ipcperf_stats::{Evidence, Histogram, Interval, Rng, across_rounds, median, median_estimate};

/// The share of `trials` in which the interval holds the truth, in %.
fn coverage(trials: u32, truth: f64, mut interval: impl FnMut() -> Interval) -> f64 {
    let held = (0..trials).filter(|_| interval().contains(truth)).count();
    100.0 * held as f64 / f64::from(trials)
}

fn paired_interval(a: &[f64], b: &[f64]) -> Interval {
    Evidence::paired(a, b).and_then(|one| one.interval(0.95)).expect("six rounds or more")
}

fn median_interval(values: &[f64]) -> Interval {
    median_estimate(values).and_then(|e| e.ci95).expect("six values or more")
}

#[test]
fn the_median_interval_covers_for_lognormal_rounds() {
    let mut rng = Rng::stream(1, "lognormal");
    for n in [6, 12, 20] {
        let held = coverage(4_000, 1.0, || {
            let values: Vec<f64> = (0..n).map(|_| (0.3 * rng.normal()).exp()).collect();
            median_interval(&values)
        });
        assert!(held >= 93.5, "{held} % of {n} rounds");
    }
}

#[test]
fn the_median_interval_covers_for_contaminated_rounds() {
    // One round in 20 is hit by a burst that lifts it far above the others, so the median of the
    // mixture is the quantile 0.5/0.95 of the clean lognormal part: z = 0.066012.
    let truth = (0.1 * 0.066_012_f64).exp();
    let mut rng = Rng::stream(2, "contaminated");
    for n in [6, 12, 20] {
        let held = coverage(4_000, truth, || {
            let mut draw = || match rng.below(20) {
                0 => 3.0 + rng.exponential(20.0),
                _ => (0.1 * rng.normal()).exp(),
            };
            let values: Vec<f64> = (0..n).map(|_| draw()).collect();
            median_interval(&values)
        });
        assert!(held >= 93.5, "{held} % of {n} rounds");
    }
}

#[test]
fn the_paired_ratio_covers_when_nothing_differs() {
    let mut rng = Rng::stream(3, "paired");
    for n in [12, 20] {
        let mut arm = || -> Vec<f64> { (0..n).map(|_| (0.2 * rng.normal()).exp()).collect() };
        let held = coverage(4_000, 1.0, || paired_interval(&arm(), &arm()));
        assert!((93.5..=97.5).contains(&held), "{held} % of {n} rounds");
    }
}

#[test]
fn the_paired_ratio_covers_a_true_difference_behind_common_drift() {
    let mut rng = Rng::stream(4, "drift");
    let held = coverage(2_000, 1.1, || {
        // Both arms of a round share its level, which moves by 50 % over the run.
        let level = |i: usize| 1.0 + 0.5 * i as f64 / 12.0;
        let mut arm = |factor: f64| -> Vec<f64> {
            (0..12).map(|i| factor * level(i) * (0.03 * rng.normal()).exp()).collect()
        };
        paired_interval(&arm(1.0), &arm(1.1))
    });
    assert!((93.5..=97.5).contains(&held), "{held} %");
}

/// 20 rounds of 400 operations with a 3 % effect of the process on all operations of a round; the
/// true median is 1.
fn rounds_with_a_process_effect(rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut round = || -> Vec<f64> {
        let process = 0.03 * rng.normal();
        (0..400).map(|_| (process + 0.05 * rng.normal()).exp()).collect()
    };
    (0..20).map(|_| round()).collect()
}

#[test]
fn rounds_as_the_unit_of_analysis_cover_despite_a_process_effect() {
    let mut rng = Rng::stream(5, "process");
    let held = coverage(400, 1.0, || {
        let rounds = rounds_with_a_process_effect(&mut rng);
        let medians: Vec<f64> = rounds.iter().filter_map(|round| median(round)).collect();
        median_interval(&medians)
    });
    assert!(held >= 93.0, "{held} %");
}

#[test]
fn pooled_operations_do_not_cover_and_so_prove_the_effect_matters() {
    let mut rng = Rng::stream(5, "process");
    let held =
        coverage(400, 1.0, || median_interval(&rounds_with_a_process_effect(&mut rng).concat()));
    assert!(held < 50.0, "{held} %");
}

/// Equally likely values of a calm operation, in ns: a uniform stretch and a long tail above it.
const CALM: u64 = 4_096;
/// Operations of a slice, of which a burst slows down 25.
const SLICE: u64 = 2_000;
const BURST: u64 = 25;

fn operation(rank: u64, slow: bool) -> u64 {
    let tail = (rank + 1).saturating_sub(CALM - CALM / 16) * 40;
    (5_000 + rank + tail) * if slow { 20 } else { 1 }
}

/// One slice; every second one is hit by a burst.
fn bursty_slice(rng: &mut Rng) -> Histogram {
    let slow = if rng.below(2) == 0 { BURST } else { 0 };
    let mut slice = Histogram::new();
    for i in 0..SLICE {
        slice.record(operation(rng.below(CALM), i < slow));
    }
    slice
}

/// The exact quantile of all operations of all slices there could be.
fn bursty_truth(q: f64) -> f64 {
    let mut all = Histogram::new();
    for rank in 0..CALM {
        all.record_n(operation(rank, false), 2 * SLICE - BURST);
        all.record_n(operation(rank, true), BURST);
    }
    all.quantile(q).expect("a quantile of a full histogram") as f64
}

/// Coverage for p50, p99 and p99.9 of 20 bursty slices, by `interval`.
fn bursty_coverage(interval: impl Fn(&[Histogram], f64) -> Interval) -> [f64; 3] {
    let mut rng = Rng::stream(6, "bursts");
    let mut held = [0.0; 3];
    for _ in 0..200 {
        let slices: Vec<Histogram> = (0..20).map(|_| bursty_slice(&mut rng)).collect();
        for (held, q) in held.iter_mut().zip([0.5, 0.99, 0.999]) {
            let covers = interval(&slices, q).contains(bursty_truth(q));
            *held += if covers { 0.5 } else { 0.0 };
        }
    }
    held
}

#[test]
fn the_exceedance_interval_covers_tails_that_come_in_bursts() {
    let held = bursty_coverage(|slices, q| {
        let slices: Vec<&Histogram> = slices.iter().collect();
        across_rounds(&slices, q).and_then(|e| e.ci95).expect("enough rounds and operations")
    });
    assert!(held.iter().all(|held| (92.0..=98.0).contains(held)), "{held:?} %");
}

#[test]
fn order_statistics_of_pooled_operations_do_not_cover_such_tails() {
    let held = bursty_coverage(|slices, q| {
        let mut pooled = Histogram::new();
        slices.iter().for_each(|slice| pooled.merge(slice));
        let margin = 1.96 * (q * (1.0 - q) / pooled.count() as f64).sqrt();
        let at = |q: f64| pooled.quantile(q).expect("a quantile of a full histogram") as f64;
        Interval { low: at(q - margin), high: at(q + margin) }
    });
    assert!(held[1] < 80.0 && held[2] < 80.0, "{held:?} %");
}
