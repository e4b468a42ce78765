//! The flags of a bench program: those of `run`, of `compare` where it has a result of an earlier run, and those that cargo
//! gives to any bench or test.

use crate::args::{CellArgs, LengthArgs, RunArgs};
use clap::{ArgMatches, Args as ClapArgs, FromArgMatches};
use ipcperf_kit::args::{GateArgs, MarginArgs, OutputArgs, PlanArgs};
use ipcperf_kit::error::{Stop, one_line};
use std::ffi::OsString;
use std::path::PathBuf;

/// What may stand behind `cargo bench --`.
#[derive(Clone, Debug, ClapArgs)]
pub(super) struct BenchArgs {
    /// Measure only cells (measurements) that have all of these words in their names, and the same of the bare mechanism
    #[arg(value_name = "FILTER")]
    pub(super) filter: Vec<String>,
    /// Other mechanisms to measure in the same rounds, the reference first, in place of those that the bench names
    #[arg(long, value_name = "NAMES")]
    pub(super) against: Vec<String>,
    #[command(flatten)]
    pub(super) cells: CellArgs,
    /// Total time of the rounds, instead of their number
    #[arg(help_heading = "How long", long, value_name = "TIME", conflicts_with = "rounds")]
    pub(super) time: Option<String>,
    #[command(flatten)]
    pub(super) length: LengthArgs,
    #[command(flatten)]
    pub(super) margin: MarginArgs,
    #[command(flatten)]
    pub(super) plan: PlanArgs,
    /// Compare with this result [default: the last one of these cells in target/ipcperf]
    #[arg(help_heading = "Gates", long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Exit 6 if a cell is certainly slower than in the earlier result by more than this, 9 if undecided (repeatable):
    /// slower:5%, or for the tail p99:slower:10%
    #[arg(help_heading = "Gates", long, value_name = "slower:SHARE")]
    pub(super) fail_on: Vec<String>,
    #[command(flatten, next_help_heading = "Gates")]
    pub(super) gates: GateArgs,
    #[command(flatten, next_help_heading = "Output")]
    pub(super) output: OutputArgs,
    #[command(flatten, next_help_heading = "By cargo")]
    pub(super) cargo: CargoArgs,
}

/// What cargo and the runners of tests give to a program without the standard harness.
#[derive(Clone, Debug, ClapArgs)]
pub(super) struct CargoArgs {
    /// Measure; without it one short round of every cell shows that it works
    #[arg(long, conflicts_with = "test")]
    pub(super) bench: bool,
    /// One short round of every cell, and no result file
    #[arg(long)]
    pub(super) test: bool,
    /// Name the cells, and measure none
    #[arg(long)]
    pub(super) list: bool,
    /// A filter is the whole name of a cell, also behind --skip
    #[arg(long)]
    pub(super) exact: bool,
    /// Leave out cells that have this in their names (repeatable)
    #[arg(long, value_name = "FILTER")]
    pub(super) skip: Vec<String>,
    /// Only what is marked as ignored: nothing is
    #[arg(long, hide = true, conflicts_with = "include_ignored")]
    pub(super) ignored: bool,
    /// All cells: none is marked as ignored
    #[arg(long, hide = true)]
    include_ignored: bool,
    /// Nothing is captured
    #[arg(long, hide = true)]
    nocapture: bool,
    /// Nothing is captured
    #[arg(long, hide = true)]
    show_output: bool,
    /// Cells are measured one after the other
    #[arg(long, hide = true, value_name = "N")]
    test_threads: Option<u64>,
}

impl BenchArgs {
    /// What was typed, behind a program of this name.
    ///
    /// # Errors
    /// An unknown flag or value. Help is an error as well, with its text.
    pub(super) fn of(name: &str, words: &[OsString]) -> Result<(Self, ArgMatches), clap::Error> {
        let command = Self::augment_args(clap::Command::new("bench").bin_name(name));
        let command = command.about(ABOUT).long_about(None::<&str>).after_help(EXAMPLES);
        let file = format!(
            "Result file, '-' for standard output [default: target/ipcperf/{name}-UTC.json]"
        );
        let command = command.mut_arg("output", |arg| arg.help(file));
        let typed = command
            .try_get_matches_from(std::iter::once(OsString::from(name)).chain(of_runners(words)))?;
        Ok((Self::from_arg_matches(&typed)?, typed))
    }

    /// Whether one round is enough.
    pub(super) const fn is_trial(&self) -> bool {
        !self.cargo.bench
    }

    /// The same as the arguments of `run`.
    pub(super) fn run(&self, mechanism: Vec<String>, cells: CellArgs) -> RunArgs {
        let Self { length, margin, plan, gates, output, .. } = self.clone();
        RunArgs { mechanism, cells, length, margin, plan, gates, output, ..RunArgs::default() }
    }
}

/// The words without `--format terse`, which test runners add to `--list`: it does not name a format of results.
fn of_runners(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    if words.iter().any(|word| word == "--list") {
        words.retain(|word| word != "--format=terse");
        if let Some(at) = words.windows(2).position(|two| two == ["--format", "terse"]) {
            words.drain(at..at + 2);
        }
    }
    words
}

/// What is wrong with the words, in one line.
pub(super) fn refused(name: &str, error: &clap::Error) -> Stop {
    Stop::usage(format!("{} ({name} --help)", one_line(error)))
}

const ABOUT: &str =
    "Measures the mechanisms of this package, and what they are built on, in the same rounds";

const EXAMPLES: &str = "Examples:
  cargo bench                                         12 rounds of every cell, and the difference from the last run
  cargo bench -- 64B                                  only cells of this size
  cargo bench -- --time 60s --fail-on slower:5%       exit 6 if slower than the last run, 9 if undecided
  cargo bench -- --against pipe,tcp -s '64..64K:*4'   with other mechanisms of ipcperf, over sizes";
