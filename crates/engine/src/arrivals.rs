//! When the messages of an open loop are due, fixed before the first is sent.

use ipcperf_core::Arrivals;
use ipcperf_stats::Rng;

/// How long before a message is due its sender stops sleeping, ns: a sleep may end so much late.
pub(crate) const NEAR_NS: f64 = 50e3;

/// When `count` messages are due that come every `mean` ticks: ticks after the begin, the last after `count * mean`.
/// Random arrivals are those of a Poisson process of which it is known that the last comes just then: else the load of a
/// short slice would be a matter of luck.
#[must_use]
pub fn schedule(arrivals: Arrivals, count: u64, mean: f64, rng: &mut Rng) -> Vec<u64> {
    let gap = |rng: &mut Rng| match arrivals {
        Arrivals::Constant => 1.0,
        Arrivals::Poisson => rng.exponential(1.0),
    };
    let mut sum = 0.0;
    let times: Vec<f64> = (0..count)
        .map(|_| {
            sum += gap(rng);
            sum
        })
        .collect();
    let stretch = if sum > 0.0 { count as f64 * mean / sum } else { mean };
    times.into_iter().map(|time| (time * stretch) as u64).collect()
}

/// The longest time between two messages of a schedule, or before the first.
#[must_use]
pub fn longest_gap(schedule: &[u64]) -> u64 {
    let gaps = schedule.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    gaps.chain(schedule.first().copied()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_arrivals_are_equally_far_apart() {
        let times = schedule(Arrivals::Constant, 1000, 250.5, &mut Rng::from_seed(1));
        assert_eq!((times.len(), times[0], times[999]), (1000, 250, 250_500));
        assert_eq!(longest_gap(&times), 251);
        assert!(schedule(Arrivals::Constant, 0, 1.0, &mut Rng::from_seed(1)).is_empty());
        assert_eq!(longest_gap(&[]), 0);
    }

    /// The largest distance between the gaps' distribution and the exponential one, times the root of their number
    /// (Kolmogorov and Smirnov): above 1.949 once in a thousand samples.
    fn distance(seed: u64) -> f64 {
        let (count, mean) = (2000_u32, 1e6);
        let times = schedule(Arrivals::Poisson, count.into(), mean, &mut Rng::from_seed(seed));
        assert!(
            (times.last().map_or(0.0, |last| *last as f64) - f64::from(count) * mean).abs() < 2.0
        );
        let mut before = 0;
        let mut gaps: Vec<f64> = times
            .iter()
            .map(|time| {
                let gap = time - before;
                before = *time;
                gap as f64 / mean
            })
            .collect();
        gaps.sort_by(f64::total_cmp);
        let n = f64::from(count);
        let worst = gaps.iter().zip(1_u32..).map(|(gap, rank)| {
            let expected = 1.0 - (-gap).exp();
            let (below, above) = (f64::from(rank - 1) / n, f64::from(rank) / n);
            (expected - below).abs().max((above - expected).abs())
        });
        worst.fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn the_gaps_of_random_arrivals_are_exponential() {
        let distances: Vec<f64> = (0..100).map(distance).collect();
        let far = distances.iter().filter(|distance| **distance > 1.949).count();
        assert!(far <= 1, "{distances:?}");
        // And not closer than chance allows, as equal gaps or a fixed sample would be.
        let close = distances.iter().filter(|distance| **distance < 0.35).count();
        assert!(close <= 5, "{distances:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        let times = |seed| schedule(Arrivals::Poisson, 50, 1e4, &mut Rng::from_seed(seed));
        assert_eq!(times(3), times(3));
        assert_ne!(times(3), times(4));
    }
}
