//! Paths in files that may come from somebody else: jobs, results, studies.

use std::fs;
use std::path::{Component, Path};

/// Whether a path stays below the current directory: it is relative, no step of it goes up, and no link leads out. Where
/// homes are understood, `~` is one.
pub fn stays_below(path: &Path) -> bool {
    let is_below = |step: Component<'_>| matches!(step, Component::Normal(_) | Component::CurDir);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // What is not there leads nowhere.
    let place =
        fs::canonicalize(path).or_else(|_| fs::canonicalize(folder.unwrap_or(Path::new("."))));
    let leads_out =
        place.is_ok_and(|place| !fs::canonicalize(".").is_ok_and(|here| place.starts_with(here)));
    path.components().all(is_below) && !path.starts_with("~") && !leads_out
}

/// Why such a path is refused, and the words that one types if it is meant.
pub fn leads_out(what: &str, path: &str, flag: &str) -> String {
    format!("{what} '{path}' lies outside the current directory; to allow it, type: {flag}")
}
