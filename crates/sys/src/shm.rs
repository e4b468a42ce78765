//! Memory that two processes map: an anonymous file without a name, passed as a descriptor, so nothing can be left
//! behind.
//!
//! # Safety
//! A [`SharedMemory`] owns its mapping for its whole life, and hands out only references to atomics (every bit
//! pattern is a value, concurrent access is defined) bound to that life. Sizes come from `fstat`, and the file is
//! sealed against shrinking, so that no access can fault.

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// One mapping of a shared anonymous file.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
    fd: OwnedFd,
}

// SAFETY: the mapping is not tied to a thread, and only atomics are handed out.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; every shared access goes through atomics.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Makes `len` zeroed bytes (rounded up to whole pages), resident before the first use.
    ///
    /// # Errors
    /// The kernel's, for example `ENOMEM`.
    pub fn create(name: &str, len: usize) -> io::Result<Self> {
        let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let page = rustix::param::page_size();
        let len = len.max(1).next_multiple_of(page);
        rustix::fs::ftruncate(&fd, len as u64)?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::from_fd(fd)
    }

    /// Maps what another process made with [`SharedMemory::create`].
    ///
    /// # Errors
    /// The descriptor is no file that can be mapped, or could shrink under the mapping (`EINVAL`).
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        Self::map(fd, MapFlags::POPULATE)
    }

    /// The same, but a page is mapped when it is first used: mapping 4 MB at once and taking it down again costs half
    /// a millisecond. Code that times its uses touches them before.
    ///
    /// # Errors
    /// As [`SharedMemory::from_fd`].
    pub fn from_fd_lazily(fd: OwnedFd) -> io::Result<Self> {
        Self::map(fd, MapFlags::empty())
    }

    fn map(fd: OwnedFd, how: MapFlags) -> io::Result<Self> {
        if !rustix::fs::fcntl_get_seals(&fd)?.contains(SealFlags::SHRINK) {
            return Err(rustix::io::Errno::INVAL.into());
        }
        let len = usize::try_from(rustix::fs::fstat(&fd)?.st_size).unwrap_or(0);
        // SAFETY: a fresh mapping at an address the kernel chooses aliases nothing.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | how,
                &fd,
                0,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { base, len, fd })
    }

    /// The descriptor to pass on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A second descriptor of the same memory.
    ///
    /// # Errors
    /// The kernel's, for example `EMFILE`.
    pub fn duplicate_fd(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// Bytes mapped.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: at least one page is mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Start of the mapping, page-aligned, valid while `self` lives.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The 32-bit word at the start, for loops that must not have a path to a panic.
    #[inline(always)]
    #[must_use]
    pub fn first_word(&self) -> &AtomicU32 {
        // SAFETY: at least one page is mapped, page-aligned, and lives as long as `self`.
        unsafe { &*self.base.as_ptr().cast::<AtomicU32>() }
    }

    /// The 32-bit word at byte offset `at`.
    ///
    /// # Panics
    /// `at` is not a multiple of 4 inside the mapping: a mistake in a layout constant.
    #[must_use]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.len, "word {at} of {} bytes", self.len);
        // SAFETY: in bounds and aligned (checked above; the base is page-aligned), lives as long as `self`.
        unsafe { &*self.base.as_ptr().add(at).cast::<AtomicU32>() }
    }

    /// The 64-bit word at byte offset `at`.
    ///
    /// # Panics
    /// `at` is not a multiple of 8 inside the mapping: a mistake in a layout constant.
    #[must_use]
    pub fn word64(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len, "word {at} of {} bytes", self.len);
        // SAFETY: in bounds and aligned (checked above; the base is page-aligned), lives as long as `self`.
        unsafe { &*self.base.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// All 32-bit words from byte offset `at` to the end.
    ///
    /// # Panics
    /// `at` is not a multiple of 4 inside the mapping: a mistake in a layout constant.
    #[must_use]
    pub fn words_from(&self, at: usize) -> &[AtomicU32] {
        assert!(at.is_multiple_of(4) && at <= self.len, "word {at} of {} bytes", self.len);
        // SAFETY: in bounds and aligned (checked above; the base is page-aligned), lives as long as `self`.
        unsafe {
            std::slice::from_raw_parts(self.base.as_ptr().add(at).cast(), (self.len - at) / 4)
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped; no reference into it can outlive `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "the range was mapped by us");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_one_descriptor_show_the_same_words() {
        let one = SharedMemory::create("ipcperf-test", 100).expect("a page of memory");
        let two =
            SharedMemory::from_fd(one.duplicate_fd().expect("a descriptor")).expect("a mapping");
        one.word(64).store(7, Ordering::Relaxed);
        assert_eq!(two.word(64).load(Ordering::Relaxed), 7);
        assert_eq!(two.words_from(64)[0].load(Ordering::Relaxed), 7);
        assert_eq!(one.len() % 4096, 0);
    }

    #[test]
    fn a_file_that_could_shrink_is_refused() {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(4096).expect("one page");
        assert!(SharedMemory::from_fd(file.into()).is_err());
    }
}
