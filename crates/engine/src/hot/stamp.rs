//! The stamp: which message of which slice and direction this is.

use super::Work;
use ipcperf_core::Fault;

/// Makes a tag of a nonce. Its top bits are 01 (10 after reversal), so that no stamp is ever 0 or all ones, which an
/// eventfd cannot carry.
const fn tag(nonce: u64) -> u64 {
    nonce & !(0b11 << 62) | 0b01 << 62
}

/// Sequence numbers stay below this, out of the tag's top bits.
pub(super) const SEQUENCES: u64 = 1 << 48;

/// Touch `none`: only the stamp.
#[derive(Clone, Copy, Debug)]
pub struct Stamp(u64);

impl Stamp {
    /// Bytes of a whole stamp.
    pub const LEN: usize = 8;

    /// The stamp of lead-to-follow messages of one slice.
    #[must_use]
    pub const fn new(nonce: u64) -> Self {
        Self(tag(nonce))
    }

    /// Bytes of the stamp of a message of so many bytes.
    #[inline(always)]
    pub(super) const fn bytes_of(len: usize) -> usize {
        match len {
            0 => 0,
            1..4 => 1,
            4..8 => 4,
            _ => Self::LEN,
        }
    }

    #[inline(always)]
    pub(super) const fn word(self, seq: u64) -> u64 {
        self.0 ^ seq
    }

    /// The 4-byte form: the tag's upper half keeps its top bits, the sequence varies the rest.
    #[inline(always)]
    pub(super) const fn half(self, seq: u64) -> u32 {
        (self.0 >> 32) as u32 ^ (seq as u32 & (u32::MAX >> 2))
    }

    #[inline(always)]
    pub(super) const fn byte(self, seq: u64) -> u8 {
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
