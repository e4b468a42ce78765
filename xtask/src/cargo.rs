//! Cargo, and what it builds for the other tasks.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

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

/// Lets tests run and says whether they passed. That none has run is an error: where no test has the name that was asked for,
/// cargo says that all is well.
pub(crate) fn tested(command: &mut Command) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let lines = BufReader::new(child.stdout.take().context("a pipe was asked for")?);
    let mut ran = 0;
    for line in lines.split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        ran += passed(&line);
    }
    let are_passed = child.wait()?.success();
    ensure!(ran > 0 || !are_passed, "no test has run");
    Ok(are_passed)
}

/// How many tests have passed, by the last line of a test program; of any other line, none.
fn passed(line: &str) -> u64 {
    let count = line.strip_prefix("test result: ok. ").and_then(|rest| rest.split(' ').next());
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_run_is_told_from_what_was_filtered_out() {
        assert_eq!(passed("test result: ok. 3 passed; 0 failed; 0 ignored; 7 filtered out"), 3);
        assert_eq!(passed("test result: ok. 0 passed; 0 failed; 0 ignored; 7 filtered out"), 0);
        assert_eq!(passed("running 3 tests"), 0);
    }

    #[test]
    fn tests_that_have_not_run_have_not_passed() {
        let said = |line: &str| tested(Command::new("echo").arg(line));
        assert!(said("test result: ok. 2 passed; 0 failed").is_ok_and(|passed| passed));
        assert!(said("test result: ok. 0 passed; 0 failed").is_err());
        assert!(tested(&mut Command::new("false")).is_ok_and(|passed| !passed));
    }
}
