//! The run's own directory: everything that needs a path lives in it, and it is the ledger of everything that
//! outlives processes, so that a later run can remove what a killed one left.
//!
//! It is `ipcperf-<uid>-<random>` (mode 0700) in `$XDG_RUNTIME_DIR` or the temporary directory. The coordinator holds
//! a lock on it for its whole life; the kernel drops the lock when the process ends, whatever ended it. A directory
//! whose lock can be taken therefore belongs to nobody.

use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The directory of this run; removed with all it names when dropped.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Held for the lock on it.
    _lock: OwnedFd,
}

/// Where run directories may be: `$XDG_RUNTIME_DIR` if it is a directory, and the temporary directory.
#[must_use]
pub fn bases() -> Vec<PathBuf> {
    let mut bases: Vec<PathBuf> = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute() && path.is_dir())
        .into_iter()
        .collect();
    // A run without that variable (sudo, cron) uses this one; whoever cleans up looks in both.
    let temporary = std::env::temp_dir();
    if !bases.contains(&temporary) {
        bases.push(temporary);
    }
    bases
}

/// Where run directories are made: the first of [`bases`].
#[must_use]
pub fn base() -> PathBuf {
    bases().swap_remove(0)
}

fn prefix() -> String {
    format!("ipcperf-{}-", rustix::process::geteuid().as_raw())
}

fn lock(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
    Ok(fd)
}

impl RunDirectory {
    /// Makes the directory in `base`; `token` is random.
    ///
    /// # Errors
    /// No directory can be made there.
    pub fn create(base: &Path, token: u64) -> io::Result<Self> {
        let path = base.join(format!("{}{token:016x}", prefix()));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let locked = lock(&path).and_then(|lock| {
            fs::write(path.join(MARK), "")?;
            Ok(lock)
        });
        match locked {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => {
                let _ = crate::io::names::reap_directory(&path);
                Err(error)
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = crate::io::names::reap_directory(&self.path);
    }
}

/// Removes what runs of this user left in `base` when they were killed; says what in words. Directories whose run
/// still lives, and those of other users, are left alone.
///
/// # Errors
/// `base` is not readable, or something found there cannot be removed.
pub fn reap(base: &Path) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix()));
        let is_own_directory =
            entry.path().symlink_metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == own);
        if !ours || !is_own_directory {
            continue;
        }
        // Between its creation and its lock a directory looks abandoned; a live run never leaves it unlocked for
        // more than that instant, so one that is younger than a few seconds is left for the next time.
        let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        match lock(&entry.path()) {
            Ok(_lock) if age.as_secs() >= 2 || is_marked(&entry.path()) => {
                removed.extend(crate::io::names::reap_directory(&entry.path())?);
            }
            _ => {}
        }
    }
    Ok(removed)
}

/// A run directory that its owner had locked once carries this file, so it needs no grace.
const MARK: &str = "locked";

fn is_marked(path: &Path) -> bool {
    path.join(MARK).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_run_is_left_alone_and_a_dead_one_is_removed() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let alive = RunDirectory::create(base.path(), 1).expect("a run directory");
        let mode = fs::metadata(alive.path()).expect("it exists").mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(reap(base.path()).expect("readable").is_empty());
        assert!(alive.path().exists());

        let dead = RunDirectory::create(base.path(), 2).expect("a run directory");
        let path = dead.path().to_owned();
        fs::write(path.join("left-over"), "").expect("a file");
        // What SIGKILL does: the lock goes, the directory stays.
        let RunDirectory { _lock: lock, .. } = &dead;
        let _ = rustix::fs::flock(lock, FlockOperation::Unlock);
        std::mem::forget(dead);
        assert!(!reap(base.path()).expect("readable").is_empty());
        assert!(!path.exists() && alive.path().exists());
    }

    #[test]
    fn what_merely_looks_like_a_run_directory_is_left_alone() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let file = base.path().join(format!("{}0000000000000001", prefix()));
        fs::write(&file, "").expect("a file");
        let link = base.path().join(format!("{}0000000000000002", prefix()));
        std::os::unix::fs::symlink("/", &link).expect("a link");
        assert!(reap(base.path()).expect("readable").is_empty());
        assert!(file.exists() && link.symlink_metadata().is_ok());
    }
}
