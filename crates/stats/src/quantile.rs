//! When a quantile may be shown, and how sure one can be of it.

use crate::distribution::student_t_quantile;
use crate::estimate::{Estimate, Interval};
use crate::histogram::{Histogram, Sample};
use crate::rank::without_rounding_error;

/// Values that must lie beyond a quantile before it is shown. With 20 the relative standard error
/// of the count beyond it is 1/√20 = 22 %; with fewer the figure is mostly luck.
const BEYOND: f64 = 20.0;

/// Rounds below which the spread of the exceedance between rounds is not trusted.
const ROUNDS: usize = 8;

/// The sample is too small for the quantile that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The smallest number of values that supports it; `u64::MAX` if no number does.
    pub samples: u64,
}

/// Whether `n` values support the quantile `q`: at least 20 of them are expected on its thinner
/// side, `n · min(q, 1−q) ≥ 20`. p99 needs 2,000 values, p99.9 20,000.
///
/// # Errors
/// [`Needed`] says how many values would do. The extremes (`q` of 0 or 1) are never supported as
/// quantiles, whatever the sample: they are the minimum and the maximum and must be named so.
pub fn support(n: u64, q: f64) -> Result<(), Needed> {
    let side = q.min(1.0 - q);
    let samples = if side > 0.0 {
        without_rounding_error(BEYOND / side).ceil() as u64
    } else {
        // A `q` that is not a number ends here too.
        u64::MAX
    };
    if n >= samples && samples != u64::MAX { Ok(()) } else { Err(Needed { samples }) }
}

/// The quantile `q` of all rounds together, with a 95 % interval that respects the rounds.
///
/// The value is the quantile of the merged histograms (percentiles are never averaged). The
/// interval is Woodruff's: for each threshold x the share of values above x is estimated with its
/// standard error *between rounds*, and the interval holds the thresholds whose share cannot be
/// told from `1 − q`. Bursts that hit some rounds and not others widen it, as they must.
/// Rounds of unequal size enter with their size (ratio estimator).
///
/// `None` when there is no value at all or `q` lies outside 0..=1; no interval with fewer than 8
/// rounds that hold values, or a sample that does not [`support`] the quantile.
pub fn across_rounds<S: Sample>(rounds: &[&S], q: f64) -> Option<Estimate> {
    let (rounds, merged) = together(rounds);
    let value = merged.quantile(q)? as f64;
    Some(Estimate { value, ci95: interval(&rounds, &merged, q, 0.95) })
}

/// The interval of [`across_rounds`] at another confidence, 0 < `confidence` < 1. `None` where `across_rounds` gives none.
pub fn quantile_interval<S: Sample>(rounds: &[&S], q: f64, confidence: f64) -> Option<Interval> {
    let (rounds, merged) = together(rounds);
    interval(&rounds, &merged, q, confidence)
}

/// The rounds that hold values, and all of these.
fn together<'a, S: Sample>(rounds: &[&'a S]) -> (Vec<&'a S>, Histogram) {
    let rounds: Vec<&S> = rounds.iter().copied().filter(|r| r.count() > 0).collect();
    let mut merged = Histogram::new();
    rounds.iter().for_each(|round| merged.merge(&round.whole()));
    (rounds, merged)
}

fn interval<S: Sample>(
    rounds: &[&S],
    merged: &Histogram,
    q: f64,
    confidence: f64,
) -> Option<Interval> {
    let is_enough = rounds.len() >= ROUNDS && support(merged.count(), q).is_ok();
    if is_enough { exceedance_interval(rounds, merged, 1.0 - q, confidence) } else { None }
}

/// The thresholds whose exceedance is compatible with `tail`.
fn exceedance_interval<S: Sample>(
    rounds: &[&S],
    merged: &Histogram,
    tail: f64,
    confidence: f64,
) -> Option<Interval> {
    let (min, max) = (merged.min()? as f64, merged.max()? as f64);
    let total = merged.count() as f64;
    let freedom = rounds.len() - 1;
    let t = student_t_quantile(f64::midpoint(1.0, confidence), freedom)?;
    let variance_factor = rounds.len() as f64 / freedom as f64;
    // Per round: its size, how many of its values lie above the threshold, its buckets to come.
    let mut walk: Vec<_> = rounds
        .iter()
        .map(|r| (r.count() as f64, r.count() as f64, r.buckets().peekable()))
        .collect();
    let (mut low, mut high) = (min, None);
    for (_, threshold, _) in merged.buckets() {
        for (_, above, buckets) in &mut walk {
            if let Some((.., n)) = buckets.next_if(|bucket| bucket.1 == threshold) {
                *above -= n as f64;
            }
        }
        let share = walk.iter().map(|(_, above, _)| above).sum::<f64>() / total;
        let squares: f64 = walk.iter().map(|(n, above, _)| (above - share * n).powi(2)).sum();
        let margin = t * (variance_factor * squares).sqrt() / total;
        if share - margin > tail {
            low = (threshold as f64).max(min);
        }
        if high.is_none() && share + margin < tail {
            high = Some((threshold as f64).min(max));
        }
    }
    high.map(|high| Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn supported_quantiles_need_exactly_the_published_numbers() {
        for (q, needed) in [
            (0.5, 40),
            (0.01, 2_000),
            (0.05, 400),
            (0.9, 200),
            (0.95, 400),
            (0.99, 2_000),
            (0.999, 20_000),
            (0.9999, 200_000),
            (0.99999, 2_000_000),
        ] {
            assert_eq!(support(needed, q), Ok(()), "{q}");
            assert_eq!(support(needed - 1, q), Err(Needed { samples: needed }), "{q}");
        }
    }

    #[test]
    fn the_extremes_and_nonsense_are_never_supported_as_quantiles() {
        for q in [0.0, 1.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(support(u64::MAX, q), Err(Needed { samples: u64::MAX }), "{q}");
        }
    }

    #[test]
    fn merged_p99_is_not_the_mean_of_p99s() {
        let (mut calm, mut busy) = (Histogram::new(), Histogram::new());
        calm.record_n(10, 9_900);
        calm.record_n(20, 100);
        busy.record_n(10, 9_000);
        busy.record_n(1_000, 1_000);
        let p99s = [&calm, &busy].map(|h| h.quantile(0.99).unwrap() as f64);
        let merged = across_rounds(&[&calm, &busy], 0.99).unwrap();
        assert_eq!((p99s, merged.value), ([10.0, 1_000.0], 1_000.0));
        assert_eq!(merged.ci95, None, "two rounds say nothing about the spread between rounds");
    }

    #[test]
    fn an_interval_needs_eight_rounds_and_enough_values() {
        let mut round = Histogram::new();
        (1..=1_000).for_each(|v| round.record(v));
        let with_ci = |n: usize, q| across_rounds(&vec![&round; n], q).unwrap().ci95.is_some();
        assert!(with_ci(8, 0.5) && with_ci(8, 0.99));
        assert!(!with_ci(7, 0.5));
        assert!(!with_ci(8, 0.999), "8,000 values do not support p99.9");
        assert!(with_ci(20, 0.999));
        let empty = Histogram::new();
        let mut rounds = vec![&round; 7];
        rounds.push(&empty);
        assert_eq!(across_rounds(&rounds, 0.5).unwrap().ci95, None, "an empty round is no round");
        assert_eq!(across_rounds(&[&empty], 0.5), None);
    }

    #[test]
    fn an_interval_at_a_higher_confidence_is_wider_and_holds_the_usual_one() {
        let mut rng = Rng::from_seed(5);
        let rounds: Vec<Histogram> = (0..10)
            .map(|_| {
                let level = 1_000 + rng.below(300);
                let mut round = Histogram::new();
                (0..5_000).for_each(|_| round.record(level + rng.below(2_000)));
                round
            })
            .collect();
        let rounds: Vec<&Histogram> = rounds.iter().collect();
        let at = |confidence| quantile_interval(&rounds, 0.99, confidence).unwrap();
        assert_eq!(Some(at(0.95)), across_rounds(&rounds, 0.99).unwrap().ci95);
        assert!(at(0.999).low < at(0.95).low && at(0.95).high < at(0.999).high, "{:?}", at(0.999));
        assert_eq!(quantile_interval(&rounds, 0.9999, 0.95), None, "50,000 values");
    }

    #[test]
    fn a_constant_has_an_interval_of_no_width() {
        let mut round = Histogram::new();
        round.record_n(7, 1_000);
        let estimate = across_rounds(&[&round; 10], 0.99).unwrap();
        assert_eq!(estimate, Estimate { value: 7.0, ci95: Some(Interval { low: 7.0, high: 7.0 }) });
    }

    #[test]
    fn rounds_that_differ_only_in_size_leave_no_doubt() {
        let rounds = [1, 50, 3, 7, 20, 1, 9, 4].map(|copies| {
            let mut round = Histogram::new();
            (1..=1_000).for_each(|v| round.record_n(v, copies));
            round
        });
        let estimate = across_rounds(&rounds.each_ref(), 0.5).unwrap();
        let ci95 = Some(Interval { low: 499.0, high: 501.0 });
        assert_eq!(estimate, Estimate { value: 500.0, ci95 });
    }

    #[test]
    fn the_interval_holds_the_value_even_when_rounds_differ_in_size() {
        let mut rng = Rng::from_seed(11);
        for case in 0..50 {
            let rounds: Vec<Histogram> = (0..8 + case % 5)
                .map(|_| {
                    let (n, level) = (500 + rng.below(5_000), 1_000 + rng.below(2_000));
                    let mut round = Histogram::new();
                    (0..n).for_each(|_| round.record(level + rng.below(500)));
                    round
                })
                .collect();
            let rounds: Vec<&Histogram> = rounds.iter().collect();
            for q in [0.1, 0.5, 0.9, 0.99] {
                let Estimate { value, ci95 } = across_rounds(&rounds, q).unwrap();
                let Interval { low, high } = ci95.unwrap();
                assert!(low <= value && value <= high, "{low} {value} {high} at {q}");
            }
        }
    }
}
