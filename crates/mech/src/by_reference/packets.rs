//! One connected socket that keeps boundaries and carries descriptors, for messages that are about something else.

use crate::port::fault;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::file::fresh::Handle;
use ipcperf_sys::io::socket::rights::{Incoming, Outgoing};
use ipcperf_sys::io::{Buffer, errno, socket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A sequenced-packet socket, and room for descriptors in both directions.
#[derive(Debug)]
pub(crate) struct Packets {
    socket: OwnedFd,
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Packets {
    /// Each message carries `count` descriptors.
    pub(crate) fn new(socket: OwnedFd, count: usize) -> Self {
        Self { socket, outgoing: Outgoing::new(count), incoming: Incoming::default() }
    }

    /// Sends one message; every place for a descriptor names `fd`.
    #[inline(always)]
    pub(crate) fn send(&mut self, message: &[u8], fd: BorrowedFd<'_>) -> Result<(), Fault> {
        self.outgoing.set(fd);
        let step = self.outgoing.send(self.socket.as_fd(), message);
        if step == Ok(message.len()) { Ok(()) } else { self.send_again(message, step) }
    }

    #[cold]
    #[inline(never)]
    fn send_again(&mut self, message: &[u8], first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        loop {
            match step {
                Ok(bytes) if bytes == message.len() => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                Err(code) => return Err(fault(code)),
            }
            step = self.outgoing.send(self.socket.as_fd(), message);
        }
    }

    /// Receives one message of exactly the length of `into`.
    #[inline(always)]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        let step = self.incoming.receive(self.socket.as_fd(), into);
        if step == Ok(into.len()) && !self.incoming.is_empty() {
            Ok(())
        } else {
            self.receive_again(into, step)
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&mut self, into: &mut [u8], first: Result<usize, i32>) -> Result<(), Fault> {
        let (mut step, mut ended) = (first, false);
        loop {
            match step {
                // The end brings neither bytes nor descriptors. Told once, it may be ahead of a message that came
                // just before it; told again, nothing is left.
                Ok(0) if self.incoming.is_empty() && ended => return Err(Fault::Closed),
                Ok(0) if self.incoming.is_empty() => ended = true,
                Ok(bytes) if bytes == into.len() => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                // A peer that closes with unread messages of ours is reported once, ahead of the messages of its own
                // that still wait here.
                Err(errno::EINTR | errno::ECONNRESET) => {}
                Err(code) => return Err(fault(code)),
            }
            step = self.incoming.receive(self.socket.as_fd(), into);
        }
    }

    /// The one descriptor that came with the last message.
    #[inline(always)]
    pub(crate) fn descriptor(&mut self) -> Option<Handle> {
        self.incoming.take()
    }

    pub(crate) fn finish(&self) -> Result<(), Fault> {
        socket::shutdown_send(&self.socket).map_err(fault)
    }
}

/// Messages that carry descriptors beside their bytes. The receiver counts them and closes them.
pub struct DescriptorPort {
    socket: Packets,
    /// What is passed on.
    object: OwnedFd,
    count: usize,
    buffer: Buffer,
}

impl DescriptorPort {
    /// One socket for both directions; each message carries `count` descriptors of `object`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(
        socket: OwnedFd,
        object: OwnedFd,
        count: usize,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let buffer = Buffer::new(shape.size, shape.buffer_offset)?;
        Ok(Self { socket: Packets::new(socket, count), object, count, buffer })
    }
}

impl Port for DescriptorPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(message);
        self.socket.send(message, self.object.as_fd())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.socket.receive(into)?;
        let incoming = &mut self.socket.incoming;
        let is_whole = incoming.count() == self.count && !incoming.is_cut();
        incoming.close_all();
        if is_whole { take(into) } else { Err(Fault::Truncated) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.socket.finish()
    }
}
