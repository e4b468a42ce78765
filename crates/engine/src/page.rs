//! The memory that workers and their coordinator share: the gate, decisions of the lead, the line for the cache-line
//! round trip, how far each has come, and slots for what they leave.

use ipcperf_core::Seat;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::gate::Gate;
use ipcperf_sys::shm::SharedMemory;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

// Each on its own pair of cache lines: the adjacent-line prefetcher of x86 moves 128 bytes.
const ARRIVED: usize = 0;
const PASSED: usize = 128;
const DECISIONS: usize = 256;
/// How many pass the gate together, and when it opened last, ticks.
const COUNT: usize = 384;
const OPENED: usize = 392;
const LINE: usize = 512;
/// For each of a pair.
const PROGRESS: [usize; 2] = [640, 768];
/// How much a neighbour has done.
const NEIGHBOUR: usize = 896;
const SLOTS: usize = 4096;

/// Beside the number of an answer that the lead of a program notes: it came, and it is wrong. How the program ends after that is
/// no news.
pub(crate) const WRONG: u64 = 1 << 63;

/// Slots for samples: 1 M of them (4 MiB) hold a 100 ms slice of operations of 100 ns. Longer slices are folded in
/// several segments.
pub const CAPACITY: usize = 1 << 20;

/// Messages of a segment whose ways can be timed.
pub const WAYS: usize = CAPACITY / 4;

/// One mapping of it.
#[derive(Debug)]
pub struct Page(SharedMemory);

impl Page {
    /// With so many slots, for two workers.
    ///
    /// # Errors
    /// No memory.
    pub fn create(slots: usize) -> io::Result<Self> {
        let page = Self(SharedMemory::create("ipcperf-page", SLOTS + 4 * slots)?);
        page.reset(2);
        Ok(page)
    }

    /// A worker's mapping of the coordinator's page. Of the slots only those are resident that were touched before.
    ///
    /// # Errors
    /// The descriptor is not that of a page with so many slots.
    pub fn from_fd(fd: OwnedFd, slots: usize) -> io::Result<Self> {
        let memory = SharedMemory::from_fd_lazily(fd)?;
        if memory.len() < SLOTS + 4 * slots {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self(memory))
    }

    /// To pass to a worker.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    /// The barrier between all workers.
    #[must_use]
    pub fn gate(&self) -> Gate<'_> {
        let count = self.0.word(COUNT).load(Ordering::Relaxed);
        Gate::new(self.0.word(ARRIVED), self.0.word(PASSED), count)
    }

    /// Passes the gate; returns when the last had come, ticks.
    pub(crate) fn meet(&self, clock: Clock) -> u64 {
        let opened = self.0.word64(OPENED);
        self.gate().meet_then(|| opened.store(clock.start(), Ordering::Relaxed));
        opened.load(Ordering::Relaxed)
    }

    /// For so many workers; forgets what others left who were killed.
    pub fn reset(&self, workers: u32) {
        self.0.word(COUNT).store(workers, Ordering::Relaxed);
        for at in [ARRIVED, PASSED, LINE] {
            self.0.word(at).store(0, Ordering::Release);
        }
        for word in PROGRESS.iter().flat_map(|at| self.progress_at(*at)) {
            word.store(0, Ordering::Release);
        }
    }

    /// How much the neighbour of a slice has done so far.
    pub(crate) fn neighbour_units(&self) -> u64 {
        self.0.word64(NEIGHBOUR).load(Ordering::Relaxed)
    }

    /// It has done so much more.
    pub(crate) fn add_neighbour_units(&self, units: u64) {
        self.0.word64(NEIGHBOUR).fetch_add(units, Ordering::Relaxed);
    }

    /// How far the worker of a seat has come, in two numbers of its own choice.
    #[must_use]
    pub fn progress(&self, seat: Seat) -> [&AtomicU64; 2] {
        self.progress_at(PROGRESS[seat.index()])
    }

    fn progress_at(&self, at: usize) -> [&AtomicU64; 2] {
        [self.0.word64(at), self.0.word64(at + 8)]
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

    /// The word that travels: in the cache-line and futex round trips, and where workers take turns.
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

    /// The recorder's slots, or whatever else the workers leave.
    #[must_use]
    pub fn slots(&self) -> &[AtomicU32] {
        self.0.words_from(SLOTS)
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
        let page = Page::create(0).expect("memory");
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
    #[test]
    fn nobody_begins_before_all_have_come_and_all_are_told_the_same_moment() {
        const WORKERS: u32 = 5;
        let page = Page::create(0).expect("memory");
        page.reset(WORKERS);
        let come = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let enter = || {
                let mut moments = Vec::new();
                for turn in 1..=200 {
                    come.fetch_add(1, Ordering::SeqCst);
                    moments.push(page.meet(Clock::monotonic()));
                    assert!(come.load(Ordering::SeqCst) >= turn * WORKERS);
                    // So that the moment of the next turn does not overwrite this one.
                    page.meet(Clock::monotonic());
                }
                moments
            };
            let all: Vec<_> = (0..WORKERS).map(|_| scope.spawn(enter)).collect();
            let mut moments = all.into_iter().map(|one| one.join().expect("no panic"));
            let first = moments.next().expect("somebody");
            assert!(first.is_sorted() && moments.all(|others| others == first));
        });
    }
}
