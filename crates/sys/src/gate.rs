//! A barrier for two processes on one shared word: both arrive, both go on together.
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
}

impl<'a> Gate<'a> {
    /// A gate over two words that nothing else uses.
    #[must_use]
    pub fn new(arrived: &'a AtomicU32, passed: &'a AtomicU32) -> Self {
        Self { arrived, passed }
    }

    /// Waits until both processes have called it. What each wrote before is visible to both afterwards.
    pub fn meet(self) {
        let generation = self.passed.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) == 1 {
            self.arrived.store(0, Ordering::Relaxed);
            self.passed.store(generation.wrapping_add(1), Ordering::Release);
            futex::wake(self.passed);
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
                let (turns, gate) = (&turns, Gate::new(&arrived, &passed));
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
