//! Published studies, measured again here: their files, their claims and verdicts, the work of their arms, and what is shown
//! of them.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect"))]

pub mod claims;
mod packed;
mod replicate;
pub mod replication;
mod screens;

pub use replicate::read_study;
pub use screens::across;

use ipcperf_kit::command::Command;

/// The commands, in the order of the help.
pub const COMMANDS: &[Command] = &[Command::of::<replicate::ReplicateArgs>()];
