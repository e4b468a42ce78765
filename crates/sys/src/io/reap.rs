//! Removes what a run that was killed left behind.

use crate::directory;
use crate::io::cgroup;
use crate::io::file::place;
use crate::io::memory::sysv_memory;
use crate::io::names::{
    self, DEV_SHM, DIRECTORY, GROUP, POSIX_MEMORIES, POSIX_MEMORY, POSIX_QUEUE, SYSV_MEMORY,
    SYSV_QUEUE, SYSV_SEMAPHORES,
};
use crate::io::queue::{mqueue, sysv};
use crate::io::wake::sysv_semaphore;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// An object that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedObject {
    /// What it was: `directory`, `POSIX message queue`.
    pub kind: String,
    /// Its path, or its name or key.
    pub name: String,
}

impl RemovedObject {
    fn at(kind: &str, path: &Path) -> Self {
        Self { kind: kind.to_owned(), name: path.display().to_string() }
    }

    /// Its kind and the last part of its name: a document may be shared, and does not say in which folder it was.
    #[must_use]
    pub fn without_folder(&self) -> String {
        format!("{} {}", self.kind, self.name.rsplit('/').next().unwrap_or(&self.name))
    }
}

impl fmt::Display for RemovedObject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind, self.name)
    }
}

/// How the names of all directories begin that are noted.
const OWN: &str = "ipcperf-";

/// Removes what a dead run left: the objects its ledger names, the files, sockets and FIFOs in its directory, then the
/// directory itself. Returns what was removed. Removing what is gone already is no error. Only `directory`
/// counts, which its caller has locked; `path` is for words and for its name.
///
/// # Errors
/// Something in it could not be removed.
pub(crate) fn reap_directory(
    directory: BorrowedFd<'_>,
    path: &Path,
) -> io::Result<Vec<RemovedObject>> {
    let mut removed = Vec::new();
    for (name, kind) in directory::entries(directory)? {
        if kind.is_file() {
            removed.extend(reap_noted(directory, &name)?);
        }
        if kind.is_dir() {
            // Not ours; the removal of the directory below will say so.
            continue;
        }
        directory::remove_name(directory, &name)?;
        let shown = path.join(&name);
        if kind.is_fifo() {
            removed.push(RemovedObject::at("fifo", &shown));
        } else if kind.is_socket() {
            removed.push(RemovedObject::at("socket", &shown));
        }
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::openat(directory, "..", flags, Mode::empty())?;
    rustix::fs::unlinkat(parent, path.file_name().unwrap_or_default(), AtFlags::REMOVEDIR)?;
    removed.push(RemovedObject::at("directory", path));
    Ok(removed)
}

/// Removes the object with a key; whether there was one.
type RemoveByKey = fn(i32) -> Result<bool, i32>;

/// System V objects: what their notes begin with, what they are, and how they go.
const KEYED: [(&str, &str, RemoveByKey); 3] = [
    (SYSV_QUEUE, "message queue", sysv::remove_by_key),
    (SYSV_MEMORY, "shared memory", sysv_memory::remove_by_key),
    (SYSV_SEMAPHORES, "semaphores", sysv_semaphore::remove_by_key),
];

/// Removes the object a ledger file names, if it names one and that still exists.
fn reap_noted(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<RemovedObject>> {
    let named = |kind: &str, name| RemovedObject { kind: kind.to_owned(), name };
    let note = name;
    let name = &*name.to_string_lossy();
    if name.starts_with(DIRECTORY) {
        let mut path = Vec::new();
        directory::open_at(directory, note, OFlags::RDONLY, Mode::empty())?
            .read_to_end(&mut path)?;
        let path = PathBuf::from(OsString::from_vec(path));
        let is_own =
            path.file_name().is_some_and(|last| last.as_bytes().starts_with(OWN.as_bytes()));
        if !path.is_absolute() || !is_own {
            // Written by somebody else, or not to its end: then the directory was never made.
            return Ok(None);
        }
        let gone = place::remove(&path)?;
        return Ok(gone.then(|| RemovedObject::at("directory", &path)));
    }
    if name.starts_with(GROUP) {
        let mut folder = Vec::new();
        directory::open_at(directory, note, OFlags::RDONLY, Mode::empty())?
            .read_to_end(&mut folder)?;
        let noted = cgroup::Noted::parse(&folder);
        let gone = noted.remove()?;
        return Ok(gone.then(|| RemovedObject::at("control group", noted.folder())));
    }
    for (prefix, what, remove) in KEYED {
        if let Some(key) = name.strip_prefix(prefix) {
            let Ok(key) = u32::from_str_radix(key, 16) else { return Ok(None) };
            let gone = remove(key.cast_signed()).map_err(io::Error::from_raw_os_error)?;
            return Ok(
                gone.then(|| named(&format!("System V {what} with key"), format!("0x{key:08x}")))
            );
        }
    }
    if let Some(memory) = name.strip_prefix(POSIX_MEMORY) {
        let base = directory::open_base(Path::new(DEV_SHM))?;
        let gone = directory::remove_name(base.directory.as_fd(), OsStr::new(memory))?;
        return Ok(gone.then(|| named("POSIX shared memory", format!("/{memory}"))));
    }
    // A beginning of nobody else's names.
    if let Some(prefix) = name.strip_prefix(POSIX_MEMORIES).filter(|prefix| prefix.starts_with(OWN))
    {
        let base = directory::open_base(Path::new(DEV_SHM))?;
        let mut gone = false;
        for memory in names::memories(prefix) {
            gone |= directory::remove_name(base.directory.as_fd(), &memory)?;
        }
        return Ok(gone.then(|| named("POSIX shared memory", format!("/{prefix}*"))));
    }
    if let Some(queue) = name.strip_prefix(POSIX_QUEUE) {
        let gone = mqueue::unlink(queue).map_err(io::Error::from_raw_os_error)?;
        return Ok(gone.then(|| named("POSIX message queue", format!("/{queue}"))));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::pipe;
    use crate::io::socket::{Kind, meeting};
    use std::fs;

    fn reap(path: &Path) -> io::Result<Vec<String>> {
        let removed = reap_directory(fs::File::open(path)?.as_fd(), path)?;
        Ok(removed.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_a_killed_run_left_is_removed_with_its_directory() {
        let home = tempfile::tempdir().expect("a directory");
        let run = home.path().join("run");
        fs::create_dir(&run).expect("a run directory");
        // Forgotten guards are what a killed coordinator leaves.
        std::mem::forget(pipe::make_fifo(run.join("ping")).expect("a fifo"));
        std::mem::forget(
            meeting::bind_unix(Kind::Stream, &meeting::Name::Path(run.join("listener")))
                .expect("a socket"),
        );
        let queue = sysv::Queue::create(&run).expect("System V queues");
        let id = queue.id();
        std::mem::forget(queue);
        std::mem::forget(sysv_semaphore::Set::create(&run).expect("System V semaphores"));
        let name = format!("ipcperf-test-{}", std::process::id());
        std::mem::forget(names::note(&run, POSIX_QUEUE, &name, &[]).expect("a note"));
        mqueue::create_named(&name).expect("POSIX queues");
        std::mem::forget(names::note(&run, POSIX_MEMORY, &name, &[]).expect("a note"));
        fs::write(Path::new(DEV_SHM).join(&name), "").expect("POSIX memory");
        let several = format!("ipcperf-tests-{}", std::process::id());
        std::mem::forget(names::PosixMemories::noted(&run, &several).expect("a note"));
        let two = ["a", "b"].map(|end| Path::new(DEV_SHM).join(format!("{several}_{end}")));
        two.iter().for_each(|path| fs::write(path, "").expect("POSIX memory"));
        let outside = home.path().join("ipcperf-test-outside");
        let place = outside.as_os_str().as_bytes();
        std::mem::forget(names::note(&run, DIRECTORY, "outside", place).expect("a note"));
        fs::create_dir_all(outside.join("inner")).expect("a directory");
        fs::write(outside.join("inner/file"), "x").expect("a file");

        let group = home.path().join("ipcperf-test-group");
        let place = group.as_os_str().as_bytes();
        std::mem::forget(names::note(&run, GROUP, "test-group", place).expect("a note"));
        fs::create_dir(&group).expect("a directory, which a control group is, too");

        let removed = reap(&run).expect("all is ours").join("\n");

        for part in [
            "fifo",
            "socket",
            "System V message queue",
            "System V semaphores",
            "POSIX message queue",
            "POSIX shared memory",
            "control group",
            "directory",
        ] {
            assert!(removed.contains(part), "{part} in:\n{removed}");
        }
        assert!(!two.iter().any(|path| path.exists()));
        assert!(!run.exists() && !outside.exists() && !group.exists());
        assert!(!sysv::exists(id));
        assert_eq!(mqueue::unlink(&name), Ok(false));
    }

    #[test]
    fn a_note_without_its_object_is_only_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let run = home.path().join("run");
        fs::create_dir(&run).expect("a run directory");
        for name in [
            "sysv-msg-7fffff01",
            "sysv-msg-zz",
            "sysv-shm-7fffff01",
            "sysv-sem-7fffff01",
            "sysv-sem-zz",
            "mq-ipcperf-never-made",
            "shm-ipcperf-never-made",
            "anything",
        ] {
            fs::write(run.join(name), "").expect("a file");
        }
        assert_eq!(reap(&run).expect("all is ours").len(), 1);
        assert!(!run.exists());
    }

    #[test]
    fn a_note_that_names_a_directory_of_somebody_else_removes_nothing() {
        let home = tempfile::tempdir().expect("a directory");
        let (run, other) = (home.path().join("run"), home.path().join("precious"));
        fs::create_dir(&run).expect("a run directory");
        fs::create_dir(&other).expect("a directory");
        let place = other.as_os_str().as_bytes();
        std::mem::forget(names::note(&run, DIRECTORY, "precious", place).expect("a note"));
        fs::write(run.join("directory-ipcperf-half"), "ipcperf-half").expect("a file");
        assert_eq!(reap(&run).expect("all is ours").len(), 1);
        assert!(other.exists());
    }
}
