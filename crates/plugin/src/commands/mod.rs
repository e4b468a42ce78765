//! The commands of authors: `conformance` tries a plug-in, `new-transport` begins one.

mod conformance;
mod project;

use ipcperf_kit::command::Command;

/// The commands, in the order of the help.
pub const COMMANDS: &[Command] =
    &[Command::of::<conformance::ConformanceArgs>(), Command::of::<project::NewTransportArgs>()];
