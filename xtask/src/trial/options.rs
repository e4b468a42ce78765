//! What a trial is asked.

use std::path::PathBuf;

/// The arguments of `cargo xtask trial`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// aa (a cell beside itself: how often is a difference claimed?), power (one arm delayed: how often is it found?)
    pub(super) name: String,
    /// How often [default: aa 200, power 100]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) count: Option<u64>,
    /// Begin no comparison that would not be over by then, and tell what there is
    #[arg(long)]
    pub(super) minutes: Option<f64>,
    /// Rounds of each comparison for this long [default: as many as it plans by its pilot]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) seconds: Option<u64>,
    /// power: by how much the arm is delayed, percent of its round trip
    #[arg(long, default_value_t = 5.0)]
    pub(super) percent: f64,
    /// Seed of the first comparison; each other one has the next but one
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Try this program instead of building one: aa takes an ipcperf, power the example `delayed`
    #[arg(long)]
    pub(super) binary: Option<PathBuf>,
}
