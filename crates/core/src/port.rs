//! One end of an open channel.

use crate::errno;
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;

/// One end of an open channel: what the hot loop holds. Its closures are generic, so that a loop over a port has no
/// call through a table in it.
///
/// What callers must do
/// - Both ends know the length of every message before it is sent; the same `len` is given to `send` and `recv`.
/// - After a [`Fault`] the port may only be dropped, except after [`Fault::Timeout`] and [`Fault::TooLong`], which
///   leave it usable, and after [`Fault::Closed`], which every further `recv` returns again.
///
/// What a port promises
/// - A message longer than the channel was made for ([`Shape::size`](crate::Shape::size)) is [`Fault::TooLong`].
/// - `send` calls `fill` at most once with exactly `len` bytes (the word of a wake-up mechanism) and returns when the
///   message is handed over; it blocks or spins when the channel is full.
/// - `recv` calls `take` exactly once on success, with exactly the bytes of one message, which stay where the
///   mechanism keeps them: a private buffer if the kernel copies, the shared slot if it does not.
/// - `send` may hold a message back until a batch is full; `recv`, `flush` and `finish` hand over what is held back.
/// - `finish` announces the end; the peer drains what was sent and then gets [`Fault::Closed`], where the mechanism
///   can tell (`Spec::on_close`).
pub trait Port {
    /// Messages may be lost without an error on either side. A `recv` then gives up with [`Fault::Timeout`].
    const LOSSY: bool = false;
    /// Messages are moved by what `read(2)` and `write(2)` do that sleep, each as it is, so that any program which has the
    /// two descriptors can be the peer.
    const PLAIN: bool = false;

    /// Sends one message of `len` bytes that `fill` writes.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it.
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault>;

    /// Receives exactly one message of `len` bytes and shows it to `take`.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it, or the one `take` returned.
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault>;

    /// Hands over what `send` has held back.
    ///
    /// # Errors
    /// As `send`.
    #[inline(always)]
    fn flush(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// From now on the receiver looks at no more than this part of a message. Both ends are told, between messages.
    /// What the receiver does not look at need not be copied, where the mechanism can leave it out.
    fn expect(&mut self, _part: Part) {}

    /// Reports what the port has counted since it was attached, beside the messages: "torn reads". Names are plain
    /// words, stable, the same at both ends.
    fn events(&self, _report: &mut dyn FnMut(&'static str, u64)) {}

    /// Of a plain port ([`Port::PLAIN`]): what messages are read from, and what they are written to.
    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        None
    }

    /// Tells the peer that no more will come.
    ///
    /// # Errors
    /// The [`Fault`] of the call that announces it.
    fn finish(&mut self) -> Result<(), Fault>;
}

/// What a [`Port`] does, one call through a table for each operation: for what is not timed, and for what does many
/// operations as one. Every port is one.
pub trait DynPort {
    /// See [`Port::send`].
    ///
    /// # Errors
    /// As there.
    fn send(&mut self, len: usize, fill: Fill<'_>) -> Result<(), Fault>;

    /// See [`Port::recv`].
    ///
    /// # Errors
    /// As there.
    fn recv(&mut self, len: usize, take: Take<'_>) -> Result<(), Fault>;

    /// See [`Port::flush`].
    ///
    /// # Errors
    /// As there.
    fn flush(&mut self) -> Result<(), Fault>;

    /// See [`Port::expect`].
    fn expect(&mut self, part: Part);

    /// See [`Port::events`].
    fn events(&self, report: &mut dyn FnMut(&'static str, u64));

    /// See [`Port::descriptors`].
    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        None
    }

    /// See [`Port::finish`].
    ///
    /// # Errors
    /// As there.
    fn finish(&mut self) -> Result<(), Fault>;
}

/// Writes a message.
pub type Fill<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Looks at a message.
pub type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Fault>;

impl<P: Port> DynPort for P {
    fn send(&mut self, len: usize, fill: Fill<'_>) -> Result<(), Fault> {
        Port::send(self, len, fill)
    }

    fn recv(&mut self, len: usize, take: Take<'_>) -> Result<(), Fault> {
        Port::recv(self, len, take)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        Port::flush(self)
    }

    fn expect(&mut self, part: Part) {
        Port::expect(self, part);
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        Port::events(self, report);
    }

    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        Port::descriptors(self)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Port::finish(self)
    }
}

/// A port of any type. Two types of it, because what may lose messages and what may not run different loops.
pub struct Erased<'a, const LOSSY: bool>(pub &'a mut dyn DynPort);

impl<const LOSSY: bool> fmt::Debug for Erased<'_, LOSSY> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Erased").field("lossy", &LOSSY).finish_non_exhaustive()
    }
}

/// A closure that may be called again, of one that may be called once.
#[inline(always)]
fn writes(fill: impl FnOnce(&mut [u8])) -> impl FnMut(&mut [u8]) {
    let mut fill = Some(fill);
    move |out| {
        if let Some(fill) = fill.take() {
            fill(out);
        }
    }
}

/// The same; `taken` keeps what it returns.
#[inline(always)]
fn takes<T>(
    take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    taken: &mut Option<T>,
) -> impl FnMut(&[u8]) -> Result<(), Fault> {
    let mut take = Some(take);
    move |message| {
        let take = take.take().ok_or(Fault::Corrupt)?;
        *taken = Some(take(message)?);
        Ok(())
    }
}

impl<const LOSSY: bool> Port for Erased<'_, LOSSY> {
    const LOSSY: bool = LOSSY;

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.0.send(len, &mut writes(fill))
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut taken = None;
        self.0.recv(len, &mut takes(take, &mut taken))?;
        taken.ok_or(Fault::Corrupt)
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<(), Fault> {
        self.0.flush()
    }

    fn expect(&mut self, part: Part) {
        self.0.expect(part);
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        self.0.events(report);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.0.finish()
    }
}

/// How much of a message the receiver looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All bytes.
    All,
    /// At most the first [`Part::STAMP`] bytes, which carry the proof. The rest that is shown to `take` has the right
    /// length and may hold anything.
    Stamp,
}

impl Part {
    /// Bytes of [`Part::Stamp`]: one cache line.
    pub const STAMP: usize = 64;
}

/// What can go wrong while a loop runs: `Copy`, no allocation, no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The peer finished or closed its end.
    Closed,
    /// The peer process is gone without having finished.
    PeerDied,
    /// The message is longer than the mechanism carries; nothing was sent.
    TooLong,
    /// Fewer bytes arrived than were sent.
    Truncated,
    /// More bytes arrived than were asked for.
    Overrun,
    /// The bytes are not those of the expected message.
    Corrupt,
    /// Nothing arrived in the time a lossy mechanism waits before it calls a message lost.
    Timeout,
    /// A system call failed with this `errno`.
    Sys(i32),
}

/// What an error of the standard library means to a loop.
impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match (error.raw_os_error(), error.kind()) {
            (Some(code), _) => fault(code),
            (None, ErrorKind::UnexpectedEof | ErrorKind::WriteZero) => Self::Closed,
            (None, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Self::Closed,
            (None, ErrorKind::TimedOut | ErrorKind::WouldBlock) => Self::Timeout,
            (None, _) => Self::Corrupt,
        }
    }
}

/// What an `errno` means to a loop.
#[cold]
#[inline(never)]
#[must_use]
pub fn fault(code: i32) -> Fault {
    match code {
        errno::EPIPE | errno::ECONNRESET | errno::ECONNREFUSED | errno::EIDRM => Fault::Closed,
        // A UNIX datagram socket whose peer is gone refuses once; the next send finds no connection any more.
        errno::ENOTCONN => Fault::Closed,
        errno::ESRCH | errno::EOWNERDEAD => Fault::PeerDied,
        errno::EMSGSIZE => Fault::TooLong,
        errno::E2BIG => Fault::Truncated,
        errno::EAGAIN => Fault::Timeout,
        code => Fault::Sys(code),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => out.write_str("the peer closed the channel"),
            Self::PeerDied => out.write_str("the peer process died"),
            Self::TooLong => out.write_str("the message is longer than the mechanism carries"),
            Self::Truncated => out.write_str("a message arrived shortened"),
            Self::Overrun => out.write_str("more bytes arrived than were asked for"),
            Self::Corrupt => {
                out.write_str("a message arrived with the wrong stamp or payload (lost, stale, reordered or damaged)")
            }
            Self::Timeout => out.write_str("a message was lost"),
            Self::Sys(code) => write!(out, "system call failed: {}", crate::errno::text(*code)),
        }
    }
}

impl std::error::Error for Fault {}
