//! What the rules are given, and what they find.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use std::fmt;

use super::source;

/// One breach of one rule; `line` is 0 where the file as a whole is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.file, self.what),
            line => write!(out, "{}:{line}: {}", self.file, self.what),
        }
    }
}

/// A text file of the repository.
pub(crate) struct File {
    /// From the root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// For Rust: the text with comments and literals blanked, line by line as before.
    pub(crate) code: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { source::blanked(text) } else { String::new() };
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_below(&self, folders: &[&str]) -> bool {
        folders
            .iter()
            .any(|folder| self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Joins the parts of a word that must not stand in this repository, not even here.
pub(crate) fn needle(parts: &[&str]) -> String {
    parts.concat()
}

/// Every text file that git tracks or would track.
pub(crate) fn tracked(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for name in names(root)? {
        // A file may be deleted and not yet staged, or hold something other than text.
        if let Ok(text) = std::fs::read_to_string(root.join(&name)) {
            files.push(File::new(&name, &text));
        }
    }
    Ok(files)
}

/// What may be tracked without being text: a picture, the object of the kernel programs, and inputs of the fuzzer.
const NO_TEXT: [&str; 3] = [".png", ".bpf.o", "fuzz/corpus/"];

/// Files that hold something other than text and are none of ours: an archive that a tool has left, for one.
pub(crate) fn strangers(root: &Path) -> Result<Vec<Violation>> {
    let is_known = |name: &String| {
        NO_TEXT.iter().any(|known| name.ends_with(known) || name.starts_with(known))
    };
    let is_text = |name: &String| match std::fs::read(root.join(name)) {
        Ok(bytes) => std::str::from_utf8(&bytes).is_ok(),
        Err(_) => true,
    };
    let names = names(root)?.into_iter().filter(|name| !is_known(name) && !is_text(name));
    Ok(names
        .map(|name| Violation::new(&name, 0, "is not text, and not known to be ours"))
        .collect())
}

/// The names of all files that git tracks or would track.
fn names(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}
