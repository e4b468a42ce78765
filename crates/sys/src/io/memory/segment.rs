//! Memory that both ends of a channel map, of the kind the user chooses.
//!
//! # Safety
//! - A [`Segment`] owns its mapping for its whole life, and lends addresses inside it only to modules that keep it
//!   alive as long as they use them.
//! - The memory cannot shrink under the mapping: a memfd is sealed; a file is this user's alone, has lost its name or
//!   lies in the run's directory, and none of a channel's processes truncates it; System V memory has one size for
//!   ever.
//! - Space is reserved when the memory is made, so that no access can fault for want of it.

use crate::io::duplicate;
use crate::io::failed;
use crate::io::memory::sysv_memory::{self, Id};
use crate::io::names::{self, DEV_SHM, POSIX_MEMORY, Unlink};
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// What the memory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// An anonymous file (`memfd_create(2)`).
    Memfd,
    /// A file in `/dev/shm`, as `shm_open(3)` makes it.
    DevShm,
    /// System V shared memory.
    SysV,
    /// A file in the run's directory.
    File,
}

/// Size of a huge page, where they are asked for.
const HUGE: usize = 2 << 20;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What it is made of.
    pub backing: Backing,
    /// Whether it consists of pages of 2 MiB.
    pub huge: bool,
}

impl Kind {
    /// Whether it has a name, so that it needs the run's directory.
    #[must_use]
    pub fn has_name(self) -> bool {
        self.backing != Backing::Memfd
    }

    /// What needs no choice.
    pub const DEFAULT: Self = Self { backing: Backing::Memfd, huge: false };

    fn page(self) -> usize {
        if self.huge { HUGE } else { rustix::param::page_size() }
    }
}

/// What another process needs to map a segment.
#[derive(Debug)]
pub enum Ticket {
    /// A descriptor of the file.
    File(OwnedFd),
    /// The number of System V memory.
    Id(i32),
}

/// One mapping.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    len: usize,
    source: SegmentSource,
}

#[derive(Debug)]
enum SegmentSource {
    File(OwnedFd),
    SysV(Id),
}

// SAFETY: the mapping is not tied to a thread; the user of its addresses answers for the accesses.
unsafe impl Send for Segment {}

impl Segment {
    /// Makes at least `len` zeroed bytes, present before the first use, and maps them. `name` is unique on the host.
    /// `directory` is the run's; only a memfd does without, which has no name.
    ///
    /// # Errors
    /// `Unavailable` for what this host has not or has not enough of; otherwise the call that failed.
    pub fn create(
        kind: Kind,
        directory: Option<&Path>,
        name: &str,
        len: usize,
    ) -> Result<Self, SetupError> {
        let too_large = || SetupError::sys(format!("shared memory of {len} bytes"), libc::ENOMEM);
        let len = len.max(1).checked_next_multiple_of(kind.page()).ok_or_else(too_large)?;
        let run = || directory.ok_or_else(|| SetupError::Protocol("a name without a run".into()));
        let segment = match kind.backing {
            Backing::Memfd => Self::memfd(name, len, kind.huge)?,
            Backing::DevShm | Backing::File if kind.huge => {
                let what = "a file has huge pages only where its file system gives them";
                return Err(Missing::new(what, "backing=memfd or backing=sysv").into());
            }
            Backing::DevShm => {
                let path = Path::new(DEV_SHM).join(name);
                let noted = names::note(run()?, POSIX_MEMORY, name, &[])?;
                Self::file(path, Some(noted), len)?
            }
            Backing::File => Self::file(run()?.join(name), None, len)?,
            Backing::SysV => Self::sysv(run()?, len, kind.huge)?,
        };
        segment.populate()?;
        Ok(segment)
    }

    /// Maps what another process made.
    ///
    /// # Errors
    /// The call that failed, or the memory could shrink.
    pub fn attach(kind: Kind, ticket: Ticket) -> Result<Self, SetupError> {
        let segment = match ticket {
            Ticket::File(fd) => {
                let is_memfd = kind.backing == Backing::Memfd;
                let seals = || rustix::fs::fcntl_get_seals(&fd).map_err(failed("F_GET_SEALS"));
                if is_memfd && !seals()?.contains(SealFlags::SHRINK) {
                    return Err(SetupError::Protocol("the memory is not sealed".into()));
                }
                let size = rustix::fs::fstat(&fd).map_err(failed("fstat"))?.st_size;
                let len = usize::try_from(size).unwrap_or(0);
                Self::map(fd, len).map_err(failed(format!("mmap of {len} bytes")))?
            }
            Ticket::Id(id) => {
                let attached = sysv_memory::attach(Id(id));
                let attached = attached.map_err(|code| SetupError::sys("shmat", code))?;
                Self { base: attached.base, len: attached.len, source: SegmentSource::SysV(Id(id)) }
            }
        };
        segment.populate()?;
        Ok(segment)
    }

    /// For another process to attach, while this mapping lives.
    ///
    /// # Errors
    /// The kernel's, for example `EMFILE`.
    pub fn ticket(&self) -> Result<Ticket, SetupError> {
        match &self.source {
            SegmentSource::File(fd) => duplicate(fd).map(Ticket::File),
            SegmentSource::SysV(id) => Ok(Ticket::Id(id.0)),
        }
    }

    /// Start of the mapping, page-aligned, valid while `self` lives.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
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

    fn memfd(name: &str, len: usize, huge: bool) -> Result<Self, SetupError> {
        let mut flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        if huge {
            flags |= MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        }
        let refused = |call: &'static str| {
            move |error: Errno| -> SetupError {
                if huge { no_huge_pages(len).into() } else { failed(call)(error) }
            }
        };
        let fd = rustix::fs::memfd_create(name, flags).map_err(refused("memfd_create"))?;
        rustix::fs::ftruncate(&fd, len as u64).map_err(refused("ftruncate"))?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&fd, seals).map_err(failed("F_ADD_SEALS"))?;
        Self::map(fd, len).map_err(refused("mmap"))
    }

    /// Makes a file that any process of this user may open by its path, and maps it. The file goes with the second
    /// value.
    ///
    /// # Errors
    /// As [`Segment::create`].
    pub fn create_named(path: PathBuf, len: usize) -> Result<(Self, Unlink), SetupError> {
        let page = rustix::param::page_size();
        let too_large = || SetupError::sys(format!("a file of {len} bytes"), libc::EFBIG);
        let len = len.max(1).checked_next_multiple_of(page).ok_or_else(too_large)?;
        let (segment, name) = Self::new_file(path, len)?;
        segment.populate()?;
        Ok((segment, name))
    }

    /// Maps the file that another process has made.
    ///
    /// # Errors
    /// The call that failed.
    pub fn open_named(path: &Path) -> Result<Self, SetupError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::open(path, flags, Mode::empty());
        let fd = fd.map_err(failed(format!("open a file in {}", names::place(path))))?;
        Self::attach(Kind { backing: Backing::File, huge: false }, Ticket::File(fd))
    }

    /// The descriptor of the file behind it; -1, which every call refuses, where there is none.
    #[inline(always)]
    pub(crate) fn raw_fd(&self) -> i32 {
        match &self.source {
            SegmentSource::File(fd) => fd.as_raw_fd(),
            SegmentSource::SysV(_) => -1,
        }
    }

    /// The file has a name only from one call to the next; `noted` is its entry in the ledger.
    fn file(path: PathBuf, noted: Option<Unlink>, len: usize) -> Result<Self, SetupError> {
        let (segment, name) = Self::new_file(path, len)?;
        drop((name, noted));
        Ok(segment)
    }

    fn new_file(path: PathBuf, len: usize) -> Result<(Self, Unlink), SetupError> {
        let folder = names::place(&path).to_string();
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
        let fd = fd.map_err(|error| {
            let what = format!("no file can be made in {folder} ({error})");
            Missing::new(what, format!("a writable {folder}, or backing=memfd"))
        })?;
        let name = Unlink::new(path);
        reserve(&fd, len).map_err(|error| -> SetupError {
            if !matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::FBIG) {
                return failed(format!("fallocate of {len} bytes"))(error);
            }
            let free = rustix::fs::fstatvfs(&fd).map_or(0, |facts| facts.f_bavail * facts.f_frsize);
            let what = format!(
                "{} do not fit into {folder}, which has {} free",
                format_size(len as u64),
                format_size(free)
            );
            Missing::new(what, "a larger file system (docker run --shm-size), or backing=memfd")
                .into()
        })?;
        let mapped = Self::map(fd, len).map_err(failed(format!("mmap of {len} bytes")));
        mapped.map(|segment| (segment, name))
    }

    fn sysv(directory: &Path, len: usize, huge: bool) -> Result<Self, SetupError> {
        let made = sysv_memory::create(directory, len, huge);
        let (id, attached) = made.map_err(|code| -> SetupError {
            let missing = match code {
                libc::ENOSYS => Missing::new(
                    "this kernel has no System V memory",
                    "a kernel with CONFIG_SYSVIPC",
                ),
                libc::ENOSPC | libc::EINVAL => sysv_memory::above_limit(len, code),
                libc::ENOMEM if huge => no_huge_pages(len),
                libc::EPERM if huge => Missing::new(
                    "huge pages in System V memory are refused to this user",
                    "sysctl vm.hugetlb_shm_group=GID, or CAP_IPC_LOCK",
                ),
                code => return SetupError::sys("shmget", code),
            };
            missing.into()
        })?;
        Ok(Self { base: attached.base, len: attached.len, source: SegmentSource::SysV(id) })
    }

    fn map(fd: OwnedFd, len: usize) -> Result<Self, Errno> {
        // SAFETY: a fresh mapping at an address the kernel chooses aliases nothing.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                &fd,
                0,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, len, source: SegmentSource::File(fd) })
    }

    /// Makes every page present and writable here: `MAP_POPULATE` leaves those of a disk file write-protected.
    fn populate(&self) -> Result<(), SetupError> {
        // SAFETY: our mapping; its content stays.
        let done = unsafe {
            rustix::mm::madvise(self.base.as_ptr().cast(), self.len, Advice::LinuxPopulateWrite)
        };
        match done {
            // Linux before 5.14 does not know it, nor may a kernel that is not Linux: then the warm-up does it.
            Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
            Err(error) => {
                let what = format!("{} cannot be had ({error})", format_size(self.len as u64));
                Err(Missing::new(what, "more memory for this process, or smaller messages").into())
            }
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        match &self.source {
            SegmentSource::File(_) => {
                // SAFETY: exactly the range that was mapped; nobody uses it any more (see the module).
                let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
                debug_assert!(unmapped.is_ok(), "the range was mapped by us");
            }
            // SAFETY: nobody uses the mapping any more (see the module).
            SegmentSource::SysV(_) => unsafe { sysv_memory::detach(self.base) },
        }
    }
}

/// Takes the space of a file now: a page that finds none when it is first touched would end the process.
pub(crate) fn reserve(fd: &OwnedFd, len: usize) -> Result<(), Errno> {
    match rustix::fs::fallocate(fd, FallocateFlags::empty(), 0, len as u64) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        done => return done,
    }
    // What posix_fallocate(3) does for file systems that cannot.
    let zeros = [0; 1 << 16];
    let mut at = 0;
    while at < len {
        let piece = &zeros[..zeros.len().min(len - at)];
        match rustix::io::pwrite(fd, piece, at as u64) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(written) => at += written,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn no_huge_pages(len: usize) -> Missing {
    let (wanted, pages) = (len / HUGE, crate::sysctl::number("vm/nr_hugepages").unwrap_or(0));
    let what = format!("{wanted} free pages of 2 MiB are needed, and vm.nr_hugepages is {pages}");
    Missing::new(what, format!("sysctl vm.nr_hugepages={}", pages + wanted as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backing_is_shared_between_two_mappings_and_leaves_nothing() {
        let run = tempfile::tempdir().expect("a directory");
        for backing in [Backing::Memfd, Backing::DevShm, Backing::SysV, Backing::File] {
            let kind = Kind { backing, huge: false };
            let name = format!("ipcperf-segment-{}", std::process::id());
            let one = match Segment::create(kind, Some(run.path()), &name, 5000) {
                Err(SetupError::Unavailable(missing)) => {
                    crate::skipped::skipped("shm-ring", missing);
                    continue;
                }
                made => made.expect("memory"),
            };
            let two = Segment::attach(kind, one.ticket().expect("a ticket")).expect("a mapping");
            assert!(one.len() >= 8192 && two.len() == one.len(), "{backing:?}");
            // SAFETY: both mappings are of at least two pages and nobody else has them.
            let seen = unsafe {
                one.as_ptr().add(5000).write_volatile(7);
                two.as_ptr().add(5000).read_volatile()
            };
            assert_eq!(seen, 7, "{backing:?}");
            assert_eq!(std::fs::read_dir(run.path()).expect("readable").count(), 0, "{backing:?}");
            assert!(!Path::new(DEV_SHM).join(&name).exists(), "{backing:?}");
        }
    }

    #[test]
    fn what_is_too_large_or_of_no_such_kind_is_missing() {
        let run = tempfile::tempdir().expect("a directory");
        for kind in [
            Kind { backing: Backing::DevShm, huge: false },
            Kind { backing: Backing::File, huge: true },
        ] {
            let made = Segment::create(kind, Some(run.path()), "ipcperf-too-large", 1 << 50);
            assert!(matches!(made, Err(SetupError::Unavailable(_))), "{made:?}");
        }
    }
}
