//! The touch policies beyond the stamp: one word per cache line, or every byte.

use super::{Stamp, Work};
use ipcperf_core::Fault;

/// Touch `cacheline`: the stamp's word in every 64-byte line, one store and one load per line.
#[derive(Clone, Copy, Debug)]
pub struct Lines(Stamp);

impl Lines {
    /// See [`Stamp::new`].
    #[must_use]
    pub const fn new(nonce: u64) -> Self {
        Self(Stamp::new(nonce))
    }
}

impl Work for Lines {
    #[inline(always)]
    fn fill(self, out: &mut [u8], seq: u64) {
        let word = self.0.word(seq).to_le_bytes();
        let (lines, rest) = out.as_chunks_mut::<64>();
        for line in lines {
            if let Some(head) = line.first_chunk_mut::<8>() {
                *head = word;
            }
        }
        self.0.fill(rest, seq);
    }

    #[inline(always)]
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault> {
        let word = self.0.word(seq);
        let (lines, rest) = message.as_chunks::<64>();
        let mut wrong = 0;
        for line in lines {
            if let Some(head) = line.first_chunk::<8>() {
                wrong |= u64::from_le_bytes(*head) ^ word;
            }
        }
        if wrong != 0 {
            return Err(Fault::Corrupt);
        }
        self.0.check(rest, seq)
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        Self(self.0.reversed())
    }

    #[inline]
    fn sequence(self, message: &[u8], near: u64) -> Option<u64> {
        self.0.sequence(message, near)
    }
}

/// Touch `full` (every byte) and `header` (the first 64 bytes): word `i` is the stamp's word plus `i` times an odd
/// constant, so that no two words of a message are alike. The answer is the complement of the message, byte by byte.
#[derive(Clone, Copy, Debug)]
pub struct Full {
    stamp: Stamp,
    limit: usize,
    /// From one word to the next.
    step: u64,
    /// How many leading bytes an answer complements: all of the message, or whole words of it.
    flip: usize,
    is_answer: bool,
}

/// 2^64 divided by the golden ratio, made odd: multiples spread over all bits (Knuth, TAOCP 3, 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Full {
    /// See [`Stamp::new`]; bytes from `limit` on are not touched.
    #[must_use]
    pub const fn new(nonce: u64, limit: usize) -> Self {
        Self { stamp: Stamp::new(nonce), limit, step: SPREAD, flip: usize::MAX, is_answer: false }
    }

    /// Of which an answer complements so many leading bytes, 64 or all; the others come back as they were sent.
    #[must_use]
    pub const fn flipping(nonce: u64, flip: usize) -> Self {
        Self { flip, ..Self::new(nonce, usize::MAX) }
    }

    /// The words of a message that are what the first one makes them; those behind are the complement of that.
    #[inline(always)]
    fn alike(self, words: usize) -> usize {
        if self.is_answer { self.flip.div_ceil(8).min(words) } else { words }
    }

    /// Whether the bytes behind `words` whole words are the complement of what the first one makes them.
    #[inline(always)]
    fn turns(self, words: usize) -> bool {
        self.is_answer && words >= self.flip.div_ceil(8)
    }
}

impl Work for Full {
    #[inline(always)]
    fn fill(self, out: &mut [u8], seq: u64) {
        let touched = out.len().min(self.limit);
        let Some(out) = out.get_mut(..touched) else { return };
        let (words, rest) = out.as_chunks_mut::<8>();
        let mut value = self.stamp.word(seq);
        let (short, turns) = (words.is_empty(), self.turns(words.len()));
        let (alike, others) = words.split_at_mut(self.alike(words.len()));
        for word in alike {
            *word = value.to_le_bytes();
            value = value.wrapping_add(self.step);
        }
        if turns {
            value = !value;
            for word in others {
                *word = value.to_le_bytes();
                value = value.wrapping_sub(self.step);
            }
        }
        if short {
            // Not `fill`: the compiler would call memset for at most seven bytes.
            for (byte, wanted) in rest.iter_mut().zip([self.stamp.byte(seq); 8]) {
                *byte = wanted;
            }
            self.stamp.fill(rest, seq);
        } else {
            for (byte, wanted) in rest.iter_mut().zip(value.to_le_bytes()) {
                *byte = wanted;
            }
        }
    }

    #[inline(always)]
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault> {
        let touched = message.len().min(self.limit);
        let Some(message) = message.get(..touched) else { return Err(Fault::Corrupt) };
        let (words, rest) = message.as_chunks::<8>();
        let mut value = self.stamp.word(seq);
        let mut wrong = 0;
        let (alike, others) = words.split_at(self.alike(words.len()));
        for word in alike {
            wrong |= u64::from_le_bytes(*word) ^ value;
            value = value.wrapping_add(self.step);
        }
        if self.turns(words.len()) {
            value = !value;
            for word in others {
                wrong |= u64::from_le_bytes(*word) ^ value;
                value = value.wrapping_sub(self.step);
            }
        }
        if words.is_empty() {
            self.stamp.check(rest, seq)?;
            for byte in rest.iter().skip(Stamp::bytes_of(rest.len())) {
                wrong |= u64::from(byte ^ self.stamp.byte(seq));
            }
        } else {
            for (byte, wanted) in rest.iter().zip(value.to_le_bytes()) {
                wrong |= u64::from(byte ^ wanted);
            }
        }
        if wrong == 0 { Ok(()) } else { Err(Fault::Corrupt) }
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        // The complement of a sum is the complement of the one less the other.
        let (step, is_answer) = (self.step.wrapping_neg(), !self.is_answer);
        Self { stamp: self.stamp.reversed(), step, is_answer, ..self }
    }

    #[inline]
    fn sequence(self, message: &[u8], near: u64) -> Option<u64> {
        self.stamp.sequence(message, near)
    }
}
