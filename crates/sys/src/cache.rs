//! What is kept from one run to the next one: `$XDG_CACHE_HOME/ipcperf`, or `~/.cache/ipcperf`. Without it everything is measured
//! again.

use crate::file::{WholeFile, regular};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The most bytes that are read.
const MOST: u64 = 64 << 10;

/// A folder in the cache of this user. Under `sudo` the home may be another user's: nothing is kept there.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let is_own = |path: &Path| {
        let there = path.ancestors().find_map(|one| fs::metadata(one).ok());
        there.is_some_and(|facts| facts.uid() == rustix::process::geteuid().as_raw())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    is_own(&cache).then(|| cache.join("ipcperf"))
}

fn read_in(folder: &Path, name: &str) -> Option<String> {
    let (file, bytes) = regular(&folder.join(name)).ok().filter(|(_, bytes)| *bytes <= MOST)?;
    let mut text = String::new();
    file.take(bytes).read_to_string(&mut text).ok()?;
    Some(text)
}

fn keep_in(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = WholeFile::start(&folder.join(name))?;
    file.write_all(text.as_bytes())?;
    file.publish()
}

/// What an earlier run has kept under this name.
#[must_use]
pub fn read(name: &str) -> Option<String> {
    read_in(&folder(|name| std::env::var_os(name))?, name)
}

/// Keeps a text for later runs, where that is possible.
pub fn keep(name: &str, text: &str) {
    if let Some(folder) = folder(|name| std::env::var_os(name)) {
        // Who cannot keep it measures again.
        let _ = keep_in(&folder, name, text);
    }
}

/// What changes if the program does: device, inode, bytes, and time of the last change of its file.
#[must_use]
pub fn program() -> Option<[i64; 5]> {
    let facts = fs::metadata("/proc/self/exe").ok()?;
    let (device, inode, bytes) = (facts.dev(), facts.ino(), facts.size());
    let [device, inode, bytes] = [device, inode, bytes].map(u64::cast_signed);
    Some([device, inode, bytes, facts.mtime(), facts.mtime_nsec()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_and_nothing_is_kept_in_the_home_of_another_user() {
        let home = std::env::temp_dir().join(format!("ipcperf-cache-{}", crate::random::number()));
        fs::create_dir(&home).expect("a folder");
        let of = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
        let own = folder(of).expect("it is ours");
        assert_eq!(own, home.join(".cache/ipcperf"));
        assert_eq!(read_in(&own, "one.json"), None);
        keep_in(&own, "one.json", "1").expect("room");
        keep_in(&own, "one.json", "22").expect("room");
        assert_eq!(read_in(&own, "one.json").as_deref(), Some("22"));
        fs::remove_dir_all(&home).expect("ours");
        assert_eq!(folder(|_| None), None);
        assert_eq!(folder(|name| (name == "XDG_CACHE_HOME").then(|| "relative".into())), None);
        if rustix::process::geteuid().as_raw() != 0 {
            assert_eq!(folder(|name| (name == "HOME").then(|| "/".into())), None);
        }
    }
}
