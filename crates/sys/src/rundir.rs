//! The run's own directory: everything that needs a path lives in it, and it is the ledger of everything that
//! outlives processes, so that a later run can remove what a killed one left.
//!
//! It is `ipcperf-<uid>-<random>` (mode 0700) in `$XDG_RUNTIME_DIR` or the temporary directory. The coordinator holds
//! a lock on it for its whole life; the kernel drops the lock when the process ends, whatever ended it. A directory
//! whose lock can be taken therefore belongs to nobody. What is removed is removed through the locked descriptor.
//!
//! Where other users can put something else in its place (a directory for all that is not sticky), it is used through the
//! descriptor as well: its path is `/proc/PID/fd/N`.

use crate::control::retry;
pub use crate::io::reap::RemovedObject;
use crate::io::reap::reap_directory;
use crate::{directory, directory::Base, random};
use ipcperf_core::Missing;
use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime};

/// The directory of this run; removed with all it names when dropped.
#[derive(Debug)]
pub struct RunDirectory {
    /// How it is reached.
    path: PathBuf,
    /// Where it lies.
    place: PathBuf,
    /// The directory itself, locked.
    lock: OwnedFd,
}

thread_local! {
    /// The directory of this thread's trials, while one of them holds it.
    static TRIALS: RefCell<Weak<RunDirectory>> = const { RefCell::new(Weak::new()) };
}

/// Where run directories may be: `$XDG_RUNTIME_DIR` if it is a directory of this user or sticky (`sudo` may leave that of
/// another user there), and the temporary directory. What cannot be looked at for want of descriptors is one of them.
#[must_use]
pub fn bases() -> Vec<PathBuf> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    let is_none =
        |error: &io::Error| matches!(error.kind(), NotFound | NotADirectory | PermissionDenied);
    let mut bases: Vec<PathBuf> = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .filter(|path| !directory::open_safe(path).is_err_and(|error| is_none(&error)))
        .into_iter()
        .collect();
    // A run without that variable (sudo, cron) uses this one; clean-up looks in both.
    let temporary = std::env::temp_dir();
    if !bases.contains(&temporary) {
        bases.push(temporary);
    }
    bases
}

/// How to have a directory elsewhere.
fn elsewhere() -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places = ["/dev/shm", "/var/tmp"].map(PathBuf::from).into_iter().chain(home);
    let takes = |place: &PathBuf| {
        place.is_absolute()
            && directory::open_safe(place).is_ok()
            && rustix::fs::access(place, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    };
    match places.into_iter().find(takes) {
        Some(place) => format!("TMPDIR={}", place.display()),
        None => "TMPDIR=DIRECTORY, one that this user may write to".to_owned(),
    }
}

fn prefix() -> String {
    format!("ipcperf-{}-", rustix::process::geteuid().as_raw())
}

fn lock(base: BorrowedFd<'_>, name: &OsStr, how: FlockOperation) -> io::Result<OwnedFd> {
    let fd = directory::open_own(base, name)?;
    retry(|| rustix::fs::flock(&fd, how))?;
    Ok(fd)
}

/// Locks and marks a directory that was made a moment ago. A clean-up may hold it meanwhile, to see that it is too
/// young: that is waited for. What is not empty is another one, that somebody put in its place.
fn take(base: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let lock = lock(base, name, FlockOperation::LockExclusive)?;
    if !directory::entries(lock.as_fd())?.is_empty() {
        return Err(io::Error::other("another process replaced the new directory"));
    }
    let flags = OFlags::CREATE | OFlags::WRONLY;
    directory::open_at(&lock, MARK.as_ref(), flags, Mode::RUSR | Mode::WUSR)?;
    Ok(lock)
}

impl RunDirectory {
    /// Makes the directory in the first of [`bases`] that takes it. Its path is told to workers as text.
    ///
    /// # Errors
    /// None does; why, for each, and where one could be made.
    pub fn create() -> Result<Self, Missing> {
        let mut refused = Vec::new();
        for base in bases() {
            let made = match base.to_str() {
                Some(_) => Self::create_in(&base, random::number()),
                None => Err(io::Error::other("its name is not UTF-8")),
            };
            match made {
                Ok(directory) => return Ok(directory),
                Err(error) => {
                    let why = error.raw_os_error().map(ipcperf_core::errno::text);
                    let why = why.unwrap_or_else(|| error.to_string());
                    refused.push(format!("'{}': {why}", base.display()));
                }
            }
        }
        let why = refused.join("; ");
        Err(Missing::new(
            format!("no run directory (XDG_RUNTIME_DIR, TMPDIR) in {why}"),
            elsewhere(),
        ))
    }

    /// A directory for trials: the one that this thread holds already, or a new one. Making and removing one takes as long
    /// as several trials.
    ///
    /// # Errors
    /// As [`RunDirectory::create`].
    pub fn of_trials() -> Result<Rc<Self>, Missing> {
        TRIALS.with_borrow_mut(|held| match held.upgrade() {
            Some(directory) => Ok(directory),
            None => {
                let directory = Rc::new(Self::create()?);
                *held = Rc::downgrade(&directory);
                Ok(directory)
            }
        })
    }

    /// Makes the directory in `base`; `token` is random.
    ///
    /// # Errors
    /// No directory can be made there; `base` is another user's, not sticky and not for everybody; or `/proc` does not show
    /// the directory where it must be reached that way.
    pub fn create_in(base: &Path, token: u64) -> io::Result<Self> {
        let name = format!("{}{token:016x}", prefix());
        let Base { directory, is_safe } = directory::open_base(base)?;
        rustix::fs::mkdirat(&directory, &name, Mode::RWXU)?;
        let lock = take(directory.as_fd(), name.as_ref()).inspect_err(|_| {
            // It is empty. It could not be opened, for want of descriptors say, and is not opened to be removed.
            let _ = rustix::fs::unlinkat(&directory, &name, AtFlags::REMOVEDIR);
        })?;
        let place = base.join(name);
        let mut run = Self { path: place.clone(), place, lock };
        if !is_safe {
            run.path = path_of(&run.lock)?;
        }
        Ok(run)
    }

    /// The path by which this process and its children reach it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = reap_directory(self.lock.as_fd(), &self.place);
    }
}

/// The path of an open directory that leads to it whatever is done with its name, as long as this process lives.
fn path_of(directory: &OwnedFd) -> io::Result<PathBuf> {
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), directory.as_raw_fd()));
    let inode = |facts: rustix::fs::Stat| (facts.st_dev, facts.st_ino);
    match rustix::fs::stat(&path) {
        Ok(there) if inode(there) == inode(rustix::fs::fstat(directory)?) => Ok(path),
        _ => Err(io::Error::other("it is not sticky, and /proc does not show open directories")),
    }
}

/// What became of what killed runs left, in words.
#[derive(Debug, Default)]
pub struct Reaped {
    /// What was removed.
    pub removed: Vec<RemovedObject>,
    /// Directories that cannot be removed, and why.
    pub kept: Vec<String>,
}

/// Removes what runs of this user left in `base` when they were killed. Directories whose run still lives, and those of
/// other users, are left alone; another clean-up at the same time does no harm.
///
/// # Errors
/// `base` is not readable; or it is another user's, not sticky and not for everybody.
pub fn reap(base: &Path) -> io::Result<Reaped> {
    let mut reaped = Reaped::default();
    let Base { directory, is_safe } = directory::open_base(base)?;
    for (name, kind) in directory::entries(directory.as_fd())? {
        if !kind.is_dir() || !name.to_str().is_some_and(|name| name.starts_with(&prefix())) {
            continue;
        }
        let how = FlockOperation::NonBlockingLockExclusive;
        let lock = match lock(directory.as_fd(), &name, how) {
            Err(error) if is_others(directory.as_fd(), &name, &error) => continue,
            lock => lock,
        };
        let path = base.join(name);
        let done = lock.and_then(|lock| match is_left(&lock, is_safe)? {
            true => reap_directory(lock.as_fd(), &path),
            false => Ok(Vec::new()),
        });
        match done {
            Ok(removed) => reaped.removed.extend(removed),
            Err(error) => {
                let why = error.raw_os_error().map(ipcperf_core::errno::text);
                let why = why.unwrap_or_else(|| error.to_string());
                reaped.kept.push(format!("directory {}: {why}", path.display()));
            }
        }
    }
    Ok(reaped)
}

/// Whether a directory that could not be locked is none to be removed: its run lives, somebody else has just removed it,
/// or it is another user's.
fn is_others(base: BorrowedFd<'_>, name: &OsStr, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || rustix::fs::statat(base, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|facts| facts.st_uid != rustix::process::geteuid().as_raw())
        || error.kind() == io::ErrorKind::NotFound
}

/// Whether a locked directory is one that a killed run left: not one that somebody else has just removed, and not one of
/// this user that somebody else has moved to this name.
fn is_left(directory: &OwnedFd, is_base_safe: bool) -> io::Result<bool> {
    let is_there = rustix::fs::fstat(directory)?.st_nlink > 0;
    Ok(is_there && (is_marked(directory) || is_base_safe && is_old(directory)?))
}

/// Between its creation and its lock a directory looks abandoned; a live run never leaves it unlocked for more than
/// that instant, so one that is younger than a few seconds is left for the next time.
fn is_old(directory: &OwnedFd) -> io::Result<bool> {
    let changed = rustix::fs::fstat(directory)?.st_mtime;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_secs(u64::try_from(changed).unwrap_or(0));
    Ok(now.saturating_sub(changed) >= Duration::from_secs(3))
}

/// A run directory that its owner had locked once carries this file, so it needs no grace.
const MARK: &str = "locked";

fn is_marked(directory: &OwnedFd) -> bool {
    rustix::fs::statat(directory, MARK, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_live_run_is_left_alone_and_a_dead_one_is_removed() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let alive = RunDirectory::create_in(base.path(), 1).expect("a run directory");
        let mode = fs::metadata(alive.path()).expect("it exists").mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(reap(base.path()).expect("readable").removed.is_empty());
        assert!(alive.path().exists());

        let dead = RunDirectory::create_in(base.path(), 2).expect("a run directory");
        let path = dead.path().to_owned();
        fs::write(path.join("left-over"), "").expect("a file");
        // What SIGKILL does: the lock goes, the directory stays.
        let _ = rustix::fs::flock(&dead.lock, FlockOperation::Unlock);
        std::mem::forget(dead);
        assert!(!reap(base.path()).expect("readable").removed.is_empty());
        assert!(!path.exists() && alive.path().exists());
    }

    #[test]
    fn what_is_tried_together_shares_a_directory_that_goes_with_the_last() {
        let [one, other] = [(); 2].map(|()| RunDirectory::of_trials().expect("a run directory"));
        let path = other.path().to_owned();
        assert_eq!(one.path(), path);
        drop(one);
        assert!(path.exists());
        drop(other);
        assert!(!path.exists());
        let next = RunDirectory::of_trials().expect("a run directory");
        assert_ne!(next.path(), path);
    }

    #[test]
    fn a_directory_that_is_looked_at_when_it_was_just_made_is_taken_all_the_same() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let safe = directory::open_safe(base.path()).expect("ours");
        fs::create_dir(base.path().join("new")).expect("a directory");
        let how = FlockOperation::NonBlockingLockExclusive;
        let looked = lock(safe.as_fd(), "new".as_ref(), how).expect("nobody has it");
        let taken = std::thread::scope(|scope| {
            let taken = scope.spawn(|| take(safe.as_fd(), "new".as_ref()).map(drop));
            std::thread::sleep(Duration::from_millis(50));
            drop(looked);
            taken.join().expect("no panic")
        });
        assert!(taken.is_ok(), "{taken:?}");
        assert!(base.path().join("new").join(MARK).exists());
    }

    /// A directory as a killed run leaves it.
    fn left(base: &Path, token: u64) -> PathBuf {
        let path = base.join(format!("{}{token:016x}", prefix()));
        fs::create_dir(&path).expect("a directory");
        fs::write(path.join(MARK), "").expect("a file");
        path
    }

    #[test]
    fn a_directory_that_cannot_be_removed_does_not_stop_the_rest() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let all: Vec<PathBuf> = (0..9).map(|token| left(base.path(), token)).collect();
        fs::create_dir(all[4].join("somebody's")).expect("a directory");
        let reaped = reap(base.path()).expect("readable");
        assert_eq!((reaped.removed.len(), reaped.kept.len()), (8, 1), "{reaped:?}");
        assert!(reaped.kept[0].contains(&all[4].display().to_string()), "{reaped:?}");
        assert!(reaped.kept[0].contains("not empty"), "{reaped:?}");
    }

    #[test]
    fn many_may_clean_at_once() {
        let base = tempfile::tempdir().expect("a temporary folder");
        for round in 0..20 {
            for token in 0..50 {
                left(base.path(), round * 100 + token);
            }
            let begin = std::sync::Barrier::new(4);
            let all: Vec<Reaped> = std::thread::scope(|scope| {
                let each = || {
                    begin.wait();
                    reap(base.path()).expect("readable")
                };
                let threads = [(); 4].map(|()| scope.spawn(each));
                threads.map(|thread| thread.join().expect("no panic")).into()
            });
            let removed: usize = all.iter().map(|reaped| reaped.removed.len()).sum();
            assert!(all.iter().all(|reaped| reaped.kept.is_empty()), "{all:?}");
            assert_eq!(removed, 50, "each by one");
        }
    }

    #[test]
    fn what_merely_looks_like_a_run_directory_is_left_alone() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let file = base.path().join(format!("{}0000000000000001", prefix()));
        fs::write(&file, "").expect("a file");
        let link = base.path().join(format!("{}0000000000000002", prefix()));
        std::os::unix::fs::symlink("/", &link).expect("a link");
        assert!(reap(base.path()).expect("readable").removed.is_empty());
        assert!(file.exists() && link.symlink_metadata().is_ok());
    }

    #[test]
    fn in_a_directory_that_another_user_rules_nothing_is_made_and_nothing_removed() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let theirs = base.path().join("theirs");
        let left = theirs.join(format!("{}0000000000000001", prefix()));
        fs::create_dir_all(&left).expect("a folder");
        fs::write(left.join(MARK), "").expect("a file");
        if !directory::give_away(&theirs) {
            return;
        }
        for error in [reap(&theirs).map(drop), RunDirectory::create_in(&theirs, 2).map(drop)]
            .map(Result::err)
        {
            let error = error.expect("not ours").to_string();
            assert!(error.contains("not sticky"), "{error}");
        }
        assert!(left.exists());
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o1777)).expect("root");
        assert_eq!(reap(&theirs).expect("sticky").removed.len(), 1);
        assert!(!left.exists());
    }

    /// What Kubernetes mounts as an `emptyDir`, for users other than root; `None` if this user cannot make one.
    fn for_all(home: &tempfile::TempDir) -> Option<PathBuf> {
        let base = home.path().join("all");
        fs::create_dir(&base).expect("a folder");
        let given = directory::give_away(&base);
        let mode = fs::Permissions::from_mode(0o777);
        given.then(|| fs::set_permissions(&base, mode).expect("root")).map(|()| base)
    }

    #[test]
    fn in_a_directory_for_all_that_is_not_sticky_a_run_reaches_its_own_after_a_move() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let Some(base) = for_all(&home) else { return };
        let run = RunDirectory::create_in(&base, 1).expect("a run directory");
        let (path, place) = (run.path().to_owned(), run.place.clone());
        let mode = fs::metadata(&place).expect("it exists").mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(path.join("ours"), "").expect("a file");
        assert!(place.join("ours").exists());
        assert!(reap(&base).expect("readable").removed.is_empty(), "it lives");

        fs::rename(&place, base.join("moved")).expect("moved");
        fs::create_dir(&place).expect("somebody's");
        fs::write(place.join("theirs"), "").expect("a file");
        assert!(path.join("ours").exists() && !path.join("theirs").exists());
        drop(run);
        assert!(place.join("theirs").exists());
        assert_eq!(fs::read_dir(base.join("moved")).expect("empty").count(), 0);
    }

    #[test]
    fn in_a_directory_for_all_that_is_not_sticky_only_what_a_run_marked_is_removed() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let Some(base) = for_all(&home) else { return };
        let dead = left(&base, 1);
        let precious = base.join(format!("{}0000000000000002", prefix()));
        fs::create_dir(&precious).expect("a folder that somebody moved here");
        fs::write(precious.join("file"), "").expect("a file");
        let hour = SystemTime::now() - Duration::from_secs(3600);
        fs::File::open(&precious).and_then(|at| at.set_modified(hour)).expect("ours");
        assert_eq!(reap(&base).expect("readable").removed.len(), 1);
        assert!(!dead.exists() && precious.join("file").exists());
    }

    #[test]
    fn a_directory_that_somebody_put_in_the_place_of_a_new_one_is_not_taken() {
        let base = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(base.path().join("new")).expect("a directory");
        fs::write(base.path().join("new/precious"), "").expect("a file");
        let open = directory::open_safe(base.path()).expect("ours");
        let taken = take(open.as_fd(), "new".as_ref());
        assert!(taken.is_err(), "{taken:?}");
        assert!(base.path().join("new/precious").exists());
    }

    #[test]
    fn what_is_removed_is_what_was_locked_wherever_its_name_leads_by_then() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| base.path().join(name);
        let run = RunDirectory::create_in(base.path(), 1).expect("a run directory");
        let path = run.path().to_owned();
        fs::write(path.join("ours"), "").expect("a file");
        fs::rename(&path, at("moved")).expect("moved");
        fs::create_dir(at("precious")).expect("a folder");
        fs::write(at("precious/file"), "").expect("a file");
        std::os::unix::fs::symlink(at("precious"), &path).expect("a link");
        drop(run);
        assert!(at("precious/file").exists(), "reached through the link");
        assert_eq!(fs::read_dir(at("moved")).expect("still there").count(), 0);
    }
}
