//! Words of proof in shared memory, beside a wake-up that has no room for one.

use crate::io::memory::shared::Shared;
use ipcperf_core::{Seat, SetupError};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Wake-ups of one direction that may be under way: eight cache lines of words.
pub const WINDOW: u32 = 64;

/// Twice as many, since credits for the other direction may be under way beside a window of messages.
const SLOTS: usize = 2 * WINDOW as usize;

type Slots = [AtomicU64; SLOTS];

/// One end of the words of both directions.
#[derive(Debug)]
pub struct Words {
    slots: Shared<Slots>,
    seat: Seat,
    sent: usize,
    received: usize,
}

impl Words {
    /// Makes the words of a channel and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<[OwnedFd; 2], SetupError> {
        Shared::<Slots>::create("ipcperf-proof")?.descriptors()
    }

    /// Becomes the end of `seat`.
    ///
    /// # Errors
    /// The descriptor is not of such memory.
    pub fn attach(fd: OwnedFd, seat: Seat) -> Result<Self, SetupError> {
        Ok(Self { slots: Shared::from_fd(fd)?, seat, sent: 0, received: 0 })
    }

    #[inline(always)]
    fn slot(&self, from: Seat, number: usize) -> &AtomicU64 {
        &self.slots.of(from)[number % SLOTS]
    }

    /// Writes the word of the next wake-up. The peer may read it once it has been woken.
    #[inline(always)]
    pub fn write(&self, word: u64) {
        // Release: an end that sees the wake-up, by whatever way, sees the word.
        self.slot(self.seat, self.sent).store(word, Ordering::Release);
    }

    /// That wake-up is on its way.
    #[inline(always)]
    pub fn sent(&mut self) {
        self.sent = self.sent.wrapping_add(1);
    }

    /// The word of the wake-up just received.
    #[inline(always)]
    pub fn read(&mut self) -> u64 {
        let word = self.slot(self.seat.other(), self.received).load(Ordering::Acquire);
        self.received = self.received.wrapping_add(1);
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_their_order_and_of_the_other_end() {
        let [lead, follow] = Words::create().expect("a page of memory");
        let mut lead = Words::attach(lead, Seat::Lead).expect("the words");
        let mut follow = Words::attach(follow, Seat::Follow).expect("the words");
        for round in 0..3 * SLOTS as u64 {
            for (end, word) in [(&mut lead, round), (&mut follow, !round)] {
                end.write(word);
                end.sent();
            }
            assert_eq!((lead.read(), follow.read()), (!round, round));
        }
    }
}
