//! Memory whose pages the kernel refers to for a while after they were sent, so that it may be used again only later.
//!
//! # Safety
//! A [`Pool`] owns its mapping for its whole life and lends it only through borrows of itself. `start + len` never
//! exceeds the mapping, and a place handed out lies inside `len`.

use crate::io::failed;
use crate::sysctl;
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

/// A huge page of x86-64, and of aarch64 with 4 KiB pages.
const HUGE: usize = 2 << 20;

/// What a pool is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Private pages of the usual size.
    Small,
    /// Private pages of 2 MiB, reserved by the administrator.
    Huge,
    /// Private pages that the kernel joins to 2 MiB because it is asked to.
    Transparent,
}

/// Memory that is handed out in turn, place after place.
#[derive(Debug)]
pub struct Pool {
    base: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
    len: usize,
    page: usize,
    largest: usize,
    /// Where the last message was placed.
    last: usize,
    /// Where the next one may begin.
    next: usize,
}

// SAFETY: private memory of one owner, or pages of a file that only this end writes; not tied to a thread.
unsafe impl Send for Pool {}

impl Pool {
    /// Bytes needed for messages of up to `largest` bytes, when the kernel refers to pages of at most `under_way` bytes
    /// in all that have not been received.
    ///
    /// A message of a page or more begins at the start of a page and each reference is to one page, so what is under
    /// way is one stretch of `under_way` bytes and a page at each end of it. A turn leaves less than one message
    /// unused at the end of the pool, the message that is written next takes one, and it may be longer than the one
    /// that lay there: three messages beside the stretch are enough, and nothing that is under way is ever written.
    #[must_use]
    pub fn bytes(under_way: usize, largest: usize) -> usize {
        let page = rustix::param::page_size();
        let message = largest.max(1).saturating_add(page);
        let message = message.checked_next_multiple_of(page).unwrap_or(usize::MAX);
        under_way.saturating_add(2 * page).saturating_add(message.saturating_mul(3))
    }

    /// Resident memory of [`Pool::bytes`].
    ///
    /// # Errors
    /// `Unavailable` where there are no pages of the kind; otherwise the call that failed.
    pub fn new(under_way: usize, largest: usize, pages: Pages) -> Result<Self, SetupError> {
        Self::over(None, under_way, largest, pages)
    }

    /// The pages of an anonymous file, which is made as long as the pool.
    ///
    /// # Errors
    /// The call that failed.
    pub fn of_file(file: &OwnedFd, under_way: usize, largest: usize) -> Result<Self, SetupError> {
        let bytes = Self::bytes(under_way, largest) as u64;
        rustix::fs::ftruncate(file, bytes).map_err(failed(format!("ftruncate {bytes}")))?;
        Self::over(Some(file), under_way, largest, Pages::Small)
    }

    fn over(
        file: Option<&OwnedFd>,
        under_way: usize,
        largest: usize,
        pages: Pages,
    ) -> Result<Self, SetupError> {
        let page = rustix::param::page_size();
        let unit = if matches!(pages, Pages::Huge | Pages::Transparent) { HUGE } else { page };
        let bytes = Self::bytes(under_way, largest);
        let too_much = || SetupError::sys(format!("mmap of {bytes} bytes"), libc::ENOMEM);
        let len = bytes.checked_next_multiple_of(unit).ok_or_else(too_much)?;
        // Room to begin at a multiple of 2 MiB.
        let extra = if pages == Pages::Transparent { HUGE } else { 0 };
        let mapped = len.checked_add(extra).ok_or_else(too_much)?;
        let base = map(mapped, pages, file)?;
        let skipped = if extra == 0 { 0 } else { base.as_ptr().align_offset(HUGE).min(extra) };
        // SAFETY: at most `extra` bytes after the base, and `len` bytes follow.
        let start = unsafe { base.add(skipped) };
        let pool = Self { base, mapped, start, len, page, largest, last: 0, next: 0 };
        pool.occupy(pages)?;
        Ok(pool)
    }

    /// Makes every page resident, and sees that they are of the kind.
    fn occupy(&self, pages: Pages) -> Result<(), SetupError> {
        if pages == Pages::Transparent {
            // SAFETY: our own mapping; advice about its pages changes nothing that can be read.
            let advised =
                unsafe { madvise(self.start.as_ptr().cast(), self.len, Advice::LinuxHugepage) };
            advised.map_err(|_| {
                Missing::new(
                    "this kernel has no transparent huge pages",
                    "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
                )
            })?;
        }
        if pages == Pages::Huge && self.huge_bytes() < self.len as u64 {
            // Reserved pages that a control group refuses would end this process at the first touch.
            return Err(none_reserved(self.len));
        }
        for at in (0..self.len).step_by(self.page) {
            // SAFETY: inside the mapping. Volatile, because a write of zero over zero would be removed: it is made to
            // get a page of our own instead of the shared zero page.
            unsafe { self.start.add(at).write_volatile(0) };
        }
        let got = self.huge_bytes();
        if pages == Pages::Transparent && got < self.len as u64 {
            let what = format!(
                "the kernel made transparent huge pages of {} of {} only",
                format_size(got),
                format_size(self.len as u64)
            );
            let how = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or free memory with \
                       echo 1 > /proc/sys/vm/compact_memory";
            return Err(Missing::new(what, how).into());
        }
        Ok(())
    }

    /// Bytes of the pool that huge pages hold, as the kernel tells it.
    fn huge_bytes(&self) -> u64 {
        let first = self.start.as_ptr() as usize;
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        huge_bytes(&text, first..first + self.len)
    }

    /// The place of the next message, or `None` if it is longer than the pool was made for.
    #[inline(always)]
    #[must_use]
    pub fn place(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > self.largest {
            return None;
        }
        let grain = if len < self.page { LINE } else { self.page };
        // Page sizes are powers of two.
        let mut at = (self.next + (grain - 1)) & !(grain - 1);
        if at + len > self.len {
            at = 0;
        }
        self.last = at;
        self.next = at + len;
        Some(self.slice(at, len))
    }

    /// The message placed last, whose length is given again.
    #[inline(always)]
    #[must_use]
    pub fn last(&mut self, len: usize) -> Option<&mut [u8]> {
        (len <= self.largest).then(|| self.slice(self.last, len))
    }

    /// Where the message placed last begins, from the start of the pool.
    #[inline(always)]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.last
    }

    #[inline(always)]
    fn slice(&mut self, at: usize, len: usize) -> &mut [u8] {
        // SAFETY: only called with a place from `place`, which lies inside (a pool holds the largest message); the
        // bytes are initialised by the kernel and borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at).as_ptr(), len) }
    }
}

/// Small messages begin at cache lines, as they do in every other buffer here.
const LINE: usize = 64;

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped; no borrow of it can outlive `self`. What a pipe still refers to
        // stays until it was read.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "the range was mapped by us");
    }
}

fn map(len: usize, pages: Pages, file: Option<&OwnedFd>) -> Result<NonNull<u8>, SetupError> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let huge = MapFlags::HUGETLB | MapFlags::HUGE_2MB | MapFlags::POPULATE;
    let kind = if pages == Pages::Huge { huge } else { MapFlags::empty() };
    let at = std::ptr::null_mut();
    // SAFETY: a fresh mapping at an address the kernel chooses aliases nothing.
    let mapped = unsafe {
        match file {
            Some(file) => mmap(at, len, protection, MapFlags::SHARED | MapFlags::POPULATE, file, 0),
            None => mmap_anonymous(at, len, protection, MapFlags::PRIVATE | kind),
        }
    };
    let base = mapped.map_err(|error| match (pages, error) {
        (Pages::Huge, Errno::NOMEM) => none_reserved(len),
        (Pages::Huge, Errno::INVAL | Errno::NODEV | Errno::NOSYS) => Missing::new(
            "this kernel has no pages of 2 MiB to reserve",
            "a kernel with CONFIG_HUGETLBFS and pages of 2 MiB",
        )
        .into(),
        (_, error) => failed(format!("mmap of {len} bytes"))(error),
    })?;
    NonNull::new(base.cast()).ok_or_else(|| SetupError::sys("mmap", libc::ENOMEM))
}

fn none_reserved(len: usize) -> SetupError {
    let wanted = len.div_ceil(HUGE);
    let reserved = sysctl::number("vm/nr_hugepages").unwrap_or(0);
    Missing::new(
        format!("{wanted} free pages of 2 MiB for each end (vm.nr_hugepages is {reserved})"),
        format!("sysctl vm.nr_hugepages={}", reserved + 2 * wanted as u64),
    )
    .into()
}

/// Sums what `/proc/self/smaps` says of huge pages in the mappings that touch a range.
fn huge_bytes(smaps: &str, range: std::ops::Range<usize>) -> u64 {
    let mut inside = false;
    let mut sum = 0;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        if let Some(key) = first.strip_suffix(':') {
            let counts = matches!(key, "AnonHugePages" | "Private_Hugetlb" | "Shared_Hugetlb");
            if let (true, true, Some(Ok(kilobytes))) =
                (inside, counts, second.map(str::parse::<u64>))
            {
                sum += kilobytes * 1024;
            }
        } else if let Some((from, to)) = first.split_once('-') {
            let hex = |text| usize::from_str_radix(text, 16).unwrap_or(0);
            inside = hex(from) < range.end && hex(to) > range.start;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may be under way: at most so many bytes in pages, the newest first.
    fn overlap(
        pool: &Pool,
        sent: &[(usize, usize)],
        under_way: usize,
        place: (usize, usize),
    ) -> bool {
        let mut pages = 0;
        for (at, len) in sent.iter().rev() {
            pages += (at + len).div_ceil(pool.page) - at / pool.page;
            if pages * pool.page > under_way {
                return false;
            }
            if *at < place.0 + place.1 && place.0 < at + len {
                return true;
            }
        }
        false
    }

    #[test]
    fn what_is_under_way_is_never_written() {
        let lengths: [&[usize]; 4] =
            [&[64], &[1, 4096, 7, 9000], &[20_000, 1, 1, 1], &[4095, 4097, 3, 8192, 100]];
        for lengths in lengths {
            let largest = lengths.iter().copied().max().unwrap_or(1);
            for under_way in [4096, 65536] {
                let mut pool = Pool::new(under_way, largest, Pages::Small).expect("memory");
                let mut sent = Vec::new();
                for len in lengths.iter().copied().cycle().take(3000) {
                    assert_eq!(pool.place(len).map(|place| place.len()), Some(len));
                    let place = (pool.offset(), len);
                    assert!(place.0 + len <= pool.len);
                    assert!(!overlap(&pool, &sent, under_way, place), "{place:?} of {lengths:?}");
                    sent.push(place);
                }
            }
        }
    }

    #[test]
    fn a_message_that_is_too_long_has_no_place() {
        let mut pool = Pool::new(4096, 100, Pages::Small).expect("memory");
        assert!(pool.place(101).is_none() && pool.last(101).is_none());
    }

    #[test]
    fn huge_pages_are_counted_where_they_are() {
        let text = "7f00-8f00 rw-p 0 00:00 0\nAnonHugePages:      2048 kB\nPrivate_Hugetlb: 4 kB\n\
                    9000-a000 rw-p 0 00:00 0\nAnonHugePages: 8 kB\n";
        assert_eq!(huge_bytes(text, 0x7f00..0x8000), 2052 * 1024);
        assert_eq!(huge_bytes(text, 0x8f00..0x9000), 0);
    }

    #[test]
    fn huge_pages_come_whole_or_are_refused_with_the_way_to_get_them() {
        for pages in [Pages::Huge, Pages::Transparent] {
            match Pool::new(4096, 100, pages) {
                Ok(pool) => assert_eq!(pool.huge_bytes(), pool.len as u64),
                Err(SetupError::Unavailable(missing)) => assert!(!missing.how.is_empty()),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
