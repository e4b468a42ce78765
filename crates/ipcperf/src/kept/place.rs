//! Where documents are kept.

use crate::error::Stop;
use ipcperf_sys::directory;
use std::path::{Path, PathBuf};

/// The directory in the user's data directory.
pub(super) const DIRECTORY: &str = "ipcperf";

/// The user's data directory (XDG Base Directory Specification).
pub(super) fn data() -> Result<PathBuf, Stop> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || variable("HOME").filter(absolute).map(|home| home.join(".local/share"));
    variable("XDG_DATA_HOME").filter(absolute).or_else(home).ok_or_else(|| {
        Stop::usage(
            "no place to keep documents: neither XDG_DATA_HOME nor HOME is an absolute path",
        )
    })
}

/// Whether a file of this name lies, or would lie, among the documents.
pub(crate) fn would_hold(path: &Path) -> bool {
    data().is_ok_and(|data| directory::holds(&data.join(DIRECTORY), path))
}
