//! Whether this process ran when it had something to do: one that was stopped (SIGSTOP, job control, a debugger, a frozen
//! control group) is told nothing of it, but finds that more time has passed than it slept, worked and waited for a CPU.

use crate::clock::{boottime_ns, monotonic_ns, process_cpu_ns};
use crate::procfs::{self, RunDelay};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a process may be late by for reasons that it cannot see: a page that comes from a disk, a call that the kernel holds
/// up.
const UNSEEN: Duration = Duration::from_millis(500);

/// How old what is known of the surroundings may be: what was stolen since then counts as if it were stolen while the
/// process stood still.
const RECENT: Duration = Duration::from_secs(1);

/// Readings of one process from time to time.
#[derive(Debug, Default)]
pub struct Pulse(Mutex<Snapshot>);

#[derive(Debug, Default)]
struct Snapshot {
    /// Where the kernel says how long this process waited: read some six times in a slice.
    delays: Option<RunDelay>,
    last: Option<Beat>,
    around: Option<Interference>,
    longest: Duration,
}

/// What a process knows of itself.
#[derive(Clone, Copy, Debug)]
struct Beat {
    at: Instant,
    cpu_ns: u64,
    /// How long it waited for a CPU.
    delay_ns: Option<u64>,
}

/// What else keeps it from running.
#[derive(Clone, Copy, Debug)]
struct Interference {
    at: Instant,
    steal_ns: Option<u64>,
    throttled: Option<u64>,
}

impl Beat {
    fn now(delays: &RunDelay) -> Self {
        let (cpu_ns, delay_ns) = (process_cpu_ns(), delays.ns());
        Self { at: Instant::now(), cpu_ns, delay_ns }
    }

    /// What is missing between two beats to the time that has passed, if it slept for so long at the most. `None` where the
    /// kernel does not say how long a process waits for a CPU.
    fn missing(&self, now: &Self, slept: Duration) -> Option<Duration> {
        let ran = now.cpu_ns.saturating_sub(self.cpu_ns);
        let waited = now.delay_ns?.saturating_sub(self.delay_ns?);
        let known = slept + Duration::from_nanos(ran.saturating_add(waited));
        Some(now.at.duration_since(self.at).saturating_sub(known))
    }
}

impl Interference {
    fn now() -> Self {
        let (steal_ns, throttled) = (procfs::steal_ns(), procfs::throttled());
        Self { at: Instant::now(), steal_ns, throttled }
    }

    /// What of so much a host or a CPU limit does not explain.
    fn unexplained(&self, now: &Self, missing: Duration) -> Duration {
        if now.throttled > self.throttled {
            return Duration::ZERO;
        }
        let stolen = now.steal_ns.unwrap_or(0).saturating_sub(self.steal_ns.unwrap_or(0));
        missing.saturating_sub(Duration::from_nanos(stolen))
    }
}

impl Snapshot {
    fn beat(&mut self) -> Beat {
        Beat::now(self.delays.get_or_insert_with(RunDelay::of_this_process))
    }
}

impl Pulse {
    fn seen(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is watched; what was before is of no account.
    pub fn begin(&self) {
        let mut seen = self.seen();
        seen.last = Some(seen.beat());
        seen.around.get_or_insert_with(Interference::now);
    }

    /// It goes on, and has slept for so long at the most since it was last here.
    pub fn beat(&self, slept: Duration) {
        let mut seen = self.seen();
        let now = seen.beat();
        let missing = seen.last.and_then(|last| last.missing(&now, slept));
        seen.last = Some(now);
        let is_late = missing.is_some_and(|missing| missing > UNSEEN);
        if !is_late && seen.around.is_some_and(|around| around.at.elapsed() < RECENT) {
            return;
        }
        let around = Interference::now();
        let before = seen.around.replace(around);
        if let (Some(missing), Some(before)) = (missing.filter(|_| is_late), before) {
            let left = before.unexplained(&around, missing);
            if left > UNSEEN {
                seen.longest = seen.longest.max(left);
            }
        }
    }

    /// The longest time for which it stood still since the last call; nothing if it did not.
    #[must_use]
    pub fn take(&self) -> Duration {
        std::mem::take(&mut self.seen().longest)
    }
}

/// For how long this machine has been suspended since it was started.
#[must_use]
pub fn suspended() -> Duration {
    let once = |_| {
        // In this order the difference is never too large, and too small where it is held up between the two.
        let boottime = boottime_ns();
        boottime.saturating_sub(monotonic_ns())
    };
    Duration::from_nanos((0..3).map(once).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(at: Instant, cpu_ms: u64, delay_ms: u64) -> Beat {
        Beat { at, cpu_ns: cpu_ms * 1_000_000, delay_ns: Some(delay_ms * 1_000_000) }
    }

    #[test]
    fn what_is_neither_sleep_nor_work_nor_waiting_for_a_cpu_is_missing() {
        let (begin, ms) = (Instant::now(), Duration::from_millis);
        let first = beat(begin, 100, 50);
        let after = |all, cpu: u64, delay: u64, slept| {
            first.missing(&beat(begin + ms(all), 100 + cpu, 50 + delay), ms(slept))
        };
        assert_eq!(after(2000, 100, 300, 250), Some(ms(1350)));
        assert_eq!(after(700, 100, 350, 250), Some(ms(0)));
        // Woken before it had slept enough.
        assert_eq!(after(10, 1, 0, 250), Some(ms(0)));
        let silent = Beat { delay_ns: None, ..beat(begin + ms(2000), 100, 50) };
        assert_eq!(first.missing(&silent, ms(250)), None);
    }

    #[test]
    fn what_a_host_or_a_limit_took_is_explained() {
        let around = |steal_ms: u64, times| Interference {
            at: Instant::now(),
            steal_ns: Some(steal_ms * 1_000_000),
            throttled: times,
        };
        let left = |before: Interference, after: Interference| {
            before.unexplained(&after, Duration::from_millis(1500)).as_millis()
        };
        assert_eq!(left(around(10, None), around(10, None)), 1500);
        assert_eq!(left(around(10, Some(3)), around(410, Some(3))), 1100);
        assert_eq!(left(around(10, Some(3)), around(10, Some(4))), 0);
    }

    #[test]
    fn a_process_that_runs_is_never_missed_and_one_that_does_not_is() {
        let pulse = Pulse::default();
        pulse.begin();
        pulse.beat(Duration::ZERO);
        assert_eq!(pulse.take(), Duration::ZERO);
        // As if it had stood still since then.
        let long = Instant::now().checked_sub(Duration::from_secs(100)).expect("it runs longer");
        pulse.seen().last.as_mut().expect("a beat").at = long;
        let has_delay = procfs::run_delay_ns().is_some();
        pulse.beat(Duration::from_secs(10));
        assert_eq!(pulse.take() > Duration::from_secs(50), has_delay);
        assert_eq!(pulse.take(), Duration::ZERO);
    }
}
