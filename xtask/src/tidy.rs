//! The rules of the project that neither rustc nor clippy can check. Every rule is a pure function from the
//! tracked files, or from `cargo metadata`, to violations.

pub(crate) mod circles;
mod edges;
mod file;
mod generated;
mod layout;
mod registry;
mod source;
mod style;
mod words;

use anyhow::Result;
pub(crate) use file::{File, tracked};

/// Prints one line per violation; false if there is any.
pub(crate) fn run() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let files = tracked(root)?;
    let mut violations = edges::check(&edges::from_metadata(&metadata));
    violations.extend(circles::check(&files));
    violations.extend(layout::check(&files));
    violations.extend(words::check(&files));
    violations.extend(words::unexplained(&files));
    violations.extend(style::check(&files));
    violations.extend(file::strangers(root)?);
    violations.extend(registry::check(&files));
    violations.extend(generated::check(&generated::schemas(root)?, &files));
    violations.sort();
    violations.dedup();
    for violation in &violations {
        println!("{violation}");
    }
    println!("unsafe blocks: {}", words::unsafe_blocks(&files));
    println!("tidy: {} files, {} violations", files.len(), violations.len());
    Ok(violations.is_empty())
}

/// Prints the lines of crates with patterns of style.
pub(crate) fn list_style() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let files = tracked(metadata.workspace_root.as_std_path())?;
    style::list_all(&files).iter().for_each(|line| println!("{line}"));
    Ok(true)
}

/// Writes the documents that a program knows best.
pub(crate) fn write_documents() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    generated::write(metadata.workspace_root.as_std_path())?;
    Ok(true)
}
