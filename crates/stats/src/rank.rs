//! Which value of a sorted sample is a quantile.

/// `x`, moved to the nearest integer when it differs from it only by rounding error: `0.07 * 100`
/// is 7.000000000000001, and its ceiling must still be 7.
pub(crate) fn without_rounding_error(x: f64) -> f64 {
    let near = x.round();
    if (x - near).abs() <= near * 1e-10 { near } else { x }
}

/// The rank ⌈q·n⌉ of the nearest-rank quantile, in 1..=n; `None` for an empty sample or `q`
/// outside 0..=1.
pub(crate) fn nearest_rank(n: u64, q: f64) -> Option<u64> {
    if n == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    Some((without_rounding_error(q * n as f64).ceil() as u64).clamp(1, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_is_immune_to_binary_fractions() {
        for percent in 1..=100_u64 {
            for n in [100, 1_000, 100_000] {
                let q = percent as f64 / 100.0;
                assert_eq!(nearest_rank(n, q), Some(percent * n / 100), "{percent} % of {n}");
            }
        }
        assert_eq!(nearest_rank(3, 0.5), Some(2));
        assert_eq!(nearest_rank(10, 0.0), Some(1));
        assert_eq!(nearest_rank(0, 0.5), None);
        assert_eq!(nearest_rank(10, f64::NAN), None);
    }
}
