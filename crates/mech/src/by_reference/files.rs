//! Shared by mechanisms that carry messages in files: where the files lie.

use crate::budget;
use ipcperf_core::{Missing, SetupError, Shape, errno};
use ipcperf_sys::io::file::place::{self, Scratch};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Messages under way at the most: far below `fs.inotify.max_queued_events`, 16384 by default.
pub(crate) const UNDER_WAY: u32 = 64;

/// How many of this size that are: up to 16 MiB.
pub(crate) fn messages(size: usize) -> u32 {
    budget::messages(size, 16 << 20, UNDER_WAY)
}

/// The directory that the knob `dir` names.
pub(crate) fn base(dir: &str) -> Result<PathBuf, Missing> {
    match dir {
        "tmpfs" => place::in_memory(),
        "disk" => place::on_disk(),
        path => {
            // Documents have `~` for the home directory, and what they say may be measured again.
            let path = match path.strip_prefix("~/").zip(std::env::var_os("HOME")) {
                Some((below, home)) => PathBuf::from(home).join(below),
                None => PathBuf::from(path),
            };
            let missing = |what: &str| {
                let what = format!("{} {what}", path.display());
                Err(Missing::new(what, "name a directory that may be written"))
            };
            if path.is_dir() { Ok(path) } else { missing("is not a directory") }
        }
    }
}

/// A directory of this channel below `base`, with room for what may be under way in both directions.
pub(crate) fn scratch(shape: &Shape, base: &Path) -> Result<Scratch, SetupError> {
    let bytes = (shape.size as u64).saturating_mul(2 * u64::from(messages(shape.size)));
    place::room(base, bytes)?;
    Scratch::create(shape.directory()?, base, &shape.name("files"))
}

/// What it means that files of a mechanism cannot lie where they should.
pub(crate) fn missing(error: SetupError, mechanism: &str) -> Missing {
    match error {
        SetupError::Sys { call, code } => Missing::new(
            format!("{call}: {}", errno::text(code)),
            format!("{mechanism}.dir=PATH of a directory that may be written"),
        ),
        other => crate::missing(other),
    }
}

/// A path for system calls.
pub(crate) fn c_path(path: &Path) -> Result<CString, SetupError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SetupError::Protocol(format!("{} has a NUL in it", path.display())))
}

/// The one name of a wiring.
pub(crate) fn name(names: &[String]) -> Result<PathBuf, SetupError> {
    match names {
        [name] => Ok(PathBuf::from(name)),
        other => Err(SetupError::Protocol(format!("{} names arrived instead of 1", other.len()))),
    }
}
