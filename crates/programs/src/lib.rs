//! Programs of the user, as they are: recorded, audited, run with their sockets exchanged. Each feature is a folder with its
//! command, its system calls, its documents and its screens.
//!
//! With `sys` and `ring` this crate may contain `unsafe`: in the folders `calls` only.

mod call_cost;
mod keeper;
mod listens;
mod predict;
pub mod profile;
mod record;
mod server;
mod swap;

use ipcperf_kit::command::Command;

/// The commands, in the order of the help.
pub const COMMANDS: &[Command] = &[
    Command::of::<swap::command::SwapArgs>(),
    Command::of::<predict::command::PredictArgs>(),
    Command::of::<record::command::RecordArgs>(),
    Command::of::<record::audit::command::AuditArgs>(),
];

/// Whether calls of programs can be seen by programs in the kernel here; otherwise `record` uses ptrace.
///
/// # Errors
/// What is missing.
pub fn sees_calls_in_the_kernel() -> std::io::Result<()> {
    record::calls::Kernel::new().map(drop)
}
