//! Which of two arms is faster, or neither, or that it cannot be told; and how many rounds it takes to tell.

use crate::distribution::student_t_quantile;
use crate::estimate::Interval;
use crate::evidence::Evidence;
use ipcperf_core::result::Difference;

/// Below this no order statistic of paired rounds bounds a ratio at 95 %, and two cells have no order.
pub const FEWEST_ROUNDS: usize = 6;

/// Ratios within 1 ± this do not matter, unless asked otherwise.
pub const MARGIN: f64 = 0.01;

/// Rounds that a plan has at the least: with fewer the ranks are too coarse for what the formula promises.
const FEWEST_PLANNED: u64 = 8;

/// No plan has more rounds than this.
const MOST_PLANNED: u64 = 100_000;

/// Efficiency of the signed rank beside Student's t for normal data, 3/π (Hodges and Lehmann 1956).
const EFFICIENCY: f64 = 0.955;

/// What counts as a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Ratios within 1 ± this do not matter: 0.01.
    pub margin: f64,
    /// More of the figure is better (rates), not less (times).
    pub more_is_better: bool,
}

/// What the rule says of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// What can be said of B beside A.
    pub verdict: Difference,
    /// By how much at the least: 0.05 where B takes 5 % longer or gives 5 % less at the least. Only of a claim.
    pub at_least: Option<f64>,
    /// How likely figures that support a claim this much are if there is nothing to claim. Two-sided.
    pub p: f64,
}

impl Rule {
    /// Where the margin ends, in logarithms.
    fn bound(self) -> f64 {
        self.margin.ln_1p()
    }

    /// An interval of the logarithm of the ratio, with its sign changed where more is better: above 0 is worse.
    fn worse(self, interval: Interval) -> Interval {
        if self.more_is_better {
            Interval { low: -interval.high, high: -interval.low }
        } else {
            interval
        }
    }

    /// The verdict: the 95 % interval lies beyond the margin, or the 90 % interval lies within it, or it cannot be
    /// told. Exchanging the arms mirrors it exactly.
    #[must_use]
    pub fn judge(self, evidence: &Evidence) -> Judgement {
        let bound = self.bound();
        let p = evidence.chance_above(bound).min(evidence.chance_below(-bound));
        let told = |verdict, at_least| Judgement { verdict, at_least, p };
        let interval = |confidence| evidence.log_interval(confidence).map(|one| self.worse(one));
        let (Some(wide), Some(narrow)) = (interval(0.95), interval(0.90)) else {
            return told(Difference::CannotTell, None);
        };
        if wide.low > bound {
            told(Difference::Slower, Some(wide.low.exp_m1()))
        } else if wide.high < -bound {
            told(Difference::Faster, Some((-wide.high).exp_m1()))
        } else if narrow.low >= -bound && narrow.high <= bound {
            told(Difference::None, None)
        } else {
            told(Difference::CannotTell, None)
        }
    }

    /// Which way figures lean that allow no claim: their 95 % interval excludes 1 and does not clear the margin.
    #[must_use]
    pub fn leaning(self, evidence: &Evidence) -> Option<Difference> {
        let Interval { low, high } = self.worse(evidence.log_interval(0.95)?);
        if low > 0.0 {
            Some(Difference::Slower)
        } else if high < 0.0 {
            Some(Difference::Faster)
        } else {
            None
        }
    }

    /// Rounds of this spread that would settle it if the ratio is what it seems to be: find it with 95 % power where
    /// it lies beyond the margin, else show with 90 % power that it lies within.
    #[must_use]
    pub fn rounds_to_settle(self, evidence: &Evidence) -> Option<u64> {
        let (spread, distance) = (evidence.spread()?, evidence.log().abs() - self.bound());
        if distance > 0.0 {
            rounds_for(spread, [0.975, 0.95], distance)
        } else {
            rounds_for(spread, [0.95, 0.95], -distance)
        }
    }
}

/// The smallest true difference beyond a margin that `rounds` of this spread find with 95 % power:
/// exp(ln(1+δ) + (t₀.₉₇₅ + t₀.₉₅)·s/√(0.955·R)) − 1. `None` with fewer than 6 rounds.
#[must_use]
pub fn smallest_effect(margin: f64, spread: f64, rounds: u64) -> Option<f64> {
    let reach = reach(spread, rounds, [0.975, 0.95])?;
    Some((margin.ln_1p() + reach).exp_m1())
}

/// Rounds of this spread that find beyond a margin a true difference of `effect` (0.05: 5 %) with a power, 0.5 < `power` < 1.
/// `None` where the effect lies within the margin, or no plan has that many rounds.
#[must_use]
pub fn rounds_to_find(margin: f64, effect: f64, spread: f64, power: f64) -> Option<u64> {
    rounds_for(spread, [0.975, power], effect.ln_1p() - margin.ln_1p())
}

/// Half of an interval of the log-ratio and what it takes to be clear of it, by Student's t at these two points.
fn reach(spread: f64, rounds: u64, points: [f64; 2]) -> Option<f64> {
    let freedom = usize::try_from(rounds).ok().filter(|rounds| *rounds >= FEWEST_ROUNDS)? - 1;
    let [one, other] = points.map(|point| student_t_quantile(point, freedom));
    Some((one? + other?) * spread / (EFFICIENCY * rounds as f64).sqrt())
}

/// The fewest rounds whose reach is no more than `distance`.
fn rounds_for(spread: f64, points: [f64; 2], distance: f64) -> Option<u64> {
    let is_enough =
        |rounds: u64| reach(spread, rounds, points).is_some_and(|reach| reach <= distance);
    let (mut few, mut enough) = (FEWEST_PLANNED - 1, FEWEST_PLANNED);
    while !is_enough(enough) {
        few = enough;
        enough = enough.checked_mul(2).filter(|_| enough < MOST_PLANNED)?;
    }
    while enough - few > 1 {
        let middle = few + (enough - few) / 2;
        if is_enough(middle) { enough = middle } else { few = middle }
    }
    (enough <= MOST_PLANNED).then_some(enough)
}

/// The p-values of a family of claims, adjusted so that at most `level` of families hold a false one where those of
/// at most `level` are claimed (Holm 1979). In the order given.
#[must_use]
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut adjusted = vec![1.0; values.len()];
    let mut largest = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max(values[at] * (values.len() - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// The p-values of a family of claims, adjusted so that where those of at most `level` are claimed, at most that share
/// of the claims is false on average (Benjamini and Hochberg 1995; for independent or positively dependent figures). In
/// the order given.
#[must_use]
pub fn benjamini_hochberg(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*other].total_cmp(&values[*one]));
    let mut adjusted = vec![1.0; values.len()];
    let mut smallest = 1.0_f64;
    for (larger, at) in order.into_iter().enumerate() {
        let rank = values.len() - larger;
        smallest = smallest.min(values[at] * values.len() as f64 / rank as f64);
        adjusted[at] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMES: Rule = Rule { margin: 0.01, more_is_better: false };
    const RATES: Rule = Rule { margin: 0.01, more_is_better: true };

    /// Twelve rounds of B around this ratio, spread evenly by a share on both sides of it.
    fn evidence(ratio: f64, share: f64) -> Evidence {
        let b: Vec<f64> =
            (0..12).map(|i| ratio * (share * (f64::from(i) - 5.5) / 5.5).exp()).collect();
        Evidence::paired(&[1.0; 12], &b).unwrap()
    }

    #[test]
    fn the_interval_beyond_the_margin_is_a_claim_within_it_none_and_else_it_cannot_be_told() {
        for (ratio, share, verdict) in [
            (1.10, 0.02, Difference::Slower),
            (1.0 / 1.10, 0.02, Difference::Faster),
            (1.0, 0.005, Difference::None),
            (1.003, 0.005, Difference::None),
            (1.10, 0.30, Difference::CannotTell),
            (1.0, 0.05, Difference::CannotTell),
            (1.012, 0.01, Difference::CannotTell),
        ] {
            let evidence = evidence(ratio, share);
            assert_eq!(TIMES.judge(&evidence).verdict, verdict, "{ratio} {share}");
            let mirrored = match verdict {
                Difference::Slower => Difference::Faster,
                Difference::Faster => Difference::Slower,
                other => other,
            };
            assert_eq!(RATES.judge(&evidence).verdict, mirrored, "{ratio} {share}");
        }
        assert_eq!(TIMES.leaning(&evidence(1.012, 0.01)), Some(Difference::Slower));
        assert_eq!(RATES.leaning(&evidence(1.012, 0.01)), Some(Difference::Faster));
        assert_eq!(TIMES.leaning(&evidence(1.10, 0.30)), None);
    }

    #[test]
    fn at_least_is_the_near_end_of_the_interval() {
        let evidence = evidence(1.10, 0.02);
        let ci = evidence.interval(0.95).unwrap();
        let least = TIMES.judge(&evidence).at_least.unwrap();
        assert!((least - (ci.low - 1.0)).abs() < 1e-12, "{least} {ci:?}");
        // 1.10 times the rate is faster by at least as much.
        assert_eq!(RATES.judge(&evidence).at_least, Some(least));
    }

    #[test]
    fn five_rounds_tell_nothing_however_far_apart_they_are() {
        let five = Evidence::paired(&[1.0; 5], &[2.0; 5]).unwrap();
        assert_eq!(TIMES.judge(&five).verdict, Difference::CannotTell);
        let six = Evidence::paired(&[1.0; 6], &[2.0; 6]).unwrap();
        assert_eq!(TIMES.judge(&six).verdict, Difference::Slower);
    }

    #[test]
    fn planned_rounds_agree_with_the_published_table() {
        // Rounds for a true 5 % at a margin of 1 %, 95 and 99 % power.
        for (spread, r95, r99) in [
            (0.02, 8, 8),
            (0.03, 11, 14),
            (0.05, 25, 34),
            (0.08, 60, 84),
            (0.10, 93, 130),
            (0.15, 205, 289),
        ] {
            let [found95, found99] = [0.95, 0.99]
                .map(|power| rounds_to_find(TIMES.margin, 0.05, spread, power).unwrap());
            assert!(found95.abs_diff(r95) <= 2, "{spread}: {found95} for {r95}");
            assert!(found99.abs_diff(r99) <= 3, "{spread}: {found99} for {r99}");
            let effect = smallest_effect(TIMES.margin, spread, found95).unwrap();
            assert!(effect <= 0.05 && (found95 == 8 || effect > 0.045), "{spread}: {effect}");
        }
        assert_eq!(rounds_to_find(TIMES.margin, 0.005, 0.05, 0.95), None, "within the margin");
        assert_eq!(smallest_effect(TIMES.margin, 0.05, 5), None);
    }

    #[test]
    fn what_would_settle_it_is_the_way_out_of_the_margin_or_into_it() {
        let rule = Rule { margin: 0.02, ..TIMES };
        // Alternating, so that the spread of rounds is known: 1.4826 x 0.05.
        let around = |ratio: f64| {
            let b: Vec<f64> = (0..12)
                .map(|i| ratio * (if i % 2 == 0 { 0.05_f64 } else { -0.05 }).exp())
                .collect();
            Evidence::paired(&[1.0; 12], &b).unwrap()
        };
        assert!((around(1.0).spread().unwrap() - 1.4826 * 0.05).abs() < 1e-12);
        let inside = rule.rounds_to_settle(&around(1.0)).unwrap();
        let near = rule.rounds_to_settle(&around(1.03)).unwrap();
        let far = rule.rounds_to_settle(&around(1.10)).unwrap();
        // ((1.645 + 1.645) s / ln 1.02)^2 / 0.955 is 159.
        assert!((155..=165).contains(&inside), "{inside}");
        assert!(far < near && far >= 8, "{far} {near}");
        assert_eq!(rule.rounds_to_settle(&around(1.02)), None, "on the edge nothing ever does");
    }

    #[test]
    fn holm_adjusts_as_in_the_worked_example() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(adjusted.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-12), "{adjusted:?}");
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 0.9]), [1.0, 1.0]);
    }

    #[test]
    fn benjamini_and_hochberg_adjust_as_in_the_worked_example() {
        // 0.005 x 4/1, 0.01 x 4/2, 0.03 x 4/3, 0.04 x 4/4; none is above the next larger one.
        let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.02, 0.04, 0.04, 0.02];
        assert!(adjusted.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-12), "{adjusted:?}");
        assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
        assert_eq!(benjamini_hochberg(&[0.9, 0.95]), [0.95, 0.95]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn exchanging_the_arms_mirrors_the_verdict_exactly(
            pairs in prop::collection::vec((0.9..1.2_f64, 0.9..1.2_f64), 6..40),
            is_paired in any::<bool>(),
            more_is_better in any::<bool>(),
        ) {
            let rule = Rule { margin: 0.02, more_is_better };
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let of = if is_paired { Evidence::paired } else { Evidence::separate };
            let (there, back) = (of(&a, &b).unwrap(), of(&b, &a).unwrap());
            let (said, answered) = (rule.judge(&there), rule.judge(&back));
            let mirrored = match said.verdict {
                Difference::Slower => Difference::Faster,
                Difference::Faster => Difference::Slower,
                other => other,
            };
            prop_assert_eq!(answered.verdict, mirrored);
            prop_assert_eq!((answered.at_least, answered.p), (said.at_least, said.p));
            prop_assert_eq!(rule.rounds_to_settle(&there), rule.rounds_to_settle(&back));
            let (one, other) = (there.log_interval(0.95).unwrap(), back.log_interval(0.95).unwrap());
            prop_assert_eq!((one.low, one.high), (-other.high, -other.low));
        }
    }
}
