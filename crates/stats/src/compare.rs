//! Is B faster than A? One ratio from rounds in which both were measured side by side.

use crate::distribution::signed_rank_limit;
use crate::estimate::{Interval, median, median_of_sorted, sorted};

/// How many times larger B is than A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio B/A; 1 means no difference.
    pub value: f64,
    /// The 95 % confidence interval of the ratio; `None` with fewer than 6 rounds.
    pub ci95: Option<Interval>,
}

/// The ratio B/A from rounds that measured both: `a[i]` and `b[i]` belong to round i.
///
/// The value is the Hodges–Lehmann estimate of the per-round ln(b/a): the median of all means of
/// two rounds (a round with itself included). The interval inverts Wilcoxon's signed-rank test. If
/// the order within each round was random, the test is exact for A = B whatever the distribution;
/// beyond 50 rounds its normal approximation is used. Time and memory grow with the square of the
/// number of rounds.
///
/// Exchanging `a` and `b` gives the reciprocals, exactly: of any two mirrored figures the smaller
/// is computed as 1 over the larger.
///
/// `None` if there are no rounds, the two slices differ in length, or a value is not a positive
/// finite number.
pub fn paired_ratio(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let averages = walsh_averages(a, b)?;
    let value = ratio_of(median_of_sorted(&averages));
    Some(Ratio { value, ci95: signed_rank_interval(a.len(), &averages, 0.95) })
}

/// The interval of [`paired_ratio`] at another confidence, 0 < `confidence` < 1: 0.90 to show that
/// there is no difference, 0.99 for a negative control.
///
/// `None` where `paired_ratio` gives none, or when there are too few rounds for this confidence.
pub fn paired_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    signed_rank_interval(a.len(), &walsh_averages(a, b)?, confidence)
}

/// The logarithm of a figure that has one.
pub(crate) fn log(figure: f64) -> Option<f64> {
    (figure > 0.0 && figure.is_finite()).then(|| figure.ln())
}

/// The log-ratio of each round. ln b − ln a changes its sign exactly when a and b change places; ln(b/a) does not.
pub(crate) fn log_ratios(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    if a.len() != b.len() {
        return None;
    }
    a.iter().zip(b).map(|(a, b)| Some(log(*b)? - log(*a)?)).collect()
}

/// Φ⁻¹(3/4)·√2: the median distance of two values of a standard normal distribution.
const SHAMOS: f64 = 0.953_872_6;

/// The spread of the log-ratio of two arms in a single round, of arms that are expected to be equally noisy: the median
/// distance between two rounds (Shamos 1976) of the log-ratios of every two arms, in units of the standard deviation of a
/// normal distribution. From three arms of 8 rounds a planned interval is within a factor of 1.5 of the one that follows
/// in 90 of 100 cases, from 1.4826 MAD of one log-ratio in 63, and that is too small by a sixth on average (normal noise;
/// `crates/stats/tests/it/plan.rs`).
///
/// `None` with fewer than two rounds or arms, arms of different length, or a figure that is not positive and finite.
pub fn paired_spread(arms: &[&[f64]]) -> Option<f64> {
    let mut distances = Vec::new();
    for (at, a) in arms.iter().enumerate() {
        for b in &arms[at + 1..] {
            let logs = log_ratios(a, b)?;
            for (at, one) in logs.iter().enumerate() {
                distances.extend(logs[at + 1..].iter().map(|other| (one - other).abs()));
            }
        }
    }
    Some(median(&distances)? / SHAMOS)
}

/// All (dᵢ + dⱼ)/2 with i ≤ j of the log-ratios d, ascending.
pub(crate) fn walsh_averages(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let differences = log_ratios(a, b)?;
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, first) in differences.iter().enumerate() {
        averages.extend(differences[i..].iter().map(|second| (first + second) / 2.0));
    }
    sorted(&averages)
}

fn signed_rank_interval(rounds: usize, averages: &[f64], confidence: f64) -> Option<Interval> {
    let limit = signed_rank_limit(rounds, 1.0 - confidence)?;
    let (low, high) = (averages[limit], averages[averages.len() - 1 - limit]);
    Some(Interval { low: ratio_of(low), high: ratio_of(high) })
}

/// e^x, such that the results for x and −x are one number and 1 over that number.
pub(crate) fn ratio_of(log: f64) -> f64 {
    if log < 0.0 { 1.0 / (-log).exp() } else { log.exp() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_constant_factor_is_found_without_uncertainty() {
        let a = [10.0, 12.0, 9.0, 30.0, 11.0, 10.5];
        let b = a.map(|v| v * 1.25);
        let ratio = paired_ratio(&a, &b).unwrap();
        let ci = ratio.ci95.unwrap();
        for figure in [ratio.value, ci.low, ci.high] {
            assert!((figure - 1.25).abs() < 1e-12, "{figure}");
        }
    }

    #[test]
    fn hodges_lehmann_of_a_worked_example() {
        // Log-ratios 0, 1, 5: Walsh averages 0, 0.5, 1, 2.5, 3, 5, median 1.75.
        let b = [0.0_f64, 1.0, 5.0].map(f64::exp);
        let ratio = paired_ratio(&[1.0; 3], &b).unwrap();
        assert!((ratio.value.ln() - 1.75).abs() < 1e-12);
        assert_eq!(ratio.ci95, None);
    }

    #[test]
    fn the_interval_of_six_rounds_is_their_range() {
        let b = [1.1, 0.9, 1.0, 1.3, 0.8, 1.2];
        let ci = paired_ratio(&[1.0; 6], &b).unwrap().ci95.unwrap();
        assert!((ci.low - 0.8).abs() < 1e-12 && (ci.high - 1.3).abs() < 1e-12);
        assert_eq!(paired_interval(&[1.0; 6], &b, 0.99), None, "six rounds cannot give 99 %");
        assert_eq!(paired_ratio(&[1.0; 5], &b[..5]).unwrap().ci95, None);
    }

    #[test]
    fn higher_confidence_gives_a_wider_interval() {
        let b: Vec<f64> = (0..20).map(|i| 1.0 + 0.013 * f64::from(i * 7 % 20)).collect();
        let ci = [0.90, 0.95, 0.99].map(|c| paired_interval(&[1.0; 20], &b, c).unwrap());
        assert!(ci.windows(2).all(|w| w[1].low < w[0].low && w[0].high < w[1].high), "{ci:?}");
        assert_eq!(Some(ci[1]), paired_ratio(&[1.0; 20], &b).unwrap().ci95);
    }

    #[test]
    fn input_that_has_no_ratio_gives_none() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(paired_ratio(&[1.0, bad], &[1.0, 1.0]), None);
            assert_eq!(paired_ratio(&[1.0, 1.0], &[1.0, bad]), None);
        }
        assert_eq!(paired_ratio(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(paired_ratio(&[], &[]), None);
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(paired_interval(&[1.0; 9], &[2.0; 9], confidence), None);
        }
    }

    #[test]
    fn the_spread_is_the_median_distance_of_rounds_over_all_pairs_of_arms() {
        // Log-ratios 0, 1, 5 of one pair: distances 1, 5, 4.
        let b = [0.0_f64, 1.0, 5.0].map(f64::exp);
        let two = paired_spread(&[&[1.0; 3], &b]).unwrap();
        assert!((two - 4.0 / SHAMOS).abs() < 1e-12, "{two}");
        // A third arm that is like the first brings distances 0 and those of the second again.
        let three = paired_spread(&[&[1.0; 3], &b, &[1.0; 3]]).unwrap();
        assert!((three - 1.0 / SHAMOS).abs() < 1e-12, "{three}");
        for bad in [&[&[1.0; 3][..]][..], &[&[1.0], &[2.0]], &[&[1.0, 0.0], &[1.0, 1.0]]] {
            assert_eq!(paired_spread(bad), None, "{bad:?}");
        }
    }

    fn mirrored(x: f64, y: f64) -> bool {
        x == 1.0 / y || y == 1.0 / x
    }

    proptest! {
        // A failing input is printed; it becomes a test of its own rather than a file.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn exchanging_the_arms_gives_exact_reciprocals(
            pairs in prop::collection::vec((1e-3..1e9_f64, 1e-3..1e9_f64), 1..60)
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let (there, back) = (paired_ratio(&a, &b).unwrap(), paired_ratio(&b, &a).unwrap());
            prop_assert!(mirrored(there.value, back.value));
            prop_assert_eq!(there.ci95.is_some(), a.len() >= 6);
            if let (Some(there), Some(back)) = (there.ci95, back.ci95) {
                prop_assert!(mirrored(there.low, back.high) && mirrored(there.high, back.low));
            }
        }

        #[test]
        fn the_interval_holds_the_estimate(
            pairs in prop::collection::vec((1.0..2.0_f64, 1.0..2.0_f64), 6..60)
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let ratio = paired_ratio(&a, &b).unwrap();
            prop_assert!(ratio.ci95.unwrap().contains(ratio.value));
        }
    }
}
