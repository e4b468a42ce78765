//! By how much the counters of two CPUs differ, and how well that is known. Without this, the time at which a message
//! left one CPU and the time at which it arrived on another must not be subtracted: kernels only check that no counter
//! is seen to run backwards.

use crate::page::Page;
use ipcperf_core::Seat;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// Fewest exchanges; the best of so many is close to the undisturbed one.
const FEWEST: u64 = 10_000;

/// How long they go on.
const DURATION_NS: f64 = 20e6;

/// The last exchange ends with this instead of the next number.
const END: u32 = u32::MAX;

/// The counter of the follow's CPU minus that of the lead's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Its best estimate, ticks.
    pub ticks: i64,
    /// How far it can be off, ticks.
    pub bound: u64,
    /// Readings that lay before an earlier one of the other CPU: then the counters are not to be trusted at all.
    pub warps: u64,
    /// Exchanges.
    pub exchanges: u64,
}

impl Offset {
    /// Takes in one exchange: `there` was read by the follow after `sent` and before `back` were read by the lead. The
    /// offset is best known from the shortest one, whose two ways differ least.
    fn add(&mut self, sent: u64, there: u64, back: u64) {
        let trip = back.saturating_sub(sent);
        let bound = trip.div_ceil(2);
        if self.exchanges == 0 || bound < self.bound {
            let [to, from] = [sent, back].map(|lead| there.wrapping_sub(lead).cast_signed());
            (self.ticks, self.bound) = (i64::midpoint(to, from), bound);
        }
        self.warps += u64::from(there < sent) + u64::from(back < there);
        self.exchanges += 1;
    }

    /// Whether two measurements of it can both be right.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.ticks.abs_diff(other.ticks) <= self.bound + other.bound
    }
}

/// Both ends spin on one cache line that goes there and back, each reads the counter at `read` while it has it. Returns
/// what the lead found; the follow has nothing to say. At least 20 ms, as long as the kernel's own test for counters
/// that run backwards, and at least 10,000 exchanges.
pub(crate) fn measure(
    page: &Page,
    seat: Seat,
    ns_per_tick: f64,
    read: impl Fn() -> u64,
) -> Option<Offset> {
    let (line, reading) = (page.line(), page.reading());
    line.store(0, Ordering::Release);
    page.gate().meet();
    let mut turn = 0_u32;
    match seat {
        Seat::Lead => {
            let mut offset = Offset::default();
            let duration = (DURATION_NS / ns_per_tick.max(1e-9)) as u64;
            let begin = read();
            loop {
                let sent = read();
                line.store(turn + 1, Ordering::Release);
                while line.load(Ordering::Acquire) != turn + 2 {
                    std::hint::spin_loop();
                }
                let back = read();
                offset.add(sent, reading.load(Ordering::Relaxed), back);
                turn += 2;
                let is_long = back.saturating_sub(begin) >= duration;
                if (is_long && offset.exchanges >= FEWEST) || turn >= END - 4 {
                    line.store(END, Ordering::Release);
                    return Some(offset);
                }
            }
        }
        Seat::Follow => loop {
            let seen = line.load(Ordering::Acquire);
            if seen == END {
                return None;
            }
            if seen == turn + 1 {
                reading.store(read(), Ordering::Relaxed);
                line.store(turn + 2, Ordering::Release);
                turn += 2;
            } else {
                std::hint::spin_loop();
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::affinity;
    use ipcperf_sys::clock::monotonic_ns;
    use ipcperf_sys::skipped::skipped;

    #[test]
    fn the_shortest_exchange_tells_the_offset_and_its_bound() {
        let mut offset = Offset::default();
        // The follow's counter is 500 ahead; one way takes 80, then 30, and 70 back.
        offset.add(1000, 1000 + 80 + 500, 1000 + 80 + 200);
        offset.add(5000, 5000 + 30 + 500, 5000 + 30 + 70);
        offset.add(9000, 9000 + 900 + 500, 9000 + 900 + 10);
        assert_eq!((offset.bound, offset.exchanges), (50, 3));
        assert!(offset.ticks.abs_diff(500) <= offset.bound, "{offset:?}");
        // It is seen before it was read: nothing is corrected that far.
        assert!(offset.warps > 0);
        let mut behind = Offset::default();
        behind.add(1000, 1040 - 500, 1100);
        assert_eq!((behind.ticks.abs_diff(-500) <= 50, behind.warps), (true, 1));
        assert!(!behind.agrees(&offset) && behind.agrees(&behind));
    }

    #[test]
    fn an_injected_offset_is_found_again() {
        if affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() < 2) {
            return skipped("two CPUs", "on one each exchange takes two time slices");
        }
        for skew in [0, 500, 1_000_000] {
            let page = Page::create(crate::page::CAPACITY).expect("memory");
            let offset = std::thread::scope(|scope| {
                let follow = || measure(&page, Seat::Follow, 1.0, || monotonic_ns() + skew);
                scope.spawn(follow);
                measure(&page, Seat::Lead, 1.0, monotonic_ns).expect("the lead has it")
            });
            assert!(offset.exchanges >= FEWEST);
            assert!(
                offset.ticks.abs_diff(skew.cast_signed()) <= offset.bound,
                "{skew}: {offset:?}"
            );
            if skew == 0 {
                assert_eq!(offset.warps, 0, "one clock does not run backwards");
            } else if skew > 2 * offset.bound {
                assert!(offset.warps > 0, "{skew}: {offset:?}");
            }
        }
    }
}
