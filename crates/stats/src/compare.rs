//! The log-ratios of two arms, and how they spread.

use crate::estimate::{median, sorted};

/// The logarithms of figures that all have one.
pub(crate) fn logs(figures: &[f64]) -> Option<Vec<f64>> {
    figures.iter().map(|one| (*one > 0.0 && one.is_finite()).then(|| one.ln())).collect()
}

/// The log-ratio of each round. ln b − ln a changes its sign exactly when a and b change places; ln(b/a) does not.
pub(crate) fn log_ratios(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let (a, b) = (logs(a)?, logs(b)?);
    (a.len() == b.len()).then(|| b.iter().zip(&a).map(|(b, a)| b - a).collect())
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
pub(crate) fn walsh_averages(ratios: &[f64]) -> Option<Vec<f64>> {
    let mut averages = Vec::with_capacity(ratios.len() * (ratios.len() + 1) / 2);
    for (i, first) in ratios.iter().enumerate() {
        averages.extend(ratios[i..].iter().map(|second| (first + second) / 2.0));
    }
    sorted(&averages)
}

/// e^x, such that the results for x and −x are one number and 1 over that number; the largest number there is where e^x is
/// beyond it, as of 1e10 over 1e-310.
pub(crate) fn ratio_of(log: f64) -> f64 {
    let ratio = log.abs().exp().min(f64::MAX);
    if log < 0.0 { 1.0 / ratio } else { ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
