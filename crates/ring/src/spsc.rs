//! The two ends of a ring.
//!
//! # Safety
//!
//! Relies on L1 to L3 of `layout` and on W1 of `wait`: a slice into a slot exists only between
//! `until` and `turn`, that is, while the slot is this end's alone.

use core::slice;

use crate::layout::{AttachError, End, Side, attach};
use crate::sync::Site;
use crate::wait::{EMPTY, FULL, Wait};

/// Why a message was not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// One of the ends has closed the ring. A consumer gets it only after the last message.
    Closed,
    /// The message is longer than a slot's payload; nothing was written.
    TooLong,
}

impl core::fmt::Display for Stop {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Closed => "the ring is closed",
            Self::TooLong => "the message is longer than a slot of the ring",
        })
    }
}

impl core::error::Error for Stop {}

/// The end that sends.
#[derive(Debug)]
pub struct Producer {
    end: End,
}

/// The end that receives.
#[derive(Debug)]
pub struct Consumer {
    end: End,
}

/// Attaches as the producer.
///
/// # Errors
/// [`AttachError`]: the memory holds no ring, one that cannot be, or one whose producer is claimed.
///
/// # Safety
/// `memory` is valid for reads and writes of `len` bytes for as long as the producer lives, may be
/// shared with the ends of this ring only, and holds what [`init`](crate::init) wrote there, zeros,
/// or other bytes whose header is refused. `init` happened before this call.
pub unsafe fn producer(memory: *mut u8, len: usize) -> Result<Producer, AttachError> {
    // SAFETY: the caller's promise is the same.
    Ok(Producer { end: unsafe { attach(memory, len, Side::Producer) }? })
}

/// Attaches as the consumer.
///
/// # Errors
/// As [`producer`].
///
/// # Safety
/// As [`producer`].
pub unsafe fn consumer(memory: *mut u8, len: usize) -> Result<Consumer, AttachError> {
    // SAFETY: the caller's promise is the same.
    Ok(Consumer { end: unsafe { attach(memory, len, Side::Consumer) }? })
}

impl Producer {
    /// Waits for a free slot, lets `fill` write `len` bytes into it (which hold an earlier message
    /// or zeros), and passes it on. If `fill` unwinds, nothing was sent.
    ///
    /// # Errors
    /// [`Stop::TooLong`] before waiting. [`Stop::Closed`] if this end has closed, or the consumer
    /// has and no slot is free: free slots still take messages, since only waiting looks.
    #[inline(always)]
    pub fn send<W: Wait>(
        &mut self,
        wait: &W,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Stop> {
        if len >= self.end.room {
            return Err(if self.end.room == 0 { Stop::Closed } else { Stop::TooLong });
        }
        let (slot, payload) = self.end.slot();
        if !wait.until(&slot.word, EMPTY, self.end.closed()) {
            return Err(Stop::Closed);
        }
        slot.len.with_mut(|stated| {
            // SAFETY: `len < room`, so the bytes are in the slot (L2), which is live (L1) and ours
            // alone until `turn` (W1).
            fill(unsafe { slice::from_raw_parts_mut(payload, len) });
            // SAFETY: as above. Less than `room`, which fits.
            unsafe { *stated = len as u32 };
        });
        wait.turn(&slot.word, FULL);
        self.end.step();
        Ok(())
    }

    /// Closes the ring: the consumer gets what was sent, then [`Stop::Closed`]; it is woken if it
    /// sleeps. This end sends no more. Dropping a producer does not close the ring.
    pub fn close<W: Wait>(&mut self, wait: &W) {
        close(&mut self.end, wait);
    }
}

impl Consumer {
    /// Waits for a message, lends it to `take`, and hands the slot back. If `take` unwinds, the
    /// message stays where it is and comes again.
    ///
    /// # Errors
    /// [`Stop::Closed`] if this end has closed, or if the producer has and every message it sent
    /// was received. Never [`Stop::TooLong`].
    #[inline(always)]
    pub fn recv<T, W: Wait>(&mut self, wait: &W, take: impl FnOnce(&[u8]) -> T) -> Result<T, Stop> {
        let (slot, payload) = self.end.slot();
        if !wait.until(&slot.word, FULL, self.end.closed()) {
            return Err(Stop::Closed);
        }
        let taken = slot.len.with(|stated| {
            // SAFETY: the slot is live (L1) and ours alone until `turn` (W1).
            let mut len = unsafe { *stated } as usize;
            if len >= self.end.room {
                // This end has closed, or the peer wrote nonsense, which is cut to the slot.
                len = self.end.room.checked_sub(1).ok_or(Stop::Closed)?;
            }
            // SAFETY: `len < room`, so the bytes are in the slot (L2); otherwise as above.
            Ok(take(unsafe { slice::from_raw_parts(payload, len) }))
        })?;
        wait.turn(&slot.word, EMPTY);
        self.end.step();
        Ok(taken)
    }

    /// Closes the ring: a producer that waits for a free slot gets [`Stop::Closed`]; it is woken if
    /// it sleeps. This end receives no more. Dropping a consumer does not close the ring.
    pub fn close<W: Wait>(&mut self, wait: &W) {
        close(&mut self.end, wait);
    }
}

/// Only the slot that comes next needs rousing. A consumer sleeps only on an empty slot, when it
/// has caught up with the producer, so that slot is the producer's next too; a producer sleeps only
/// on a full slot a whole round ahead of the consumer, and that is the consumer's next.
#[cold]
fn close<W: Wait>(end: &mut End, wait: &W) {
    end.room = 0;
    // Release guards the last messages: see `is_set`. With Relaxed, loom fails.
    end.closed().store(1, Site::Close.release());
    wait.rouse(&end.slot().0.word);
}
