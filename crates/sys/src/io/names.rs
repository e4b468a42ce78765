//! What outlives a process, and how a later run finds it.
//!
//! The run directory doubles as a ledger: before a kernel object with a name of its own is made, a file that says
//! which goes into the directory, and it goes when the object has gone. A run that was killed leaves the file, and
//! `reap` removes what it names.

use ipcperf_core::SetupError;
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

/// Where named POSIX shared memory lives (`shm_overview(7)`).
pub(crate) const DEV_SHM: &str = "/dev/shm";

pub(super) const DIRECTORY: &str = "directory-";

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
    pub fn write(path: PathBuf, text: &str) -> Result<Self, SetupError> {
        let failed = |error: io::Error| {
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            SetupError::sys(format!("write {}", path.display()), code)
        };
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.map_err(failed)?;
        let written = file.write_all(text.as_bytes()).map_err(failed);
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
        // It may be gone already: whoever attached last unlinks it.
        let _ = fs::remove_file(&self.0);
    }
}

/// Notes in the ledger that the System V queue with `key` is about to be made.
pub(crate) fn note_sysv_queue(directory: &Path, key: i32) -> Result<Unlink, SetupError> {
    note(directory, format!("{SYSV_QUEUE}{key:08x}"), &[])
}

/// Notes in the ledger that the System V memory with `key` is about to be made.
pub(crate) fn note_sysv_memory(directory: &Path, key: i32) -> Result<Unlink, SetupError> {
    note(directory, format!("{SYSV_MEMORY}{key:08x}"), &[])
}

/// Notes in the ledger that the POSIX memory `/name` is about to be made.
pub(crate) fn note_posix_memory(directory: &Path, name: &str) -> Result<Unlink, SetupError> {
    note(directory, format!("{POSIX_MEMORY}{name}"), &[])
}

/// Notes in the ledger that the set of System V semaphores with `key` is about to be made.
pub(crate) fn note_sysv_semaphores(directory: &Path, key: i32) -> Result<Unlink, SetupError> {
    note(directory, format!("{SYSV_SEMAPHORES}{key:08x}"), &[])
}

/// Notes in the ledger that the POSIX queue `/name` is about to be made.
pub(crate) fn note_posix_queue(directory: &Path, name: &str) -> Result<Unlink, SetupError> {
    note(directory, format!("{POSIX_QUEUE}{name}"), &[])
}

/// Notes in the ledger that the directory `path` is about to be made outside of the run directory.
pub(crate) fn note_directory(directory: &Path, path: &Path) -> Result<Unlink, SetupError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    note(directory, format!("{DIRECTORY}{name}"), path.as_os_str().as_bytes())
}

fn note(directory: &Path, name: String, text: &[u8]) -> Result<Unlink, SetupError> {
    let path = directory.join(name);
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match made.and_then(|mut file| file.write_all(text)) {
        Ok(_) => Ok(Unlink::new(path)),
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            Err(SetupError::sys(format!("create {}", path.display()), code))
        }
    }
}
