//! Directories for files that carry messages: where they are, and one that is private to a channel.

use crate::directory;
use crate::io::failed;
use crate::io::names::{self, DIRECTORY, Unlink};
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// `TMPFS_MAGIC` and `RAMFS_MAGIC` of `include/uapi/linux/magic.h`.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

fn is_in_memory(path: &Path) -> Option<bool> {
    let kind = rustix::fs::statfs(path).ok()?.f_type as u64;
    Some(IN_MEMORY.contains(&kind))
}

/// The first directory in memory.
///
/// # Errors
/// Neither `/dev/shm` nor `/tmp` is.
pub fn in_memory() -> Result<PathBuf, Missing> {
    first(&["/dev/shm".into(), "/tmp".into()], true).ok_or_else(|| {
        Missing::new(
            "neither /dev/shm nor /tmp is a tmpfs in which other users cannot replace files",
            "mount -t tmpfs tmpfs /dev/shm",
        )
    })
}

/// The first directory that is not in memory.
///
/// # Errors
/// Neither `/var/tmp` nor the current directory is on a disk.
pub fn on_disk() -> Result<PathBuf, Missing> {
    let here = std::env::current_dir().unwrap_or_default();
    first(&["/var/tmp".into(), here], false).ok_or_else(|| {
        Missing::new(
            "neither /var/tmp nor the current directory is on a disk that may be written",
            "name a directory on a disk",
        )
    })
}

fn first(candidates: &[PathBuf], in_memory: bool) -> Option<PathBuf> {
    let fits = |path: &&PathBuf| {
        let is_open = rustix::fs::access(path.as_path(), rustix::fs::Access::WRITE_OK).is_ok();
        is_open && is_in_memory(path) == Some(in_memory) && directory::open_safe(path).is_ok()
    };
    candidates.iter().find(fits).cloned()
}

/// Refuses what does not fit: `bytes` must be free below `directory`.
///
/// # Errors
/// `Unavailable` where there is less room.
pub fn room(directory: &Path, bytes: u64) -> Result<(), SetupError> {
    let facts = rustix::fs::statvfs(directory)
        .map_err(failed(format!("statvfs {}", directory.display())))?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if bytes <= free {
        return Ok(());
    }
    let what = format!(
        "{} of files under way do not fit into the {} free in {}",
        format_size(bytes),
        format_size(free),
        directory.display()
    );
    Err(Missing::new(what, "smaller messages, or a larger file system").into())
}

/// A directory of one channel, that only this user may look into. It goes with all that lies in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _noted: Unlink,
}

impl Scratch {
    /// Makes the directory `name` in `base`. `run` is the ledger.
    ///
    /// # Errors
    /// It cannot be made there, or `base` is neither this user's nor sticky: what is made there is not removed again, see
    /// [`remove`].
    pub fn create(run: &Path, base: &Path, name: &str) -> Result<Self, SetupError> {
        directory::open_safe(base).map_err(|error| match error.raw_os_error() {
            Some(code) => SetupError::sys(format!("open {}", base.display()), code),
            None => Missing::new(error.to_string(), "name a directory of this user").into(),
        })?;
        let path = base.join(name);
        let noted = names::note(run, DIRECTORY, name, path.as_os_str().as_bytes())?;
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            SetupError::sys(format!("mkdir in {}", names::place(&path)), code)
        })?;
        Ok(Self { path, _noted: noted })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory in it.
    ///
    /// # Errors
    /// `mkdir` failed.
    pub fn subdirectory(&self, name: &str) -> Result<PathBuf, SetupError> {
        let path = self.path.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            SetupError::sys(format!("mkdir in {}", names::place(&path)), code)
        })?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A worker that is not gone yet may make one more file while the others are removed. Without a free descriptor
        // nothing can be looked through, but an empty directory goes.
        let _ = remove(&self.path)
            .or_else(|_| remove(&self.path))
            .or_else(|_| fs::remove_dir(&self.path).map(|()| true));
    }
}

/// Removes a directory of this user with all that lies in it; `false` if there is none.
///
/// # Errors
/// It is no directory of this user, lies where another user can replace it, or something in it cannot be removed.
pub fn remove(path: &Path) -> io::Result<bool> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match directory::open_safe(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        parent => directory::remove_tree(parent?.as_fd(), name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_is_private_and_goes_with_what_is_in_it() {
        use std::os::unix::fs::PermissionsExt;
        let [run, base] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let scratch =
            Scratch::create(run.path(), base.path(), "ipcperf-test").expect("a directory");
        let inner = scratch.subdirectory("inner").expect("a directory");
        fs::write(inner.join("file"), "x").expect("a file");
        assert_eq!(fs::metadata(scratch.path()).expect("made").permissions().mode() & 0o077, 0);
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
        assert!(!remove(&path).expect("nothing to do"));
    }

    #[test]
    fn where_nothing_could_be_removed_again_nothing_is_made() {
        let [run, base] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let theirs = base.path().join("theirs");
        fs::create_dir(&theirs).expect("a directory");
        if !directory::give_away(&theirs) {
            return;
        }
        let made = Scratch::create(run.path(), &theirs, "ipcperf-test");
        assert!(matches!(made, Err(SetupError::Unavailable(_))), "{made:?}");
        drop(made);
        for directory in [run.path(), &theirs] {
            assert_eq!(fs::read_dir(directory).expect("readable").count(), 0);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_a_link_is_not_followed() {
        let base = tempfile::tempdir().expect("a directory");
        assert!(room(base.path(), 1).is_ok());
        assert!(matches!(room(base.path(), u64::MAX), Err(SetupError::Unavailable(_))));
        let link = base.path().join("link");
        std::os::unix::fs::symlink("/tmp", &link).expect("a link");
        assert!(remove(&link).is_err());
    }

    #[test]
    fn memory_and_disk_are_told_apart() {
        for (found, wanted) in [(in_memory(), true), (on_disk(), false)] {
            match found {
                Ok(path) => assert_eq!(is_in_memory(&path), Some(wanted)),
                Err(missing) => crate::skipped::skipped("temp-file", missing),
            }
        }
    }
}
