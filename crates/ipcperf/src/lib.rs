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
mod build;
mod choose;
mod clean;
mod compare;
mod counts;
mod crossover;
mod doctor;
mod error;
mod examples;
mod exec;
mod explain;
mod foreign;
mod gates;
mod hint;
mod history;
mod job_file;
mod kept;
mod list;
mod loads;
mod manual;
mod measure;
mod only;
mod output;
mod packed;
mod progress;
mod raw;
mod repeat;
mod replicate;
mod report;
mod request;
mod run;
mod schema;
mod selftest;
mod survey;
mod words;

pub use ipcperf_builtin::builtin;
pub use ipcperf_engine::registry::Registry;

use args::{Args, Command};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use error::Stop;
use ipcperf_engine::{protocol, tasks};
use ipcperf_study::Study;
use ipcperf_sys::{limits, process, signals};
use std::process::ExitCode;

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
            Err(error) if error.use_stderr() => Err(hint::usage(&self.registry, &error)),
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
            Command::History(args) => history::run(registry, args.command),
            Command::Doctor(args) => doctor::run(&args),
            Command::Selftest(args) => selftest::run(registry, &args),
            Command::Schema { document } => schema::run(&document),
            Command::Clean => clean::run(),
            Command::Completions { shell } => manual::completions(registry, shell),
            Command::Reference => list::reference(registry),
            Command::Man(args) => manual::man(&args),
        }
    }
}
