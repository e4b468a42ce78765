//! Letting time pass between operations, as exactly as the kernel can.

use rustix::thread::{ClockId, NanosleepRelativeResult, Timespec};
use std::io;
use std::num::NonZeroU64;

/// Sleeps for about `nanos`; less if a signal arrives. Out of line: never inside a timed interval.
#[cold]
#[inline(never)]
pub fn sleep_ns(nanos: u64) {
    let request = Timespec {
        tv_sec: (nanos / 1_000_000_000).cast_signed(),
        tv_nsec: (nanos % 1_000_000_000).cast_signed(),
    };
    match rustix::thread::clock_nanosleep_relative(ClockId::Monotonic, &request) {
        NanosleepRelativeResult::Ok | NanosleepRelativeResult::Interrupted(_) => {}
        // No kernel refuses this clock; callers look at their clock anyway.
        NanosleepRelativeResult::Err(_) => {}
    }
}

/// Asks the kernel not to delay this thread's timers in favour of others: 50 us is its custom.
///
/// # Errors
/// The kernel's.
pub fn sharpen() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_lasts_at_least_as_long_as_asked() {
        sharpen().expect("a timer slack");
        let begin = std::time::Instant::now();
        sleep_ns(2_000_000);
        assert!(begin.elapsed().as_nanos() >= 2_000_000);
        sleep_ns(0);
    }
}
