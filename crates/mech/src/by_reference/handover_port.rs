//! Messages in an object of their own, which is made for each and handed over as a descriptor, beside its length or alone.

use crate::by_reference::packets::{Extras, Packets};
use crate::port::{fault, moved};
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::file::fresh::{self, Access, Handle, Mapping};
use ipcperf_sys::io::file::store;
use ipcperf_sys::io::{Buffer, errno, stream};
use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};

/// What holds a message on its way, as a type.
pub trait Transfer {
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
        transfer: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault>;
}

/// One end: a socket, and how messages are packed.
pub struct HandoverPort<V> {
    packets: Packets,
    transfer: V,
    largest: usize,
    /// Bytes beside a descriptor: those of a length, or none.
    told: usize,
}

impl<V: Transfer> HandoverPort<V> {
    /// One socket for both directions, and what descriptors name that are not a transfer's.
    #[must_use]
    pub(crate) fn new(ends: [OwnedFd; 2], transfer: V, extras: Extras, shape: &Shape) -> Self {
        let (packets, largest) = (Packets::new(ends, 1, extras), shape.size);
        Self { packets, transfer, largest, told: size_of::<u64>() }
    }

    /// The same with nothing beside the descriptor. For transfers that find out by themselves whether they hold as much as
    /// is expected.
    #[must_use]
    pub(crate) fn untold(self) -> Self {
        Self { told: 0, ..self }
    }
}

impl<V: Transfer> Port for HandoverPort<V> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > self.largest {
            return Err(Fault::TooLong);
        }
        let packed = self.transfer.pack(len, fill)?;
        let length = (len as u64).to_ne_bytes();
        let told = length.get(..self.told).ok_or(Fault::TooLong)?;
        self.packets.send_about(told, packed.fd())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        // What is not told is as expected; then the transfer says whether it is true.
        let mut told = (len as u64).to_ne_bytes();
        self.packets.receive(told.get_mut(..self.told).ok_or(Fault::TooLong)?)?;
        let transfer = self.packets.take().ok_or(Fault::Truncated)?;
        let taken = if u64::from_ne_bytes(told) == len as u64 {
            self.transfer.unpack(transfer.fd(), len, take)
        } else {
            Err(Fault::Truncated)
        };
        drop(transfer);
        self.packets.close();
        taken
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.packets.finish()
    }
}

/// An anonymous file for each message, written and read through mappings.
#[derive(Debug)]
pub struct FreshMemory {
    /// Lets nobody change it any more before it is sent.
    pub seal: bool,
}

impl Transfer for FreshMemory {
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
        transfer: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let access = if self.seal { Access::Sealed } else { Access::Read };
        let mapping = Mapping::new(transfer, len, access).map_err(fault)?;
        take(mapping.bytes())
    }
}

/// How a file comes to be that nobody else can name.
#[derive(Debug)]
pub enum Origin {
    /// Made at this path, and unlinked at once.
    Unlinked(CString),
    /// Made without a name in this directory.
    Unnamed(CString),
    /// In memory (`memfd_create`).
    Memory,
}

/// A file without a name for each message, written and read through private buffers.
#[derive(Debug)]
pub struct UnnamedFile {
    origin: Origin,
    /// Lets nobody change it any more before it is sent.
    seal: bool,
    out: Buffer,
    into: Buffer,
}

impl UnnamedFile {
    /// Files of this origin.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(origin: Origin, seal: bool, shape: &Shape) -> Result<Self, SetupError> {
        let out = Buffer::new(shape.size, shape.buffer_offset)?;
        // One byte more than wanted tells a longer file.
        let into = Buffer::new(shape.size.saturating_add(1), shape.buffer_offset)?;
        Ok(Self { origin, seal, out, into })
    }

    #[inline(always)]
    fn make(&self) -> Result<Handle, i32> {
        match &self.origin {
            Origin::Unlinked(path) => {
                let file = store::create(path)?;
                store::unlink(path)?;
                Ok(file)
            }
            Origin::Unnamed(directory) => store::create_unnamed(directory),
            Origin::Memory => fresh::empty_memfd(),
        }
    }
}

impl Transfer for UnnamedFile {
    #[inline(always)]
    fn pack(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Handle, Fault> {
        fill(self.out.get_mut(len).ok_or(Fault::TooLong)?);
        let file = self.make().map_err(fault)?;
        let message = self.out.get_mut(len).ok_or(Fault::TooLong)?;
        let step = stream::write(file.fd(), message);
        if step != Ok(len) {
            write_rest(file.fd(), message, step)?;
        }
        if self.seal {
            fresh::seal(file.fd()).map_err(fault)?;
        }
        Ok(file)
    }

    #[inline(always)]
    fn unpack<T>(
        &mut self,
        transfer: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        store::rewind(transfer).map_err(fault)?;
        let into = self.into.get_mut(len.saturating_add(1)).ok_or(Fault::TooLong)?;
        let step = stream::read(transfer, into);
        if step != Ok(len) {
            read_rest(transfer, into, len, step)?;
        }
        take(into.get(..len).ok_or(Fault::TooLong)?)
    }
}

/// An anonymous file for each message, as its knob says.
#[derive(Debug)]
pub enum AnonymousFile {
    /// Written and read through mappings.
    Mapped(FreshMemory),
    /// Written and read through private buffers.
    Copied(UnnamedFile),
}

impl Transfer for AnonymousFile {
    #[inline(always)]
    fn pack(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Handle, Fault> {
        match self {
            Self::Mapped(transfer) => transfer.pack(len, fill),
            Self::Copied(transfer) => transfer.pack(len, fill),
        }
    }

    #[inline(always)]
    fn unpack<T>(
        &mut self,
        file: BorrowedFd<'_>,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self {
            Self::Mapped(transfer) => transfer.unpack(file, len, take),
            Self::Copied(transfer) => transfer.unpack(file, len, take),
        }
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
    // A file takes at least a byte or says why not; that it took nothing is no end.
    let mut done = moved(first, 1)?;
    while let Some(rest) = message.get(done..).filter(|rest| !rest.is_empty()) {
        done += moved(stream::write(file, rest), 1)?;
    }
    Ok(())
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
