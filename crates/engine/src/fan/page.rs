//! The memory that coordinator and workers of a fan share: the gate where all of them begin, the accounts of the
//! producers, and the tapes on which peers leave how long their calls took and consumers how much had come by when.

use crate::hot::account::Account;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::futex;
use ipcperf_sys::shm::SharedMemory;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Readings of the clock by a consumer in one phase, at most; the last row is what was left over.
pub(super) const ROWS: u64 = 1000;

/// Calls of one peer that are timed in one phase, at most.
pub(super) const CALLS: u64 = 1 << 15;

/// Where the gate is, bytes: who has come, how often it opened, and when it did last, ticks.
const ARRIVED: usize = 0;
const PASSED: usize = 4;
const OPENED: usize = 64;
/// Words of it.
const GATE: usize = 32;

/// Words between two accounts: two cache lines, as the adjacent-line prefetcher of x86 moves both.
const ACCOUNT: usize = 32;

const fn words(count: u64) -> usize {
    count as usize
}

/// One mapping of it.
#[derive(Debug)]
pub(super) struct Page {
    memory: SharedMemory,
    peers: u64,
}

impl Page {
    /// For so many peers.
    pub(super) fn create(peers: u64) -> io::Result<Self> {
        let memory = SharedMemory::create("ipcperf-fan", 4 * Self::len(peers))?;
        Ok(Self { memory, peers })
    }

    /// A worker's mapping.
    pub(super) fn from_fd(fd: OwnedFd, peers: u64) -> io::Result<Self> {
        let memory = SharedMemory::from_fd(fd)?;
        if memory.len() < 4 * Self::len(peers) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { memory, peers })
    }

    fn len(peers: u64) -> usize {
        Self::rows_of_one(peers) + words((ROWS + 1) * (1 + peers))
    }

    fn calls_of(peer: u64, peers: u64) -> usize {
        GATE + ACCOUNT * words(peers) + words(CALLS) * words(peer)
    }

    fn rows_of(peer: u64, peers: u64) -> usize {
        Self::calls_of(peers, peers) + words((ROWS + 1) * 2) * words(peer)
    }

    fn rows_of_one(peers: u64) -> usize {
        Self::rows_of(peers, peers)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.memory.fd()
    }

    /// Waits until the peers and the other end are all here; returns when that was, ticks. From then on each of them
    /// wants to run, and one that has to wait for its CPU is one that is served badly.
    pub(super) fn meet(&self, clock: Clock) -> u64 {
        let (arrived, passed) = (self.memory.word(ARRIVED), self.memory.word(PASSED));
        let opened = self.memory.word64(OPENED);
        let generation = passed.load(Ordering::Acquire);
        if u64::from(arrived.fetch_add(1, Ordering::AcqRel)) == self.peers {
            arrived.store(0, Ordering::Relaxed);
            opened.store(clock.start(), Ordering::Relaxed);
            passed.store(generation.wrapping_add(1), Ordering::Release);
            // One call wakes one; who is not asleep yet sees the new generation.
            for _ in 0..self.peers {
                futex::wake(passed);
            }
        } else {
            while passed.load(Ordering::Acquire) == generation {
                futex::wait(passed, generation);
            }
        }
        opened.load(Ordering::Relaxed)
    }

    fn tape(&self, at: usize, len: u64) -> &[AtomicU32] {
        let from = self.memory.words_from(4 * at);
        from.get(..words(len)).unwrap_or(from)
    }

    /// Where a peer leaves how long its calls took.
    pub(super) fn calls(&self, peer: u64) -> &[AtomicU32] {
        self.tape(Self::calls_of(peer, self.peers), CALLS)
    }

    /// Where one of several consumers leaves its rows: ticks and messages.
    pub(super) fn rows(&self, peer: u64) -> &[AtomicU32] {
        self.tape(Self::rows_of(peer, self.peers), (ROWS + 1) * 2)
    }

    /// Where the only consumer leaves its rows: ticks and the messages of each producer.
    pub(super) fn rows_of_all(&self) -> &[AtomicU32] {
        self.tape(Self::rows_of_one(self.peers), (ROWS + 1) * (1 + self.peers))
    }

    /// The accounts of all producers.
    pub(super) fn accounts(&self, spins: bool) -> Vec<Account<'_>> {
        let account = |peer| {
            let words = self.memory.words_from(4 * (GATE + ACCOUNT * words(peer)));
            words.first_chunk().map(|words| Account::new(words, spins))
        };
        (0..self.peers).filter_map(account).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_begins_before_all_have_come_and_all_are_told_the_same_moment() {
        const PEERS: u64 = 4;
        let page = Page::create(PEERS).expect("memory");
        let come = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let enter = || {
                let mut moments = Vec::new();
                for turn in 1..=200 {
                    come.fetch_add(1, Ordering::SeqCst);
                    moments.push(page.meet(Clock::monotonic()));
                    assert!(come.load(Ordering::SeqCst) >= turn * (PEERS as u32 + 1));
                    // So that the moment of the next turn does not overwrite this one.
                    page.meet(Clock::monotonic());
                }
                moments
            };
            let all: Vec<_> = (0..=PEERS).map(|_| scope.spawn(enter)).collect();
            let mut moments = all.into_iter().map(|one| one.join().expect("no panic"));
            let first = moments.next().expect("somebody");
            assert!(first.is_sorted() && moments.all(|others| others == first));
        });
    }

    #[test]
    fn no_two_parts_overlap() {
        for peers in [1, 2, 64] {
            let page = Page::create(peers).expect("memory");
            let mut all: Vec<&[AtomicU32]> = vec![page.rows_of_all()];
            for peer in 0..peers {
                all.extend([page.calls(peer), page.rows(peer)]);
            }
            for (mark, part) in all.iter().enumerate() {
                for word in *part {
                    assert_eq!(word.swap(mark as u32 + 1, Ordering::Relaxed), 0);
                }
            }
            assert_eq!(page.accounts(false).len(), peers as usize);
            let before = page.memory.words_from(0);
            assert!(
                before[..GATE + ACCOUNT * peers as usize]
                    .iter()
                    .all(|w| w.load(Ordering::Relaxed) == 0)
            );
        }
    }
}
