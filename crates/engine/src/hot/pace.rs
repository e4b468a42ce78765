//! When round trips begin, where they do not follow each other at once.

use ipcperf_sys::clock::Clock;
use ipcperf_sys::pause;

/// When round trips begin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace<'a> {
    /// Open loop: when each message is due, ticks after the begin. Empty: each follows a pause.
    pub due: &'a [u64],
    /// That pause, ticks.
    pub pause: u64,
    /// The longest time for which nothing is due, ticks: so long silence means nothing.
    pub longest: u64,
    /// So many ticks before it is due the sender stops sleeping and watches the clock.
    pub near: u64,
    /// Whether the CPU is given away at each look at the clock, because the follow may need it.
    pub yields: bool,
    /// Length of a tick.
    pub ns_per_tick: f64,
}

impl Pace<'_> {
    /// Returns when it is time.
    #[inline(never)]
    pub(super) fn wait(self, clock: Clock, due: u64) {
        loop {
            let left = due.saturating_sub(clock.stop());
            if left == 0 {
                return;
            }
            if left > self.near {
                pause::sleep_ns(((left - self.near) as f64 * self.ns_per_tick) as u64);
            } else if self.yields {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
