//! A barrier for processes on shared words: all arrive, all go on together.
//!
//! It sleeps in a futex, because on one CPU a spinning barrier would wait for a whole scheduler slice. It is passed
//! between timed regions, never inside one.

use crate::io::futex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The barrier, over two words of shared memory that start at zero.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    arrived: &'a AtomicU32,
    passed: &'a AtomicU32,
    count: u32,
}

impl<'a> Gate<'a> {
    /// A gate for so many processes over two words that nothing else uses.
    #[must_use]
    pub fn new(arrived: &'a AtomicU32, passed: &'a AtomicU32, count: u32) -> Self {
        Self { arrived, passed, count }
    }

    /// Waits until all processes have called it. What each wrote before is visible to all afterwards.
    pub fn meet(self) {
        self.meet_then(|| ());
    }

    /// The same; the last to come does something before any goes on.
    pub fn meet_then(self, last: impl FnOnce()) {
        let generation = self.passed.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.store(0, Ordering::Relaxed);
            last();
            self.passed.store(generation.wrapping_add(1), Ordering::Release);
            // One call wakes one; who is not asleep yet sees the new generation.
            for _ in 1..self.count {
                futex::wake(self.passed);
            }
        } else {
            while self.passed.load(Ordering::Acquire) == generation {
                futex::wait(self.passed, generation);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn neither_side_gets_ahead_of_the_other() {
        let (arrived, passed) = (AtomicU32::new(0), AtomicU32::new(0));
        let turns = [AtomicU64::new(0), AtomicU64::new(0)];
        std::thread::scope(|scope| {
            for me in 0..2 {
                let (turns, gate) = (&turns, Gate::new(&arrived, &passed, 2));
                scope.spawn(move || {
                    for turn in 1..=1000 {
                        turns[me].store(turn, Ordering::Release);
                        gate.meet();
                        assert!(turns[1 - me].load(Ordering::Acquire) >= turn);
                        gate.meet();
                    }
                });
            }
        });
    }
}
