//! Payload work beyond a stamp or a word of each cache line: every byte, a transform, a copy of the whole message, or
//! the time of every departure and arrival. One type for all of that, called out of line, so that the loops of plain
//! cells are the same with or without it.

use super::{Full, Lines, Private, Stamp, Times, Work};
use crate::source::Cut;
use crate::transform::{HEADER, Transcoder};
use ipcperf_core::Fault;
use std::cell::Cell;

/// What a message consists of.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// As touch `cacheline`.
    Lines(Lines),
    /// As touch `header` and `full`; as touch `none` with nothing but the stamp.
    Full(Full),
    /// As touch `copy`.
    Copied(Stamp, Private<'a>),
    /// The stamp, and what is cut from a file behind it.
    Cut(Stamp, &'a Cut),
    /// The stamp and a changed record.
    Changed(Stamp, SharedTranscoder<'a>),
}

/// Where the transform's contexts lie while no message is changed: a cell and no lock, since there is one thread.
#[derive(Clone, Copy)]
pub struct SharedTranscoder<'a>(&'a Cell<Option<Box<Transcoder>>>);

impl<'a> SharedTranscoder<'a> {
    /// A view of the cell that holds the contexts.
    pub(crate) const fn new(place: &'a Cell<Option<Box<Transcoder>>>) -> Self {
        Self(place)
    }

    /// Does something with the contexts, out of line: whatever a compressor does is none of the loop's code.
    #[inline(never)]
    fn lend<T>(self, what: impl FnOnce(&mut Transcoder) -> T) -> Option<T> {
        let mut transcoder = self.0.take()?;
        let result = what(&mut transcoder);
        self.0.set(Some(transcoder));
        Some(result)
    }
}

impl std::fmt::Debug for SharedTranscoder<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SharedTranscoder")
    }
}

/// A message with something special about it.
#[derive(Clone, Copy, Debug)]
pub struct Special<'a> {
    content: Content<'a>,
    times: Option<Times<'a>>,
}

impl<'a> Special<'a> {
    /// Messages from lead to follow.
    #[must_use]
    pub const fn new(content: Content<'a>, times: Option<Times<'a>>) -> Self {
        Self { content, times }
    }

    /// The time after a message was looked at, which belongs to its way: a round trip contains it, too.
    #[inline(always)]
    fn has_arrived(self, seq: u64) {
        if let Some(times) = self.times {
            times.arrival(seq);
        }
    }
}

/// Whether everything behind the stamp is message `seq` of a file.
#[inline(always)]
fn is_cut(message: &[u8], cut: &Cut, seq: u64) -> bool {
    let behind = Stamp::bytes_of(message.len());
    message.get(behind..) == cut.message(seq, message.len()).get(behind..)
}

impl Work for Special<'_> {
    #[inline(always)]
    fn fill(self, out: &mut [u8], seq: u64) {
        if let Some(times) = self.times {
            times.departure(seq);
        }
        match self.content {
            Content::Lines(lines) => lines.fill(out, seq),
            Content::Full(full) => full.fill(out, seq),
            Content::Copied(stamp, private) => private.fill(stamp, out, seq),
            Content::Cut(stamp, cut) => {
                let message = cut.message(seq, out.len());
                // What is too long for it is wrong at the receiver.
                if message.len() == out.len() {
                    out.copy_from_slice(message);
                }
                stamp.fill(out, seq);
            }
            Content::Changed(stamp, shared) => {
                stamp.fill(out, seq);
                // A credit is a stamp and nothing else.
                if out.len() >= HEADER {
                    shared.lend(|transcoder| transcoder.fill(out, seq));
                }
            }
        }
    }

    #[inline(always)]
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault> {
        match self.content {
            Content::Lines(lines) => lines.check(message, seq),
            Content::Full(full) => full.check(message, seq),
            Content::Copied(stamp, private) => {
                private.look(message, |own| stamp.check(own, seq))?
            }
            Content::Cut(stamp, cut) => {
                stamp.check(message, seq)?;
                if is_cut(message, cut, seq) { Ok(()) } else { Err(Fault::Corrupt) }
            }
            Content::Changed(stamp, shared) => {
                stamp.check(message, seq)?;
                let is_right = message.len() < HEADER
                    || shared.lend(|transcoder| transcoder.is_right(message, seq)).unwrap_or(false);
                if is_right { Ok(()) } else { Err(Fault::Corrupt) }
            }
        }?;
        self.has_arrived(seq);
        Ok(())
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        let content = match self.content {
            Content::Lines(lines) => Content::Lines(lines.reversed()),
            Content::Full(full) => Content::Full(full.reversed()),
            Content::Copied(stamp, private) => Content::Copied(stamp.reversed(), private),
            Content::Cut(stamp, cut) => Content::Cut(stamp.reversed(), cut),
            Content::Changed(stamp, shared) => Content::Changed(stamp.reversed(), shared),
        };
        // Only the way from lead to follow is timed: the ends change places every other round.
        Self { content, times: None }
    }

    #[inline]
    fn sequence(self, message: &[u8], near: u64) -> Option<u64> {
        let seq = match self.content {
            Content::Lines(lines) => lines.sequence(message, near),
            Content::Full(full) => full.sequence(message, near),
            Content::Copied(stamp, private) => {
                private.look(message, |own| stamp.sequence(own, near)).ok().flatten()
            }
            Content::Cut(stamp, cut) => {
                let seq = stamp.sequence(message, near)?;
                // As short as a credit: a late one of the verifying pass has other bytes behind its stamp.
                let is_short = message.len() < Stamp::LEN;
                (is_short || is_cut(message, cut, seq)).then_some(seq)
            }
            Content::Changed(stamp, shared) => {
                let seq = stamp.sequence(message, near)?;
                let is_right = message.len() < HEADER
                    || shared.lend(|transcoder| transcoder.is_right(message, seq)).unwrap_or(false);
                is_right.then_some(seq)
            }
        }?;
        self.has_arrived(seq);
        Some(seq)
    }
}

#[cfg(test)]
#[path = "tests/special.rs"]
mod tests;
