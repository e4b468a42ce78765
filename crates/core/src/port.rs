//! One end of an open channel.

use std::fmt;

/// One end of an open channel: what the hot loop holds. Not dyn-compatible on purpose, so that no vtable can enter
/// the timed path.
///
/// What callers must do
/// - Both ends know the length of every message before it is sent; the same `len` is given to `send` and `recv`.
/// - After a [`Fault`] the port may only be dropped, except after [`Fault::Timeout`] and [`Fault::TooLong`], which
///   leave it usable, and after [`Fault::Closed`], which every further `recv` returns again.
///
/// What a port promises
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

    /// Sends, then receives. Override where the kernel offers both in one call.
    ///
    /// # Errors
    /// As `send` and `recv`.
    #[inline(always)]
    fn exchange<T>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.send(len, fill)?;
        self.recv(len, take)
    }

    /// Hands over what `send` has held back.
    ///
    /// # Errors
    /// As `send`.
    #[inline(always)]
    fn flush(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// From now on the receiver looks at no more than this part of a message. Both ends are told, between messages.
    /// What nobody looks at need not be copied, where the mechanism can leave it out.
    fn expect(&mut self, _part: Part) {}

    /// Reports what the port has counted since it was attached, beside the messages: "torn reads". Names are plain
    /// words, stable, the same at both ends.
    fn events(&self, _report: &mut dyn FnMut(&'static str, u64)) {}

    /// Tells the peer that no more will come.
    ///
    /// # Errors
    /// The [`Fault`] of the call that announces it.
    fn finish(&mut self) -> Result<(), Fault>;
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
    /// The bytes are not those of the expected message.
    Corrupt,
    /// Nothing arrived in the time a lossy mechanism waits before it calls a message lost.
    Timeout,
    /// A system call failed with this `errno`.
    Sys(i32),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => out.write_str("the peer closed the channel"),
            Self::PeerDied => out.write_str("the peer process died"),
            Self::TooLong => out.write_str("the message is longer than the mechanism carries"),
            Self::Truncated => out.write_str("a message arrived shortened"),
            Self::Corrupt => {
                out.write_str("a message arrived with the wrong stamp or payload (lost, stale, reordered or damaged)")
            }
            Self::Timeout => out.write_str("a message was lost"),
            Self::Sys(code) => write!(out, "system call failed: {}", crate::errno::text(*code)),
        }
    }
}

impl std::error::Error for Fault {}
