//! Latest-value cells in shared memory, one for each direction: a few slots that are written in turn, each guarded by
//! a sequence number, and the number of the newest value. A slot's number is odd while its value is being replaced, so
//! a reader that sees the same even number before and after has seen one whole value. Nobody waits for anybody.
//!
//! One slot would do, and a writer that never rests would then starve every reader: the slot is almost always half
//! written. With several the newest whole value stays where it is while the next ones are written.
//!
//! # Safety
//! - A cell is a `SeqlockHead` and slots behind it, each a `SlotHead` and whole 64-bit words; both cells lie inside the
//!   mapping (checked when it is attached), which lives as long as the value.
//! - Heads and words are atomics only: every content is a value, and a torn read is wrong, not undefined. What keeps
//!   it from being taken for a value are the two fences (Boehm, "Can seqlocks get along with programming language
//!   memory models?", MSPC 2012).

use crate::io::memory::segment::{Kind, Segment};
use ipcperf_core::{Seat, SetupError};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The largest value: 1 GiB.
pub const MAX_VALUE: usize = 1 << 30;

/// Two cache lines, because the adjacent-line prefetcher of x86 moves lines in pairs.
#[repr(C, align(128))]
struct SeqlockHead {
    /// Values written so far.
    newest: AtomicU64,
    /// Set once no more will come.
    closed: AtomicU32,
}

#[repr(C)]
struct SlotHead {
    /// Twice the number of the value in the slot, and one less while that is being written.
    sequence: AtomicU64,
    /// Bytes of the value.
    len: AtomicU64,
}

/// How many slots of which size a cell has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CellLayout {
    /// A power of two.
    slots: usize,
    stride: usize,
}

impl CellLayout {
    fn of(size: usize) -> Self {
        let bytes = size_of::<SlotHead>().saturating_add(size).saturating_add(63) & !63;
        // A reader of a small value needs some hundred nanoseconds, a writer ten or twenty for each: 64 slots give it
        // time. For large ones both need the same, and 4 are enough.
        Self { slots: 1 << ((64 << 10) / bytes).clamp(4, 64).ilog2(), stride: bytes }
    }

    /// Bytes from one cell to the other: whole pages.
    fn cell(self) -> usize {
        let slots = self.slots.saturating_mul(self.stride);
        size_of::<SeqlockHead>().saturating_add(slots).saturating_add(4095) & !4095
    }
}

/// Bytes of both directions.
#[must_use]
pub fn bytes(size: usize) -> usize {
    CellLayout::of(size).cell().saturating_mul(2)
}

/// Makes the cells for values of up to `size` bytes.
///
/// # Errors
/// See [`Segment::create`].
pub fn create(size: usize, directory: Option<&Path>, name: &str) -> Result<Segment, SetupError> {
    // Zeros are two cells that nobody has written to.
    Segment::create(Kind::DEFAULT, directory, name, bytes(size))
}

/// What a look at the peer's cell found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A value that was not seen before, of so many bytes, after so many that were not seen at all.
    Fresh {
        /// Its length, whatever was asked for.
        len: usize,
        /// Values that it has replaced.
        overtaken: u64,
    },
    /// The value was replaced while it was read.
    Torn,
    /// Nothing new.
    Nothing,
    /// Nothing new, and no more will come.
    Closed,
}

/// One end: it writes one cell and reads the other.
#[derive(Debug)]
pub struct Cells {
    memory: Segment,
    layout: CellLayout,
    /// Words of one value.
    words: usize,
    /// Where the own cell starts, and the peer's.
    own: usize,
    peers: usize,
    /// Values written.
    written: u64,
    /// The number of the last value seen.
    seen: u64,
}

impl Cells {
    /// The cells of `seat`, which [`create`] has made for the same size.
    ///
    /// # Errors
    /// The memory is too small.
    pub fn attach(memory: Segment, seat: Seat, size: usize) -> Result<Self, SetupError> {
        if size > MAX_VALUE || memory.len() < bytes(size) {
            return Err(SetupError::Protocol("the memory is smaller than two cells".into()));
        }
        let layout = CellLayout::of(size);
        // The lead writes the first.
        let [own, peers] = [seat, seat.other()].map(|from| from.index() * layout.cell());
        Ok(Self { memory, layout, words: size.div_ceil(8), own, peers, written: 0, seen: 0 })
    }

    #[inline(always)]
    fn head(&self, at: usize) -> &SeqlockHead {
        // SAFETY: a cell starts at `at`, inside the mapping and page-aligned; see the module.
        unsafe { &*self.memory.as_ptr().add(at).cast::<SeqlockHead>() }
    }

    /// The slot of value `number` in the cell at `at`.
    #[inline(always)]
    fn slot(&self, at: usize, number: u64) -> (&SlotHead, &[AtomicU64]) {
        let index = number as usize & (self.layout.slots - 1);
        let offset = at + size_of::<SeqlockHead>() + index * self.layout.stride;
        // SAFETY: the index is below the number of slots, all of which lie in the cell, aligned to cache lines.
        let start = unsafe { self.memory.as_ptr().add(offset) };
        // SAFETY: as above.
        let head = unsafe { &*start.cast::<SlotHead>() };
        // SAFETY: the words lie in the slot, behind its head.
        let words = unsafe {
            let first = start.add(size_of::<SlotHead>()).cast::<AtomicU64>();
            std::slice::from_raw_parts(first, self.words)
        };
        (head, words)
    }

    /// Puts a new value into the own cell. What does not fit into it is cut off.
    #[inline(always)]
    pub fn write(&mut self, value: &[u8]) {
        let number = self.written.wrapping_add(1);
        let (slot, words) = self.slot(self.own, number);
        let sequence = number.wrapping_mul(2);
        slot.sequence.store(sequence.wrapping_sub(1), Ordering::Relaxed);
        // A reader that sees any of the stores below sees the odd number too.
        fence(Ordering::Release);
        slot.len.store(value.len() as u64, Ordering::Relaxed);
        let (pieces, rest) = value.as_chunks::<8>();
        let mut words = words.iter();
        // Pieces first: a zip asks its first iterator first, and must not take a word too many.
        for (piece, word) in pieces.iter().zip(words.by_ref()) {
            word.store(u64::from_ne_bytes(*piece), Ordering::Relaxed);
        }
        if let (false, Some(word)) = (rest.is_empty(), words.next()) {
            let mut piece = [0; 8];
            for (to, from) in piece.iter_mut().zip(rest) {
                *to = *from;
            }
            word.store(u64::from_ne_bytes(piece), Ordering::Relaxed);
        }
        // A reader that sees either of these sees the stores above.
        slot.sequence.store(sequence, Ordering::Release);
        self.head(self.own).newest.store(number, Ordering::Release);
        self.written = number;
    }

    /// Looks at the peer's cell once and copies what is new there into `out`, as far as it has room.
    #[inline(always)]
    pub fn look(&mut self, out: &mut [u8]) -> Look {
        let number = self.head(self.peers).newest.load(Ordering::Acquire);
        if number == self.seen {
            return self.idle();
        }
        let (slot, words) = self.slot(self.peers, number);
        let sequence = number.wrapping_mul(2);
        if slot.sequence.load(Ordering::Acquire) != sequence {
            return Look::Torn;
        }
        let len = slot.len.load(Ordering::Relaxed) as usize;
        let (pieces, rest) = out.as_chunks_mut::<8>();
        let mut words = words.iter();
        for (piece, word) in pieces.iter_mut().zip(words.by_ref()) {
            *piece = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        if let (false, Some(word)) = (rest.is_empty(), words.next()) {
            let piece = word.load(Ordering::Relaxed).to_ne_bytes();
            for (to, from) in rest.iter_mut().zip(piece) {
                *to = from;
            }
        }
        // If any of the loads above saw a newer value, the load below sees a newer number.
        fence(Ordering::Acquire);
        if slot.sequence.load(Ordering::Relaxed) != sequence {
            return Look::Torn;
        }
        let overtaken = number.wrapping_sub(self.seen).wrapping_sub(1);
        self.seen = number;
        Look::Fresh { len, overtaken }
    }

    /// Whether there is nothing new because no more will come.
    #[inline(always)]
    fn idle(&self) -> Look {
        let head = self.head(self.peers);
        // Acquire: once the closing is seen, so is the last value.
        let is_over = head.closed.load(Ordering::Acquire) != 0
            && head.newest.load(Ordering::Relaxed) == self.seen;
        if is_over { Look::Closed } else { Look::Nothing }
    }

    /// Tells the reader that the own cell keeps its value for good.
    pub fn close(&mut self) {
        self.head(self.own).closed.store(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(size: usize) -> [Cells; 2] {
        let memory = create(size, None, "ipcperf-cells").expect("memory");
        let ticket = memory.ticket().expect("a ticket");
        let other = Segment::attach(Kind::DEFAULT, ticket).expect("a mapping");
        [(memory, Seat::Lead), (other, Seat::Follow)]
            .map(|(memory, seat)| Cells::attach(memory, seat, size).expect("it fits"))
    }

    #[test]
    fn a_value_is_seen_once_and_the_newest_only() {
        let [mut lead, mut follow] = pair(13);
        let mut out = [0; 13];
        assert_eq!(follow.look(&mut out), Look::Nothing);
        lead.write(b"first");
        lead.write(b"thirteenbytes");
        assert_eq!(follow.look(&mut out), Look::Fresh { len: 13, overtaken: 1 });
        assert_eq!(&out, b"thirteenbytes");
        assert_eq!(follow.look(&mut out), Look::Nothing);
        lead.write(b"");
        lead.close();
        assert_eq!(follow.look(&mut out), Look::Fresh { len: 0, overtaken: 0 });
        assert_eq!(follow.look(&mut out), Look::Closed);
        assert_eq!(lead.look(&mut out), Look::Nothing);
    }

    #[test]
    fn no_value_is_torn_and_none_is_older_than_the_one_before() {
        const LAST: u64 = 20_000;
        let [mut lead, mut follow] = pair(8 * 50);
        let writer = std::thread::spawn(move || {
            for number in 1..=LAST {
                lead.write(&number.to_ne_bytes().repeat(50));
            }
        });
        let (mut out, mut last) = ([0; 8 * 50], 0);
        while last < LAST {
            if let Look::Fresh { len, .. } = follow.look(&mut out) {
                let (words, rest) = out.as_chunks::<8>();
                let number = u64::from_ne_bytes(words[0]);
                assert!(number > last && len == out.len() && rest.is_empty());
                assert!(words.iter().all(|word| *word == words[0]), "torn at {number}");
                last = number;
            }
        }
        writer.join().expect("it does not panic");
    }
}
