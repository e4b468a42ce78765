//! Trials that take too long for the tests: of the real program on this machine, each with what is asked of it, counted
//! over many runs. A trial is broken where its count lies outside what chance allows in 99 of 100 such trials.

mod aa;
mod binomial;
mod live;
mod power;

use std::path::PathBuf;

use anyhow::{Context, Result};

/// A trial: prints what it has found; false if it is broken.
type Trial = fn(&Options) -> Result<bool>;

/// All trials by name.
const TRIALS: [(&str, Trial); 2] = [("aa", aa::run), ("power", power::run)];

/// The arguments of `cargo xtask trial`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// aa (a cell beside itself: how often is a difference claimed?), power (one arm delayed: how often is it found?)
    name: String,
    /// How often [default: aa 200, power 100]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    count: Option<u64>,
    /// Begin no comparison that would not be over by then, and tell what there is
    #[arg(long)]
    minutes: Option<f64>,
    /// Rounds of each comparison for this long [default: as many as it plans by its pilot]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// power: by how much the arm is delayed, percent of its round trip
    #[arg(long, default_value_t = 5.0)]
    percent: f64,
    /// Seed of the first comparison; each other one has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Try this program instead of building one: aa takes an ipcperf, power the example `delayed`
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Carries a trial out; false if it is broken.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let found = TRIALS.iter().find(|(name, _)| *name == options.name);
    let (_, trial) = found.with_context(|| {
        let names: Vec<&str> = TRIALS.iter().map(|(name, _)| *name).collect();
        format!("unknown trial '{}'; known: {}", options.name, names.join(", "))
    })?;
    trial(options)
}
