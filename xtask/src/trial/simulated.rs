//! Trials on a simulated host: the module of this name in `crates/ask/tests/trials`, or tests of `crates/stats` where what
//! is tried needs no document; with more repetitions.

use super::options::Options;
use crate::cargo::{cargo, tested};
use anyhow::Result;

/// What tells the tests how many.
const COUNT: &str = "IPCPERF_TRIALS";

/// The environment variable with the seed of the first simulated survey.
const SEED: &str = "IPCPERF_TRIAL_SEED";

pub(super) fn run(name: &str, count: u64, _options: &Options) -> Result<bool> {
    tests(["ipcperf-ask", "trials"], name, count, None)
}

/// Of the statements of the first screen.
pub(super) fn answer(_name: &str, count: u64, options: &Options) -> Result<bool> {
    tests(["ipcperf-stats", "it"], "relative", count, Some(options.seed))
}

/// The tests of a module in this test program of this package.
fn tests(
    [package, program]: [&str; 2],
    module: &str,
    count: u64,
    seed: Option<u64>,
) -> Result<bool> {
    let mut command = cargo();
    command
        .args(["test", "--release", "--quiet", "--package", package])
        .args(["--test", program, "--", "--nocapture", "--test-threads=2"])
        .arg(format!("{module}::"))
        .env(COUNT, count.to_string());
    if let Some(seed) = seed {
        command.env(SEED, seed.to_string());
    }
    tested(&mut command)
}
