//! What an interpreter calls: a worker in a shared library.

use super::hosted::{self, MakeTransport};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::tasks;
use ipcperf_kit::command;
use std::ffi::c_int;

/// Runs the task of this worker with the interpreter's transport, reports the result to the coordinator, whose process number is
/// `parent`, and returns. Standard input is the control channel.
///
/// # Safety
/// `transport` returns NULL or a table that stays valid until the process ends. It is called by this thread.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ipcperf_worker(parent: u32, transport: MakeTransport) -> c_int {
    if !hosted::enter(transport) {
        return libc::EALREADY;
    }
    let registry = Registry::new().with_plugins(&crate::LOADER);
    // How it went is said over the control channel.
    let _ = tasks::main(&registry, &command::tasks(crate::COMMANDS), parent);
    0
}
