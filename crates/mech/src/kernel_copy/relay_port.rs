//! Streams whose bytes take another way out than in: references to pages go in, bytes or nothing come out.

use crate::port::{fault, moved};
use crate::wait::{Block, Wait};
use ipcperf_core::{Fault, Part, Port, SetupError, Shape};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::pipe::pool::{Pages, Pool};
use ipcperf_sys::io::pipe::splice::{self, WouldBlock};
use ipcperf_sys::io::{Buffer, errno, stream};
use std::os::fd::{AsFd, OwnedFd};

/// How bytes get in. Both halves are types, so that each mechanism is a loop of its own.
pub trait Outlet {
    /// Where the next message is written; `None` if it is too long.
    fn place(&mut self, len: usize) -> Option<&mut [u8]>;

    /// Hands over the message that was written last.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it.
    fn send(&mut self, len: usize) -> Result<(), Fault>;

    /// Tells the peer that no more will come.
    ///
    /// # Errors
    /// The `errno`.
    fn finish(&mut self) -> Result<(), i32>;
}

/// How bytes get out.
pub trait Inlet {
    /// Fills `into`, or as much of it as anybody looks at, and takes the rest out without copying it.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it.
    fn receive(&mut self, into: &mut [u8]) -> Result<(), Fault>;

    /// See [`Port::expect`].
    fn expect(&mut self, part: Part);
}

/// One end: a way in, a way out, and the private buffer of what is received.
pub struct RelayPort<I, O> {
    inlet: I,
    outlet: O,
    buffer: Buffer,
}

impl<I: Inlet, O: Outlet> RelayPort<I, O> {
    /// The two halves.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(inlet: I, outlet: O, shape: &Shape) -> Result<Self, SetupError> {
        Ok(Self { inlet, outlet, buffer: Buffer::new(shape.size, shape.buffer_offset)? })
    }
}

impl<I: Inlet, O: Outlet> Port for RelayPort<I, O> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(self.outlet.place(len).ok_or(Fault::TooLong)?);
        self.outlet.send(len)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.inlet.receive(into)?;
        take(into)
    }

    fn expect(&mut self, part: Part) {
        self.inlet.expect(part);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.outlet.finish().map_err(fault)
    }
}

/// How many bytes of a message are looked at.
pub(crate) const fn looked_at(part: Part) -> usize {
    match part {
        Part::All => usize::MAX,
        Part::Stamp => Part::STAMP,
    }
}

/// Goes on after a read that did not bring everything.
#[cold]
#[inline(never)]
fn read_rest(rx: &OwnedFd, into: &mut [u8], first: Result<usize, i32>) -> Result<(), Fault> {
    let mut done = moved(first, 0)?;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        done += moved(stream::read(rx.as_fd(), rest), done)?;
    }
    Ok(())
}

/// Reads from a socket: all bytes, whether or not anybody looks at them.
#[derive(Debug)]
pub struct FromSocket(OwnedFd);

impl FromSocket {
    /// Reads from this end.
    #[must_use]
    pub fn new(rx: OwnedFd) -> Self {
        Self(rx)
    }
}

impl Inlet for FromSocket {
    #[inline(always)]
    fn receive(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        let step = stream::read(self.0.as_fd(), into);
        if step == Ok(into.len()) { Ok(()) } else { read_rest(&self.0, into, step) }
    }

    fn expect(&mut self, _: Part) {
        // Nothing takes bytes out of a socket unseen but one more copy, or a pipe in between.
    }
}

/// Reads from a pipe; what nobody looks at is dropped inside the kernel.
#[derive(Debug)]
pub struct FromPipe<W: Wait = Block> {
    rx: OwnedFd,
    null: OwnedFd,
    looked_at: usize,
    gate: W::Gate,
}

/// Whether the calls of an end that waits in this way sleep.
const fn would_block<W: Wait>() -> WouldBlock {
    if W::CLASS.burns_cpu() { WouldBlock::Fails } else { WouldBlock::Sleeps }
}

impl<W: Wait> FromPipe<W> {
    /// Reads from this end.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn new(rx: OwnedFd) -> Result<Self, SetupError> {
        let gate = W::gate(&rx, Interest::Readable)?;
        Ok(Self { rx, null: splice::null()?, looked_at: looked_at(Part::All), gate })
    }

    #[inline(always)]
    fn read(&self, into: &mut [u8]) -> Result<usize, i32> {
        W::receive(&self.gate, || stream::read(self.rx.as_fd(), into))
    }

    /// Goes on after a read that did not bring everything.
    #[cold]
    #[inline(never)]
    fn read_rest(&self, into: &mut [u8], first: Result<usize, i32>) -> Result<(), Fault> {
        let mut done = moved(first, 0)?;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            done += moved(self.read(rest), done)?;
        }
        Ok(())
    }

    /// Takes out `len` bytes that nobody looks at.
    pub(crate) fn skip(&self, len: usize) -> Result<(), Fault> {
        let mut done = 0;
        while done < len {
            let step = W::receive(&self.gate, || {
                splice::splice_or(
                    self.rx.as_fd(),
                    self.null.as_fd(),
                    len - done,
                    would_block::<W>(),
                )
            });
            // Something of the message was read before.
            done += moved(step, 1)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn read_head(&self, into: &mut [u8]) -> Result<(), Fault> {
        let len = into.len();
        let head = into.get_mut(..self.looked_at).ok_or(Fault::TooLong)?;
        let step = self.read(head);
        if step != Ok(head.len()) {
            self.read_rest(head, step)?;
        }
        self.skip(len - self.looked_at)
    }
}

impl<W: Wait> Inlet for FromPipe<W> {
    #[inline(always)]
    fn receive(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        if into.len() > self.looked_at {
            return self.read_head(into);
        }
        let step = self.read(into);
        if step == Ok(into.len()) { Ok(()) } else { self.read_rest(into, step) }
    }

    fn expect(&mut self, part: Part) {
        self.looked_at = looked_at(part);
    }
}

/// Puts references to its own pages into a pipe.
#[derive(Debug)]
pub struct PagesToPipe<W: Wait = Block> {
    tx: OwnedFd,
    pool: Pool,
    gift: bool,
    gate: W::Gate,
}

impl<W: Wait> PagesToPipe<W> {
    /// Sends pages from a pool, none of which is written again while the pipe, of `capacity` bytes, refers to it.
    ///
    /// # Errors
    /// There is no memory of the kind.
    pub fn new(
        tx: OwnedFd,
        capacity: usize,
        pages: Pages,
        gift: bool,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let gate = W::gate(&tx, Interest::Writable)?;
        Ok(Self { tx, pool: Pool::new(capacity, shape.size, pages)?, gift, gate })
    }

    /// A pipe that has less room than the message takes what fits.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut done = moved(first, 0)?;
        let message = self.pool.last(len).ok_or(Fault::TooLong)?;
        while let Some(rest) = message.get(done..).filter(|rest| !rest.is_empty()) {
            let step = W::send(&self.gate, || {
                splice::vmsplice(self.tx.as_fd(), rest, self.gift, would_block::<W>())
            });
            done += moved(step, done)?;
        }
        Ok(())
    }
}

impl<W: Wait> Outlet for PagesToPipe<W> {
    #[inline(always)]
    fn place(&mut self, len: usize) -> Option<&mut [u8]> {
        self.pool.place(len)
    }

    #[inline(always)]
    fn send(&mut self, len: usize) -> Result<(), Fault> {
        let message = self.pool.last(len).ok_or(Fault::TooLong)?;
        let step = W::send(&self.gate, || {
            splice::vmsplice(self.tx.as_fd(), message, self.gift, would_block::<W>())
        });
        if step == Ok(len) { Ok(()) } else { self.send_rest(len, step) }
    }

    fn finish(&mut self) -> Result<(), i32> {
        replace(&mut self.tx)
    }
}

/// Ends a pipe. What takes its place refuses references: on a reading end, `vmsplice` would write to the pool.
pub(crate) fn replace(tx: &mut OwnedFd) -> Result<(), i32> {
    *tx = splice::null().map_err(|_| errno::EPIPE)?;
    Ok(())
}
