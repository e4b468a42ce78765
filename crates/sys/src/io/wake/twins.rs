//! Two objects of one kind in shared memory, one for each direction.
//!
//! # Safety
//! The mapping has room for two objects, one [`Twins::STRIDE`] apart (checked when it is made), starts at a page, and
//! lives as long as the value. No kind asks for more than the alignment of a stride. A fresh mapping is all zero.

use crate::shm::SharedMemory;
use ipcperf_core::{Seat, SetupError};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;

/// The objects; `T` must not mind that another process uses them too.
#[derive(Debug)]
pub(crate) struct Twins<T> {
    memory: SharedMemory,
    _kind: PhantomData<*mut T>,
}

// SAFETY: the mapping is not tied to a thread; what is done to an object is the business of its kind.
unsafe impl<T> Send for Twins<T> {}

impl<T> Twins<T> {
    /// Two cache lines or a multiple, because the adjacent-line prefetcher of x86 moves lines in pairs.
    const STRIDE: usize = {
        assert!(align_of::<T>() <= 128, "the start of a stride is aligned well enough");
        size_of::<T>().next_multiple_of(128)
    };

    /// Makes both, all zero.
    pub(crate) fn create(name: &str) -> Result<Self, SetupError> {
        let memory = SharedMemory::create(name, 2 * Self::STRIDE).map_err(failed)?;
        Ok(Self { memory, _kind: PhantomData })
    }

    /// Maps those another process made.
    pub(crate) fn from_fd(fd: OwnedFd) -> Result<Self, SetupError> {
        let memory = SharedMemory::from_fd(fd).map_err(failed)?;
        if memory.len() < 2 * Self::STRIDE {
            return Err(SetupError::Protocol("the shared memory is smaller than expected".into()));
        }
        Ok(Self { memory, _kind: PhantomData })
    }

    /// Descriptors to pass on, one for each end.
    pub(crate) fn descriptors(&self) -> Result<[OwnedFd; 2], SetupError> {
        let one = || self.memory.duplicate_fd().map_err(failed);
        Ok([one()?, one()?])
    }

    /// The object through which `seat` sends: inside the mapping, aligned, valid while `self` lives.
    #[inline(always)]
    pub(crate) fn of(&self, seat: Seat) -> *mut T {
        let start = self.memory.as_ptr();
        // SAFETY: an index is 0 or 1, and there are two strides; see the module.
        unsafe { start.add(seat.index() * Self::STRIDE) }.cast()
    }
}

fn failed(error: std::io::Error) -> SetupError {
    SetupError::sys("shared memory", error.raw_os_error().unwrap_or(libc::EIO))
}
