//! What a trial is asked.

use std::path::PathBuf;

/// The arguments of `cargo xtask trial`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which one; without it they are listed
    pub(super) name: Option<String>,
    /// Repetitions, in place of as many as the claim deserves
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) count: Option<u64>,
    /// aa, power, loaded: begin no comparison that would end later, and report what there is
    #[arg(long)]
    pub(super) minutes: Option<f64>,
    /// aa, power, loaded: rounds of each comparison for this long [default: as many as it plans by its pilot; loaded: 3]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) seconds: Option<u64>,
    /// power, loaded: by how much the arm is delayed, percent of its round trip
    #[arg(long, default_value_t = 5.0)]
    pub(super) percent: f64,
    /// aa, power, loaded: seed of the first comparison; each other one has the next but one. answer: seed of the first survey
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Try this program instead of building one: aa takes an ipcperf, power and loaded the example `delayed`
    #[arg(long)]
    pub(super) binary: Option<PathBuf>,
}
