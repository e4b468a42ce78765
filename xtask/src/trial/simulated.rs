//! Trials on a simulated host: the module of this name in `crates/report/tests/trials`, with more repetitions.

use super::options::Options;
use crate::cargo::{cargo, tested};
use anyhow::Result;

/// What tells the tests how many.
const COUNT: &str = "IPCPERF_TRIALS";

pub(super) fn run(name: &str, count: u64, _options: &Options) -> Result<bool> {
    tested(
        cargo()
            .args(["test", "--release", "--quiet", "--package", "ipcperf-report"])
            .args(["--test", "trials", "--", "--nocapture", "--test-threads=2"])
            .arg(format!("{name}::"))
            .env(COUNT, count.to_string()),
    )
}
