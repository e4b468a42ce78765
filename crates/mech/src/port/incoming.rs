//! Messages that arrived at once, lent one by one.

use crate::port::{fault, moved};
use ipcperf_core::{Fault, SetupError, Shape};
use ipcperf_sys::io::socket::batch::Batch;
use ipcperf_sys::io::{Buffer, errno, stream};
use std::os::fd::BorrowedFd;

/// Messages that have come.
pub trait Incoming: 'static {
    /// Messages may be lost, so that a receive gives up with [`Fault::Timeout`].
    const LOSSY: bool;

    /// The next message of `len` bytes; sleeps only where none is left of what has come.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it.
    fn next(&mut self, socket: BorrowedFd<'_>, len: usize) -> Result<&[u8], Fault>;
}

/// Slots of a batch, of which some are filled and some of those lent.
#[derive(Debug)]
struct Filled {
    batch: Batch,
    size: usize,
    next: usize,
    filled: usize,
}

impl Filled {
    fn new(count: u64, shape: &Shape) -> Result<Self, SetupError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let batch = Batch::new(count, shape.size, shape.buffer_offset)?;
        Ok(Self { batch, size: shape.size, next: 0, filled: 0 })
    }

    /// Sleeps until something has come.
    #[inline(always)]
    fn refill(&mut self, socket: BorrowedFd<'_>, whole: bool) -> Result<(), Fault> {
        let mut step = self.batch.receive(socket, whole);
        while let Err(code) = step {
            // The call tells of a peer that closed with something unread ahead of what that peer had sent, once.
            if code != errno::EINTR && code != errno::ECONNRESET {
                return Err(fault(code));
            }
            step = self.batch.receive(socket, whole);
        }
        self.next = 0;
        self.filled = step.unwrap_or(0);
        Ok(())
    }
}

/// Messages with boundaries over a socket that may lose some.
#[derive(Debug)]
pub struct RecvBatch(Filled);

impl RecvBatch {
    /// Up to `count` at once.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(count: u64, shape: &Shape) -> Result<Self, SetupError> {
        Filled::new(count, shape).map(Self)
    }
}

impl Incoming for RecvBatch {
    const LOSSY: bool = true;

    #[inline(always)]
    fn next(&mut self, socket: BorrowedFd<'_>, len: usize) -> Result<&[u8], Fault> {
        let Self(filled) = self;
        if len > filled.size {
            return Err(Fault::TooLong);
        }
        if filled.next >= filled.filled {
            filled.refill(socket, true)?;
        }
        let index = filled.next;
        filled.next += 1;
        if filled.batch.moved(index) != len {
            return Err(Fault::Truncated);
        }
        filled.batch.slot(index, len).map(|bytes| &*bytes).ok_or(Fault::TooLong)
    }
}

/// Bytes without boundaries. A message usually fills a slot; the pieces of one that does not are put together.
#[derive(Debug)]
pub struct Pieces {
    filled: Filled,
    /// Bytes of the next slot that are lent already.
    offset: usize,
    whole: Buffer,
}

impl Pieces {
    /// Up to `count` at once.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(count: u64, shape: &Shape) -> Result<Self, SetupError> {
        let filled = Filled::new(count, shape)?;
        Ok(Self { filled, offset: 0, whole: Buffer::new(shape.size, shape.buffer_offset)? })
    }

    /// From now on messages have this length, and so have the slots.
    #[cold]
    #[inline(never)]
    fn resize(&mut self, len: usize) {
        for index in 0..self.filled.batch.count() {
            self.filled.batch.set_len(index, len);
        }
    }

    /// Takes `len` bytes out of as many slots as it needs, and the rest from the socket itself, so that the next slots
    /// start with a message again.
    #[cold]
    #[inline(never)]
    fn put_together(&mut self, socket: BorrowedFd<'_>, len: usize) -> Result<&[u8], Fault> {
        let whole = self.whole.get_mut(len).ok_or(Fault::TooLong)?;
        let mut done = 0;
        while let Some(rest) = whole.get_mut(done..).filter(|rest| !rest.is_empty()) {
            if self.filled.next >= self.filled.filled {
                done += moved(stream::read(socket, rest), done)?;
                continue;
            }
            let (index, from) = (self.filled.next, self.offset);
            let piece = self.filled.batch.moved(index);
            let piece = self.filled.batch.slot(index, piece).ok_or(Fault::TooLong)?;
            let piece = piece.get(from..).unwrap_or_default();
            // A slot that stayed empty marks the end, and stays where it is for the next call.
            if piece.is_empty() {
                return Err(if done == 0 { Fault::Closed } else { Fault::Truncated });
            }
            for (to, byte) in rest.iter_mut().zip(piece) {
                *to = *byte;
            }
            let taken = rest.len().min(piece.len());
            done += taken;
            if taken == piece.len() {
                self.filled.next += 1;
                self.offset = 0;
            } else {
                self.offset += taken;
            }
        }
        Ok(whole)
    }
}

impl Incoming for Pieces {
    const LOSSY: bool = false;

    #[inline(always)]
    fn next(&mut self, socket: BorrowedFd<'_>, len: usize) -> Result<&[u8], Fault> {
        if len > self.filled.size {
            return Err(Fault::TooLong);
        }
        if self.filled.next >= self.filled.filled && len != 0 {
            if self.filled.batch.len(0) != len {
                self.resize(len);
            }
            self.filled.refill(socket, false)?;
        }
        let index = self.filled.next;
        if self.offset != 0 || self.filled.batch.moved(index) != len || len == 0 {
            return self.put_together(socket, len);
        }
        self.filled.next += 1;
        self.filled.batch.slot(index, len).map(|bytes| &*bytes).ok_or(Fault::TooLong)
    }
}
