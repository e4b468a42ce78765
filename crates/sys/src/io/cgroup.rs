//! Control groups of version 2 with a weight of CPU time: made by the coordinator inside its own group, entered by workers.

use crate::io::names::{GROUP, Unlink, note};
use ipcperf_core::{CpuWeight, Missing, errno};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The controller that shares out CPU time.
const CPU: &str = "cpu";
/// What switches it on for the groups inside of one.
const ON: &str = "+cpu";
const OFF: &str = "-cpu";
const SUBTREE: &str = "cgroup.subtree_control";
/// The start of the names of our groups.
const OWN: &str = "ipcperf-";
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
    /// The group around it did not share out CPU time before.
    switches_off: bool,
}

/// What follows the folder in a note where the group around it is switched off again.
const SWITCHES_OFF: &[u8] = b"\n-cpu";

impl Noted {
    fn text(&self) -> Vec<u8> {
        let end = if self.switches_off { SWITCHES_OFF } else { b"" };
        [self.folder.as_os_str().as_bytes(), end].concat()
    }

    pub(crate) fn parse(text: &[u8]) -> Self {
        let off = text.strip_suffix(SWITCHES_OFF);
        let folder = OsStr::from_bytes(off.unwrap_or(text));
        Self { folder: folder.into(), switches_off: off.is_some() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes a group without processes, and leaves the one around it as it was, unless others are in there. Whether there
    /// was one.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        let name = self.folder.file_name();
        let is_own = name.is_some_and(|name| name.as_bytes().starts_with(OWN.as_bytes()));
        let Some(around) = self.folder.parent().filter(|_| is_own && self.folder.is_absolute())
        else {
            return Ok(false);
        };
        match fs::remove_dir(&self.folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        let is_folder = |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        if self.switches_off && !fs::read_dir(around)?.flatten().any(is_folder) {
            // It changes nothing for the processes there, so that nothing is lost where it is refused.
            let _ = fs::write(around.join(SUBTREE), OFF);
        }
        Ok(true)
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
        let switches_off = !lists(SUBTREE);
        all.iter()
            .map(|(name, weight)| Self::one(own, directory, name, *weight, switches_off))
            .collect()
    }

    fn one(
        own: &Path,
        directory: &Path,
        name: &str,
        weight: CpuWeight,
        switches_off: bool,
    ) -> Result<Self, Missing> {
        let refused = |what: &str, error: &io::Error| {
            let why = error.raw_os_error().map_or_else(|| error.to_string(), errno::text);
            let what = format!("no group can be made in {} ({what}: {why})", own.display());
            Missing::new(what, DELEGATED)
        };
        let noted = Noted { folder: own.join(format!("{OWN}{name}")), switches_off };
        let note = note(directory, GROUP, name, &noted.text())
            .map_err(|error| Missing::new(error.to_string(), ""))?;
        fs::write(own.join(SUBTREE), ON).map_err(|error| refused(SUBTREE, &error))?;
        fs::create_dir(&noted.folder).map_err(|error| refused("mkdir", &error))?;
        let group = Self { noted, _note: note };
        // The own group has processes, so that only threads may be shared out inside of it.
        for (file, value) in
            [("cgroup.type", "threaded".to_owned()), ("cpu.weight", weight.to_string())]
        {
            fs::write(group.folder().join(file), value).map_err(|error| refused(file, &error))?;
        }
        Ok(group)
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
        let noted =
            |name: &str, switches_off| Noted { folder: home.path().join(name), switches_off };
        let all = [("ipcperf-x", true), ("precious", false), ("ipcperf-y", true)];
        let switch = home.path().join(SUBTREE);
        for (name, _) in all {
            fs::create_dir(home.path().join(name)).expect("a directory");
        }
        for (name, gone) in all {
            let noted = noted(name, true);
            assert_eq!(Noted::parse(&noted.text()), noted);
            assert_eq!(noted.remove().expect("removed"), gone, "{name}");
            assert_eq!(noted.folder().exists(), !gone, "{name}");
            assert!(!switch.exists(), "another group is in there");
        }
        fs::remove_dir(home.path().join("precious")).expect("empty");
        for (name, switched) in [("ipcperf-z", false), ("ipcperf-z", true)] {
            fs::create_dir(home.path().join(name)).expect("a directory");
            assert!(noted(name, switched).remove().expect("removed"));
            assert_eq!(switch.exists(), switched);
        }
        assert!(!noted("ipcperf-x", true).remove().expect("gone already"));
        assert!(!Noted::parse(b"ipcperf-x").remove().expect("not absolute"));
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
