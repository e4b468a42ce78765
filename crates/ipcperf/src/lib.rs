//! The command line of ipcperf, as a library, so that a program with mechanisms of its own is four lines:
//!
//! ```no_run
//! # fn main() -> std::process::ExitCode {
//! let registry = ipcperf::builtin(); // `.with::<MyMechanism>()` adds one
//! ipcperf::cli(registry).run()
//! # }
//! ```
//!
//! Workers are re-executions of the current program, so they know its mechanisms, too. Commands are rows: [`Cli::with`] adds
//! a list of them.
#![forbid(unsafe_code)]

pub use ipcperf_ask::read_job;
pub use ipcperf_engine::registry::Registry;
pub use ipcperf_kit::cli::Cli;
#[cfg(feature = "studies")]
pub use ipcperf_studies::read_study;

use ipcperf_engine::{protocol, tasks};
use ipcperf_judge::LoadError;
use ipcperf_kit::command::{self, Command};
use ipcperf_kit::document::Document;
use ipcperf_kit::reading;

/// The mechanisms of this program, and what makes more of them of files that are named.
#[must_use]
pub fn builtin() -> Registry {
    let registry = ipcperf_builtin::builtin();
    #[cfg(feature = "plugins")]
    let registry = registry.with_plugins(&ipcperf_plugin::LOADER);
    registry
}

/// Lists of commands, in the order of the help within each group: those of the features of this build.
pub const COMMANDS: &[&[Command]] = &[
    ipcperf_ask::COMMANDS,
    #[cfg(feature = "plugins")]
    ipcperf_plugin::COMMANDS,
    #[cfg(feature = "studies")]
    ipcperf_studies::COMMANDS,
    #[cfg(feature = "programs")]
    ipcperf_programs::COMMANDS,
];

/// The command line with all commands of this build, over these mechanisms.
#[must_use]
pub fn cli(registry: Registry) -> Cli {
    let cli = Cli::new(registry).with_documents(document);
    COMMANDS.iter().fold(cli, |cli, commands| cli.with(commands))
}

/// The document of this name, in lower case.
fn document(name: &str) -> Option<String> {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/documents.gz"));
    ipcperf_packed::text(packed, &name.to_uppercase())
}

/// Every kind of what coordinator and workers tell each other.
#[must_use]
pub fn messages() -> Vec<protocol::Kind> {
    tasks::kinds(&command::tasks(&COMMANDS.concat()))
}

/// Reads a document of any kind that a command of this build writes.
///
/// # Errors
/// It is none, or of another major version.
pub fn read_document(text: &str) -> Result<Box<dyn Document>, LoadError> {
    reading::read(&COMMANDS.concat(), text)
}

#[cfg(all(test, feature = "programs", feature = "studies"))]
mod tests;
