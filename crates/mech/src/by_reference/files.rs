//! What mechanisms that carry messages in files share: where the files lie.

use ipcperf_core::{Missing, SetupError, Shape};
use ipcperf_sys::io::file::place::{self, Scratch};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
            if path.is_dir() { Ok(path) } else { missing("is no directory") }
        }
    }
}

/// A directory of this channel below `base`, with room for what may be under way in both directions.
pub(crate) fn scratch(shape: &Shape, base: &Path, messages: u32) -> Result<Scratch, SetupError> {
    let bytes = (shape.size as u64).saturating_mul(2 * u64::from(messages));
    place::room(base, bytes)?;
    Scratch::create(&shape.directory, base, &shape.name("files"))
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
