//! Trials on a simulated host: the module of this name in `crates/report/tests/trials`, with more repetitions.

use super::options::Options;
use anyhow::{Context, Result};

/// What tells the tests how many.
const COUNT: &str = "IPCPERF_TRIALS";

pub(super) fn run(name: &str, count: u64, _options: &Options) -> Result<bool> {
    let status = crate::cargo::cargo()
        .args(["test", "--release", "--quiet", "--package", "ipcperf-report"])
        .args(["--test", "trials", "--", "--nocapture", "--test-threads=2"])
        .arg(format!("{name}::"))
        .env(COUNT, count.to_string())
        .status()
        .context("cannot start cargo")?;
    Ok(status.success())
}
