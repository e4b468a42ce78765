//! Sockets that keep message boundaries.

use super::fault;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::{Buffer, datagram, errno, socket};
use std::os::fd::{AsFd, OwnedFd};

/// One end of a socket that delivers every message. `CONNECTED` is whether a receive of 0 bytes is the end
/// (seqpacket) or an empty message (datagram).
pub struct DatagramPort<const CONNECTED: bool> {
    socket: OwnedFd,
    buffer: Buffer,
}

impl<const CONNECTED: bool> DatagramPort<CONNECTED> {
    /// A socket that is connected to its peer.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(socket: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        Ok(Self { socket, buffer: Buffer::new(shape.size, shape.buffer_offset)? })
    }

    #[cold]
    #[inline(never)]
    fn send_again(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        loop {
            match step {
                Ok(bytes) if bytes == len => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                Err(code) => return Err(fault(code)),
            }
            let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
            step = datagram::send(self.socket.as_fd(), message);
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        loop {
            match step {
                Ok(bytes) if bytes == len => return Ok(()),
                Ok(0) if CONNECTED => return Err(Fault::Closed),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                // A seqpacket peer that closes with unread messages of ours is reported once, ahead of the messages
                // of its own that still wait here.
                Err(errno::ECONNRESET) if CONNECTED => {}
                Err(code) => return Err(fault(code)),
            }
            let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
            step = datagram::receive(self.socket.as_fd(), into);
        }
    }

    #[inline(always)]
    fn send_one(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(message);
        let step = datagram::send(self.socket.as_fd(), message);
        if step == Ok(len) { Ok(()) } else { self.send_again(len, step) }
    }

    #[inline(always)]
    fn receive_one<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        let step = datagram::receive(self.socket.as_fd(), into);
        if step != Ok(len) || (CONNECTED && len == 0) {
            self.receive_again(len, step)?;
        }
        take(self.buffer.get_mut(len).ok_or(Fault::TooLong)?)
    }
}

impl<const CONNECTED: bool> Port for DatagramPort<CONNECTED> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.send_one(len, fill)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.receive_one(len, take)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        socket::shutdown_send(&self.socket).map_err(fault)
    }
}

/// The same for a socket that may lose messages: a receive gives up with [`Fault::Timeout`].
pub struct LossyPort(DatagramPort<false>);

impl LossyPort {
    /// A socket that is connected to its peer and has a receive timeout.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(socket: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        DatagramPort::new(socket, shape).map(Self)
    }
}

impl Port for LossyPort {
    const LOSSY: bool = true;

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.0.send_one(len, fill)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.0.receive_one(len, take)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // No packet announces an end, and a datagram socket has nothing to drain.
        Ok(())
    }
}
