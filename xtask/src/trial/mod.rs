//! Trials: what tests show in seconds, shown with as many repetitions as the claim deserves. Their figures stand in
//! `docs/METHOD.md`.

mod simulated;

use anyhow::{Result, bail};

/// The arguments of `cargo xtask trial`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which one; without it they are listed
    name: Option<String>,
    /// Repetitions, in place of as many as the claim deserves
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
}

/// A trial.
struct Trial {
    name: &'static str,
    /// What it tries.
    what: &'static str,
    /// So many repetitions show it.
    count: u32,
    /// Runs it by name with so many repetitions; false if the claim does not hold.
    run: fn(&str, u32) -> Result<bool>,
}

/// All of them.
const TRIALS: &[Trial] = &[
    Trial {
        name: "coverage",
        what: "intervals of compare hold 1 where nothing differs",
        count: 2000,
        run: simulated::run,
    },
];

/// Runs one trial, or lists them.
#[expect(clippy::print_stdout, reason = "the list is what was asked for")]
pub(crate) fn run(options: &Options) -> Result<bool> {
    let Some(name) = &options.name else {
        for trial in TRIALS {
            println!("{:<12} {} ({} times)", trial.name, trial.what, trial.count);
        }
        return Ok(true);
    };
    let Some(trial) = TRIALS.iter().find(|trial| trial.name == name) else {
        let names: Vec<&str> = TRIALS.iter().map(|trial| trial.name).collect();
        bail!("no trial '{name}'; there are {}", names.join(", "));
    };
    (trial.run)(trial.name, options.count.unwrap_or(trial.count))
}
