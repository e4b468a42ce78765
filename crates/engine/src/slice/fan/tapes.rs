//! Data that workers of a fan leave in the slots of their page: the accounts of the producers, and the tapes on which
//! peers leave how long their calls took and consumers how much had come by when.

use crate::hot::account::Account;
use crate::page::Page;
use std::sync::atomic::AtomicU32;

/// Readings of the clock by a consumer in one phase, at most; the last row is what was left over.
pub(super) const ROWS: u64 = 1000;

/// Calls of one peer that are timed in one phase, at most.
pub(super) const CALLS: u64 = 1 << 15;

/// Words between two accounts: two cache lines, as the adjacent-line prefetcher of x86 moves both.
const ACCOUNT: usize = 32;

const fn words(count: u64) -> usize {
    count as usize
}

/// The slots of a page as a fan uses them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tapes<'a> {
    slots: &'a [AtomicU32],
    peers: u64,
}

/// Slots for this number of peers, and of consumers of all producers.
pub(super) fn slots(peers: u64, consumers: u64) -> usize {
    rows_of_all(consumers, peers)
}

/// Words of the rows of one consumer of all producers.
fn row_words(peers: u64) -> u64 {
    (ROWS + 1) * (1 + peers)
}

fn calls_of(peer: u64, peers: u64) -> usize {
    ACCOUNT * words(peers) + words(CALLS) * words(peer)
}

fn rows_of(peer: u64, peers: u64) -> usize {
    calls_of(peers, peers) + words((ROWS + 1) * 2) * words(peer)
}

fn rows_of_all(consumer: u64, peers: u64) -> usize {
    rows_of(peers, peers) + words(row_words(peers) * consumer)
}

impl<'a> Tapes<'a> {
    /// In a page with the slots for so many peers.
    pub(super) fn new(page: &'a Page, peers: u64) -> Self {
        Self { slots: page.slots(), peers }
    }

    fn tape(&self, at: usize, len: u64) -> &'a [AtomicU32] {
        let from = &self.slots[at..];
        from.get(..words(len)).unwrap_or(from)
    }

    /// Where a peer leaves how long its calls took.
    pub(super) fn calls(&self, peer: u64) -> &'a [AtomicU32] {
        self.tape(calls_of(peer, self.peers), CALLS)
    }

    /// Where one of several consumers leaves its rows: ticks and messages.
    pub(super) fn rows(&self, peer: u64) -> &'a [AtomicU32] {
        self.tape(rows_of(peer, self.peers), (ROWS + 1) * 2)
    }

    /// Where a consumer of all producers leaves its rows: ticks and the messages of each producer. Of a fan there is one.
    pub(super) fn rows_of_all(&self, consumer: u64) -> &'a [AtomicU32] {
        self.tape(rows_of_all(consumer, self.peers), row_words(self.peers))
    }

    /// The accounts of all producers.
    pub(super) fn accounts(&self, spins: bool) -> Vec<Account<'a>> {
        let account = |peer| {
            let words = &self.slots[ACCOUNT * words(peer)..];
            words.first_chunk().map(|words| Account::new(words, spins))
        };
        (0..self.peers).filter_map(account).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn no_two_parts_overlap() {
        for peers in [1, 2, 64] {
            let page = Page::create(slots(peers, 3)).expect("memory");
            let tapes = Tapes::new(&page, peers);
            let mut all: Vec<&[AtomicU32]> = (0..3).map(|one| tapes.rows_of_all(one)).collect();
            for peer in 0..peers {
                all.extend([tapes.calls(peer), tapes.rows(peer)]);
            }
            for (mark, part) in all.iter().enumerate() {
                for word in *part {
                    assert_eq!(word.swap(mark as u32 + 1, Ordering::Relaxed), 0);
                }
            }
            assert_eq!(tapes.accounts(false).len(), peers as usize);
            let before = &page.slots()[..ACCOUNT * peers as usize];
            assert!(before.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        }
    }
}
