//! Cargo, and what it builds for the other tasks.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Builds the product and says where the executable is.
pub(crate) fn build_product() -> Result<PathBuf> {
    build("target", &[])
}

/// Builds an example of the product and says where its executable is.
pub(crate) fn build_example(name: &str) -> Result<PathBuf> {
    built("target", &["--example", name], &format!("release/examples/{name}"))
}

/// The same with the symbols that a release leaves out.
pub(crate) fn build_with_symbols() -> Result<PathBuf> {
    build(
        "target/symbols",
        &[
            "--config",
            "profile.release.strip=false",
            "--config",
            "profile.release.package.ipcperf.strip=false",
        ],
    )
}

fn build(target: &str, more: &[&str]) -> Result<PathBuf> {
    built(target, &[&["--bin", "ipcperf"], more].concat(), "release/ipcperf")
}

fn built(target: &str, what: &[&str], executable: &str) -> Result<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let target = metadata.workspace_root.as_std_path().join(target);
    let status = cargo()
        .args(["build", "--release", "-p", "ipcperf", "--target-dir"])
        .arg(&target)
        .args(what)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "cargo build --release -p ipcperf failed");
    Ok(target.join(executable))
}

/// These tests of the product, for so many minutes: this variable tells them how many seconds that is.
pub(crate) fn prolonged(variable: &str, minutes: f64, tests: &[&str]) -> Command {
    let mut command = cargo();
    command
        .args(["test", "--quiet", "--package", "ipcperf", "--test", "it", "--", "--nocapture"])
        .args(tests)
        .env(variable, format!("{:.0}", (minutes * 60.0).max(1.0)));
    command
}

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
