//! What happens to the payload: the stamp that proves the transfer, and the touch policy.
//!
//! The stamp of message `seq` is `tag ^ seq` in the first 8 bytes (4 bytes of 4..7, 1 byte of 1..3), where the tag is
//! made from the slice's nonce; replies use the complement. A process that reads back its own message, a stale slot
//! of an earlier slice, a lost, doubled or reordered message all show a wrong stamp.

use ipcperf_core::Fault;

/// How a message is written and checked. `Copy`, because both closures of an exchange are alive together.
pub trait Work: Copy {
    /// Writes message `seq`.
    fn fill(self, out: &mut [u8], seq: u64);

    /// Checks that this is message `seq`.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] if it is not.
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault>;

    /// The same for the other direction.
    #[must_use]
    fn reversed(self) -> Self;

    /// Which message this is, read from its stamp; `near` is the expected one (short stamps wrap around). `None` if
    /// the stamp is not of this slice and direction.
    fn sequence(self, message: &[u8], near: u64) -> Option<u64>;
}

/// Makes a tag of a nonce. Its top bits are 01 (10 after reversal), so that no stamp is ever 0 or all ones, which an
/// eventfd cannot carry.
const fn tag(nonce: u64) -> u64 {
    nonce & !(0b11 << 62) | 0b01 << 62
}

/// Sequence numbers stay below this, out of the tag's top bits.
const SEQUENCES: u64 = 1 << 48;

/// Touch `none`: only the stamp.
#[derive(Clone, Copy, Debug)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp of lead-to-follow messages of one slice.
    #[must_use]
    pub const fn new(nonce: u64) -> Self {
        Self(tag(nonce))
    }

    #[inline(always)]
    const fn word(self, seq: u64) -> u64 {
        self.0 ^ seq
    }

    /// The 4-byte form: the tag's upper half keeps its top bits, the sequence varies the rest.
    #[inline(always)]
    const fn half(self, seq: u64) -> u32 {
        (self.0 >> 32) as u32 ^ (seq as u32 & (u32::MAX >> 2))
    }

    #[inline(always)]
    const fn byte(self, seq: u64) -> u8 {
        self.word(seq) as u8
    }
}

impl Work for Stamp {
    #[inline(always)]
    fn fill(self, out: &mut [u8], seq: u64) {
        if let Some(head) = out.first_chunk_mut::<8>() {
            *head = self.word(seq).to_le_bytes();
        } else if let Some(head) = out.first_chunk_mut::<4>() {
            *head = self.half(seq).to_le_bytes();
        } else if let Some(head) = out.first_mut() {
            *head = self.byte(seq);
        }
    }

    #[inline(always)]
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault> {
        let good = if let Some(head) = message.first_chunk::<8>() {
            u64::from_le_bytes(*head) == self.word(seq)
        } else if let Some(head) = message.first_chunk::<4>() {
            u32::from_le_bytes(*head) == self.half(seq)
        } else if let Some(head) = message.first() {
            *head == self.byte(seq)
        } else {
            true
        };
        if good { Ok(()) } else { Err(Fault::Corrupt) }
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        Self(!self.0)
    }

    #[inline]
    fn sequence(self, message: &[u8], near: u64) -> Option<u64> {
        if let Some(head) = message.first_chunk::<8>() {
            let seq = u64::from_le_bytes(*head) ^ self.0;
            (seq < SEQUENCES).then_some(seq)
        } else if let Some(head) = message.first_chunk::<4>() {
            let low = u32::from_le_bytes(*head) ^ (self.0 >> 32) as u32;
            if low > u32::MAX >> 2 {
                return None;
            }
            // Nearest number to `near` with these 30 low bits: shift the difference into the sign and back.
            let distance = (low << 2).wrapping_sub((near as u32) << 2).cast_signed() >> 2;
            near.checked_add_signed(distance.into())
        } else {
            let head = message.first()?;
            let distance = (head ^ self.0 as u8).wrapping_sub(near as u8).cast_signed();
            near.checked_add_signed(distance.into())
        }
    }
}

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
/// constant, so that no two words of a message are alike.
#[derive(Clone, Copy, Debug)]
pub struct Full {
    stamp: Stamp,
    limit: usize,
}

/// 2^64 divided by the golden ratio, made odd: multiples spread over all bits (Knuth, TAOCP 3, 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Full {
    /// See [`Stamp::new`]; bytes from `limit` on are not touched.
    #[must_use]
    pub const fn new(nonce: u64, limit: usize) -> Self {
        Self { stamp: Stamp::new(nonce), limit }
    }
}

impl Work for Full {
    #[inline(always)]
    fn fill(self, out: &mut [u8], seq: u64) {
        let touched = out.len().min(self.limit);
        let Some(out) = out.get_mut(..touched) else { return };
        let (words, rest) = out.as_chunks_mut::<8>();
        let mut value = self.stamp.word(seq);
        let short = words.is_empty();
        for word in words {
            *word = value.to_le_bytes();
            value = value.wrapping_add(SPREAD);
        }
        if short {
            rest.fill(self.stamp.byte(seq));
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
        for word in words {
            wrong |= u64::from_le_bytes(*word) ^ value;
            value = value.wrapping_add(SPREAD);
        }
        if words.is_empty() {
            let stamped = if rest.len() >= 4 { 4 } else { 1.min(rest.len()) };
            self.stamp.check(rest, seq)?;
            for byte in rest.iter().skip(stamped) {
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
        Self { stamp: self.stamp.reversed(), ..self }
    }

    #[inline]
    fn sequence(self, message: &[u8], near: u64) -> Option<u64> {
        self.stamp.sequence(message, near)
    }
}

#[cfg(test)]
#[path = "tests/work.rs"]
mod tests;
