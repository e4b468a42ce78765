//! Quantiles of the reference distributions behind the intervals, computed rather than tabulated.

use std::f64::consts::{FRAC_PI_2, LN_2, PI};
use std::sync::OnceLock;

/// Number of rounds up to which the signed-rank distribution is computed exactly. From 30 rounds on
/// the normal approximation is at most one rank off, of hundreds.
const EXACT_ROUNDS: usize = 50;

/// The zero of an increasing function between `low` and `high`, to the last bit.
fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The standard normal distribution function, by the Taylor series of Marsaglia, "Evaluating the
/// Normal Distribution", Journal of Statistical Software 11(4), 2004. Absolute error below 1e-14
/// for |z| ≤ 7.
pub fn normal_cdf(z: f64) -> f64 {
    if z.abs() > 7.0 {
        return if z > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut i) = (z, z, 1.0);
    while sum + term != sum {
        i += 2.0;
        term *= z * z / i;
        sum += term;
    }
    0.5 + sum * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// The point below which the standard normal distribution has probability `p`, 1e-9 < p < 1 − 1e-9.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    bisect(-7.0, 7.0, |z| normal_cdf(z) - p)
}

/// P(|T| ≤ tan θ·√ν) for Student's T with ν degrees of freedom: the finite sums 26.7.3 and 26.7.4 of
/// Abramowitz and Stegun, Handbook of Mathematical Functions.
fn student_t_within(theta: f64, freedom: usize) -> f64 {
    let (sin, cos) = theta.sin_cos();
    let odd = freedom % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    for j in (if odd { 3 } else { 2 }..freedom.saturating_sub(1)).step_by(2) {
        term *= cos * cos * (j - 1) as f64 / j as f64;
        sum += term;
    }
    if odd { (theta + sin * sum) / FRAC_PI_2 } else { sin * sum }
}

/// The point below which Student's t distribution with `freedom` degrees of freedom has probability
/// `p`. `None` unless 0 < p < 1 and there is at least one degree of freedom.
pub fn student_t_quantile(p: f64, freedom: usize) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) || freedom == 0 {
        return None;
    }
    let within = (2.0 * p - 1.0).abs();
    let theta = bisect(0.0, FRAC_PI_2, |theta| student_t_within(theta, freedom) - within);
    let t = theta.tan() * (freedom as f64).sqrt();
    Some(if p < 0.5 { -t } else { t })
}

/// P(T > t) for Student's T with `freedom` degrees of freedom, `t` ≥ 0 and `freedom` ≥ 1.
pub(crate) fn student_t_chance(t: f64, freedom: usize) -> f64 {
    (1.0 - student_t_within((t / (freedom as f64).sqrt()).atan(), freedom)) / 2.0
}

/// The largest rank k such that the k-th smallest to the k-th largest of `n` values hold the median
/// with confidence of at least `1 − alpha`: P(Binomial(n, ½) < k) ≤ alpha/2. `None` if not even
/// the full range does.
pub(crate) fn median_rank(n: usize, alpha: f64) -> Option<usize> {
    // In logarithms, for 2⁻ⁿ underflows when n > 1074.
    let mut log_term = -(n as f64) * LN_2;
    let mut below = 0.0;
    let mut rank = 0;
    while rank < n {
        below += log_term.exp();
        if below > alpha / 2.0 {
            break;
        }
        rank += 1;
        log_term += ((n - rank + 1) as f64 / rank as f64).ln();
    }
    (rank > 0).then_some(rank)
}

/// The largest s with P(T⁺ ≤ s) ≤ alpha/2, T⁺ being Wilcoxon's signed-rank statistic of `n` pairs
/// without a true difference. `None` if not even s = 0 is that improbable.
pub(crate) fn signed_rank_limit(n: usize, alpha: f64) -> Option<usize> {
    if n <= EXACT_ROUNDS {
        return limit(signed_rank(n), alpha);
    }
    approximate_limit(signed_rank_moments(n), alpha)
}

/// Mean and standard deviation of Wilcoxon's statistic.
fn signed_rank_moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

/// As [`limit`], of the normal distribution with these moments.
fn approximate_limit((mean, deviation): (f64, f64), alpha: f64) -> Option<usize> {
    let most = (mean - 0.5 - normal_quantile(1.0 - alpha / 2.0) * deviation).floor();
    (most >= 0.0).then_some(most as usize)
}

/// The probability of `most` at the most, by the normal distribution with these moments.
fn approximate_chance((mean, deviation): (f64, f64), most: usize) -> f64 {
    normal_cdf((most as f64 + 0.5 - mean) / deviation)
}

/// P(T⁺ = s) for every s, of `n` up to [`EXACT_ROUNDS`]: computed once, since thousands of cells of a comparison have as
/// many rounds.
fn signed_rank(n: usize) -> &'static [f64] {
    static KNOWN: [OnceLock<Vec<f64>>; EXACT_ROUNDS + 1] = [const { OnceLock::new() }; _];
    KNOWN[n].get_or_init(|| signed_rank_of(n))
}

fn signed_rank_of(n: usize) -> Vec<f64> {
    // Rank i joins the sum with probability ½, independently: one convolution per rank.
    let mut probability = vec![0.0_f64; n * (n + 1) / 2 + 1];
    probability[0] = 1.0;
    for rank in 1..=n {
        for s in (0..probability.len()).rev() {
            let with = if s >= rank { probability[s - rank] } else { 0.0 };
            probability[s] = (probability[s] + with) / 2.0;
        }
    }
    probability
}

/// The largest s of which all up to it together have probability `alpha / 2` at most.
fn limit(probability: &[f64], alpha: f64) -> Option<usize> {
    let mut below = 0.0;
    let improbable = probability.iter().take_while(|&&p| {
        below += p;
        below <= alpha / 2.0
    });
    improbable.count().checked_sub(1)
}

/// P(T⁺ ≤ s), by the same rule as [`signed_rank_limit`].
pub(crate) fn signed_rank_chance(n: usize, s: usize) -> f64 {
    if n <= EXACT_ROUNDS {
        return signed_rank(n).iter().take(s + 1).sum();
    }
    approximate_chance(signed_rank_moments(n), s)
}

/// Number of values a side up to which the rank-sum distribution is computed exactly.
const EXACT_SIDE: usize = 25;

/// P(U = u) for every u, U being the statistic of Mann and Whitney of `m` and `n` values without a true difference, both up
/// to [`EXACT_SIDE`]: computed once, too.
fn rank_sum(m: usize, n: usize) -> &'static [f64] {
    static KNOWN: [[OnceLock<Vec<f64>>; EXACT_SIDE + 1]; EXACT_SIDE + 1] =
        [const { [const { OnceLock::new() }; _] }; _];
    KNOWN[m][n].get_or_init(|| rank_sum_of(m, n))
}

fn rank_sum_of(m: usize, n: usize) -> Vec<f64> {
    // The largest of all values is one of the m with probability m/(m+n), and then above all n.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut next = vec![vec![1.0]];
        for j in 1..=n {
            let share = i as f64 / (i + j) as f64;
            let mut probability = vec![0.0; i * j + 1];
            for (u, p) in row[j].iter().enumerate() {
                probability[u + j] += share * p;
            }
            for (u, p) in next[j - 1].iter().enumerate() {
                probability[u] += (1.0 - share) * p;
            }
            next.push(probability);
        }
        row = next;
    }
    row.swap_remove(n)
}

/// Mean and standard deviation of the statistic of Mann and Whitney.
fn rank_sum_moments(m: usize, n: usize) -> (f64, f64) {
    let (m, n) = (m as f64, n as f64);
    (m * n / 2.0, (m * n * (m + n + 1.0) / 12.0).sqrt())
}

/// The largest u with P(U ≤ u) ≤ alpha/2, U being the statistic of Mann and Whitney of `m` and `n` values without a
/// true difference. `None` if not even u = 0 is that improbable.
pub(crate) fn rank_sum_limit(m: usize, n: usize, alpha: f64) -> Option<usize> {
    if m <= EXACT_SIDE && n <= EXACT_SIDE {
        return limit(rank_sum(m, n), alpha);
    }
    approximate_limit(rank_sum_moments(m, n), alpha)
}

/// P(U ≤ u), by the same rule as [`rank_sum_limit`].
pub(crate) fn rank_sum_chance(m: usize, n: usize, u: usize) -> f64 {
    if m <= EXACT_SIDE && n <= EXACT_SIDE {
        return rank_sum(m, n).iter().take(u + 1).sum();
    }
    approximate_chance(rank_sum_moments(m, n), u)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_agrees_with_printed_tables() {
        for (p, freedom, t) in [
            (0.975, 1, 12.706_204_736),
            (0.975, 2, 4.302_652_730),
            (0.975, 3, 3.182_446_305),
            (0.975, 7, 2.364_624_252),
            (0.95, 11, 1.795_884_819),
            (0.975, 19, 2.093_024_054),
            (0.995, 30, 2.749_995_654),
            (0.025, 10, -2.228_138_852),
            (0.975, 100_001, 1.959_987_708),
        ] {
            let got = student_t_quantile(p, freedom).unwrap();
            assert!((got - t).abs() < 2e-8, "{got} for {t}");
            let above = student_t_chance(t.abs(), freedom);
            assert!((above - p.min(1.0 - p)).abs() < 1e-9, "{above} for {t}");
        }
        for (p, freedom) in [(0.0, 3), (1.0, 3), (0.975, 0), (f64::NAN, 3)] {
            assert_eq!(student_t_quantile(p, freedom), None);
        }
    }

    #[test]
    fn normal_quantiles_agree_with_printed_tables() {
        for (p, z) in [(0.975, 1.959_963_985), (0.5, 0.0), (0.001, -3.090_232_306)] {
            assert!((normal_quantile(p) - z).abs() < 1e-9);
        }
        assert_eq!((normal_cdf(-9.0), normal_cdf(9.0)), (0.0, 1.0));
    }

    #[test]
    fn signed_rank_limits_agree_with_the_published_table() {
        for (n, k95, k90) in [
            (6, 0, 2),
            (8, 3, 5),
            (10, 8, 10),
            (12, 13, 17),
            (16, 29, 35),
            (20, 52, 60),
            (24, 81, 91),
            (30, 137, 151),
            (40, 264, 286),
        ] {
            assert_eq!(signed_rank_limit(n, 0.05), Some(k95), "{n}");
            assert_eq!(signed_rank_limit(n, 0.10), Some(k90), "{n}");
        }
        assert_eq!((signed_rank_limit(5, 0.05), signed_rank_limit(0, 0.05)), (None, None));
    }

    #[test]
    fn the_normal_approximation_agrees_with_the_exact_limits_within_one_rank() {
        for n in 30..=80 {
            for alpha in [0.05, 0.10] {
                let exact = limit(&signed_rank_of(n), alpha).unwrap();
                let approximate = approximate_limit(signed_rank_moments(n), alpha).unwrap();
                assert!(exact.abs_diff(approximate) <= 1, "{n}: {exact} {approximate}");
            }
        }
    }

    #[test]
    fn rank_sum_limits_agree_with_the_published_table() {
        // Critical values of U at 5 %, two-sided: Mann and Whitney 1947, and the tables made from it.
        for (m, n, u) in
            [(4, 4, 0), (5, 5, 2), (6, 6, 5), (5, 8, 6), (8, 8, 13), (10, 12, 29), (20, 20, 127)]
        {
            assert_eq!(rank_sum_limit(m, n, 0.05), Some(u), "{m} {n}");
            assert_eq!(rank_sum_limit(n, m, 0.05), Some(u), "{n} {m}");
        }
        assert_eq!((rank_sum_limit(3, 3, 0.05), rank_sum_limit(0, 9, 0.05)), (None, None));
        // 3 and 3 reach 0.1, 4 and 4 reach 0.029.
        assert!((2.0 * rank_sum_chance(3, 3, 0) - 0.1).abs() < 1e-12);
        assert!((2.0 * rank_sum_chance(4, 4, 0) - 2.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn the_chance_of_a_limit_is_what_the_limit_allows_and_of_the_next_is_more() {
        for alpha in [0.01, 0.05, 0.10] {
            for n in [8, 20, 50, 51, 80] {
                let limit = signed_rank_limit(n, alpha).unwrap();
                assert!(signed_rank_chance(n, limit) <= alpha / 2.0, "{n} {alpha}");
                assert!(signed_rank_chance(n, limit + 1) > alpha / 2.0, "{n} {alpha}");
            }
            for (m, n) in [(6, 7), (12, 12), (25, 25), (12, 26), (60, 40)] {
                let limit = rank_sum_limit(m, n, alpha).unwrap();
                assert!(rank_sum_chance(m, n, limit) <= alpha / 2.0, "{m} {n} {alpha}");
                assert!(rank_sum_chance(m, n, limit + 1) > alpha / 2.0, "{m} {n} {alpha}");
            }
        }
        let approximate = approximate_chance(rank_sum_moments(25, 25), 230);
        let exact = rank_sum_chance(25, 25, 230);
        assert!((exact / approximate - 1.0).abs() < 0.03, "{exact} {approximate}");
    }

    #[test]
    fn median_ranks_leave_at_most_the_error_allowed() {
        for n in 1..=200 {
            let mut pascal = vec![1.0_f64];
            for _ in 0..n {
                let next = pascal.windows(2).map(|w| w[0] + w[1]);
                pascal = std::iter::once(1.0).chain(next).chain([1.0]).collect();
            }
            let tail = |k: usize| pascal[..k].iter().sum::<f64>() / 2_f64.powi(n as i32);
            let k = median_rank(n, 0.05).unwrap_or(0);
            assert!(k == 0 || tail(k) <= 0.025, "{n}");
            assert!(tail(k + 1) > 0.025, "{n}");
            assert_eq!(k == 0, n < 6);
        }
        let wide = median_rank(1_000_000, 0.05).unwrap() as f64;
        assert!((wide - (500_000.0 - 0.98 * 1_000.0)).abs() < 3.0, "{wide}");
    }
}
