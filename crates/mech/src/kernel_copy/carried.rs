//! More ways into and out of a stream: over pipes of one's own, and out of a file.

use crate::kernel_copy::relay_port::{FromPipe, Inlet, Outlet, looked_at, replace};
use crate::port::moved;
use ipcperf_core::{Fault, Part, SetupError, Shape};
use ipcperf_sys::io::pipe::Pair;
use ipcperf_sys::io::pipe::pool::Pool;
use ipcperf_sys::io::pipe::splice;
use ipcperf_sys::io::{Buffer, errno, socket, stream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What moves on what lies in a pipe of one's own, as a type.
pub trait Carry {
    /// Moves the first of `len` bytes on and returns how many; what was moved is no longer in the pipe.
    ///
    /// # Errors
    /// The `errno`.
    fn carry(&self, from: BorrowedFd<'_>, len: usize) -> Result<usize, i32>;

    /// See [`Outlet::finish`].
    ///
    /// # Errors
    /// The `errno`.
    fn finish(&mut self) -> Result<(), i32>;
}

/// Splices on to a socket.
#[derive(Debug)]
pub struct ToSocket(pub OwnedFd);

impl Carry for ToSocket {
    #[inline(always)]
    fn carry(&self, from: BorrowedFd<'_>, len: usize) -> Result<usize, i32> {
        splice::splice(from, self.0.as_fd(), len)
    }

    fn finish(&mut self) -> Result<(), i32> {
        socket::shutdown_send(&self.0)
    }
}

/// Gives a second pipe references to the same pages, and drops its own.
#[derive(Debug)]
pub struct Twice {
    tx: OwnedFd,
    null: OwnedFd,
}

impl Twice {
    /// The second pipe.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn new(tx: OwnedFd) -> Result<Self, SetupError> {
        Ok(Self { tx, null: splice::null()? })
    }

    /// Goes on after a call that did not drop everything: what the peer has must not stay here.
    #[cold]
    #[inline(never)]
    fn drop_rest(
        &self,
        from: BorrowedFd<'_>,
        len: usize,
        first: Result<usize, i32>,
    ) -> Result<usize, i32> {
        let mut step = first;
        let mut done = 0;
        loop {
            match step {
                Ok(bytes) => done += bytes,
                Err(errno::EINTR) => {}
                Err(code) => return Err(code),
            }
            if done >= len {
                return Ok(len);
            }
            step = splice::splice(from, self.null.as_fd(), len - done);
        }
    }
}

impl Carry for Twice {
    #[inline(always)]
    fn carry(&self, from: BorrowedFd<'_>, len: usize) -> Result<usize, i32> {
        let given = splice::tee(from, self.tx.as_fd(), len)?;
        let step = splice::splice(from, self.null.as_fd(), given);
        if step == Ok(given) { step } else { self.drop_rest(from, given, step) }
    }

    fn finish(&mut self) -> Result<(), i32> {
        replace(&mut self.tx)
    }
}

/// Writes to a pipe of its own, and moves on what lies in it.
#[derive(Debug)]
pub struct OverPipe<C> {
    pipe: Pair,
    capacity: usize,
    carry: C,
    buffer: Buffer,
}

impl<C: Carry> OverPipe<C> {
    /// Over `pipe`, which holds `capacity` bytes and that nobody else writes to or reads from.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(pipe: Pair, capacity: usize, carry: C, shape: &Shape) -> Result<Self, SetupError> {
        let buffer = Buffer::new(shape.size, shape.buffer_offset)?;
        Ok(Self { pipe, capacity, carry, buffer })
    }

    /// Goes on where `written` bytes went into the pipe and `carried` came out. A write never waits: it puts no more into
    /// the empty pipe than that holds.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, len: usize, written: usize, carried: usize) -> Result<(), Fault> {
        let (mut written, mut carried) = (written, carried);
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        loop {
            while carried < written {
                let step = self.carry.carry(self.pipe.read.as_fd(), written - carried);
                carried += moved(step, carried)?;
            }
            let rest = message.get(written..).unwrap_or_default();
            let piece = rest.get(..rest.len().min(self.capacity)).unwrap_or_default();
            if piece.is_empty() {
                return Ok(());
            }
            written += moved(stream::write(self.pipe.write.as_fd(), piece), written)?;
        }
    }
}

impl<C: Carry> Outlet for OverPipe<C> {
    #[inline(always)]
    fn place(&mut self, len: usize) -> Option<&mut [u8]> {
        self.buffer.get_mut(len)
    }

    #[inline(always)]
    fn send(&mut self, len: usize) -> Result<(), Fault> {
        if len > self.capacity {
            return self.send_rest(len, 0, 0);
        }
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        let written = moved(stream::write(self.pipe.write.as_fd(), message), 1)?;
        if written != len {
            return self.send_rest(len, written, 0);
        }
        match self.carry.carry(self.pipe.read.as_fd(), len) {
            Ok(carried) if carried == len => Ok(()),
            step => {
                let carried = moved(step, 1)?;
                self.send_rest(len, written, carried)
            }
        }
    }

    fn finish(&mut self) -> Result<(), i32> {
        self.carry.finish()
    }
}

/// Splices from a socket to a pipe of its own and reads that; what nobody looks at is dropped inside the kernel.
#[derive(Debug)]
pub struct FromSocketOverPipe {
    rx: OwnedFd,
    write: OwnedFd,
    out: FromPipe,
    looked_at: usize,
}

impl FromSocketOverPipe {
    /// Over `pipe`, that nobody else writes to or reads from.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn new(rx: OwnedFd, pipe: Pair) -> Result<Self, SetupError> {
        let out = FromPipe::new(pipe.read)?;
        Ok(Self { rx, write: pipe.write, out, looked_at: looked_at(Part::All) })
    }

    /// Goes on where a step brought another number of bytes than wanted into the pipe.
    #[cold]
    #[inline(never)]
    fn receive_rest(&mut self, into: &mut [u8], first: Result<usize, i32>) -> Result<(), Fault> {
        let len = into.len();
        let mut step = first;
        let mut done = 0;
        loop {
            let arrived = moved(step, done)?;
            let end = done + arrived;
            let seen = end.min(self.looked_at);
            if let Some(head) = into.get_mut(done..seen) {
                self.out.receive(head)?;
                self.out.skip(end - seen)?;
            } else {
                self.out.skip(arrived)?;
            }
            done = end;
            if done >= len {
                return Ok(());
            }
            step = splice::splice(self.rx.as_fd(), self.write.as_fd(), len - done);
        }
    }
}

impl Inlet for FromSocketOverPipe {
    #[inline(always)]
    fn receive(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        let step = splice::splice(self.rx.as_fd(), self.write.as_fd(), into.len());
        if step == Ok(into.len()) && into.len() <= self.looked_at {
            self.out.receive(into)
        } else {
            self.receive_rest(into, step)
        }
    }

    fn expect(&mut self, part: Part) {
        self.looked_at = looked_at(part);
    }
}

/// Sends pages of a file.
#[derive(Debug)]
pub struct FromFile {
    tx: OwnedFd,
    file: OwnedFd,
    pool: Pool,
}

impl FromFile {
    /// Bytes of pages that a socket may refer to. It waits once as much is under way as it buffers, and takes at most
    /// half as much again with the last piece. A message and the rest of the page before it are less than twice its
    /// length from a page on; below, the bookkeeping of a message, which counts too, is more than the 63 bytes between
    /// two of them. So pages under way are less than three times what is buffered.
    fn under_way(buffered: usize) -> usize {
        buffered.saturating_mul(3)
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(buffered: usize, shape: &Shape) -> usize {
        Pool::bytes(Self::under_way(buffered), shape.size)
    }

    /// Sends pages of `file`, none of which is written again while the socket, that accounts for `buffered` bytes,
    /// refers to it.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(
        tx: OwnedFd,
        file: OwnedFd,
        buffered: usize,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let pool = Pool::of_file(&file, Self::under_way(buffered), shape.size)?;
        Ok(Self { tx, file, pool })
    }

    #[cold]
    #[inline(never)]
    fn send_rest(&self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let at = self.pool.offset();
        let mut done = moved(first, 0)?;
        while done < len {
            let step = splice::sendfile(self.tx.as_fd(), self.file.as_fd(), at + done, len - done);
            done += moved(step, done)?;
        }
        Ok(())
    }
}

impl Outlet for FromFile {
    #[inline(always)]
    fn place(&mut self, len: usize) -> Option<&mut [u8]> {
        self.pool.place(len)
    }

    #[inline(always)]
    fn send(&mut self, len: usize) -> Result<(), Fault> {
        let at = self.pool.offset();
        let step = splice::sendfile(self.tx.as_fd(), self.file.as_fd(), at, len);
        if step == Ok(len) { Ok(()) } else { self.send_rest(len, step) }
    }

    fn finish(&mut self) -> Result<(), i32> {
        socket::shutdown_send(&self.tx)
    }
}
