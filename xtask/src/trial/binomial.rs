//! How far a count may be from what is asked for by chance alone.

/// Chance of at most `count` of `trials` where each happens with `p`, 0 < p < 1.
fn at_most(count: u64, trials: u64, p: f64) -> f64 {
    // In logarithms, since (1 − p)^n of many trials is below the smallest number there is.
    let mut log = trials as f64 * (-p).ln_1p();
    let mut sum = log.exp();
    for k in 1..=count.min(trials) {
        log += ((trials - k + 1) as f64 / k as f64).ln() + p.ln() - (-p).ln_1p();
        sum += log.exp();
    }
    sum.min(1.0)
}

/// The most that 99 of 100 trials have where each happens with `p`.
pub(super) fn most(trials: u64, p: f64) -> u64 {
    (0..trials).find(|count| at_most(*count, trials, p) >= 0.99).unwrap_or(trials)
}

/// The fewest that 99 of 100 trials have.
pub(super) fn fewest(trials: u64, p: f64) -> u64 {
    trials - most(trials, 1.0 - p)
}

/// The fewest and the most, with half a percent of all trials on either side.
pub(super) fn band(trials: u64, p: f64) -> [u64; 2] {
    let beyond = |limit: f64| (0..trials).find(|count| at_most(*count, trials, p) >= limit);
    [beyond(0.005).unwrap_or(0), beyond(0.995).unwrap_or(trials)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_are_those_of_the_tables() {
        // Binomial(10, 1/2): 1, 11, 56, 176, 386 of 1024 up to 0, 1, 2, 3, 4.
        for (count, of_1024) in [(0, 1.0), (1, 11.0), (2, 56.0), (3, 176.0), (4, 386.0)] {
            assert!((at_most(count, 10, 0.5) - of_1024 / 1024.0).abs() < 1e-12, "{count}");
        }
        assert_eq!((band(10, 0.5), fewest(10, 0.5), most(10, 0.5)), ([1, 9], 1, 9));
        assert!((at_most(5_000, 10_000, 0.5) - 0.504).abs() < 1e-3);
        // A true 5 % gives 3 to 19 of 200.
        assert_eq!(band(200, 0.05), [3, 19]);
        assert_eq!(fewest(100, 0.95), 89);
        assert_eq!((most(1, 0.02), fewest(1, 0.95)), (1, 0));
    }
}
