//! The private memory of a port.
//!
//! # Safety
//! A [`Buffer`] owns its mapping for its whole life and lends it only through borrows of itself. `start + len` never
//! exceeds the mapping.

use ipcperf_core::SetupError;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// Private zeroed memory that starts at a chosen offset inside its page and is resident before the first use.
#[derive(Debug)]
pub struct Buffer {
    base: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: private memory of one owner, not tied to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `len` bytes (0 gives an empty slice), the first at `offset` bytes after the start of a page.
    ///
    /// # Errors
    /// `mmap` failed.
    pub fn new(len: usize, offset: usize) -> Result<Self, SetupError> {
        let page = rustix::param::page_size();
        let failed = || SetupError::sys(format!("mmap of {len} bytes"), libc::ENOMEM);
        let mapped = offset.checked_add(len.max(1)).ok_or_else(failed)?;
        let mapped = mapped.checked_next_multiple_of(page).ok_or_else(failed)?;
        // SAFETY: a fresh private mapping at an address the kernel chooses aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let base = base.map_err(super::failed(format!("mmap of {mapped} bytes")))?;
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(failed)?;
        // SAFETY: `offset` lies inside the mapping, which is at least one byte longer.
        let start = unsafe { base.add(offset) };
        let buffer = Self { base, mapped, start, len };
        for at in (0..mapped).step_by(page) {
            // SAFETY: inside the mapping. Volatile, because a write of zero over zero would be removed: it is made
            // to get a page of our own instead of the shared zero page.
            unsafe { buffer.base.add(at).write_volatile(0) };
        }
        Ok(buffer)
    }

    /// The first `len` bytes, or `None` if there are fewer.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > self.len {
            return None;
        }
        // SAFETY: `len` bytes from `start` are inside the mapping (see the module), initialised (zeroed by the
        // kernel), and borrowed from `self`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), len) })
    }

    /// The whole buffer.
    #[inline(always)]
    #[must_use]
    pub fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `get_mut`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped; no borrow of it can outlive `self`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "the range was mapped by us");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_where_asked_and_has_exactly_the_length() {
        for (len, offset) in [(0, 0), (1, 64), (4096, 4032), (10_000, 128)] {
            let mut buffer = Buffer::new(len, offset).expect("memory");
            assert_eq!(buffer.all_mut().len(), len);
            assert_eq!(buffer.all_mut().as_ptr() as usize % 4096, offset);
            buffer.all_mut().fill(7);
            assert!(buffer.get_mut(len).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 7)));
            assert!(buffer.get_mut(len + 1).is_none());
        }
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        assert!(Buffer::new(usize::MAX, 64).is_err());
        assert!(Buffer::new(usize::MAX / 2, 0).is_err());
    }
}
