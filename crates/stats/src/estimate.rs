//! The centre of a few per-round values and how well it is known.

use crate::distribution::median_rank;

/// The range of values the data do not contradict; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end, in the unit of the data.
    pub low: f64,
    /// Upper end, in the unit of the data; never below `low`.
    pub high: f64,
}

impl Interval {
    /// Whether `x` lies in the interval.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }
}

/// A figure and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure, in the unit of the data.
    pub value: f64,
    /// The 95 % confidence interval; `None` when the data cannot give one.
    pub ci95: Option<Interval>,
}

/// The values in ascending order; `None` if there are none or one is not a number.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    Some(values)
}

/// The median of values in ascending order; there must be at least one.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

/// The median; the mean of the two middle values if their number is even. `None` if there are no
/// values or one is not a number.
pub fn median(values: &[f64]) -> Option<f64> {
    sorted(values).map(|values| median_of_sorted(&values))
}

/// The median of per-round values with its exact 95 % interval, which runs from one value to
/// another: the k-th smallest to the k-th largest, with k from the binomial distribution. It holds
/// for any continuous distribution; the true confidence is at least 95 % (96.9 % for 6 values).
///
/// No interval with fewer than 6 values: even the full range of 5 holds the median in only
/// 1 − 2/2⁵ = 93.75 % of cases. `None` if there are no values or one is not a number.
pub fn median_estimate(values: &[f64]) -> Option<Estimate> {
    let values = sorted(values)?;
    let ci95 = interval_of_sorted(&values, 0.95);
    Some(Estimate { value: median_of_sorted(&values), ci95 })
}

/// The interval of [`median_estimate`] at another confidence, 0 < `confidence` < 1. `None` where
/// that gives none, or when there are too few values for this confidence.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    interval_of_sorted(&sorted(values)?, confidence)
}

fn interval_of_sorted(values: &[f64], confidence: f64) -> Option<Interval> {
    let k = median_rank(values.len(), 1.0 - confidence)?;
    Some(Interval { low: values[k - 1], high: values[values.len() - k] })
}

/// The median absolute deviation of values from `centre`, times 1.4826 = 1/Φ⁻¹(3/4), which makes it
/// the standard deviation if the data are normal. `None` as for the median.
pub fn robust_spread(values: &[f64], centre: f64) -> Option<f64> {
    let deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    median(&deviations).map(|mad| 1.4826 * mad)
}

/// The spread of the values relative to their median: 1.4826·MAD/|median|, a coefficient of
/// variation that a few stray rounds cannot move. `None` if there are no values, one is not a
/// number, or the median is zero or infinite.
pub fn robust_cv(values: &[f64]) -> Option<f64> {
    let centre = median(values)?.abs();
    let spread = robust_spread(values, median(values)?)?;
    (centre > 0.0 && centre.is_finite()).then_some(spread / centre)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_takes_the_middle_whatever_the_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[1.0, f64::INFINITY, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn median_interval_runs_between_the_tabulated_order_statistics() {
        // Ranks from the table of Conover, Practical Nonparametric Statistics, sign test.
        for (n, low, high) in [(6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10), (20, 6, 15)] {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let ci = median_estimate(&values).unwrap().ci95.unwrap();
            assert_eq!((ci.low, ci.high), (f64::from(low), f64::from(high)), "{n}");
        }
    }

    #[test]
    fn higher_confidence_takes_order_statistics_further_out() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        // P(Binomial(20, 1/2) < 6) = 0.0207, < 4 = 0.0013, < 3 = 0.0002.
        for (confidence, low) in [(0.95, 6.0), (0.995, 4.0), (0.999, 3.0)] {
            let interval = median_interval(&values, confidence).unwrap();
            assert_eq!((interval.low, interval.high), (low, 21.0 - low), "{confidence}");
        }
        assert_eq!(median_interval(&values[..8], 0.995), None, "8 values cannot give 99.5 %");
        for confidence in [0.0, 1.0, f64::NAN] {
            assert_eq!(median_interval(&values, confidence), None);
        }
    }

    #[test]
    fn five_values_give_a_median_without_interval() {
        let estimate = median_estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(estimate, Estimate { value: 3.0, ci95: None });
        assert_eq!(median_estimate(&[]), None);
    }

    #[test]
    fn robust_cv_ignores_a_stray_round() {
        let cv = robust_cv(&[98.0, 99.0, 100.0, 101.0, 102.0]).unwrap();
        let stray = robust_cv(&[98.0, 99.0, 100.0, 101.0, 1e6]).unwrap();
        assert!((cv - 0.014826).abs() < 1e-9 && (stray - cv).abs() < 1e-9, "{cv} {stray}");
        assert_eq!(robust_cv(&[-1.0, 0.0, 1.0]), None);
        assert_eq!(robust_cv(&[]), None);
    }
}
