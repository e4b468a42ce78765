//! Trials: what tests show in seconds, shown with as many repetitions as the claim deserves. Their figures stand in
//! `docs/METHOD.md`.

mod aa;
mod binomial;
mod live;
mod options;
mod power;
mod simulated;

use anyhow::{Result, bail};

pub(crate) use options::Options;

/// A trial.
struct Trial {
    name: &'static str,
    /// What it tries.
    what: &'static str,
    /// So many repetitions show it.
    count: u64,
    /// Runs it by name with so many repetitions; false if the claim does not hold.
    run: fn(&str, u64, &Options) -> Result<bool>,
}

/// All of them.
const TRIALS: &[Trial] = &[
    Trial {
        name: "aa",
        what: "the real program claims no difference between a cell and itself",
        count: 200,
        run: aa::run,
    },
    Trial {
        name: "power",
        what: "the real program finds a socket that takes 5 % longer",
        count: 100,
        run: power::run,
    },
    Trial {
        name: "coverage",
        what: "intervals of compare hold 1 where nothing differs",
        count: 1000,
        run: simulated::run,
    },
    Trial {
        name: "equality",
        what: "no difference is said where there is none, and 5 % are found",
        count: 400,
        run: simulated::run,
    },
    Trial {
        name: "families",
        what: "96 equal cells hold no claim",
        count: 60,
        run: simulated::run,
    },
    Trial {
        name: "faults",
        what: "what goes wrong with clock, CPUs and host is found by its code",
        count: 100,
        run: simulated::run,
    },
    Trial {
        name: "grade",
        what: "noise that is added never improves the grade",
        count: 20,
        run: simulated::run,
    },
    Trial {
        name: "mdone",
        what: "open loops are as the theory of queues says",
        count: 25,
        run: simulated::run,
    },
    Trial {
        name: "ranking",
        what: "equal cells have no order in a table, and those that differ have one",
        count: 500,
        run: simulated::run,
    },
    Trial {
        name: "recovery",
        what: "quantiles are those of the distribution that was drawn from",
        count: 30,
        run: simulated::run,
    },
    Trial {
        name: "replay",
        what: "the same seed gives the same document, byte by byte",
        count: 50,
        run: simulated::run,
    },
    Trial {
        name: "sessions",
        what: "recorded runs of equal programs differ by their sessions only",
        count: 500,
        run: simulated::run,
    },
];

/// Runs one trial, or lists them.
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
    (trial.run)(trial.name, options.count.unwrap_or(trial.count), options)
}
