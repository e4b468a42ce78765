//! Faults at random moments of real runs, for as long as is asked and until each kind has struck five times: the test that
//! strikes each kind once, repeated.

use std::hash::{BuildHasher, RandomState};

use anyhow::Result;

use crate::cargo::{prolonged, tested};

/// The arguments of `cargo xtask siege`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// For how long faults strike; those that have struck less than five times by then go on
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Seed of faults, runs and moments [default: another one each time; it is printed]
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs it and says whether everything survived.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let mut command = prolonged("IPCPERF_SIEGE_SECONDS", options.minutes, &["faults::"]);
    let seed = options.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    tested(command.env("IPCPERF_TEST_SEED", seed.to_string()))
}
