//! Objects of the kernel that keep message boundaries: sockets, queues, pipes in packet mode.

use crate::port::patience::Patience;
use crate::port::{end_pipe, fault};
use crate::wait::Wait;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::queue::mqueue;
use ipcperf_sys::io::{Buffer, datagram, duplicate, errno, socket, stream};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What carries the messages, as a type.
pub trait Carrier: 'static {
    /// A receive of 0 bytes is the end, not an empty message.
    const ENDS: bool;
    /// Messages may be lost, so that a receive gives up with [`Fault::Timeout`].
    const LOSSY: bool;

    /// Bytes of the buffer for messages up to `size`.
    ///
    /// # Errors
    /// The descriptor is not of this kind.
    fn room(_rx: &OwnedFd, size: usize) -> Result<usize, SetupError> {
        Ok(size)
    }

    /// What a receive of `len` bytes offers to the kernel; `None` if that is more than the buffer.
    #[inline(always)]
    fn offer(buffer: &mut Buffer, len: usize) -> Option<&mut [u8]> {
        buffer.get_mut(len)
    }

    /// Sends one message and returns its length.
    ///
    /// # Errors
    /// The `errno`, `EMSGSIZE` for a message that is too long.
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32>;

    /// Receives one message and returns its length, which is more than wanted if it was cut to fit.
    ///
    /// # Errors
    /// The `errno`.
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32>;

    /// Tells the peer that no more will come, where that is possible.
    ///
    /// # Errors
    /// The `errno`.
    fn finish(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32>;
}

/// UNIX datagram sockets.
#[derive(Debug)]
pub struct Datagrams;

impl Carrier for Datagrams {
    const ENDS: bool = false;
    const LOSSY: bool = false;

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        datagram::send(tx, message)
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        datagram::receive(rx, into)
    }

    fn finish(_: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
        socket::shutdown_send(tx)
    }
}

/// UNIX sequenced-packet sockets.
#[derive(Debug)]
pub struct Packets;

impl Carrier for Packets {
    const ENDS: bool = true;
    const LOSSY: bool = false;

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        datagram::send(tx, message)
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        datagram::receive(rx, into)
    }

    fn finish(_: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
        socket::shutdown_send(tx)
    }
}

/// Netlink sockets.
#[derive(Debug)]
pub struct Netlinks;

impl Carrier for Netlinks {
    const ENDS: bool = false;
    const LOSSY: bool = false;

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        datagram::send(tx, message)
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        datagram::receive(rx, into)
    }

    fn finish(_: &OwnedFd, _: &mut OwnedFd) -> Result<(), i32> {
        // Netlink sockets cannot be shut down.
        Ok(())
    }
}

/// Sockets that may lose messages.
#[derive(Debug)]
pub struct LossyDatagrams;

impl Carrier for LossyDatagrams {
    const ENDS: bool = false;
    const LOSSY: bool = true;

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        datagram::send(tx, message)
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        datagram::receive(rx, into)
    }

    fn finish(_: &OwnedFd, _: &mut OwnedFd) -> Result<(), i32> {
        // No packet announces an end, and a datagram socket has nothing to drain.
        Ok(())
    }
}

/// POSIX message queues.
#[derive(Debug)]
pub struct PosixQueue;

impl Carrier for PosixQueue {
    const ENDS: bool = false;
    const LOSSY: bool = false;

    fn room(rx: &OwnedFd, size: usize) -> Result<usize, SetupError> {
        let largest = usize::try_from(mqueue::capacity(rx)?.size).unwrap_or(usize::MAX);
        Ok(size.max(largest))
    }

    /// Everything: the kernel wants room for the largest message the queue takes, whatever arrives.
    #[inline(always)]
    fn offer(buffer: &mut Buffer, _: usize) -> Option<&mut [u8]> {
        Some(buffer.all_mut())
    }

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        mqueue::send(tx, message).map(|_| message.len())
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        mqueue::receive(rx, into)
    }

    fn finish(_: &OwnedFd, _: &mut OwnedFd) -> Result<(), i32> {
        // A queue has no end that could be closed: both processes hold the same object.
        Ok(())
    }
}

/// Pipes in packet mode.
#[derive(Debug)]
pub struct PipePackets;

impl PipePackets {
    /// `PIPE_BUF`: the kernel would cut what is longer into several packets.
    pub const LARGEST: usize = 4096;
}

impl Carrier for PipePackets {
    const ENDS: bool = true;
    const LOSSY: bool = false;

    fn room(_: &OwnedFd, size: usize) -> Result<usize, SetupError> {
        Ok(size.max(Self::LARGEST) + 1)
    }

    /// One byte more than wanted: a read drops the rest of a longer packet without a word.
    #[inline(always)]
    fn offer(buffer: &mut Buffer, len: usize) -> Option<&mut [u8]> {
        buffer.get_mut(len.saturating_add(1))
    }

    #[inline(always)]
    fn send(tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        match message.len() {
            // The kernel would take it and make no packet.
            0 => Err(errno::EINVAL),
            1..=Self::LARGEST => stream::write(tx, message),
            _ => Err(errno::EMSGSIZE),
        }
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        stream::read(rx, into)
    }

    fn finish(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
        end_pipe(rx, tx)
    }
}

/// One end: a descriptor to receive from, one to send to, and a private buffer.
pub struct MessagePort<C: Carrier, W: Wait> {
    reader: W::Gate,
    writer: W::Gate,
    rx: OwnedFd,
    tx: OwnedFd,
    buffer: Buffer,
    _carrier: PhantomData<C>,
}

impl<C: Carrier, W: Wait> MessagePort<C, W> {
    /// Two descriptors, one for each direction.
    ///
    /// # Errors
    /// There is no memory, or waiting could not be set up.
    pub fn new(rx: OwnedFd, tx: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        let reader = W::gate(&rx, Interest::Readable)?;
        let writer = W::gate(&tx, Interest::Writable)?;
        let buffer = Buffer::new(C::room(&rx, shape.size)?, shape.buffer_offset)?;
        Ok(Self { reader, writer, rx, tx, buffer, _carrier: PhantomData })
    }

    /// One socket for both directions, connected to its peer.
    ///
    /// # Errors
    /// As [`MessagePort::new`].
    pub fn of_socket(socket: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        let second = duplicate(&socket)?;
        Self::new(socket, second, shape)
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
            step = W::send(&self.writer, || C::send(self.tx.as_fd(), message));
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let (mut step, mut ended) = (first, false);
        loop {
            match step {
                Ok(bytes) if bytes == len => return Ok(()),
                Ok(0) if C::ENDS && ended => return Err(Fault::Closed),
                // The kernel looks for a message first and for the end after that, so an end may be told ahead of a
                // message that came in between; told again, nothing is left.
                Ok(0) if C::ENDS => ended = true,
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                // A connected peer that closes with unread messages of ours is reported once, ahead of the messages
                // of its own that still wait here.
                Err(errno::ECONNRESET) if C::ENDS => {}
                Err(errno::ETIMEDOUT) if C::LOSSY => return Err(Fault::Timeout),
                Err(code) => return Err(fault(code)),
            }
            step = self.receive_one(len)?;
        }
    }

    #[inline(always)]
    fn receive_one(&mut self, len: usize) -> Result<Result<usize, i32>, Fault> {
        let into = C::offer(&mut self.buffer, len).ok_or(Fault::TooLong)?;
        let mut patience = Patience::default();
        Ok(W::receive(&self.reader, || match C::receive(self.rx.as_fd(), into) {
            Err(errno::EAGAIN) if C::LOSSY && patience.is_over() => Err(errno::ETIMEDOUT),
            done => done,
        }))
    }
}

impl<C: Carrier, W: Wait> Port for MessagePort<C, W> {
    const LOSSY: bool = C::LOSSY;

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(message);
        let step = W::send(&self.writer, || C::send(self.tx.as_fd(), message));
        if step == Ok(len) { Ok(()) } else { self.send_again(len, step) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let step = self.receive_one(len)?;
        if step != Ok(len) {
            self.receive_again(len, step)?;
        }
        take(self.buffer.get_mut(len).ok_or(Fault::TooLong)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        C::finish(&self.rx, &mut self.tx).map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Spin;
    use ipcperf_core::PatternKind;
    use ipcperf_sys::io::socket::Kind;
    use std::sync::mpsc;

    #[test]
    fn an_end_is_never_told_ahead_of_the_last_message() {
        let shape = Shape {
            size: 64,
            pattern: PatternKind::PingPong,
            nonce: 1,
            buffer_offset: 0,
            directory: std::env::temp_dir(),
        };
        let port = |socket| MessagePort::<Packets, Spin>::of_socket(socket, &shape);
        let (give, take) = mpsc::sync_channel::<MessagePort<Packets, Spin>>(0);
        let sender = std::thread::spawn(move || {
            for mut lead in take {
                lead.send(64, |out| out.fill(7)).expect("the receiver is there");
                lead.finish().expect("shut down");
            }
        });
        // The moment between the two looks of the kernel is short: without the second look of the port, one in
        // some thousand of these ended early.
        for round in 0..40_000 {
            let (lead, follow) = socket::pair(Kind::SeqPacket).expect("a pair");
            let mut follow = port(follow).expect("memory");
            give.send(port(lead).expect("memory")).expect("the sender is there");
            let got = follow.recv(64, |message| Ok(message[0]));
            assert_eq!(got, Ok(7), "round {round}");
            assert_eq!(follow.recv(64, |_| Ok(0)), Err(Fault::Closed));
        }
        drop(give);
        sender.join().expect("no panic");
    }
}
