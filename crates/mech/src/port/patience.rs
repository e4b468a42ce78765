//! How long a receiver waits for a message that may be lost.

use std::time::{Duration, Instant};

/// How long a receiver waits before it calls a message lost. Far above any delay of a loopback interface, far below
/// the length of a run.
pub(crate) const LOST_AFTER: Duration = Duration::from_millis(200);

/// Polls between two looks at the clock: about 0.1 ms at half a microsecond for a system call that finds nothing, so
/// that the clock costs next to nothing and the limit is kept to a fraction of a percent.
const LOOK_EVERY: u32 = 256;

/// The time limit of one receive that asks again and again. It starts at the first look at the clock.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    polls: u32,
    since: Option<Instant>,
}

impl Patience {
    /// Counts a poll that found nothing; whether [`LOST_AFTER`] is over.
    #[inline(always)]
    pub(crate) fn is_over(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(LOOK_EVERY) && self.look()
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() >= LOST_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_and_not_before_its_time() {
        let start = Instant::now();
        let mut patience = Patience::default();
        while !patience.is_over() {}
        assert!(start.elapsed() >= LOST_AFTER);
    }
}
