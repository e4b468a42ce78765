//! Bytes without boundaries: pipes, FIFOs, stream sockets.

use crate::port::{counted, end_stream, moved};
use crate::wait::Wait;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::{Buffer, duplicate, stream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One end: a descriptor to read from, one to write to, and a private buffer. Both ends know the length of every
/// message, so the stream needs no framing.
pub struct StreamPort<W: Wait> {
    reader: W::Gate,
    writer: W::Gate,
    rx: OwnedFd,
    tx: OwnedFd,
    buffer: Buffer,
}

impl<W: Wait> StreamPort<W> {
    /// Two descriptors, one for each direction.
    ///
    /// # Errors
    /// There is no memory, or waiting could not be set up.
    pub fn new(rx: OwnedFd, tx: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        let reader = W::gate(&rx, Interest::Readable)?;
        let writer = W::gate(&tx, Interest::Writable)?;
        let buffer = Buffer::new(shape.size, shape.buffer_offset)?;
        Ok(Self { reader, writer, rx, tx, buffer })
    }

    /// One socket for both directions.
    ///
    /// # Errors
    /// As [`StreamPort::new`].
    pub fn of_socket(socket: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        let second = duplicate(&socket)?;
        Self::new(socket, second, shape)
    }

    /// Goes on after a write that did not take everything.
    #[cold]
    #[inline(never)]
    fn write_rest(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut done = counted(first)?;
        while let Some(rest) = left(&mut self.buffer, len, done) {
            done += counted(W::send(&self.writer, || stream::write(self.tx.as_fd(), rest)))?;
        }
        Ok(())
    }

    /// Goes on after a read that did not bring everything.
    #[cold]
    #[inline(never)]
    fn read_rest(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut done = moved(first, 0)?;
        while let Some(rest) = left(&mut self.buffer, len, done) {
            let step = W::receive(&self.reader, || stream::read(self.rx.as_fd(), rest));
            done += moved(step, done)?;
        }
        Ok(())
    }
}

/// What is left of a message of which `done` bytes were moved; `None` if nothing is.
fn left(buffer: &mut Buffer, len: usize, done: usize) -> Option<&mut [u8]> {
    buffer.get_mut(len)?.get_mut(done..).filter(|rest| !rest.is_empty())
}

impl<W: Wait> Port for StreamPort<W> {
    const PLAIN: bool = W::VARIANT.is_none();

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        let step = W::send(&self.writer, || stream::write(self.tx.as_fd(), out));
        if step == Ok(len) { Ok(()) } else { self.write_rest(len, step) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        let step = W::receive(&self.reader, || stream::read(self.rx.as_fd(), into));
        if step != Ok(len) {
            self.read_rest(len, step)?;
        }
        take(self.buffer.get_mut(len).ok_or(Fault::TooLong)?)
    }

    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        Self::PLAIN.then(|| [self.rx.as_fd(), self.tx.as_fd()])
    }

    fn finish(&mut self) -> Result<(), Fault> {
        end_stream(&self.rx, &mut self.tx)
    }
}
