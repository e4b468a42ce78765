//! The promises of the histogram, checked against exact computation and hostile input.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use ipcperf_stats::{Histogram, Rng};
use proptest::prelude::*;

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|v| histogram.record(*v));
    histogram
}

fn merged(a: &Histogram, b: &Histogram) -> Histogram {
    let mut sum = a.clone();
    sum.merge(b);
    sum
}

/// Values of every magnitude, the smallest and the largest among them.
fn any_value() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(v, shift)| v >> shift)
}

fn any_values() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any_value(), 0..40)
}

fn parts(histogram: &Histogram) -> (u64, u64, u128, Vec<(u64, u64)>) {
    (
        histogram.min().unwrap_or(0),
        histogram.max().unwrap_or(0),
        histogram.sum(),
        histogram.buckets().map(|(low, _, n)| (low, n)).collect(),
    )
}

fn rebuilt(histogram: &Histogram) -> Result<Histogram, String> {
    let (min, max, sum, parts) = parts(histogram);
    Histogram::from_parts(min, max, sum, &parts)
}

fn log_uniform(rng: &mut Rng, n: usize) -> Vec<u64> {
    let (from, to) = (20_f64.ln(), 1e10_f64.ln());
    (0..n).map(|_| (from + (to - from) * rng.unit()).exp().round() as u64).collect()
}

#[test]
fn every_quantile_is_within_a_thousandth_of_the_exact_one() {
    let mut values = log_uniform(&mut Rng::from_seed(1), 100_000);
    let histogram = histogram(&values);
    values.sort_unstable();
    let last = [99_900, 99_990, 99_999];
    let mut before = 0;
    for rank in (1_000..100_000).step_by(100).chain(last) {
        let got = histogram.quantile(rank as f64 / 1e5).unwrap();
        let exact = values[rank - 1];
        assert!(got.abs_diff(exact) as f64 <= 0.001 * exact as f64, "{got} for {exact} at {rank}");
        assert!(got >= before, "quantiles must not fall");
        before = got;
    }
    assert_eq!(histogram.quantile(0.0), values.first().copied());
    assert_eq!(histogram.quantile(1.0), values.last().copied());
    assert_eq!(histogram.min(), values.first().copied());
    assert_eq!(histogram.max(), values.last().copied());
    assert_eq!(histogram.sum(), values.iter().map(|v| u128::from(*v)).sum());
    assert_eq!(histogram.count(), 100_000);
}

#[test]
fn values_below_2048_are_exact() {
    let histogram = histogram(&(0..2_048).collect::<Vec<_>>());
    assert!(histogram.buckets().eq((0..2_048).map(|v| (v, v, 1))));
    assert_eq!(histogram.quantile(0.5), Some(1_023));
    assert_eq!(histogram.count_above(1_000), 1_047);
}

#[test]
fn no_bucket_is_wider_than_promised_and_none_is_missing() {
    for exponent in 11..64 {
        let start = 1_u64 << exponent;
        let width = start >> 10;
        let values: Vec<u64> = (0..1_024).map(|i| start + i * width).collect();
        let expected = values.iter().map(|&v| (v, v + (width - 1), 1));
        assert!(histogram(&values).buckets().eq(expected), "octave {exponent}");
    }
}

#[test]
fn within_one_bucket_the_extremes_are_kept_and_the_rest_is_the_midpoint() {
    // Here a bucket is 1,024 wide.
    let low = 1 << 20;
    let at = |values: &[u64], q| histogram(values).quantile(q).map(|v| v - low);
    let spread = [low, low + 3, low + 1_000];
    assert_eq!([0.0, 0.5, 1.0].map(|q| at(&spread, q)), [Some(0), Some(511), Some(1_000)]);
    let upper = [low + 600, low + 650, low + 700];
    assert_eq!([0.0, 0.5, 1.0].map(|q| at(&upper, q)), [Some(600), Some(600), Some(700)]);
    let lower = [low + 1, low + 2, low + 3];
    assert_eq!(at(&lower, 0.5), Some(3));
}

#[test]
fn values_in_the_bucket_of_the_threshold_are_not_above_it() {
    let low = 1 << 20;
    let histogram = histogram(&[low + 10, low + 20, low + 1_023, low + 1_024]);
    let above = |x| histogram.count_above(x);
    assert_eq!([low + 9, low + 15, low + 1_023, low + 1_024].map(above), [4, 1, 1, 0]);
}

#[test]
fn an_empty_histogram_has_no_figures() {
    let empty = Histogram::new();
    assert_eq!((empty.min(), empty.max(), empty.quantile(0.5)), (None, None, None));
    assert_eq!((empty.count(), empty.sum(), empty.count_above(0)), (0, 0, 0));
    assert_eq!(empty.scaled(2.0), empty);
    assert_eq!(Histogram::from_parts(0, 0, 0, &[]), Ok(empty));
}

#[test]
fn quantiles_outside_zero_to_one_do_not_exist() {
    let histogram = histogram(&[1, 2, 3]);
    for q in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(histogram.quantile(q), None);
    }
}

#[test]
fn counts_saturate_instead_of_wrapping() {
    let mut histogram = Histogram::new();
    histogram.record_n(u64::MAX, u64::MAX);
    let twice = merged(&histogram, &histogram);
    assert_eq!((twice.count(), twice.sum()), (u64::MAX, u128::MAX));
    histogram.record_n(1, u64::MAX);
    assert_eq!((histogram.count(), histogram.count_above(0)), (u64::MAX, u64::MAX));
    assert_eq!(histogram.quantile(0.5), Some(1));
}

#[test]
fn scaling_keeps_extremes_and_sum_exact() {
    let ticks = histogram(&[3_000, 3_001, 5_000_003, 9_000_000_001]);
    let nanos = ticks.scaled(0.5);
    assert_eq!((nanos.min(), nanos.max()), (Some(1_500), Some(4_500_000_001)));
    assert_eq!((nanos.count(), nanos.sum()), (4, 4_502_503_003));
    assert_eq!(ticks.scaled(1.0), ticks);
    for factor in [-1.0, 0.0, f64::NAN] {
        assert_eq!(ticks.scaled(factor).max(), Some(0));
    }
    assert_eq!(ticks.scaled(f64::INFINITY).min(), Some(u64::MAX));
}

#[test]
fn scaled_quantiles_stay_within_a_thousandth() {
    let mut values: Vec<u64> =
        log_uniform(&mut Rng::from_seed(2), 20_000).iter().map(|v| v + 10_000).collect();
    let nanos = histogram(&values).scaled(0.357_142);
    values.sort_unstable();
    for rank in (200..20_000).step_by(20) {
        let exact = values[rank - 1] as f64 * 0.357_142;
        let got = nanos.quantile(rank as f64 / 2e4).unwrap() as f64;
        // Half a bucket before and half a bucket after scaling, and the rounding to an integer.
        assert!((got - exact).abs() <= 0.001 * exact + 1.0, "{got} for {exact}");
    }
}

#[test]
fn inconsistent_parts_are_refused_by_name() {
    const MANY: &str = "the counts add up to more than 18446744073709551615";
    const MIN: &str = "the minimum is not in the first bucket";
    const MAX: &str = "the maximum is not in the last bucket";
    const SUM: &str = "the sum does not fit the count and the extremes";
    let low: u64 = 1 << 20;
    for (min, max, sum, parts, error) in [
        (1, 1, 1, vec![(low + 1, 1)], "1048577 is not the lower bound of a bucket"),
        (5, 7, 12, vec![(7, 1), (5, 1)], "bucket 5 is out of order"),
        (5, 5, 10, vec![(5, 1), (5, 1)], "bucket 5 is out of order"),
        (5, 5, 0, vec![(5, 0)], "bucket 5 has a count of zero"),
        (5, 6, 11, vec![(5, u64::MAX), (6, 1)], MANY),
        (4, 5, 9, vec![(5, 2)], MIN),
        (7, 0, 0, vec![], MIN),
        (5, 6, 10, vec![(5, 2)], MAX),
        (0, 7, 0, vec![], MAX),
        (low + 2, low + 1, 2 * low, vec![(low, 2)], MAX),
        (low, low + 1, low, vec![(low, 1)], MAX),
        (5, 7, 9, vec![(5, 1), (7, 2)], SUM),
        (5, 7, 25, vec![(5, 1), (7, 2)], SUM),
        (0, 0, 1, vec![], SUM),
    ] {
        let refused = Histogram::from_parts(min, max, u128::from(sum), &parts);
        assert_eq!(refused, Err(error.to_owned()), "{parts:?}");
    }
}

proptest! {
    // A failing input is printed; it becomes a test of its own rather than a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_equals_the_histogram_of_the_union(a in any_values(), b in any_values()) {
        let union = histogram(&[a.clone(), b.clone()].concat());
        let (a, b) = (histogram(&a), histogram(&b));
        prop_assert_eq!(&merged(&a, &b), &union);
        prop_assert_eq!(&merged(&b, &a), &union);
        prop_assert_eq!(union.count(), a.count() + b.count());
    }

    #[test]
    fn merging_is_associative(a in any_values(), b in any_values(), c in any_values()) {
        let [a, b, c] = [a, b, c].map(|values| histogram(&values));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
    }

    #[test]
    fn buckets_hold_every_value_once(values in any_values()) {
        let histogram = histogram(&values);
        for (low, high, n) in histogram.buckets() {
            let held = values.iter().filter(|v| (low..=high).contains(*v)).count();
            prop_assert_eq!(held as u64, n);
            prop_assert!(high - low <= low / 1_024);
            let above = values.iter().filter(|v| **v > high).count();
            prop_assert_eq!(histogram.count_above(high), above as u64);
        }
        let total: u64 = histogram.buckets().map(|(.., n)| n).sum();
        prop_assert_eq!(total, values.len() as u64);
        prop_assert_eq!(histogram.min(), values.iter().min().copied());
        prop_assert_eq!(histogram.max(), values.iter().max().copied());
    }

    #[test]
    fn recording_n_times_equals_n_recordings(value in any_value(), n in 0..50_u64) {
        let mut once = Histogram::new();
        once.record_n(value, n);
        prop_assert_eq!(once, histogram(&vec![value; n as usize]));
    }

    #[test]
    fn quantiles_are_monotone_and_near_the_exact_ones(
        mut values in prop::collection::vec(any_value(), 1..40)
    ) {
        let histogram = histogram(&values);
        values.sort_unstable();
        let mut before = 0;
        for (i, exact) in values.iter().enumerate() {
            let got = histogram.quantile((i + 1) as f64 / values.len() as f64).unwrap();
            prop_assert!(got.abs_diff(*exact) <= exact / 1_000 && got >= before);
            before = got;
        }
    }

    #[test]
    fn parts_rebuild_the_histogram(values in any_values()) {
        let histogram = histogram(&values);
        prop_assert_eq!(rebuilt(&histogram), Ok(histogram));
    }

    #[test]
    fn a_document_keeps_every_bucket(values in any_values()) {
        let histogram = histogram(&values.iter().map(|value| value >> 8).collect::<Vec<_>>());
        let data = ipcperf_core::result::HistogramData::from(&histogram);
        prop_assert_eq!(Histogram::recorded(&data), Some(histogram));
    }

    #[test]
    fn parts_rebuild_a_scaled_histogram(values in any_values(), factor in 1e-6..1e3_f64) {
        let scaled = histogram(&values).scaled(factor);
        prop_assert_eq!(scaled.count(), values.len() as u64);
        if scaled.max() < Some(u64::MAX) {
            prop_assert_eq!(rebuilt(&scaled), Ok(scaled));
        }
    }

    #[test]
    fn hostile_parts_never_panic(
        (min, max, sum) in (any_value(), any_value(), any::<u128>()),
        parts in prop::collection::vec((any_value(), any_value()), 0..6),
    ) {
        if let Ok(accepted) = Histogram::from_parts(min, max, sum, &parts) {
            prop_assert!(accepted.quantile(0.5).is_some() || accepted.count() == 0);
        }
    }

    #[test]
    fn altered_parts_are_refused_or_kept_as_given(
        values in prop::collection::vec(any_value(), 1..10),
        (min, max, sum) in (-2..=2_i64, -2..=2_i64, -2..=2_i64),
    ) {
        let histogram = histogram(&values);
        let (old_min, old_max, old_sum, parts) = parts(&histogram);
        let (new_min, new_max) = (old_min.saturating_add_signed(min), old_max.saturating_add_signed(max));
        let new_sum = old_sum.saturating_add_signed(i128::from(sum));
        if let Ok(accepted) = Histogram::from_parts(new_min, new_max, new_sum, &parts) {
            prop_assert_eq!(accepted.min(), Some(new_min));
            prop_assert_eq!(accepted.max(), Some(new_max));
            prop_assert!(accepted.quantile(0.5) >= Some(new_min));
            prop_assert!(accepted.quantile(0.5) <= Some(new_max));
            prop_assert_eq!(rebuilt(&accepted), Ok(accepted));
        }
    }
}
