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
mod command;
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

use command::Command;
use error::Stop;
use ipcperf_engine::{protocol, tasks};
use ipcperf_study::Study;
use ipcperf_sys::{limits, process, signals};
use std::process::ExitCode;

/// Every command, in the order of the help. The first is what runs without a command.
const COMMANDS: &[Command] = &[
    Command::of::<survey::SurveyArgs>(),
    Command::of::<args::RunArgs>(),
    Command::of::<choose::ChooseArgs>(),
    Command::of::<args::CompareArgs>(),
    Command::of::<explain::ExplainArgs>(),
    Command::of::<replicate::ReplicateArgs>(),
    Command::of::<report::ReportArgs>(),
    Command::of::<trend::TrendArgs>(),
    Command::of::<schema::SchemaArgs>(),
    Command::of::<swap::SwapArgs>(),
    Command::of::<predict::PredictArgs>(),
    Command::of::<record::RecordArgs>(),
    Command::of::<audit::AuditArgs>(),
    Command::of::<list::ListArgs>(),
    Command::of::<list::DescribeArgs>(),
    Command::of::<doctor::DoctorArgs>(),
    Command::of::<selftest::SelftestArgs>(),
    Command::of::<clean::CleanArgs>(),
    Command::of::<manual::CompletionsArgs>(),
    Command::of::<manual::ManArgs>(),
    Command::of::<list::ReferenceArgs>(),
];

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
    tasks::kinds(&command::tasks(COMMANDS))
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
            return tasks::main(&self.registry, &command::tasks(COMMANDS), parent);
        }
        // Workers have what their coordinator has.
        limits::raise_open_files();
        let done = match command::command_line(COMMANDS).try_get_matches() {
            Ok(typed) => command::dispatch(&self.registry, COMMANDS, &typed),
            Err(error) if error.use_stderr() => {
                Err(hint::usage(command::command_line(COMMANDS), &self.registry, &error))
            }
            // Help and version.
            Err(error) => output::styled(&error.render()),
        };
        done.unwrap_or_else(|stop| stop.tell())
    }
}
