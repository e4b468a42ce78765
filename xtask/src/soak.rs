//! One run over all mechanisms, for as long as is asked, in which nothing may grow: the brief test, prolonged.

use anyhow::Result;

use crate::cargo::{prolonged, tested};

/// The arguments of `cargo xtask soak`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long the run goes on; less than two is too short, since the peaks of open loops are measured first
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
}

/// Runs it and says whether nothing grew.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let test = "soak::nothing_grows_however_long_a_run_goes_on";
    tested(&mut prolonged("IPCPERF_SOAK_SECONDS", options.minutes, &["--exact", test]))
}
