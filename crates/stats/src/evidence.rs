//! What a comparison of two arms rests on, and what follows from it at any confidence.

use crate::compare::{log, log_ratios, ratio_of, walsh_averages};
use crate::distribution::{rank_sum_chance, rank_sum_limit, signed_rank_chance, signed_rank_limit};
use crate::estimate::{Interval, median, median_of_sorted, robust_spread, sorted};

/// How the figures of two arms belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Round by round; with the spread of the log-ratios of single rounds.
    Paired { rounds: usize, spread: f64 },
    /// Not at all.
    Separate { a: usize, b: usize },
}

/// How two arms compare: a pure function of their figures. All of it is computed in logarithms, so that exchanging the
/// arms changes every sign and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Elementary log-ratios in ascending order; their median is the estimate, and an interval runs from one to
    /// another.
    logs: Vec<f64>,
    design: Design,
}

impl Evidence {
    /// Of rounds that measured both arms: `a[i]` and `b[i]` belong to round i. The elementary log-ratios are the means
    /// of two rounds, and their null distribution is that of Wilcoxon's signed rank, as in
    /// [`paired_ratio`](crate::paired_ratio).
    ///
    /// `None` if there are no rounds, the two differ in length, or a figure is not a positive finite number.
    #[must_use]
    pub fn paired(a: &[f64], b: &[f64]) -> Option<Self> {
        let logs = walsh_averages(a, b)?;
        let rounds = log_ratios(a, b)?;
        let spread = robust_spread(&rounds, median(&rounds)?)?;
        Some(Self { logs, design: Design::Paired { rounds: rounds.len(), spread } })
    }

    /// Of figures that were found at different times. The elementary log-ratios are those of every figure of `b` to
    /// every figure of `a` (Hodges and Lehmann 1963), and their null distribution is that of Mann and Whitney.
    ///
    /// `None` if a side has no figures, or a figure is not a positive finite number.
    #[must_use]
    pub fn separate(a: &[f64], b: &[f64]) -> Option<Self> {
        let logs =
            |figures: &[f64]| figures.iter().map(|one| log(*one)).collect::<Option<Vec<_>>>();
        let (a, b) = (logs(a)?, logs(b)?);
        let pairs: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
        let design = Design::Separate { a: a.len(), b: b.len() };
        Some(Self { logs: sorted(&pairs)?, design })
    }

    /// The ratio B/A.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        ratio_of(self.log())
    }

    /// The logarithm of the ratio.
    pub(crate) fn log(&self) -> f64 {
        median_of_sorted(&self.logs)
    }

    /// The interval of the ratio at a confidence, 0 < `confidence` < 1; `None` where there are too few figures for it.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let Interval { low, high } = self.log_interval(confidence)?;
        Some(Interval { low: ratio_of(low), high: ratio_of(high) })
    }

    /// The interval of the logarithm of the ratio.
    pub(crate) fn log_interval(&self, confidence: f64) -> Option<Interval> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        let limit = match self.design {
            Design::Paired { rounds, .. } => signed_rank_limit(rounds, 1.0 - confidence),
            Design::Separate { a, b } => rank_sum_limit(a, b, 1.0 - confidence),
        }?;
        Some(Interval { low: self.logs[limit], high: self.logs[self.logs.len() - 1 - limit] })
    }

    /// How likely figures this far above e^`bound` are (or further, or as far below it) if that is the true ratio: at
    /// most 1 − confidence exactly if the interval of that confidence lies above the bound.
    pub(crate) fn chance_above(&self, bound: f64) -> f64 {
        self.chance(self.logs.iter().filter(|log| **log <= bound).count())
    }

    /// The same of figures this far below it.
    pub(crate) fn chance_below(&self, bound: f64) -> f64 {
        self.chance(self.logs.iter().filter(|log| **log >= bound).count())
    }

    /// How likely it is that no more elementary log-ratios than this lie on one side, or on the other.
    fn chance(&self, beyond: usize) -> f64 {
        let one_side = match self.design {
            Design::Paired { rounds, .. } => signed_rank_chance(rounds, beyond),
            Design::Separate { a, b } => rank_sum_chance(a, b, beyond),
        };
        (2.0 * one_side).min(1.0)
    }

    /// 1.4826 MAD of the log-ratios of single rounds; `None` where figures are not paired.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        match self.design {
            Design::Paired { spread, .. } => Some(spread),
            Design::Separate { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, paired_interval, paired_ratio};

    fn arm(rng: &mut Rng, n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|_| factor * (0.1 * rng.normal()).exp()).collect()
    }

    #[test]
    fn paired_evidence_is_the_paired_ratio() {
        let mut rng = Rng::stream(1, "evidence");
        for n in [3, 6, 12, 60] {
            let (a, b) = (arm(&mut rng, n, 1.0), arm(&mut rng, n, 1.1));
            let evidence = Evidence::paired(&a, &b).unwrap();
            let ratio = paired_ratio(&a, &b).unwrap();
            assert_eq!((evidence.ratio(), evidence.interval(0.95)), (ratio.value, ratio.ci95));
            assert_eq!(evidence.interval(0.99), paired_interval(&a, &b, 0.99));
        }
    }

    #[test]
    fn a_chance_is_below_5_percent_exactly_where_the_95_percent_interval_excludes_the_bound() {
        let mut rng = Rng::stream(2, "evidence");
        for round in 0..200 {
            let (a, b) = (arm(&mut rng, 12, 1.0), arm(&mut rng, 12, 1.08));
            let pair =
                [Evidence::paired(&a, &b).unwrap(), Evidence::separate(&a, &b[..9]).unwrap()];
            for evidence in pair {
                let Interval { low, high } = evidence.log_interval(0.95).unwrap();
                for bound in [0.0, 0.01, 0.05, low, high] {
                    assert_eq!(
                        evidence.chance_above(bound) <= 0.05,
                        low > bound,
                        "{round} {bound}"
                    );
                    assert_eq!(
                        evidence.chance_below(bound) <= 0.05,
                        high < bound,
                        "{round} {bound}"
                    );
                }
            }
        }
    }

    #[test]
    fn separate_evidence_of_a_worked_example() {
        // Logarithms 0, 1 and 1, 3: differences 1, 3, 0, 2, median 1.5.
        let e = std::f64::consts::E;
        let evidence = Evidence::separate(&[1.0, e], &[e, e.powi(3)]).unwrap();
        assert!((evidence.log() - 1.5).abs() < 1e-12);
        assert_eq!((evidence.interval(0.95), evidence.spread()), (None, None));
        let apart = Evidence::separate(&[1.0, 1.1, 1.2, 1.3], &[2.0, 2.2, 2.4, 2.6]).unwrap();
        let all = apart.interval(0.95).unwrap();
        assert!((all.low - 2.0 / 1.3).abs() < 1e-12 && (all.high - 2.6).abs() < 1e-12);
    }

    #[test]
    fn figures_without_a_logarithm_are_no_evidence() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Evidence::paired(&[1.0, bad], &[1.0, 1.0]), None);
            assert_eq!(Evidence::separate(&[1.0, bad], &[1.0]), None);
        }
        assert_eq!((Evidence::paired(&[1.0], &[]), Evidence::separate(&[], &[1.0])), (None, None));
    }
}
