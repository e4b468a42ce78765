//! Control groups of version 2 with a weight of CPU time: made by the coordinator inside its own group, entered by workers.

use crate::io::names::{GROUP, Unlink, note};
use ipcperf_core::{CpuWeight, Missing, errno};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The controller that shares out CPU time.
const CPU: &str = "cpu";
/// What switches it on for the groups inside of one.
const ON: &str = "+cpu";
const OFF: &str = "-cpu";
const SUBTREE: &str = "cgroup.subtree_control";
/// The start of the names of our groups.
const OWN: &str = "ipcperf-";
/// The end of their names, if their runs found the controller off, or on because of such a group: the last switches it off.
const SWITCHED: &[u8] = b"-switched";
/// How long a run waits at most while another makes or removes groups.
const LOCKED: Duration = Duration::from_secs(2);
/// Starts ipcperf in a group in which this user may make others.
const DELEGATED: &str = "systemd-run --user --scope -p Delegate=yes ipcperf ...";

/// A group of its own for one end; it goes with its owner, which outlives the end.
#[derive(Debug)]
pub struct WeightedGroup {
    noted: Noted,
    /// Dropped last: it is what finds the group again.
    _note: Unlink,
}

/// What a note says of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    folder: PathBuf,
}

/// Whether a file has the name of one of our groups.
fn is_own(name: &OsStr) -> bool {
    name.as_bytes().starts_with(OWN.as_bytes())
}

/// Whether it has the name of a group after which the controller is switched off.
fn is_switched(name: &OsStr) -> bool {
    is_own(name) && name.as_bytes().ends_with(SWITCHED)
}

/// The names of the groups in this one.
fn groups_in(around: &Path) -> io::Result<Vec<OsString>> {
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let entries = fs::read_dir(around)?.flatten().filter(is_folder);
    Ok(entries.map(|entry| entry.file_name()).collect())
}

/// Keeps other runs from making and removing groups in this one until it is dropped. `None` where something else has locked it
/// for long: then it goes on without.
fn lock(around: &Path) -> Option<fs::File> {
    let folder = fs::File::open(around).ok()?;
    let end = Instant::now() + LOCKED;
    loop {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(folder),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return None,
        }
    }
}

impl Noted {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self { folder: OsStr::from_bytes(text).into() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes a group without processes, if it was made, and leaves the one around it as it was, unless others are in there.
    /// Whether there was one.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        let name = self.folder.file_name().filter(|name| is_own(name));
        let around = self.folder.parent().filter(|_| self.folder.is_absolute());
        let Some((name, around)) = name.zip(around) else { return Ok(false) };
        let _lock = lock(around);
        let is_removed = match fs::remove_dir(&self.folder) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if is_switched(name) && groups_in(around).is_ok_and(|groups| groups.is_empty()) {
            // It changes nothing for the processes there, so that nothing is lost where it is refused.
            let _ = fs::write(around.join(SUBTREE), OFF);
        }
        Ok(is_removed)
    }
}

impl WeightedGroup {
    /// Makes groups of these names with these weights, each after it was noted in the ledger `directory`.
    ///
    /// # Errors
    /// This machine has no such groups, or this user may make none.
    pub fn create(directory: &Path, all: &[(String, CpuWeight)]) -> Result<Vec<Self>, Missing> {
        if all.is_empty() {
            Ok(Vec::new())
        } else {
            Self::create_in(&own_folder()?, directory, all)
        }
    }

    fn create_in(
        own: &Path,
        directory: &Path,
        all: &[(String, CpuWeight)],
    ) -> Result<Vec<Self>, Missing> {
        let lists = |file: &str| {
            let text = fs::read_to_string(own.join(file)).unwrap_or_default();
            text.split_ascii_whitespace().any(|one| one == CPU)
        };
        if !lists("cgroup.controllers") {
            return Err(Missing::new(
                format!("the control group {} has no v2 cpu controller", own.display()),
                "a system with version 2 alone (boot with systemd.unified_cgroup_hierarchy=1), in a group with this controller",
            ));
        }
        let mut groups: Vec<Self> = Vec::with_capacity(all.len());
        // It is given back first where a group cannot be made: those before are removed under the lock.
        let _lock = lock(own);
        let others = groups_in(own).unwrap_or_default();
        let is_switched = !lists(SUBTREE) || others.iter().any(|name| is_switched(name));
        let end = if is_switched { SWITCHED } else { b"" };
        for (name, weight) in all {
            let folder = [OWN.as_bytes(), name.as_bytes(), end].concat();
            let noted = Noted { folder: own.join(OsStr::from_bytes(&folder)) };
            let text = noted.folder.as_os_str().as_bytes();
            let note = note(directory, GROUP, name, text)
                .map_err(|error| Missing::new(error.to_string(), ""))?;
            groups.push(Self { noted, _note: note });
            groups[groups.len() - 1].make(own, *weight)?;
        }
        Ok(groups)
    }

    /// Makes what is noted. The folder comes first: it shows other runs why the controller is on.
    fn make(&self, own: &Path, weight: CpuWeight) -> Result<(), Missing> {
        let refused = |what: &str, error: &io::Error| {
            let why = error.raw_os_error().map_or_else(|| error.to_string(), errno::text);
            let what = format!("no group can be made in {} ({what}: {why})", own.display());
            Missing::new(what, DELEGATED)
        };
        fs::create_dir(self.folder()).map_err(|error| refused("mkdir", &error))?;
        fs::write(own.join(SUBTREE), ON).map_err(|error| refused(SUBTREE, &error))?;
        // The own group has processes, so that only threads may be shared out inside of it.
        for (file, value) in
            [("cgroup.type", "threaded".to_owned()), ("cpu.weight", weight.to_string())]
        {
            fs::write(self.folder().join(file), value).map_err(|error| refused(file, &error))?;
        }
        Ok(())
    }

    /// Where it lies, for [`enter`].
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.noted.folder
    }
}

impl Drop for WeightedGroup {
    fn drop(&mut self) {
        let _ = self.noted.remove();
    }
}

/// Puts the calling process, which has one thread, into this group; returns the weight that it has there.
///
/// # Errors
/// The kernel's.
pub fn enter(folder: &Path) -> io::Result<u16> {
    fs::write(folder.join("cgroup.threads"), "0")?;
    let weight = fs::read_to_string(folder.join("cpu.weight"))?;
    weight.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The folder of the group of version 2 that this process is in.
fn own_folder() -> Result<PathBuf, Missing> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    folder_of(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo")).ok_or_else(|| {
        let what = "no control groups of version 2 are mounted where this process is in one";
        Missing::new(
            what,
            "mount -t cgroup2 none /sys/fs/cgroup, on a system that has no other ones",
        )
    })
}

/// The same from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn folder_of(membership: &str, mounts: &str) -> Option<PathBuf> {
    let path = Path::new(membership.lines().find_map(|line| line.strip_prefix("0::"))?);
    let folder = |line: &str| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let inner = path.strip_prefix(root).ok().filter(|_| kind.starts_with("cgroup2 "))?;
        Some(if inner.as_os_str().is_empty() {
            PathBuf::from(place)
        } else {
            Path::new(place).join(inner)
        })
    };
    mounts.lines().find_map(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped;

    #[test]
    fn the_own_group_is_found_wherever_version_2_is_mounted() {
        let mounts = "30 1 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      41 30 0:37 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 none rw\n";
        let found = |membership, mounts| folder_of(membership, mounts);
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(found("1:cpu:/x\n0::/a/b\n", mounts), at("/sys/fs/cgroup/unified/a/b"));
        assert_eq!(found("0::/\n", mounts), at("/sys/fs/cgroup/unified"));
        let inner = mounts.replace("0:37 / ", "0:37 /a ");
        assert_eq!(found("0::/a/b\n", &inner), at("/sys/fs/cgroup/unified/b"));
        assert_eq!(found("0::/c\n", &inner), None, "it lies outside of what is mounted");
        assert_eq!(found("1:cpu:/x\n", mounts), None);
        assert_eq!(found("0::/\n", "30 1 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"), None);
    }

    #[test]
    fn a_group_without_the_controller_is_a_reason() {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join("cgroup.controllers"), "memory pids\n").expect("a file");
        let weight = "20".parse().expect("a weight");
        let told = WeightedGroup::create_in(home.path(), home.path(), &[("x".to_owned(), weight)]);
        let told = told.expect_err("no controller").to_string();
        assert!(told.contains("has no v2 cpu controller; a system"), "{told}");
        assert!(!home.path().join("ipcperf-x").exists());
    }

    #[test]
    fn only_a_group_of_ours_is_removed_and_the_last_switches_off() {
        let home = tempfile::tempdir().expect("a directory");
        let noted = |name: &str| Noted { folder: home.path().join(name) };
        let all = ["ipcperf-x-switched", "precious-switched", "ipcperf-y-switched"];
        let switch = home.path().join(SUBTREE);
        for name in all {
            fs::create_dir(home.path().join(name)).expect("a directory");
        }
        for name in all {
            let (noted, goes) = (noted(name), name.starts_with(OWN));
            assert_eq!(noted.remove().expect("removed"), goes, "{name}");
            assert_eq!(noted.folder().exists(), !goes, "{name}");
            assert!(!switch.exists(), "another group is in there");
        }
        fs::remove_dir(home.path().join("precious-switched")).expect("empty");
        for (name, switched) in [("ipcperf-z", false), ("ipcperf-z-switched", true)] {
            fs::create_dir(home.path().join(name)).expect("a directory");
            assert!(noted(name).remove().expect("removed"));
            assert_eq!(switch.exists(), switched);
        }
        assert!(!Noted::parse(b"ipcperf-x").remove().expect("not absolute"));
    }

    #[test]
    fn a_note_of_a_group_that_was_never_made_switches_off() {
        let home = tempfile::tempdir().expect("a directory");
        let switch = home.path().join(SUBTREE);
        for (name, switched) in [("ipcperf-x", false), ("ipcperf-x-switched", true)] {
            let noted = Noted::parse(home.path().join(name).as_os_str().as_bytes());
            assert!(!noted.remove().expect("there is none"));
            assert_eq!(switch.exists(), switched, "{name}");
        }
    }

    /// A folder that looks like a group which hands the controller on to those in it, or not yet.
    fn around(subtree: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a directory");
        for (file, text) in [("cgroup.controllers", "cpu memory\n"), (SUBTREE, subtree)] {
            fs::write(home.path().join(file), text).expect("a file");
        }
        home
    }

    #[test]
    fn a_second_run_knows_that_the_first_has_switched_the_controller_on() {
        for (subtree, last) in [("memory", OFF), ("cpu memory", ON)] {
            let (own, notes) = (around(subtree), tempfile::tempdir().expect("a directory"));
            let made = |name: &str| {
                let all = [(name.to_owned(), "20".parse().expect("a weight"))];
                let groups = WeightedGroup::create_in(own.path(), notes.path(), &all);
                // The kernel would list it without the sign, and removes the files of a group with it.
                let groups = groups.expect("a group");
                let on = [subtree, CPU].join(" ");
                assert_eq!(fs::read_to_string(own.path().join(SUBTREE)).expect("a file"), ON);
                fs::write(own.path().join(SUBTREE), on).expect("a file");
                ["cgroup.type", "cpu.weight"].into_iter().for_each(|file| {
                    fs::remove_file(groups[0].folder().join(file)).expect("written");
                });
                groups
            };
            let (first, second) = (made("first"), made("second"));
            let state = || fs::read_to_string(own.path().join(SUBTREE)).expect("a file");
            drop(first);
            assert!(state().starts_with(subtree), "the second is in there");
            drop(second);
            assert_eq!(state() == OFF, last == OFF, "{subtree}");
            assert_eq!(fs::read_dir(notes.path()).expect("notes").count(), 0);
        }
    }

    #[test]
    fn a_group_that_cannot_be_made_leaves_nothing() {
        let (own, notes) = (around(""), tempfile::tempdir().expect("a directory"));
        fs::remove_file(own.path().join(SUBTREE)).expect("a file");
        // It cannot be written.
        fs::create_dir(own.path().join(SUBTREE)).expect("a directory");
        let all = [("x".to_owned(), "20".parse().expect("a weight"))];
        let refusal =
            WeightedGroup::create_in(own.path(), notes.path(), &all).expect_err("refused");
        assert!(refusal.to_string().contains("no group can be made in"), "{refusal}");
        assert_eq!(groups_in(own.path()).expect("readable"), [SUBTREE]);
        assert_eq!(fs::read_dir(notes.path()).expect("notes").count(), 0);
    }

    #[test]
    fn a_group_is_made_entered_and_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = format!("test-{:016x}", crate::random::number());
        let weight = "20".parse().expect("a weight");
        let groups = match WeightedGroup::create(directory.path(), &[(name, weight)]) {
            Ok(groups) => groups,
            Err(missing) => return skipped("cgroup-weight", missing),
        };
        let folder = groups[0].folder().to_owned();
        // A thread of its own is put there: other tests share this process.
        let weight = std::thread::spawn({
            let folder = folder.clone();
            move || enter(&folder)
        });
        assert_eq!(weight.join().expect("it ends").expect("entered"), 20);
        drop(groups);
        assert!(!folder.exists());
    }
}
