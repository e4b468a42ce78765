//! Objects of the kernel that keep message boundaries: sockets, queues, pipes in packet mode.

use crate::port::patience::Patience;
use crate::port::{fault, whole};
use crate::wait::Wait;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::{Buffer, datagram, duplicate, errno, socket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What carries the messages, as a type.
pub trait Carrier: Default + 'static {
    /// A receive of 0 bytes is the end, not an empty message.
    const ENDS: bool;
    /// Messages may be lost, so that a receive gives up with [`Fault::Timeout`].
    const LOSSY: bool = false;
    /// `read` and `write` move one message each, as receiving and sending do.
    const PLAIN: bool = false;

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

    /// Sends one message and returns its length. By `sendto`, as all sockets do.
    ///
    /// # Errors
    /// The `errno`, `EMSGSIZE` for a message that is too long.
    #[inline(always)]
    fn send(&self, tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        datagram::send(tx, message)
    }

    /// Receives one message and returns its length, which is more than wanted if it was cut to fit.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        datagram::receive(rx, into)
    }

    /// Tells the peer that no more will come, where that is possible.
    ///
    /// # Errors
    /// The `errno`.
    fn finish(_rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
        socket::shutdown_send(tx)
    }
}

/// UNIX datagram sockets.
#[derive(Debug, Default)]
pub struct Datagrams;

impl Carrier for Datagrams {
    const ENDS: bool = false;
    const PLAIN: bool = true;
}

/// UNIX sequenced-packet sockets.
#[derive(Debug, Default)]
pub struct Packets;

impl Carrier for Packets {
    const ENDS: bool = true;
    const PLAIN: bool = true;
}

/// One end: a descriptor to receive from, one to send to, and a private buffer.
pub struct MessagePort<C: Carrier, W: Wait> {
    reader: W::Gate,
    writer: W::Gate,
    rx: OwnedFd,
    tx: OwnedFd,
    buffer: Buffer,
    carrier: C,
}

impl<C: Carrier, W: Wait> MessagePort<C, W> {
    /// Two descriptors, one for each direction.
    ///
    /// # Errors
    /// There is no memory, or waiting could not be set up.
    pub fn new(rx: OwnedFd, tx: OwnedFd, shape: &Shape) -> Result<Self, SetupError> {
        Self::carried_by(C::default(), rx, tx, shape)
    }

    /// The same with a carrier that knobs have changed.
    ///
    /// # Errors
    /// As [`MessagePort::new`].
    pub fn carried_by(
        carrier: C,
        rx: OwnedFd,
        tx: OwnedFd,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let reader = W::gate(&rx, Interest::Readable)?;
        let writer = W::gate(&tx, Interest::Writable)?;
        let buffer = Buffer::new(C::room(&rx, shape.size)?, shape.buffer_offset)?;
        Ok(Self { reader, writer, rx, tx, buffer, carrier })
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
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        whole(len, first, || W::send(&self.writer, || self.carrier.send(self.tx.as_fd(), message)))
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
    const PLAIN: bool = C::PLAIN && W::VARIANT.is_none();

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(message);
        let step = W::send(&self.writer, || self.carrier.send(self.tx.as_fd(), message));
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

    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        Self::PLAIN.then(|| [self.rx.as_fd(), self.tx.as_fd()])
    }

    fn finish(&mut self) -> Result<(), Fault> {
        C::finish(&self.rx, &mut self.tx).map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Spin;
    use ipcperf_sys::io::socket::Kind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::{Duration, Instant};

    #[test]
    fn an_end_is_never_told_ahead_of_the_last_message() {
        let shape = Shape { size: 64, nonce: 1, ..Shape::default() };
        let port = |socket| MessagePort::<Packets, Spin>::of_socket(socket, &shape);
        // The moment between the two looks of the kernel is short, so the receiver looks all the time: without the second
        // look of the port, one in some thousand of these ended early.
        let turn = Arc::new(AtomicUsize::new(0));
        let (give, take) = mpsc::channel::<Vec<MessagePort<Packets, Spin>>>();
        let sender = std::thread::spawn({
            let turn = Arc::clone(&turn);
            move || {
                for (round, mut lead) in take.into_iter().flatten().enumerate() {
                    while turn.load(Ordering::Acquire) <= round {
                        std::thread::yield_now();
                    }
                    lead.send(64, |out| out.fill(7)).expect("the receiver is there");
                    lead.finish().expect("shut down");
                }
            }
        });
        // So many at once as any limit of descriptors allows. A busy machine takes a thousand times as long for one.
        let begin = Instant::now();
        for _ in 0..400 {
            if begin.elapsed() > Duration::from_secs(10) {
                break;
            }
            let (leads, follows): (Vec<_>, Vec<_>) = (0..100)
                .map(|_| socket::pair(Kind::SeqPacket).expect("a pair"))
                .map(|(lead, follow)| (port(lead).expect("memory"), port(follow).expect("memory")))
                .unzip();
            give.send(leads).expect("the sender is there");
            for mut follow in follows {
                let round = turn.fetch_add(1, Ordering::Release);
                let got = follow.recv(64, |message| Ok(message[0]));
                assert_eq!(got, Ok(7), "round {round}");
                assert_eq!(follow.recv(64, |_| Ok(0)), Err(Fault::Closed));
            }
        }
        drop(give);
        sender.join().expect("no panic");
    }
}
