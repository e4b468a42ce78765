//! Memory that is made for one message and handed over as a descriptor, and files that are mapped for one message.
//!
//! # Safety
//! A [`Mapping`] owns exactly what `mmap` returned for its length and lends it through borrows of itself. Both ends are
//! this program, and their order is a protocol: the end that makes a file writes it before the descriptor leaves, or before
//! the word that it is ready leaves, and does not write while the other end looks; nobody shortens a file that
//! somebody may have mapped. Names are NUL-terminated.

use crate::io::raw;
use ipcperf_core::SetupError;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

/// The largest message of mechanisms whose only limit is memory: 1 GiB, as for rings.
pub const LARGEST: usize = 1 << 30;

/// A descriptor of the measured path: closed by one system call when it is dropped.
#[derive(Debug)]
pub struct Handle(RawFd);

impl Handle {
    /// Takes over a descriptor that a system call just returned.
    #[inline(always)]
    pub(crate) fn new(returned: usize) -> Self {
        // The kernel returns descriptors below the limit of an int.
        Self(returned as RawFd)
    }

    /// Takes over a descriptor that came with a message.
    #[inline(always)]
    pub(crate) fn received(fd: RawFd) -> Self {
        Self(fd)
    }

    /// To use it.
    #[inline(always)]
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        // The standard library looks for -1 and would panic, which has no place in a timed loop.
        // SAFETY: the kernel gives out no negative descriptors.
        unsafe { std::hint::assert_unchecked(self.0 >= 0) };
        // SAFETY: open, because it is ours until it is dropped.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }

    /// What another process must call it to take a copy.
    #[must_use]
    pub fn number(&self) -> u32 {
        // Open descriptors are not negative.
        self.0.cast_unsigned()
    }

    /// To keep it.
    #[must_use]
    pub fn into_owned(self) -> OwnedFd {
        let fd = self.0;
        std::mem::forget(self);
        // SAFETY: open and ours, and no longer closed by this value.
        unsafe { OwnedFd::from_raw_fd(fd) }
    }
}

impl Drop for Handle {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: takes a number. Linux frees the descriptor whatever it returns.
        let _ = unsafe { raw::call3(libc::SYS_close, self.0 as usize, 0, 0) };
    }
}

/// Makes an anonymous file of `len` bytes, by two system calls.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn memfd(len: usize) -> Result<Handle, i32> {
    let file = empty_memfd()?;
    lengthen(&file, len)?;
    Ok(file)
}

/// Makes an anonymous file, to be written.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn empty_memfd() -> Result<Handle, i32> {
    let flags = (libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) as usize;
    // SAFETY: the name is NUL-terminated.
    unsafe { raw::call3(libc::SYS_memfd_create, c"ipcperf".as_ptr() as usize, flags, 0) }
        .map(Handle::new)
}

/// Gives a fresh file, which nobody has mapped, its length.
///
/// # Errors
/// The `errno`.
#[inline(always)]
pub fn lengthen(file: &Handle, len: usize) -> Result<(), i32> {
    let fd = file.fd().as_raw_fd() as usize;
    // SAFETY: takes numbers.
    unsafe { raw::call3(libc::SYS_ftruncate, fd, len, 0) }.map(drop)
}

const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;

/// Lets nobody change a file any more, which nobody may have mapped for writing.
///
/// # Errors
/// The `errno`, `EBUSY` while it is mapped for writing.
#[inline(always)]
pub fn seal(file: BorrowedFd<'_>) -> Result<(), i32> {
    let (fd, command) = (file.as_raw_fd() as usize, libc::F_ADD_SEALS as usize);
    // SAFETY: takes numbers.
    unsafe { raw::call3(libc::SYS_fcntl, fd, command, SEALS as usize) }.map(drop)
}

/// Makes, maps, seals and maps again a file as is done for each message, to see whether that is allowed here.
///
/// # Errors
/// The call that failed.
pub fn try_memfd() -> Result<(), SetupError> {
    let file = memfd(1).map_err(|code| SetupError::sys("memfd_create", code))?;
    let mapping = Mapping::new(file.fd(), 1, Access::Write);
    drop(mapping.map_err(|code| SetupError::sys("mmap of a memfd", code))?);
    seal(file.fd()).map_err(|code| SetupError::sys("F_ADD_SEALS", code))?;
    let mapping = Mapping::new(file.fd(), 1, Access::Sealed);
    mapping.map(drop).map_err(|code| SetupError::sys("mmap of a sealed memfd", code))
}

/// What may be done with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading a file that is sealed against writing. The mapping is private, because Linux 5.10 refuses a shared one
    /// (`EPERM`), even for reading. As nobody writes, it shows the same pages.
    Sealed,
    /// Reading and writing.
    Write,
}

/// A file in memory; one system call each to map and to unmap it.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
    access: Access,
}

// SAFETY: not tied to a thread, and has one owner.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of a file that is at least so long, and not 0.
    ///
    /// # Errors
    /// The `errno`, `EINVAL` for 0 bytes.
    #[inline(always)]
    pub fn new(file: BorrowedFd<'_>, len: usize, access: Access) -> Result<Self, i32> {
        let (protection, flags) = match access {
            Access::Read => (libc::PROT_READ, libc::MAP_SHARED),
            Access::Sealed => (libc::PROT_READ, libc::MAP_PRIVATE),
            Access::Write => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED),
        };
        let (fd, flags) = (file.as_raw_fd() as usize, flags as usize);
        // SAFETY: a fresh mapping at an address the kernel chooses aliases nothing.
        let at =
            unsafe { raw::call6(libc::SYS_mmap, [0, len, protection as usize, flags, fd, 0]) }?;
        let base = NonNull::new(std::ptr::with_exposed_provenance_mut(at)).ok_or(libc::ENOMEM)?;
        Ok(Self { base, len, access })
    }

    /// What is in it.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for reading; see the module.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// To write it; `None` if it was mapped for reading only.
    #[inline(always)]
    #[must_use]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.access != Access::Write {
            return None;
        }
        // SAFETY: mapped for writing; see the module.
        Some(unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) })
    }
}

impl Drop for Mapping {
    #[inline(always)]
    fn drop(&mut self) {
        let at = self.base.as_ptr().expose_provenance();
        // SAFETY: exactly the range that was mapped; no borrow of it can outlive `self`.
        let _ = unsafe { raw::call3(libc::SYS_munmap, at, self.len, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_mapping_wrote_another_shows_and_a_sealed_file_stays_as_it_is() {
        let file = memfd(5000).expect("memory");
        let mut writer = Mapping::new(file.fd(), 5000, Access::Write).expect("a mapping");
        writer.bytes_mut().expect("writable").fill(9);
        assert_eq!(seal(file.fd()), Err(libc::EBUSY));
        drop(writer);
        assert_eq!(seal(file.fd()), Ok(()));
        assert_eq!(Mapping::new(file.fd(), 5000, Access::Write).err(), Some(libc::EPERM));
        let mut reader = Mapping::new(file.fd(), 5000, Access::Sealed).expect("a mapping");
        assert!(reader.bytes().iter().all(|byte| *byte == 9));
        assert!(reader.bytes_mut().is_none());
        // Linux 5.10 refuses a shared mapping, which this kernel may allow.
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the table of mappings");
        let start = format!("{:x}-", reader.base.addr());
        let line = maps.lines().find(|line| line.starts_with(&start)).expect("its line");
        assert!(line.contains(" r--p "), "{line}");
    }

    #[test]
    fn nothing_cannot_be_mapped() {
        let file = memfd(0).expect("an empty file");
        assert_eq!(Mapping::new(file.fd(), 0, Access::Read).err(), Some(libc::EINVAL));
    }
}
