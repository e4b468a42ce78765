//! Messages in an object of their own, which is made for each and handed over as a descriptor beside its length.

use crate::by_reference::packets::Packets;
use crate::port::fault;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::file::fresh::{self, Access, Handle, Mapping};
use ipcperf_sys::io::file::store;
use ipcperf_sys::io::{Buffer, errno, stream};
use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};

/// What holds a message on its way, as a type.
pub trait Vessel {
    /// Makes one and puts a message in.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it.
    fn pack(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Handle, Fault>;

    /// Shows what is in it to `take`.
    ///
    /// # Errors
    /// The [`Fault`] that stopped it, or the one `take` returned.
    fn unpack<T>(
        &mut self,
        vessel: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault>;
}

/// One end: a socket, and how messages are packed.
pub struct HandoverPort<V> {
    socket: Packets,
    vessel: V,
    largest: usize,
}

impl<V: Vessel> HandoverPort<V> {
    /// One socket for both directions.
    #[must_use]
    pub fn new(socket: OwnedFd, vessel: V, shape: &Shape) -> Self {
        Self { socket: Packets::new(socket, 1), vessel, largest: shape.size }
    }
}

impl<V: Vessel> Port for HandoverPort<V> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > self.largest {
            return Err(Fault::TooLong);
        }
        let packed = self.vessel.pack(len, fill)?;
        self.socket.send(&(len as u64).to_ne_bytes(), packed.fd())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut told = [0; 8];
        self.socket.receive(&mut told)?;
        let vessel = self.socket.descriptor().ok_or(Fault::Truncated)?;
        if u64::from_ne_bytes(told) != len as u64 {
            return Err(Fault::Truncated);
        }
        self.vessel.unpack(vessel.fd(), len, take)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.socket.finish()
    }
}

/// An anonymous file for each message, written and read through mappings.
#[derive(Debug)]
pub struct FreshMemory {
    /// Lets nobody change it any more before it is sent.
    pub seal: bool,
}

impl Vessel for FreshMemory {
    #[inline(always)]
    fn pack(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Handle, Fault> {
        let file = fresh::memfd(len).map_err(fault)?;
        let mut mapping = Mapping::new(file.fd(), len, Access::Write).map_err(fault)?;
        fill(mapping.bytes_mut().ok_or(Fault::TooLong)?);
        drop(mapping);
        if self.seal {
            fresh::seal(file.fd()).map_err(fault)?;
        }
        Ok(file)
    }

    #[inline(always)]
    fn unpack<T>(
        &mut self,
        vessel: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mapping = Mapping::new(vessel, len, Access::Read).map_err(fault)?;
        take(mapping.bytes())
    }
}

/// A file without a name for each message, written and read through private buffers.
#[derive(Debug)]
pub struct UnnamedFile {
    /// The file's name for a moment, or the directory where it never has one.
    path: CString,
    is_unnamed: bool,
    out: Buffer,
    into: Buffer,
}

impl UnnamedFile {
    /// Files made at `path` and unlinked at once; or, with `is_unnamed`, made without a name in the directory `path`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(path: CString, is_unnamed: bool, shape: &Shape) -> Result<Self, SetupError> {
        let out = Buffer::new(shape.size, shape.buffer_offset)?;
        // One byte more than wanted tells a longer file.
        let into = Buffer::new(shape.size.saturating_add(1), shape.buffer_offset)?;
        Ok(Self { path, is_unnamed, out, into })
    }

    #[inline(always)]
    fn make(&self) -> Result<Handle, i32> {
        if self.is_unnamed {
            return store::create_unnamed(&self.path);
        }
        let file = store::create(&self.path)?;
        store::unlink(&self.path)?;
        Ok(file)
    }
}

impl Vessel for UnnamedFile {
    #[inline(always)]
    fn pack(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Handle, Fault> {
        fill(self.out.get_mut(len).ok_or(Fault::TooLong)?);
        let file = self.make().map_err(fault)?;
        let message = self.out.get_mut(len).ok_or(Fault::TooLong)?;
        let step = stream::write(file.fd(), message);
        if step != Ok(len) {
            write_rest(file.fd(), message, step)?;
        }
        Ok(file)
    }

    #[inline(always)]
    fn unpack<T>(
        &mut self,
        vessel: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        store::rewind(vessel).map_err(fault)?;
        let into = self.into.get_mut(len.saturating_add(1)).ok_or(Fault::TooLong)?;
        let step = stream::read(vessel, into);
        if step != Ok(len) {
            read_rest(vessel, into, len, step)?;
        }
        take(into.get(..len).ok_or(Fault::TooLong)?)
    }
}

/// Goes on after a write that did not take everything.
#[cold]
#[inline(never)]
pub(crate) fn write_rest(
    file: BorrowedFd<'_>,
    message: &[u8],
    first: Result<usize, i32>,
) -> Result<(), Fault> {
    let mut step = first;
    let mut done = 0;
    loop {
        match step {
            // A file takes at least a byte or says why not.
            Ok(0) if done < message.len() => return Err(Fault::Truncated),
            Ok(bytes) => done += bytes,
            Err(errno::EINTR) => {}
            Err(code) => return Err(fault(code)),
        }
        match message.get(done..) {
            Some(rest) if !rest.is_empty() => step = stream::write(file, rest),
            _ => return Ok(()),
        }
    }
}

/// Goes on after a read that brought another number of bytes than `len`, for which `into` has room and one byte more.
#[cold]
#[inline(never)]
pub(crate) fn read_rest(
    file: BorrowedFd<'_>,
    into: &mut [u8],
    len: usize,
    first: Result<usize, i32>,
) -> Result<(), Fault> {
    let mut step = first;
    let mut done = 0;
    loop {
        match step {
            Ok(0) => return if done == len { Ok(()) } else { Err(Fault::Truncated) },
            Ok(bytes) => done += bytes,
            Err(errno::EINTR) => {}
            Err(code) => return Err(fault(code)),
        }
        match into.get_mut(done..) {
            Some(rest) if done <= len && !rest.is_empty() => step = stream::read(file, rest),
            _ => return Err(Fault::Truncated),
        }
    }
}
