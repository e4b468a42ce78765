//! Work of a known length: steps each of which needs the result of the one before, so that no CPU can do two at once.

use ipcperf_sys::clock::monotonic_ns;
use std::hint::black_box;

/// Steps of a calibration: long enough for the clock to cost less than 1 % of it.
const STEPS: u64 = 10_000;

/// Calibrations: interruptions only make one longer, so that the fastest counts.
const TRIES: usize = 21;

/// Does so many steps.
#[inline(never)]
pub fn run(steps: u64) {
    let mut value = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..steps {
        // The shift keeps the compiler from making one multiplication of several.
        value = (value ^ (value >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    black_box(value);
}

/// What a step takes, ns.
#[must_use]
pub fn ns_per_step() -> f64 {
    let tries = (0..TRIES).map(|_| {
        let begin = monotonic_ns();
        run(STEPS);
        monotonic_ns() - begin
    });
    tries.min().unwrap_or(STEPS).max(1) as f64 / STEPS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_steps_take_longer_in_proportion() {
        // Ratios of fastest tries, one beside the other. A CPU that changes its speed in between makes another one.
        let ratio = || {
            let mut fastest = [u64::MAX; 2];
            for _ in 0..400 {
                for (least, steps) in fastest.iter_mut().zip([10_000, 40_000]) {
                    let begin = monotonic_ns();
                    run(steps);
                    *least = (*least).min(monotonic_ns() - begin);
                }
            }
            fastest[1] as f64 / fastest[0] as f64
        };
        let ratios: Vec<f64> = std::iter::repeat_with(ratio).take(20).collect();
        assert!(ratios.iter().any(|ratio| (3.75..4.25).contains(ratio)), "{ratios:?}");
        assert!(ns_per_step() > 0.0);
    }
}
