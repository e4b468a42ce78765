//! What outlives a process, and how a later run finds it.
//!
//! The run directory doubles as a ledger: before a kernel object with a name of its own is made, a file that says
//! which goes into the directory, and it goes when the object has gone. A run that was killed leaves the file, and
//! `reap` removes what it names.

use ipcperf_core::SetupError;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) const SYSV_QUEUE: &str = "sysv-msg-";
pub(super) const SYSV_MEMORY: &str = "sysv-shm-";
pub(super) const SYSV_SEMAPHORES: &str = "sysv-sem-";
pub(super) const POSIX_QUEUE: &str = "mq-";
pub(super) const POSIX_MEMORY: &str = "shm-";
pub(super) const POSIX_MEMORIES: &str = "shms-";

/// Where named POSIX shared memory lives (`shm_overview(7)`).
pub(crate) const DEV_SHM: &str = "/dev/shm";

pub(super) const DIRECTORY: &str = "directory-";
/// A control group; the note has its folder.
pub(crate) const GROUP: &str = "cgroup-";

/// The folder in which a run has made what has this path. What lies between has random names that say nothing to anybody, and
/// equal reasons are to be equal.
pub(crate) fn place(path: &Path) -> std::path::Display<'_> {
    let is_own = |folder: &Path| {
        folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ipcperf-"))
    };
    let mut folders = path.ancestors().skip(1);
    folders.find(|folder| !is_own(folder)).unwrap_or(path).display()
}

/// A path that goes away with its owner.
#[derive(Debug)]
pub struct Unlink(PathBuf);

impl Unlink {
    /// Takes over `path`, which need not exist any more when the owner is dropped.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes a new file that only this user may open.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn write(path: PathBuf, text: impl AsRef<[u8]>) -> Result<Self, SetupError> {
        let failed = |error: io::Error| {
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            SetupError::sys(format!("write a file in {}", place(&path)), code)
        };
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.map_err(failed)?;
        let written = file.write_all(text.as_ref()).map_err(failed);
        let guard = Self(path);
        written.map(|()| guard)
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unlink {
    fn drop(&mut self) {
        // It may be gone already: the last to attach unlinks it.
        let _ = fs::remove_file(&self.0);
    }
}

/// Shared memory with a name in `/dev/shm` that a library makes and maps. It is noted before, and goes with its owner.
#[derive(Debug)]
pub struct PosixMemory {
    // Dropped before the note, which is what finds it again.
    _memory: Unlink,
    _noted: Unlink,
}

impl PosixMemory {
    /// Notes in the ledger `directory` that memory of this name, without a slash, will be made.
    ///
    /// # Errors
    /// It cannot be noted.
    pub fn noted(directory: &Path, name: &str) -> Result<Self, SetupError> {
        let noted = note(directory, POSIX_MEMORY, name, &[])?;
        Ok(Self { _memory: Unlink::new(Path::new(DEV_SHM).join(name)), _noted: noted })
    }
}

/// The same of all shared memory whose names begin alike: a library gives what it makes names of its own.
#[derive(Debug)]
pub struct PosixMemories {
    prefix: String,
    _noted: Unlink,
}

impl PosixMemories {
    /// Notes in the ledger `directory` that memory with names of this beginning will be made.
    ///
    /// # Errors
    /// It cannot be noted.
    pub fn noted(directory: &Path, prefix: &str) -> Result<Self, SetupError> {
        let noted = note(directory, POSIX_MEMORIES, prefix, &[])?;
        Ok(Self { prefix: prefix.to_owned(), _noted: noted })
    }
}

impl Drop for PosixMemories {
    fn drop(&mut self) {
        for name in memories(&self.prefix) {
            let _ = fs::remove_file(Path::new(DEV_SHM).join(name));
        }
    }
}

/// The names in `/dev/shm` that begin so.
pub(super) fn memories(prefix: &str) -> Vec<OsString> {
    let all = fs::read_dir(DEV_SHM).into_iter().flatten().flatten().map(|entry| entry.file_name());
    all.filter(|name| name.as_bytes().starts_with(prefix.as_bytes())).collect()
}

/// Notes in the ledger `directory` what is about to be made: `prefix` says what it is, `name` and `text` how it is
/// found.
pub(crate) fn note(
    directory: &Path,
    prefix: &str,
    name: &str,
    text: &[u8],
) -> Result<Unlink, SetupError> {
    Unlink::write(directory.join(format!("{prefix}{name}")), text)
}
