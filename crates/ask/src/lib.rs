//! The questions: about mechanisms, about results, and about this machine. Each has a module with its flags, its plan and
//! what it shows, and a row in [`COMMANDS`].
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect"))]

mod args;
mod bench_program;
mod bisect_step;
mod choose;
mod clean;
mod compare;
mod crossover;
mod doctor;
mod documents;
mod exec;
mod experiment;
mod explain;
mod files;
mod fleet;
mod follow;
mod job_file;
mod list;
mod manual;
mod only;
mod questions;
mod raw;
mod repeat;
mod report;
pub mod results;
mod run;
mod schema;
mod selftest;
pub mod snippets;
mod survey;
#[cfg(test)]
mod testing;
mod trend;
mod work;

pub use bench_program::BenchProgram;
pub use compare::screen::{ComparisonDocument, before_and_after, comparison};
pub use manual::with_words;
pub use run::read_job;
pub use trend::screen::{CellFigure, CellFigures, DatedResult, Trend, figures_of, trend, trends};

use ipcperf_kit::command::Command;

/// The commands, in the order of the help within each group. The first is what runs without a command.
pub const COMMANDS: &[Command] = &[
    Command::of::<survey::SurveyArgs>(),
    Command::of::<args::RunArgs>(),
    Command::of::<choose::ChooseArgs>(),
    Command::of::<args::CompareArgs>(),
    Command::of::<crossover::CrossoverArgs>(),
    Command::of::<bisect_step::BisectStepArgs>(),
    Command::of::<repeat::RepeatArgs>(),
    Command::of::<exec::ExecArgs>(),
    Command::of::<explain::ExplainArgs>(),
    Command::of::<report::ReportArgs>(),
    Command::of::<trend::TrendArgs>(),
    Command::of::<schema::SchemaArgs>(),
    Command::of::<list::ListArgs>(),
    Command::of::<list::DescribeArgs>(),
    Command::of::<doctor::DoctorArgs>(),
    Command::of::<selftest::SelftestArgs>(),
    Command::of::<clean::CleanArgs>(),
    Command::of::<manual::CompletionsArgs>(),
    Command::of::<manual::ManArgs>(),
    Command::of::<list::ReferenceArgs>(),
];
