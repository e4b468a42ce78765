//! Trials: what tests show in seconds, shown with as many repetitions as the claim deserves. Their figures stand in
//! `docs/METHOD.md`.

mod aa;
mod binomial;
mod live;
mod load;
mod loaded;
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

/// One on simulated hosts.
const fn simulation(name: &'static str, what: &'static str, count: u64) -> Trial {
    Trial { name, what, count, run: simulated::run }
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
        name: "answer",
        what: "the first screen says what is true, and finds what differs, under six kinds of noise",
        count: 2000,
        run: simulated::answer,
    },
    simulation("coverage", "intervals of compare hold 1 where nothing differs", 1000),
    simulation("equality", "no difference is said where there is none, and 5 % are found", 400),
    simulation("families", "96 equal cells hold no claim", 60),
    simulation("faults", "what goes wrong with clock, CPUs and host is found by its code", 100),
    simulation("grade", "noise that is added never improves the grade", 20),
    Trial {
        name: "loaded",
        what: "the real program claims nothing false in a few seconds on a busy machine",
        count: 300,
        run: loaded::run,
    },
    simulation("mdone", "open loops are as the theory of queues says", 25),
    simulation(
        "ranking",
        "equal cells have no order in a table, and those that differ have one",
        500,
    ),
    simulation("recovery", "quantiles are those of the distribution that was drawn from", 30),
    simulation("replay", "the same seed gives the same document, byte by byte", 50),
    simulation("sessions", "recorded runs of equal programs differ by their sessions only", 500),
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
