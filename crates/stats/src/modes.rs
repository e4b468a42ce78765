//! Do the rounds of one cell fall into two modes?
//!
//! On a machine whose idle CPUs sometimes poll and sometimes sleep, the same round trip takes 3 µs
//! in some rounds and 90 µs in others. One figure for both would describe neither.

use crate::compare::logs;
use crate::estimate::{median_of_sorted, robust_spread, sorted};

/// A mode holds at least this share of the rounds, so that stray rounds are not called a mode.
const SHARE: f64 = 0.15;
/// ... and at least this many rounds.
const ROUNDS: usize = 2;
/// The higher mode is at least this many times the lower one; less is noise or drift.
const RATIO: f64 = 1.5;
/// The gap between the modes is larger than this many robust spreads of either.
const SPREADS: f64 = 3.0;
/// Of `n` rounds, the gap is also larger than `SPREADS * (1 + CAUTION / n)` times the spread of all
/// rounds about the median of their own side. The largest gap of few rounds is wide by chance, and
/// the sides it leaves look tight: without this rule 10 % of samples of 6 from one lognormal
/// distribution are divided. With it, simulated samples of one mode are divided this often, in %:
///
/// | rounds             |   6 |   8 |  12 |  20 |
/// |--------------------|-----|-----|-----|-----|
/// | lognormal, σ = 0.3 | 1.7 | 1.1 | 0.3 | 0.0 |
/// | uniform, 1 to 2    | 2.7 | 1.9 | 0.5 | 0.2 |
/// | uniform, 1 to 10   | 5.5 | 3.1 | 0.7 | 0.1 |
///
/// Two lognormal modes a factor 30 apart are found in 100 % of samples of 6 to 30 at σ = 0.1 and
/// in 98 % at σ = 0.2; a factor 2 apart in 96 % at σ = 0.05, in 24 % at σ = 0.1.
const CAUTION: f64 = 20.0;
/// A mode whose rounds agree better than this is treated as spread by 2 %: the agreement of two
/// rounds proves nothing.
const LEAST_SPREAD: f64 = 0.02;

/// One of two modes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The median of its rounds, in the unit of the data.
    pub median: f64,
    /// The indices of its rounds, ascending.
    pub rounds: Vec<usize>,
}

/// The rounds of a cell, divided into two modes.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The rounds with the smaller values.
    pub low: Mode,
    /// The rounds with the larger values.
    pub high: Mode,
}

/// Divides per-round values into two modes, if they have two.
///
/// On a logarithmic scale, the sorted values are cut at their largest gap that leaves at least 2
/// rounds and 15 % of all on each side. The sides are modes if the medians differ by a factor of
/// 1.5 or more and the gap is larger than 3 robust spreads (1.4826·MAD, at least 2 %) of either side
/// and, the fewer the rounds the more, than the spread of both sides together.
///
/// `None` if there is one mode only, there are fewer than 4 values, or one is not a positive finite
/// number.
pub fn split(values: &[f64]) -> Option<Split> {
    let logs = sorted(&logs(values)?)?;
    let least = ROUNDS.max((SHARE * logs.len() as f64).ceil() as usize);
    let cut = (least..=logs.len().checked_sub(least)?)
        .max_by(|&i, &j| (logs[i] - logs[i - 1]).total_cmp(&(logs[j] - logs[j - 1])))?;
    let (low, high) = logs.split_at(cut);
    let gap = high[0] - low[low.len() - 1];
    let (low_median, high_median) = (median_of_sorted(low), median_of_sorted(high));
    let either =
        robust_spread(low, low_median)?.max(robust_spread(high, high_median)?).max(LEAST_SPREAD);
    let centred = low.iter().map(|v| v - low_median).chain(high.iter().map(|v| v - high_median));
    let both = robust_spread(&centred.collect::<Vec<_>>(), 0.0)?;
    let caution = 1.0 + CAUTION / logs.len() as f64;
    if high_median - low_median < RATIO.ln() || gap <= SPREADS * either.max(caution * both) {
        return None;
    }
    let threshold = high[0];
    let (high, low) = (0..values.len()).partition(|&i| values[i].ln() >= threshold);
    let mode = |median: f64, rounds| Mode { median: median.exp(), rounds };
    Some(Split { low: mode(low_median, low), high: mode(high_median, high) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// `n` values, `high` of them around 90, the others around 3, in random order.
    fn mix(rng: &mut Rng, n: usize, high: usize, sigma: f64) -> Vec<f64> {
        let level = |i| if i < high { 90.0 } else { 3.0 };
        let mut values: Vec<f64> =
            (0..n).map(|i| level(i) * (sigma * rng.normal()).exp()).collect();
        rng.shuffle(&mut values);
        values
    }

    /// How many of 1,000 samples of `n` values are split.
    fn splits_in_1000(n: usize, mut draw: impl FnMut() -> f64) -> usize {
        (0..1_000).filter(|_| split(&(0..n).map(|_| draw()).collect::<Vec<_>>()).is_some()).count()
    }

    #[test]
    fn every_mix_of_two_regimes_is_found_whatever_the_order() {
        let mut rng = Rng::from_seed(1);
        for n in 6..=30 {
            let least = ROUNDS.max((SHARE * n as f64).ceil() as usize);
            for high in least..=n - least {
                for sigma in [0.0, 0.05, 0.1] {
                    let values = mix(&mut rng, n, high, sigma);
                    let split = split(&values).unwrap_or_else(|| panic!("{values:?}"));
                    assert_eq!(split.high.rounds.len(), high);
                    assert!(split.high.rounds.iter().all(|&i| values[i] > 30.0));
                    assert!(split.low.rounds.iter().all(|&i| values[i] < 30.0));
                    assert!(split.low.median < 6.0 && split.high.median > 45.0);
                    assert!(split.low.rounds.is_sorted() && split.high.rounds.is_sorted());
                    assert_eq!(split.low.rounds.len() + split.high.rounds.len(), n);
                }
            }
        }
    }

    #[test]
    fn two_regimes_are_found_beside_a_stray_round() {
        let mut values = mix(&mut Rng::from_seed(2), 12, 5, 0.05);
        values.push(10_000.0);
        assert_eq!(split(&values).unwrap().high.rounds.len(), 6);
    }

    #[test]
    fn lognormal_rounds_are_one_mode() {
        let mut rng = Rng::from_seed(3);
        for (n, allowed) in [(6, 25), (8, 20), (12, 10), (20, 2), (30, 1)] {
            let divided = splits_in_1000(n, || (0.3 * rng.normal()).exp());
            assert!(divided <= allowed, "{divided} of 1000 samples of {n}");
        }
    }

    #[test]
    fn uniform_rounds_are_one_mode() {
        let mut rng = Rng::from_seed(4);
        for (n, allowed) in [(6, 65), (8, 40), (12, 15), (20, 5), (30, 2)] {
            let narrow = splits_in_1000(n, || 1.0 + rng.unit());
            let wide = splits_in_1000(n, || 1.0 + 9.0 * rng.unit());
            assert!(narrow <= allowed && wide <= allowed, "{narrow} {wide} of samples of {n}");
        }
    }

    #[test]
    fn levels_less_than_half_apart_are_one_mode() {
        let levels = |high: f64| [1.0, high, 1.01, 1.0, 1.01 * high, high, 1.0, high];
        assert_eq!(split(&levels(1.45)), None);
        assert_eq!(split(&levels(1.55)).unwrap().high.rounds, [1, 4, 5, 7]);
    }

    #[test]
    fn scattered_slow_rounds_are_not_a_mode() {
        let mut values = vec![1.0; 17];
        values.extend([3.0, 6.0, 12.0]);
        assert_eq!(split(&values), None);
    }

    #[test]
    fn small_steps_between_two_plateaus_are_not_a_gap() {
        let mut values = vec![1.0; 9];
        values.extend((1..12).map(|i| 1.0 + 0.05 * f64::from(i)));
        values.extend([1.6; 14]);
        assert_eq!(split(&values), None);
    }

    #[test]
    fn drift_is_not_two_modes() {
        let mut rng = Rng::from_seed(5);
        for n in 4..=30 {
            let drift = (0..n).map(|i| 1.0 + 0.2 * i as f64 / n as f64);
            let values: Vec<f64> = drift.map(|v| v * (0.02 * rng.normal()).exp()).collect();
            assert_eq!(split(&values), None);
        }
    }

    #[test]
    fn a_single_outlier_is_not_a_mode() {
        for n in 3..=30 {
            for place in 0..n {
                for outlier in [0.01, 100.0] {
                    let mut values: Vec<f64> = (0..n).map(|i| 5.0 + 0.01 * i as f64).collect();
                    values[place] = outlier;
                    assert_eq!(split(&values), None, "{values:?}");
                }
            }
        }
    }

    #[test]
    fn rounds_that_cannot_be_divided_give_none() {
        assert_eq!(split(&[]), None);
        assert_eq!(split(&[1.0, 1.0, 90.0]), None);
        assert_eq!(split(&[5.0; 12]), None);
        for bad in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            assert_eq!(split(&[3.0, 3.0, 90.0, 90.0, bad]), None);
        }
    }
}
