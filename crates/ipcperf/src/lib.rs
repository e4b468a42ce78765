//! The command line of ipcperf, as a library, so that a program with mechanisms of its own is four lines:
//!
//! ```no_run
//! # fn main() -> std::process::ExitCode {
//! let registry = ipcperf::builtin(); // `.with::<MyMechanism>()` adds one
//! ipcperf::Cli::new(registry).run()
//! # }
//! ```
//!
//! Workers are re-executions of the current program, so they know its mechanisms too.

mod args;
mod audit;
mod build;
mod choose;
mod clean;
mod compare;
mod counts;
mod crossover;
mod doctor;
mod document;
mod error;
#[cfg(test)]
mod examples;
mod exec;
mod explain;
mod files;
mod follow;
mod foreign;
mod gates;
mod hint;
mod job_file;
mod list;
mod loads;
mod manual;
mod measure;
mod only;
mod output;
mod packed;
mod predict;
mod progress;
mod questions;
mod raw;
mod record;
mod repeat;
mod replicate;
mod report;
mod request;
mod run;
mod schema;
mod selftest;
mod survey;
mod swap;
mod trend;
mod words;

pub use ipcperf_builtin::builtin;
pub use ipcperf_engine::registry::Registry;

use args::{CompareArgs, RunArgs};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use error::Stop;
use ipcperf_engine::{protocol, tasks};
use ipcperf_study::Study;
use ipcperf_sys::{limits, process, signals};
use std::process::ExitCode;

/// Measures every way two processes on one Linux host can exchange data, proves that the data really moved, and says
/// which one to use.
///
/// Without a command, ipcperf runs the survey: every mechanism this machine has, in about a minute.
#[derive(Debug, Parser)]
#[command(name = "ipcperf", version = crate::build::VERSION, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Exit codes: 0 success, 1 internal error or failed cell, 2 usage error, 3 nothing could run here or nothing meets the requirements of choose, \
4 document of another kind or version, or not comparable, 5 invalid measurement or a faulty benchmark, \
6 slower than --fail-on allows, 7 a --fail-if condition is met, 8 noisier than --max-noise allows, \
9 a gate is undecided, 130 interrupted (results so far are written)."
)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    survey: survey::SurveyArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure every mechanism in about a minute and say which one to use (the default)
    #[command(after_help = survey::EXAMPLES)]
    Survey(survey::SurveyArgs),
    /// Measure chosen mechanisms, patterns, sizes and placements
    #[command(after_help = run::EXAMPLES)]
    Run(Box<RunArgs>),
    /// Recommend a mechanism for your requirements, from a one-minute measurement or from a result
    #[command(after_help = choose::EXAMPLES)]
    Choose(Box<choose::ChooseArgs>),
    /// List the mechanisms and whether this machine has them
    #[command(after_help = list::EXAMPLES)]
    List(list::ListArgs),
    /// Describe one mechanism: facts, knobs (tunable settings), costs, pitfalls
    #[command(after_help = list::DESCRIBE)]
    Describe(list::DescribeArgs),
    /// Break down the time of a round trip, or explain a word of the output: a mark, finding, grade or verdict
    #[command(after_help = explain::EXAMPLES)]
    Explain(Box<explain::ExplainArgs>),
    /// Compare two cells (measurements), builds or results: faster, slower, the same, or undecided
    #[command(after_help = compare::EXAMPLES)]
    Compare(Box<CompareArgs>),
    /// Rerun published experiments and check their claims one by one
    #[command(after_help = replicate::EXAMPLES)]
    Replicate(replicate::ReplicateArgs),
    /// Show a result file in any format
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArgs),
    /// Show what changed over time: cells over many results, with changes of kernel, microcode and settings
    #[command(after_help = trend::EXAMPLES)]
    Trend(trend::TrendArgs),
    /// Check this machine for measurement problems and suggest fixes (read-only)
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Verify ipcperf on this machine in under a minute: known delays are measured, injected faults are detected
    #[command(after_help = selftest::EXAMPLES)]
    Selftest(selftest::SelftestArgs),
    /// Run a program with its TCP sockets exchanged for UNIX sockets, or UNIX sockets for TCP
    #[command(after_help = swap::EXAMPLES)]
    Swap(swap::SwapArgs),
    /// Predict what a server and its client gain from other sockets, by running both ways side by side
    #[command(after_help = predict::EXAMPLES)]
    Predict(Box<predict::PredictArgs>),
    /// Record who talks to whom among running programs: sizes, requests, calls and times
    #[command(after_help = record::EXAMPLES)]
    Record(Box<record::RecordArgs>),
    /// Audit a benchmark of other people: what it times, what it includes, and what is wrong with it
    #[command(after_help = audit::EXAMPLES)]
    Audit(Box<audit::AuditArgs>),
    /// Print the JSON Schema of a document, or the column types of CSV rows
    #[command(after_help = schema::EXAMPLES)]
    Schema {
        /// The document: result, comparison, replication, profile, mechanisms, doctor, selftest; or CSV rows, as DuckDB's column
        /// types: rows (of cells), rows-rounds, rows-runs
        #[arg(default_value = "result")]
        document: String,
    },
    /// Remove files and kernel objects left behind by killed runs of this user
    Clean,
    /// Print shell completions for commands, flags, mechanisms, patterns, placements and knobs
    #[command(after_help = manual::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page (roff), or write all of them to a folder
    #[command(after_help = manual::EXAMPLES)]
    Man(manual::ManArgs),
    /// Print docs/MECHANISMS.md: the facts of all mechanisms, independent of this machine
    #[command(hide = true)]
    Reference,
}

/// A study from the text of its file, all its work checked. Nothing is tried or measured.
///
/// # Errors
/// What is wrong with it.
pub fn read_study(text: &str) -> Result<Study, String> {
    Study::parse(text, &replicate::check)
}

/// Every kind of what coordinator and workers tell each other.
#[must_use]
pub fn messages() -> Vec<protocol::Kind> {
    tasks::kinds()
}

/// The command line over a list of mechanisms.
#[derive(Debug)]
pub struct Cli {
    registry: Registry,
}

impl Cli {
    /// Over these mechanisms.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }

    /// Over the mechanisms of this program.
    #[must_use]
    pub fn builtin() -> Self {
        Self::new(builtin())
    }

    /// The flags of `ipcperf run` that a job file stands for. Nothing is tried, measured or written.
    ///
    /// # Errors
    /// What is wrong with it, whatever the machine has.
    pub fn read_job(&self, text: &str) -> Result<Vec<String>, String> {
        let read = || {
            let file = "job file";
            let typed = job_file::command().get_matches_from::<_, &str>([]);
            let words = job_file::words(file, text, true, &typed)?;
            let flags = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            run::check(&self.registry, &job_file::understood(file, words)?)?;
            Ok(flags)
        };
        read().map_err(|stop: Stop| stop.to_string())
    }

    /// Does what the process's arguments say.
    #[must_use]
    pub fn run(self) -> ExitCode {
        // First of all: what comes next may not fit it.
        if let Err(error) = limits::stack() {
            return Stop::nothing_ran(error).tell();
        }
        process::use_own_files();
        signals::outlive_large_files();
        self.obey()
    }

    #[inline(never)]
    fn obey(self) -> ExitCode {
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == ipcperf_engine::task::SUBCOMMAND) {
            let parent = words.next().and_then(|pid| pid.to_str()?.parse().ok()).unwrap_or(0);
            return tasks::main(&self.registry, parent);
        }
        // Workers have what their coordinator has.
        limits::raise_open_files();
        let typed = Args::command().try_get_matches();
        let parsed = typed.and_then(|typed| Ok((Args::from_arg_matches(&typed)?, typed)));
        let done = match parsed {
            Ok((args, typed)) => self.dispatch(args, &typed),
            Err(error) if error.use_stderr() => {
                Err(hint::usage(Args::command(), &self.registry, &error))
            }
            // Help and version.
            Err(error) => output::styled(&error.render()),
        };
        done.unwrap_or_else(|stop| stop.tell())
    }

    fn dispatch(&self, args: Args, typed: &ArgMatches) -> Result<ExitCode, Stop> {
        let registry = &self.registry;
        match args.command.unwrap_or(Command::Survey(args.survey)) {
            Command::Survey(args) => survey::run(registry, &args),
            Command::Run(args) => {
                run::run(registry, &args, typed.subcommand_matches("run").unwrap_or(typed))
            }
            Command::Choose(args) => choose::run(registry, &args),
            Command::List(args) => list::list(registry, &args),
            Command::Describe(args) => list::describe(registry, &args),
            Command::Explain(args) => explain::run(registry, &args),
            Command::Compare(args) => compare::run(registry, &args),
            Command::Replicate(args) => replicate::run(registry, &args),
            Command::Report(args) => report::run(registry, &args),
            Command::Trend(args) => trend::run(registry, &args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Selftest(args) => selftest::run(registry, &args),
            Command::Swap(args) => swap::run(registry, &args),
            Command::Predict(args) => predict::run(registry, &args),
            Command::Record(args) => record::run(&args),
            Command::Audit(args) => audit::run(&args),
            Command::Schema { document } => schema::run(&document),
            Command::Clean => clean::run(),
            Command::Completions { shell } => manual::completions(Args::command(), registry, shell),
            Command::Reference => list::reference(registry),
            Command::Man(args) => manual::man(Args::command(), &args),
        }
    }
}
