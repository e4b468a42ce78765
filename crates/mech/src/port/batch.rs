//! Sockets that move many messages with one call. A send holds messages back until a batch is full; a receive takes as
//! many as are there and lends them one after the other.

use crate::port::fault;
use crate::port::incoming::Incoming;
use crate::port::outgoing::Outgoing;
use ipcperf_core::{Fault, Port};
use ipcperf_sys::io::socket;
use std::os::fd::{AsFd, OwnedFd};

/// One end: a socket, what is held back, and what has come and is not lent yet.
pub struct BatchPort<O, I> {
    socket: OwnedFd,
    outgoing: O,
    incoming: I,
}

impl<O: Outgoing, I: Incoming> BatchPort<O, I> {
    /// One socket for both directions.
    pub fn new(socket: OwnedFd, outgoing: O, incoming: I) -> Self {
        Self { socket, outgoing, incoming }
    }
}

impl<O: Outgoing, I: Incoming> Port for BatchPort<O, I> {
    const LOSSY: bool = I::LOSSY;

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if self.outgoing.is_other(len) {
            self.outgoing.hand_over(self.socket.as_fd())?;
        }
        fill(self.outgoing.slot(len).ok_or(Fault::TooLong)?);
        if self.outgoing.hold(len) { self.outgoing.hand_over(self.socket.as_fd()) } else { Ok(()) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self.flush() {
            // Nobody takes what is held any more, but what the peer sent before it went is still there.
            Err(Fault::Closed) if !I::LOSSY => {}
            flushed => flushed?,
        }
        take(self.incoming.next(self.socket.as_fd(), len)?)
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<(), Fault> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        self.outgoing.hand_over(self.socket.as_fd())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.flush()?;
        // No packet announces the end of what may be lost, and such a socket has nothing to drain.
        if I::LOSSY { Ok(()) } else { socket::shutdown_send(&self.socket).map_err(fault) }
    }
}
