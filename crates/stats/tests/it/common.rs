//! What disturbs a slice in more than one simulation.

use ipcperf_stats::Rng;

/// The noise of one slice, as a logarithm.
pub(crate) type Noise = fn(&mut Rng) -> f64;

pub(crate) fn normal(rng: &mut Rng) -> f64 {
    0.05 * rng.normal()
}

/// One slice in 20 has a long tail on top.
pub(crate) fn contaminated(rng: &mut Rng) -> f64 {
    let stray = if rng.below(20) == 0 { rng.exponential(0.5) } else { 0.0 };
    0.03 * rng.normal() + stray
}

pub(crate) fn percent(count: usize, trials: usize) -> f64 {
    100.0 * count as f64 / trials as f64
}
