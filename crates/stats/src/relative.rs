//! The ratio of each arm of a question to one reference, with intervals that hold together, and the statement that follows.
//!
//! A pair is the log-ratio of an arm to the reference in one round. The ratio is the median of the pairs and its interval
//! runs from one pair to another (order statistics, as the sign test has them), because real noise has modes: one slice in
//! ten may take twenty times as long, which moves a mean and no median.
//!
//! - *Joint.* With m arms next to the reference each interval has the confidence 0.96^(1/m) (Šidák, JASA 62, 1967). The
//!   pairs of all arms share the reference, so they are positively dependent and the family holds more often than that.
//! - *Rounds depend on each other.* Where what disturbs an arm lasts over several rounds, n pairs say less than n
//!   independent ones. The variance of the mean sign is estimated with Bartlett's weights over eight lags (Newey and West,
//!   Econometrica 55, 1987), and the ranks move out by its root. It is never below the variance of independent rounds.
//!   All arms of a question share one estimate, the mean over the arms: one machine disturbs them in the same rounds, and the
//!   estimate of a single arm from 60 rounds is wrong by a third.
//! - *Between two ranks* the ends are interpolated (Hettmansperger and Sheather, Statistics & Probability Letters 4, 1986).
//!
//! `tests/it/relative.rs` shows by simulation what holds under which noise; `cargo xtask trial answer` does so in full.

use crate::compare::ratio_of;
use crate::distribution::median_rank;
use crate::estimate::{Interval, median_of_sorted};
use crate::verdict::FEWEST_ROUNDS;

/// Rounds over which what disturbs one arm may last, as far as intervals allow for it.
const LAGS: usize = 8;

/// A lag is estimated from this many pairs or more for each.
const PAIRS_PER_LAG: usize = 7;

/// Of fewer pairs none is estimated: chance alone would take away most intervals.
const FEWEST_LAGGED: usize = 10;

/// More than this is not believed: it would take a third of the rounds for one observation.
const MOST_INFLATION: f64 = 9.0;

/// Confidence of all intervals of a question together if rounds were independent. With 0.95 they hold 93 times in 100 where
/// each arm has noise of its own that lasts over rounds, with this they hold 95 times.
const JOINT: f64 = 0.96;

/// Confidence of the interval that a statement of equality rests on: two one-sided tests at 5 % (Schuirmann, Journal of
/// Pharmacokinetics and Biopharmaceutics 15, 1987).
const EQUALITY: f64 = 0.90;

/// Confidence of the interval of the reference measured twice: a sound question fails this control once in 200 times.
const CONTROL: f64 = 0.995;

/// Arms that differ by less than this factor are as fast as each other, unless the user chose another margin.
pub const PRACTICAL_MARGIN: f64 = 0.10;

/// The ratio of an arm to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// Rounds in which both have a figure.
    pub pairs: usize,
    /// The median of their ratios.
    pub ratio: f64,
    /// What holds for all arms of the question together, at 95 %. `None` where the pairs are too few for it.
    pub joint: Option<Interval>,
    /// What holds for this arm alone, at 90 %. `None` where the pairs are too few for it.
    pub alone: Option<Interval>,
}

/// A ratio and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// How many times as much.
    pub ratio: f64,
    /// What it may as well be.
    pub interval: Interval,
}

/// The statement about an arm. The first that applies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The joint interval lies above 1.
    Slower {
        /// The interval of this arm alone lies within the margin.
        is_within: bool,
    },
    /// The joint interval lies below 1.
    Faster {
        /// The interval of this arm alone lies within the margin.
        is_within: bool,
    },
    /// The interval of this arm alone lies within the margin.
    AsFast,
    /// None of these.
    Undecided,
}

impl Relative {
    /// The statement at this margin: 0.1 is from 1/1.1 to 1.1.
    #[must_use]
    pub fn statement(&self, margin: f64) -> Statement {
        let is_within = self.alone.is_some_and(|alone| is_within(alone, margin));
        match self.joint {
            Some(joint) if joint.low > 1.0 => Statement::Slower { is_within },
            Some(joint) if joint.high < 1.0 => Statement::Faster { is_within },
            _ if is_within => Statement::AsFast,
            _ => Statement::Undecided,
        }
    }

    /// Whether the arm is certainly faster than the reference by more than the margin.
    #[must_use]
    pub fn is_much_faster(&self, margin: f64) -> bool {
        self.joint.is_some_and(|joint| joint.high < 1.0 / (1.0 + margin))
    }

    /// Whether it is open that the arm is faster than the reference by more than the margin.
    #[must_use]
    pub fn may_be_much_faster(&self, margin: f64) -> bool {
        let bound = 1.0 / (1.0 + margin);
        self.joint.is_none_or(|joint| joint.low < bound && joint.high >= bound)
    }

    /// How many pairs of this spread would tell whether the arm is faster by more than the margin, if the ratio is what it
    /// seems to be. `None` where the figures give no answer.
    #[must_use]
    pub fn pairs_to_tell(&self, margin: f64) -> Option<u64> {
        let joint = self.joint?;
        let half = (joint.high.ln() - joint.low.ln()) / 2.0;
        let distance = (self.ratio.ln() + margin.ln_1p()).abs();
        let pairs = self.pairs as f64 * (half / distance).powi(2);
        (pairs.is_finite() && pairs < 1e6).then_some(pairs.ceil() as u64)
    }
}

fn is_within(interval: Interval, margin: f64) -> bool {
    interval.low >= 1.0 / (1.0 + margin) && interval.high <= 1.0 + margin
}

/// The ratio of each of `others` to the reference; less is better. A row has the logarithm of one figure for each round,
/// the same round at the same place, `None` where the arm has none. Rows may differ in length, and what is not finite
/// counts as missing. The intervals of all rows that have enough pairs hold together; `None` for a row with fewer than
/// [`FEWEST_ROUNDS`] pairs.
#[must_use]
pub fn relative_to(
    reference: &[Option<f64>],
    others: &[Vec<Option<f64>>],
) -> Vec<Option<Relative>> {
    let pairs: Vec<Vec<f64>> = others.iter().map(|row| differences(reference, row)).collect();
    let family = pairs.iter().filter(|pairs| pairs.len() >= FEWEST_ROUNDS).count();
    let confidence = JOINT.powf(1.0 / family.max(1) as f64);
    let pairs: Vec<Option<Pairs>> = pairs
        .iter()
        .map(|pairs| (pairs.len() >= FEWEST_ROUNDS).then(|| Pairs::of(pairs)))
        .collect();
    let variances: Vec<f64> = pairs.iter().flatten().map(|pairs| pairs.variance).collect();
    let variance = variances.iter().sum::<f64>() / family.max(1) as f64;
    let relative = |pairs: Pairs| Pairs { variance, ..pairs }.relative(confidence);
    pairs.into_iter().map(|pairs| pairs.map(relative)).collect()
}

/// Whether the reference measured twice agrees with itself: its 99.5 % interval holds 1. `None` where the pairs are too
/// few to say. Rows as [`relative_to`] takes them.
#[must_use]
pub fn control_holds(reference: &[Option<f64>], again: &[Option<f64>]) -> Option<bool> {
    let interval = Pairs::of(&differences(reference, again)).interval(CONTROL)?;
    Some(interval.low <= 0.0 && interval.high >= 0.0)
}

/// The finite log-ratios of a row to the reference, in the order of the rounds.
fn differences(reference: &[Option<f64>], row: &[Option<f64>]) -> Vec<f64> {
    let both =
        reference.iter().zip(row).filter_map(|(reference, own)| Some((*own)? - (*reference)?));
    both.filter(|one| one.is_finite()).collect()
}

/// The log-ratios of one arm.
struct Pairs {
    sorted: Vec<f64>,
    /// The long-run variance of their signs; 1 if rounds are independent.
    variance: f64,
}

impl Pairs {
    /// Of log-ratios in the order of the rounds.
    fn of(pairs: &[f64]) -> Self {
        let mut sorted = pairs.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { variance: long_run_variance(pairs, &sorted), sorted }
    }

    /// Of pairs that are enough; the confidence is the one of the joint interval.
    fn relative(self, confidence: f64) -> Relative {
        let ratios = |one: Interval| Interval { low: ratio_of(one.low), high: ratio_of(one.high) };
        Relative {
            pairs: self.sorted.len(),
            ratio: ratio_of(median_of_sorted(&self.sorted)),
            joint: self.interval(confidence).map(ratios),
            alone: self.interval(EQUALITY).map(ratios),
        }
    }

    /// The interval of their median at a confidence; `None` where there are too few of them.
    fn interval(&self, confidence: f64) -> Option<Interval> {
        let n = self.sorted.len();
        let rank = median_rank(n, 1.0 - confidence)?;
        let half = n as f64 / 2.0;
        let inflation = self.variance.clamp(1.0, MOST_INFLATION).sqrt();
        let rank = half - (half - rank as f64) * inflation;
        // A rank that was not moved must not fall below the first one by an error of rounding.
        let below = (rank + 1e-9).floor();
        let rest = (rank - below).max(0.0);
        let below = (below >= 1.0).then_some(below as usize)?;
        let between = |outer: f64, inner: f64| outer + rest * (inner - outer);
        // The ranks above n/2 mirror those below it.
        let (low, high) = (below - 1, n - below);
        Some(Interval {
            low: between(self.sorted[low], self.sorted[low + 1]),
            high: between(self.sorted[high], self.sorted[high - 1]),
        })
    }
}

/// The long-run variance of the signs of the pairs around their median. The autocorrelations of n values around their own
/// centre are 1/n too small on average, which is added.
fn long_run_variance(pairs: &[f64], sorted: &[f64]) -> f64 {
    let n = pairs.len();
    if n < FEWEST_LAGGED {
        return 1.0;
    }
    let centre = median_of_sorted(sorted);
    let sign = |pair: &f64| match pair.total_cmp(&centre) {
        std::cmp::Ordering::Less => -1.0,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => 1.0,
    };
    let signs: Vec<f64> = pairs.iter().map(sign).collect();
    let lags = LAGS.min(n / PAIRS_PER_LAG);
    let lagged = |lag: usize| {
        let products: f64 = signs.iter().zip(&signs[lag..]).map(|(a, b)| a * b).sum();
        let weight = 1.0 - lag as f64 / (lags + 1) as f64;
        2.0 * weight * (products + 1.0) / n as f64
    };
    1.0 + (1..=lags).map(lagged).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    fn row(level: f64, seed: u64, rounds: usize) -> Vec<Option<f64>> {
        let mut rng = Rng::from_seed(seed);
        (0..rounds).map(|_| Some(level + 0.05 * rng.normal())).collect()
    }

    fn one(reference: &[Option<f64>], other: &[Option<f64>]) -> Option<Relative> {
        relative_to(reference, &[other.to_vec()])[0]
    }

    #[test]
    fn fewer_than_six_pairs_give_no_ratio_and_more_arms_need_more_pairs_for_an_interval() {
        for rounds in 0..=14 {
            let found = one(&row(0.0, 1, rounds), &row(0.5, 2, rounds));
            assert_eq!(found.is_some(), rounds >= FEWEST_ROUNDS, "{rounds}");
        }
        let others: Vec<_> = (2..12).map(|seed| row(0.5, seed, 8)).collect();
        let found = relative_to(&row(0.0, 1, 8), &others)[0].unwrap();
        assert_eq!((found.pairs, found.joint), (8, None), "2 of 256 patterns of signs are 0.8 %");
        assert!(found.alone.is_some());
        assert_eq!(found.statement(0.1), Statement::Undecided);
    }

    #[test]
    fn the_first_statement_that_applies_counts() {
        let relative = |joint: [f64; 2], alone: [f64; 2]| Relative {
            pairs: 60,
            ratio: (joint[0] * joint[1]).sqrt(),
            joint: Some(Interval { low: joint[0], high: joint[1] }),
            alone: Some(Interval { low: alone[0], high: alone[1] }),
        };
        for (joint, alone, said) in [
            ([1.2, 1.9], [1.3, 1.8], Statement::Slower { is_within: false }),
            ([1.01, 1.09], [1.02, 1.08], Statement::Slower { is_within: true }),
            ([0.7, 0.9], [0.75, 0.85], Statement::Faster { is_within: false }),
            ([0.92, 0.99], [0.93, 0.98], Statement::Faster { is_within: true }),
            ([0.90, 1.12], [0.92, 1.09], Statement::AsFast),
            ([0.90, 1.40], [0.92, 1.30], Statement::Undecided),
        ] {
            assert_eq!(relative(joint, alone).statement(0.1), said, "{joint:?}");
        }
        let open = relative([0.85, 1.0], [0.88, 0.97]);
        assert!(open.may_be_much_faster(0.1) && !open.is_much_faster(0.1));
        let much = relative([0.7, 0.9], [0.75, 0.85]);
        assert!(much.is_much_faster(0.1) && !much.may_be_much_faster(0.1));
        let not = relative([0.95, 1.05], [0.96, 1.04]);
        assert!(!not.is_much_faster(0.1) && !not.may_be_much_faster(0.1));
        assert!(open.pairs_to_tell(0.1).unwrap() > 60);
    }

    #[test]
    fn what_moves_a_whole_round_cancels_and_a_round_without_one_of_both_is_no_pair() {
        let mut rng = Rng::from_seed(3);
        let moved = |row: Vec<Option<f64>>, levels: &[f64]| -> Vec<Option<f64>> {
            row.iter().zip(levels).map(|(value, level)| value.map(|value| value + level)).collect()
        };
        let levels: Vec<f64> = (0..30).map(|_| 2.0 * rng.normal()).collect();
        let (a, mut b) = (moved(row(0.0, 1, 30), &levels), moved(row(0.2, 2, 30), &levels));
        let found = one(&a, &b).unwrap();
        assert!(found.joint.unwrap().low > 1.1, "{found:?}");
        b[3] = None;
        b[4] = Some(f64::NAN);
        assert_eq!(one(&a, &b).unwrap().pairs, 28);
        assert_eq!(one(&a, &b[..10]).unwrap().pairs, 8);
    }

    #[test]
    fn slices_in_a_slow_mode_move_no_ratio_of_the_others() {
        let mut slower = row(0.4, 2, 60);
        for at in [3, 4, 17, 30, 31, 55] {
            slower[at] = slower[at].map(|value| value + 3.0);
        }
        let found = one(&row(0.0, 1, 60), &slower).unwrap();
        assert!((found.ratio.ln() - 0.4).abs() < 0.05, "{found:?}");
        assert!(found.joint.unwrap().high < 1.7, "{found:?}");
    }

    #[test]
    fn noise_that_lasts_over_rounds_widens_the_interval() {
        let lasting: Vec<f64> =
            (0..60).map(|at| if at / 15 % 2 == 0 { 0.1 } else { -0.1 }).collect();
        let alternating: Vec<f64> =
            (0..60).map(|at| if at % 2 == 0 { 0.1 } else { -0.1 }).collect();
        let of = |values: &[f64]| {
            let tilt = |(at, value): (usize, &f64)| value + 1e-6 * at as f64;
            Pairs::of(&values.iter().enumerate().map(tilt).collect::<Vec<_>>()).variance
        };
        assert!(of(&lasting) > 2.2, "{}", of(&lasting));
        assert!(of(&alternating) < 1.0, "{}", of(&alternating));
        let independent: Vec<f64> = row(0.0, 9, 400).into_iter().flatten().collect();
        assert!(of(&independent) < 1.5, "{}", of(&independent));
        let (calm, lasting) = (row(0.0, 1, 60), lasting.into_iter().map(Some).collect::<Vec<_>>());
        let width = |found: Option<Relative>| {
            let joint = found.unwrap().joint.unwrap();
            joint.high / joint.low
        };
        let other = row(0.0, 2, 60);
        let by_itself = relative_to(&calm, &[other.clone(), other.clone()]);
        let shared = relative_to(&calm, &[other, lasting]);
        assert!(width(shared[0]) > width(by_itself[0]), "noise that lasts counts for all arms");
    }

    #[test]
    fn the_control_fails_where_the_reference_differs_from_itself() {
        assert_eq!(control_holds(&row(0.0, 1, 60), &row(0.0, 2, 60)), Some(true));
        assert_eq!(control_holds(&row(0.0, 1, 60), &row(0.3, 2, 60)), Some(false));
        assert_eq!(control_holds(&row(0.0, 1, 8), &row(0.3, 2, 8)), None);
    }

    proptest! {
        // A failing input is printed; it becomes a test of its own rather than a file.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn exchanging_arm_and_reference_mirrors_the_ratio_and_its_interval(
            a in prop::collection::vec(prop::option::weighted(0.9, -3.0..3.0_f64), 0..40),
            b in prop::collection::vec(prop::option::weighted(0.9, -3.0..3.0_f64), 0..40),
        ) {
            let (there, back) = (one(&a, &b), one(&b, &a));
            prop_assert_eq!(there.is_some(), back.is_some());
            if let (Some(there), Some(back)) = (there, back) {
                prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
                prop_assert_eq!(there.pairs, back.pairs);
                for (one, other) in [(there.joint, back.joint), (there.alone, back.alone)] {
                    prop_assert_eq!(one.is_some(), other.is_some());
                    if let (Some(one), Some(other)) = (one, other) {
                        prop_assert!(one.low <= there.ratio && there.ratio <= one.high);
                        prop_assert!((one.low * other.high - 1.0).abs() < 1e-9);
                    }
                }
            }
        }
    }
}
