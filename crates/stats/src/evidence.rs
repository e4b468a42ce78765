//! What a comparison of two arms rests on, and what follows from it at any confidence.

use crate::compare::{log_ratios, logs, ratio_of, walsh_averages};
use crate::distribution::{
    rank_sum_chance, rank_sum_limit, signed_rank_chance, signed_rank_limit, student_t_chance,
    student_t_quantile,
};
use crate::estimate::{Estimate, Interval, median, median_of_sorted, robust_spread, sorted};

/// How the figures of two arms belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Round by round; with the spread of the log-ratios of single rounds.
    Paired { rounds: usize, spread: f64 },
    /// Not at all.
    Separate { a: usize, b: usize },
    /// Round by round, in several sessions: the mean of their log-ratios and its standard error.
    Sessions { sessions: usize, mean: f64, error: f64 },
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
    /// of two rounds (a round with itself included; Hodges and Lehmann 1963), and their null distribution is that of
    /// Wilcoxon's signed rank. If the order within each round was random, it is exact for A = B whatever the
    /// distribution of figures; beyond 50 rounds its normal approximation is used. Time and memory grow with the square
    /// of the number of rounds.
    ///
    /// `None` if there are no rounds, the two differ in length, or a figure is not a positive finite number.
    #[must_use]
    pub fn paired(a: &[f64], b: &[f64]) -> Option<Self> {
        let rounds = log_ratios(a, b)?;
        let logs = walsh_averages(&rounds)?;
        let spread = robust_spread(&rounds, median(&rounds)?)?;
        Some(Self { logs, design: Design::Paired { rounds: rounds.len(), spread } })
    }

    /// Of figures that were found at different times. The elementary log-ratios are those of every figure of `b` to
    /// every figure of `a` (Hodges and Lehmann 1963), and their null distribution is that of Mann and Whitney.
    ///
    /// `None` if a side has no figures, or a figure is not a positive finite number.
    #[must_use]
    pub fn separate(a: &[f64], b: &[f64]) -> Option<Self> {
        let (a, b) = (logs(a)?, logs(b)?);
        let pairs: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
        let design = Design::Separate { a: a.len(), b: b.len() };
        Some(Self { logs: sorted(&pairs)?, design })
    }

    /// Of rounds that measured both arms in several sessions: `lengths` has the rounds of each, in their order. The state of a
    /// host differs from session to session, so that sessions count and not rounds: the elementary log-ratios are those of
    /// [`Self::paired`] of each session, the estimate is their mean, and Student's t gives its interval. Sessions with fewer
    /// rounds than the longest were cut short and say nothing; where only one is left it is [`Self::paired`] of its rounds.
    ///
    /// `None` under the conditions of [`Self::paired`], and where the lengths are not those of the figures.
    #[must_use]
    pub fn of_sessions(a: &[f64], b: &[f64], lengths: &[usize]) -> Option<Self> {
        let whole = lengths.iter().copied().max().filter(|length| *length > 0)?;
        if a.len() != b.len() || lengths.iter().sum::<usize>() != a.len() {
            return None;
        }
        let mut sessions = Vec::new();
        let (mut a, mut b) = (a, b);
        for length in lengths {
            let (of_a, of_b);
            ((of_a, a), (of_b, b)) = (a.split_at(*length), b.split_at(*length));
            if *length == whole {
                sessions.push(Self::paired(of_a, of_b)?);
            }
        }
        let [_, _, ..] = sessions.as_slice() else { return sessions.pop() };
        let logs: Vec<f64> = sessions.iter().map(Self::log).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let design = Design::Sessions { sessions: logs.len(), mean, error };
        Some(Self { logs: sorted(&logs)?, design })
    }

    /// The ratio B/A.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        ratio_of(self.log())
    }

    /// The logarithm of the ratio.
    pub(crate) fn log(&self) -> f64 {
        match self.design {
            Design::Sessions { mean, .. } => mean,
            Design::Paired { .. } | Design::Separate { .. } => median_of_sorted(&self.logs),
        }
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
            Design::Sessions { sessions, mean, error } => {
                let reach = student_t_quantile((1.0 + confidence) / 2.0, sessions - 1)? * error;
                return Some(Interval { low: mean - reach, high: mean + reach });
            }
        }?;
        Some(Interval { low: self.logs[limit], high: self.logs[self.logs.len() - 1 - limit] })
    }

    /// How likely figures this far above e^`bound` are (or further, or as far below it) if that is the true ratio: at
    /// most 1 − confidence exactly if the interval of that confidence lies above the bound.
    pub(crate) fn chance_above(&self, bound: f64) -> f64 {
        self.chance(self.log() - bound, |log| log <= bound)
    }

    /// The same of figures this far below it.
    pub(crate) fn chance_below(&self, bound: f64) -> f64 {
        self.chance(bound - self.log(), |log| log >= bound)
    }

    /// How likely it is that no more elementary log-ratios than these lie on one side, or on the other; of sessions, that their
    /// mean lies this far beyond.
    fn chance(&self, distance: f64, is_on_this_side: impl Fn(f64) -> bool) -> f64 {
        let count = || self.logs.iter().filter(|log| is_on_this_side(**log)).count();
        let one_side = match self.design {
            Design::Paired { rounds, .. } => signed_rank_chance(rounds, count()),
            Design::Separate { a, b } => rank_sum_chance(a, b, count()),
            Design::Sessions { .. } if distance <= 0.0 => 0.5,
            Design::Sessions { sessions, error, .. } => {
                student_t_chance(distance / error, sessions - 1)
            }
        };
        (2.0 * one_side).min(1.0)
    }

    /// 1.4826 MAD of the log-ratios of single rounds; `None` where rounds are not what is compared.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        match self.design {
            Design::Paired { spread, .. } => Some(spread),
            Design::Separate { .. } | Design::Sessions { .. } => None,
        }
    }
}

/// The ratio that the ratios of single rounds come to, with its 95 % interval: what [`Evidence::paired`] says of arms
/// with these ratios. `None` if there are none, or one is not a positive finite number.
#[must_use]
pub fn ratio_estimate(ratios: &[f64]) -> Option<Estimate> {
    let evidence = Evidence::paired(&vec![1.0; ratios.len()], ratios)?;
    Some(Estimate { value: evidence.ratio(), ci95: evidence.interval(0.95) })
}

/// The interval of [`ratio_estimate`] at another confidence, 0 < `confidence` < 1. `None` where there are too few rounds
/// for it.
#[must_use]
pub fn ratio_interval(ratios: &[f64], confidence: f64) -> Option<Interval> {
    Evidence::paired(&vec![1.0; ratios.len()], ratios)?.interval(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use proptest::prelude::*;

    fn arm(rng: &mut Rng, n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|_| factor * (0.1 * rng.normal()).exp()).collect()
    }

    #[test]
    fn a_constant_factor_is_found_without_uncertainty() {
        let a = [10.0, 12.0, 9.0, 30.0, 11.0, 10.5];
        let evidence = Evidence::paired(&a, &a.map(|v| v * 1.25)).unwrap();
        let ci = evidence.interval(0.95).unwrap();
        for figure in [evidence.ratio(), ci.low, ci.high] {
            assert!((figure - 1.25).abs() < 1e-12, "{figure}");
        }
    }

    #[test]
    fn a_ratio_beyond_every_number_is_the_largest() {
        let (a, b) = ([3e-319; 8], [4e8; 8]);
        let up = Evidence::separate(&a, &b).unwrap();
        assert_eq!(up.ratio(), f64::MAX);
        assert_eq!(up.interval(0.95).unwrap(), Interval { low: f64::MAX, high: f64::MAX });
        let down = Evidence::separate(&b, &a).unwrap();
        assert_eq!(down.ratio(), 1.0 / f64::MAX);
    }

    #[test]
    fn hodges_lehmann_of_a_worked_example() {
        // Log-ratios 0, 1, 5: Walsh averages 0, 0.5, 1, 2.5, 3, 5, median 1.75.
        let b = [0.0_f64, 1.0, 5.0].map(f64::exp);
        let evidence = Evidence::paired(&[1.0; 3], &b).unwrap();
        assert!((evidence.ratio().ln() - 1.75).abs() < 1e-12);
        assert_eq!(evidence.interval(0.95), None);
    }

    #[test]
    fn sessions_are_what_counts_and_one_that_was_cut_short_does_not() {
        // Medians of the log-ratios: 0.1, 0.2, 0.3 and 0.4; t(3) is 3.182 and the standard error 0.0645.
        let logs = [0.0, 0.1, 0.2, 0.1, 0.2, 0.3, 0.2, 0.3, 0.4, 0.3, 0.4, 0.5, 7.0];
        let b = logs.map(f64::exp);
        let lengths = [3, 3, 3, 3, 1];
        let found = Evidence::of_sessions(&[1.0; 13], &b, &lengths).unwrap();
        assert!((found.log() - 0.25).abs() < 1e-12);
        let ci = found.log_interval(0.95).unwrap();
        let reach = 3.182_446_305 * (0.05_f64 / 3.0 / 4.0).sqrt();
        assert!((ci.low - 0.25 + reach).abs() < 1e-8 && (ci.high - 0.25 - reach).abs() < 1e-8);
        // At the end of the interval of 95 % the chance is 5 %.
        assert!((found.chance_above(ci.low) - 0.05).abs() < 1e-8);
        assert!((found.chance_below(ci.high) - 0.05).abs() < 1e-8);
        assert!((found.chance_below(0.2) - 1.0).abs() < f64::EPSILON);
        assert_eq!(found.spread(), None);
        let one = Evidence::of_sessions(&[1.0; 4], &b[..4], &[3, 1]);
        assert_eq!(one, Evidence::paired(&[1.0; 3], &b[..3]));
        for lengths in [&[3, 3][..], &[], &[0]] {
            assert_eq!(Evidence::of_sessions(&[1.0; 4], &b[..4], lengths), None, "{lengths:?}");
        }
    }

    #[test]
    fn the_interval_of_six_rounds_is_their_range() {
        let b = [1.1, 0.9, 1.0, 1.3, 0.8, 1.2];
        let six = Evidence::paired(&[1.0; 6], &b).unwrap();
        let ci = six.interval(0.95).unwrap();
        assert!((ci.low - 0.8).abs() < 1e-12 && (ci.high - 1.3).abs() < 1e-12);
        assert_eq!(six.interval(0.99), None, "six rounds cannot give 99 %");
        assert_eq!(Evidence::paired(&[1.0; 5], &b[..5]).unwrap().interval(0.95), None);
    }

    #[test]
    fn higher_confidence_gives_a_wider_interval() {
        let b: Vec<f64> = (0..20).map(|i| 1.0 + 0.013 * f64::from(i * 7 % 20)).collect();
        let evidence = Evidence::paired(&[1.0; 20], &b).unwrap();
        let ci = [0.90, 0.95, 0.99].map(|confidence| evidence.interval(confidence).unwrap());
        assert!(ci.windows(2).all(|w| w[1].low < w[0].low && w[0].high < w[1].high), "{ci:?}");
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(evidence.interval(confidence), None);
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
            assert_eq!(Evidence::paired(&[1.0, 1.0], &[1.0, bad]), None);
            assert_eq!(Evidence::separate(&[1.0, bad], &[1.0]), None);
        }
        assert_eq!((Evidence::paired(&[1.0], &[]), Evidence::separate(&[], &[1.0])), (None, None));
        assert_eq!(Evidence::paired(&[], &[]), None);
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
            let [there, back] = [(&a, &b), (&b, &a)].map(|(a, b)| Evidence::paired(a, b).unwrap());
            prop_assert!(mirrored(there.ratio(), back.ratio()));
            prop_assert_eq!(there.interval(0.95).is_some(), a.len() >= 6);
            if let (Some(there), Some(back)) = (there.interval(0.95), back.interval(0.95)) {
                prop_assert!(mirrored(there.low, back.high) && mirrored(there.high, back.low));
            }
        }

        #[test]
        fn the_interval_holds_the_estimate(
            pairs in prop::collection::vec((1.0..2.0_f64, 1.0..2.0_f64), 6..60)
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let evidence = Evidence::paired(&a, &b).unwrap();
            prop_assert!(evidence.interval(0.95).unwrap().contains(evidence.ratio()));
        }
    }
}
