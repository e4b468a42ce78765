//! The memory that coordinator and both workers of a slice share: gate, decisions of the lead, the line for the
//! cache-line round trip, and the recorder's slots.

use ipcperf_sys::gate::Gate;
use ipcperf_sys::shm::SharedMemory;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

// Each on its own pair of cache lines: the adjacent-line prefetcher of x86 moves 128 bytes.
const ARRIVED: usize = 0;
const PASSED: usize = 128;
const DECISIONS: usize = 256;
const LINE: usize = 512;
const SLOTS: usize = 4096;

/// Slots for samples: 1 M of them (4 MiB) hold a 100 ms slice of operations of 100 ns. Longer slices are folded in
/// several segments.
pub const CAPACITY: usize = 1 << 20;

/// Messages of a segment whose ways can be timed.
pub const WAYS: usize = CAPACITY / 4;

/// One mapping of it.
#[derive(Debug)]
pub struct Page(SharedMemory);

impl Page {
    /// Made once per run by the coordinator, used by every slice.
    ///
    /// # Errors
    /// No memory.
    pub fn create() -> io::Result<Self> {
        SharedMemory::create("ipcperf-page", SLOTS + CAPACITY * 4).map(Self)
    }

    /// A worker's mapping of the coordinator's page. Of the slots only those are resident that [`touch`] has seen.
    ///
    /// # Errors
    /// The descriptor is not that of a page.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        let memory = SharedMemory::from_fd_lazily(fd)?;
        if memory.len() < SLOTS + CAPACITY * 4 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self(memory))
    }

    /// To pass to a worker.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    /// The barrier between the two workers.
    #[must_use]
    pub fn gate(&self) -> Gate<'_> {
        Gate::new(self.0.word(ARRIVED), self.0.word(PASSED))
    }

    /// Forgets what a killed pair left in the barrier.
    pub fn reset(&self) {
        for at in [ARRIVED, PASSED, LINE] {
            self.0.word(at).store(0, Ordering::Release);
        }
    }

    /// The `turn`-th agreement of a slice: the lead gives `mine`, both pass the gate and get it. Decisions go to two
    /// places in turn: the lead may be past the gate with its next one made before the follow has read this one, but
    /// never two ahead.
    #[must_use]
    pub fn agree(&self, turn: u64, mine: Option<[u64; 2]>) -> [u64; 2] {
        let at = DECISIONS + 16 * usize::from(turn % 2 == 1);
        let places = [self.0.word64(at), self.0.word64(at + 8)];
        if let Some(decision) = mine {
            for (place, value) in places.iter().zip(decision) {
                place.store(value, Ordering::Relaxed);
            }
        }
        self.gate().meet();
        places.map(|place| place.load(Ordering::Relaxed))
    }

    /// The word that travels in the cache-line and futex round trips.
    #[must_use]
    pub fn line(&self) -> &AtomicU32 {
        self.0.word(LINE)
    }

    /// What the end that has the line read on its clock: in the same cache line, so that it travels with the word.
    #[must_use]
    pub fn reading(&self) -> &AtomicU64 {
        self.0.word64(LINE + 8)
    }

    /// The slots of a slice that times each way: a smaller recorder, then the times of departure, then those of arrival.
    #[must_use]
    pub fn ways(&self) -> [&[AtomicU32]; 3] {
        let (recorder, times) = self.slots().split_at(CAPACITY / 2);
        let (left, arrived) = times.split_at(WAYS);
        [recorder, left, arrived]
    }

    /// The recorder's slots.
    #[must_use]
    pub fn slots(&self) -> &[AtomicU32] {
        &self.0.words_from(SLOTS)[..CAPACITY]
    }
}

/// Makes the pages of these slots resident: reading one word of each page is enough, since the coordinator has all of
/// them in memory.
pub(crate) fn touch(slots: &[AtomicU32]) {
    for page in slots.chunks(1024) {
        let _ = page.first().map(|word| std::hint::black_box(word.load(Ordering::Relaxed)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_follow_gets_every_decision_however_late_it_reads() {
        let page = Page::create().expect("memory");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..2000 {
                    assert_eq!(page.agree(turn, Some([turn, turn + 7])), [turn, turn + 7]);
                }
            });
            for turn in 0..2000 {
                assert_eq!(page.agree(turn, None), [turn, turn + 7]);
            }
        });
    }
}
