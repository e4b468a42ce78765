//! All kinds of payload work as one type.

use super::{Content, Full, Lines, Special, Stamp, Work};
use ipcperf_core::{Fault, Part, Touch};

/// Payload work as data: one loop for all kinds, told apart by a branch that the CPU predicts. What touches little is
/// inlined; what takes longer than a call is called.
#[derive(Clone, Copy, Debug)]
pub enum AnyWork<'a> {
    /// Touch `none`, and `copy` where nothing is to be copied.
    Stamp(Stamp),
    /// Touch `cacheline`.
    Lines(Lines),
    /// Whatever touches more, changes messages, or times their way.
    Special(Special<'a>),
}

impl AnyWork<'_> {
    /// What a touch policy asks for, lead to follow. Of touch `copy` what is left where no port lends shared memory; see
    /// [`Private`](super::Private) for the others.
    #[must_use]
    pub const fn touching(touch: Touch, nonce: u64) -> Self {
        match touch {
            Touch::None | Touch::Copy => Self::Stamp(Stamp::new(nonce)),
            Touch::CacheLine => Self::Lines(Lines::new(nonce)),
            Touch::Header => Self::full(nonce, Part::STAMP),
            Touch::Full => Self::full(nonce, usize::MAX),
        }
    }

    /// All bytes, of which an answer complements so many leading ones.
    #[must_use]
    pub const fn flipping(nonce: u64, flip: usize) -> Self {
        Self::Special(Special::new(Content::Full(Full::flipping(nonce, flip)), None))
    }

    const fn full(nonce: u64, limit: usize) -> Self {
        Self::Special(Special::new(Content::Full(Full::new(nonce, limit)), None))
    }
}

impl Work for AnyWork<'_> {
    #[inline(always)]
    fn fill(self, out: &mut [u8], seq: u64) {
        #[inline(never)]
        fn special(work: Special<'_>, out: &mut [u8], seq: u64) {
            work.fill(out, seq);
        }
        match self {
            Self::Stamp(work) => work.fill(out, seq),
            Self::Lines(work) => work.fill(out, seq),
            Self::Special(work) => special(work, out, seq),
        }
    }

    #[inline(always)]
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault> {
        #[inline(never)]
        fn special(work: Special<'_>, message: &[u8], seq: u64) -> Result<(), Fault> {
            work.check(message, seq)
        }
        match self {
            Self::Stamp(work) => work.check(message, seq),
            Self::Lines(work) => work.check(message, seq),
            Self::Special(work) => special(work, message, seq),
        }
    }

    // Once a segment.
    #[inline(never)]
    fn reversed(self) -> Self {
        match self {
            Self::Stamp(work) => Self::Stamp(work.reversed()),
            Self::Lines(work) => Self::Lines(work.reversed()),
            Self::Special(work) => Self::Special(work.reversed()),
        }
    }

    #[inline]
    fn sequence(self, message: &[u8], near: u64) -> Option<u64> {
        #[inline(never)]
        fn special(work: Special<'_>, message: &[u8], near: u64) -> Option<u64> {
            work.sequence(message, near)
        }
        match self {
            Self::Stamp(work) => work.sequence(message, near),
            Self::Lines(work) => work.sequence(message, near),
            Self::Special(work) => special(work, message, near),
        }
    }
}

#[cfg(test)]
#[path = "tests/work.rs"]
mod tests;
