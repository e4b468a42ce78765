//! Messages that one process copies out of, or into, the memory of the other, with turns in shared memory.

use crate::port::moved;
use crate::port::reach::{Lending, introduce, sweep};
use ipcperf_core::{Fault, Meet, Port, SetupError, Shape};
use ipcperf_sys::io::memory::turns::Turns;
use ipcperf_sys::io::{Buffer, errno, peer};
use std::marker::PhantomData;

/// Which end copies, as a type.
pub trait Copier: 'static {
    /// The receiver does, out of the sender's memory; otherwise the sender, into the receiver's.
    const PULLS: bool;
}

/// The receiver reads.
#[derive(Debug)]
pub struct Read;

impl Copier for Read {
    const PULLS: bool = true;
}

/// The sender writes.
#[derive(Debug)]
pub struct Write;

impl Copier for Write {
    const PULLS: bool = false;
}

/// Slots in private memory, one after the other.
#[derive(Debug)]
struct PrivateSlots {
    buffer: Buffer,
    stride: usize,
    count: usize,
}

impl PrivateSlots {
    #[inline(always)]
    fn get_mut(&mut self, slot: usize, len: usize) -> Option<&mut [u8]> {
        if slot >= self.count || len > self.stride {
            return None;
        }
        let at = slot * self.stride;
        self.buffer.get_mut(at + len)?.get_mut(at..)
    }
}

/// One end: what the other process reaches into, and a private buffer for the other direction.
pub struct RemotePort<C> {
    reached: Lending<PrivateSlots>,
    private: Buffer,
    pid: u32,
    /// Where its slots lie.
    address: usize,
    stride: usize,
    largest: usize,
    _copier: PhantomData<C>,
}

/// Bytes from one slot to the next: whole pages, so that messages begin alike.
pub(crate) fn stride(size: usize) -> usize {
    size.max(1).checked_next_multiple_of(4096).unwrap_or(usize::MAX)
}

impl<C: Copier> RemotePort<C> {
    /// Meets the peer and tries the call on it.
    ///
    /// # Errors
    /// `Unavailable` where the kernel does not allow it; otherwise what went wrong.
    pub fn new(
        turns: Turns,
        count: usize,
        shape: &Shape,
        meet: &mut dyn Meet,
    ) -> Result<Self, SetupError> {
        sweep();
        let stride = stride(shape.size);
        let mut buffer = Buffer::new(stride.saturating_mul(count), shape.buffer_offset)?;
        let address = buffer.all_mut().as_ptr().expose_provenance();
        let private = Buffer::new(shape.size, shape.buffer_offset)?;
        let (pid, told) = introduce(meet, vec![address as u64])?;
        let [address] = told[..] else {
            return Err(SetupError::Protocol("the peer did not say where its slots are".into()));
        };
        let port = Self {
            reached: Lending::new(turns, PrivateSlots { buffer, stride, count }),
            private,
            pid,
            address: address as usize,
            stride,
            largest: shape.size,
            _copier: PhantomData,
        };
        let (call, tried) = if C::PULLS {
            ("process_vm_readv", peer::read(port.pid, port.remote(0, 0), &mut [0]))
        } else {
            ("process_vm_writev", peer::write(port.pid, port.remote(0, 0), &[0]))
        };
        tried.map_err(|code| peer::refused(call, code))?;
        Ok(port)
    }

    /// Where byte `at` of a slot lies in the other process.
    #[inline(always)]
    fn remote(&self, slot: usize, at: usize) -> usize {
        self.address + slot * self.stride + at
    }

    #[inline(always)]
    fn copy_all(&mut self, slot: usize, len: usize) -> Result<(), Fault> {
        let step = self.copy(slot, len, 0);
        if step == Ok(len) { Ok(()) } else { self.copy_rest(slot, len, step) }
    }

    #[inline(always)]
    fn copy(&mut self, slot: usize, len: usize, at: usize) -> Result<usize, i32> {
        let remote = self.remote(slot, at);
        let local = self.private.get_mut(len).and_then(|all| all.get_mut(at..));
        let local = local.ok_or(errno::EMSGSIZE)?;
        if C::PULLS {
            peer::read(self.pid, remote, local)
        } else {
            peer::write(self.pid, remote, local)
        }
    }

    /// Goes on after a copy that did not move everything.
    #[cold]
    #[inline(never)]
    fn copy_rest(
        &mut self,
        slot: usize,
        len: usize,
        first: Result<usize, i32>,
    ) -> Result<(), Fault> {
        // There is no end here that a copy of nothing could mean.
        let mut done = moved(first, 1)?;
        while done < len {
            done += moved(self.copy(slot, len, done), 1)?;
        }
        Ok(())
    }
}

impl<C: Copier> Port for RemotePort<C> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > self.largest {
            return Err(Fault::TooLong);
        }
        let slot = self.reached.get()?.turns.free_slot()?;
        if C::PULLS {
            fill(self.reached.get()?.object.get_mut(slot, len).ok_or(Fault::TooLong)?);
        } else {
            fill(self.private.get_mut(len).ok_or(Fault::TooLong)?);
            self.copy_all(slot, len)?;
        }
        self.reached.get()?.turns.announce(len);
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (slot, sent) = self.reached.get()?.turns.next_slot()?;
        if sent != len {
            self.reached.get()?.turns.release();
            return Err(Fault::Truncated);
        }
        if C::PULLS {
            self.copy_all(slot, len)?;
            self.reached.get()?.turns.release();
            take(self.private.get_mut(len).ok_or(Fault::TooLong)?)
        } else {
            let reached = self.reached.get()?;
            let taken = take(reached.object.get_mut(slot, len).ok_or(Fault::TooLong)?);
            reached.turns.release();
            taken
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.reached.get()?.turns.end();
        Ok(())
    }
}
