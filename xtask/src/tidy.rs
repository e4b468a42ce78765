//! The house rules that neither rustc nor clippy can check. Every rule is a pure function from the
//! tracked files, or from `cargo metadata`, to violations.

mod circles;
mod edges;
mod generated;
mod layout;
mod registry;
mod source;
mod words;

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// One breach of one rule; `line` is 0 where the file as a whole is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    file: String,
    line: usize,
    what: String,
}

impl Violation {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
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
    path: String,
    text: String,
    /// For Rust: the text with comments and literals blanked, line by line as before.
    code: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { source::blanked(text) } else { String::new() };
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_below(&self, folders: &[&str]) -> bool {
        folders
            .iter()
            .any(|folder| self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Prints one line per violation; false if there is any.
pub(crate) fn run() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let files = tracked(root)?;
    let mut violations = edges::check(&edges::from_metadata(&metadata));
    violations.extend(circles::check(&files));
    violations.extend(layout::check(&files));
    violations.extend(words::check(&files));
    violations.extend(registry::check(&files));
    violations.extend(generated::check(generated::GENERATED, root, &files)?);
    violations.sort();
    violations.dedup();
    for violation in &violations {
        println!("{violation}");
    }
    println!("tidy: {} files, {} violations", files.len(), violations.len());
    Ok(violations.is_empty())
}

/// Writes the documents that a program knows best.
pub(crate) fn write_documents() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    generated::write(metadata.workspace_root.as_std_path())?;
    Ok(true)
}

/// Every text file that git tracks or would track.
fn tracked(root: &Path) -> Result<Vec<File>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut files = Vec::new();
    for name in names.split_terminator('\0') {
        // A file may be deleted and not yet staged, or hold something other than text.
        if let Ok(text) = std::fs::read_to_string(root.join(name)) {
            files.push(File::new(name, &text));
        }
    }
    Ok(files)
}

/// Joins the parts of a word that must not stand in this repository, not even here.
fn needle(parts: &[&str]) -> String {
    parts.concat()
}
