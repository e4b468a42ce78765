//! Trials that take too long for the tests: of the real program on this machine, each with what is asked of it, counted
//! over many runs. A trial is broken where its count lies outside what chance allows in 99 of 100 such trials.

mod aa;
mod binomial;
mod live;
mod options;
mod power;

use anyhow::{Context, Result};

pub(crate) use options::Options;

/// A trial: prints what it has found; false if it is broken.
type Trial = fn(&Options) -> Result<bool>;

/// All trials by name.
const TRIALS: [(&str, Trial); 2] = [("aa", aa::run), ("power", power::run)];

/// Carries a trial out; false if it is broken.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let found = TRIALS.iter().find(|(name, _)| *name == options.name);
    let (_, trial) = found.with_context(|| {
        let names: Vec<&str> = TRIALS.iter().map(|(name, _)| *name).collect();
        format!("unknown trial '{}'; known: {}", options.name, names.join(", "))
    })?;
    trial(options)
}
