//! Messages that are held back, and handed over at once.

use crate::port::fault;
use ipcperf_core::{Fault, SetupError, Shape};
use ipcperf_sys::io::socket::batch::{self, Batch};
use ipcperf_sys::io::{Buffer, datagram, errno};
use std::os::fd::BorrowedFd;

/// Messages on their way out.
pub trait Outgoing: 'static {
    /// Whether what is held cannot go together with a message of `len` bytes.
    fn is_other(&self, len: usize) -> bool;

    /// Where the next message is written; `None` if it is too long.
    fn slot(&mut self, len: usize) -> Option<&mut [u8]>;

    /// Holds the message just written; whether the batch is full.
    fn hold(&mut self, len: usize) -> bool;

    /// Nothing is held.
    fn is_empty(&self) -> bool;

    /// Sends all that is held.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it.
    fn hand_over(&mut self, socket: BorrowedFd<'_>) -> Result<(), Fault>;
}

/// A slot for each message: `sendmmsg`.
#[derive(Debug)]
pub struct Slots {
    batch: Batch,
    size: usize,
    held: usize,
}

impl Slots {
    /// For `count` messages of the shape's size.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(count: u64, shape: &Shape) -> Result<Self, SetupError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let batch = Batch::new(count, shape.size, shape.buffer_offset)?;
        Ok(Self { batch, size: shape.size, held: 0 })
    }

    /// Messages of a full batch.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.batch.count() as u64
    }

    /// Goes on where the call stopped, one message at a time.
    #[cold]
    #[inline(never)]
    fn send_rest(
        &mut self,
        socket: BorrowedFd<'_>,
        first: Result<usize, i32>,
    ) -> Result<(), Fault> {
        let sent = match first {
            Ok(sent) => sent,
            Err(errno::EINTR) => 0,
            Err(code) => return Err(fault(code)),
        };
        // Of those that were sent only the last may be sent in part.
        for index in sent.saturating_sub(1)..self.held {
            let len = self.batch.len(index);
            let mut done = if index < sent { self.batch.moved(index) } else { 0 };
            let mut is_sent = index < sent && done >= len;
            while !is_sent {
                let slot = self.batch.slot(index, len).ok_or(Fault::TooLong)?;
                match datagram::send(socket, slot.get(done..).unwrap_or_default()) {
                    Ok(bytes) => done += bytes,
                    Err(errno::EINTR) => continue,
                    Err(code) => return Err(fault(code)),
                }
                is_sent = done >= len;
            }
        }
        self.held = 0;
        Ok(())
    }
}

impl Outgoing for Slots {
    #[inline(always)]
    fn is_other(&self, _: usize) -> bool {
        false
    }

    #[inline(always)]
    fn slot(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > self.size {
            return None;
        }
        self.batch.slot(self.held, len)
    }

    #[inline(always)]
    fn hold(&mut self, len: usize) -> bool {
        self.batch.set_len(self.held, len);
        self.held += 1;
        self.held >= self.batch.count()
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.held == 0
    }

    #[inline(always)]
    fn hand_over(&mut self, socket: BorrowedFd<'_>) -> Result<(), Fault> {
        let step = self.batch.send(socket, self.held);
        let last = self.held.wrapping_sub(1);
        if step != Ok(self.held) || self.batch.moved(last) != self.batch.len(last) {
            return self.send_rest(socket, step);
        }
        self.held = 0;
        Ok(())
    }
}

/// One run of bytes that the kernel cuts into messages of one length: `UDP_SEGMENT`.
#[derive(Debug)]
pub struct GsoBatch {
    bytes: Buffer,
    size: usize,
    count: usize,
    /// Length of the messages held.
    each: usize,
    held: usize,
    /// Bytes held.
    filled: usize,
}

impl GsoBatch {
    /// For `count` messages of the shape's size.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(count: u64, shape: &Shape) -> Result<Self, SetupError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let bytes = Buffer::new(count.saturating_mul(shape.size), shape.buffer_offset)?;
        Ok(Self { bytes, size: shape.size, count, each: 0, held: 0, filled: 0 })
    }

    /// Messages of a full batch.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    #[cold]
    #[inline(never)]
    fn send_again(&mut self, socket: BorrowedFd<'_>, mut code: i32) -> Result<(), Fault> {
        while code == errno::EINTR {
            let bytes = self.bytes.get_mut(self.filled).ok_or(Fault::TooLong)?;
            match batch::send_cut(socket, bytes, self.each) {
                Ok(_) => {
                    (self.held, self.filled) = (0, 0);
                    return Ok(());
                }
                Err(again) => code = again,
            }
        }
        Err(fault(code))
    }
}

impl Outgoing for GsoBatch {
    #[inline(always)]
    fn is_other(&self, len: usize) -> bool {
        self.held != 0 && self.each != len
    }

    #[inline(always)]
    fn slot(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > self.size {
            return None;
        }
        self.bytes.get_mut(self.filled.wrapping_add(len))?.get_mut(self.filled..)
    }

    #[inline(always)]
    fn hold(&mut self, len: usize) -> bool {
        self.each = len;
        self.held += 1;
        self.filled = self.filled.wrapping_add(len);
        // Of empty messages no run can be made.
        self.held >= self.count || len == 0
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.held == 0
    }

    #[inline(always)]
    fn hand_over(&mut self, socket: BorrowedFd<'_>) -> Result<(), Fault> {
        let bytes = self.bytes.get_mut(self.filled).ok_or(Fault::TooLong)?;
        match batch::send_cut(socket, bytes, self.each) {
            Ok(_) => {
                (self.held, self.filled) = (0, 0);
                Ok(())
            }
            Err(code) => self.send_again(socket, code),
        }
    }
}
