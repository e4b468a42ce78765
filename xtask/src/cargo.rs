//! Cargo, and what it builds for the other tasks.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Builds the product and says where the executable is.
pub(crate) fn build_product() -> Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "-p", "ipcperf", "--bin", "ipcperf"])
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "cargo build --release -p ipcperf failed");
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    Ok(metadata.target_directory.join("release/ipcperf").into())
}

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
