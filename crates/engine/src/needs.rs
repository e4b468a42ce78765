//! Requirements of every measurement, whatever the mechanism: tried once, and reported by all commands in the same
//! words.

use crate::error::words;
use crate::page::Page;
use crate::task::SUBCOMMAND;
use ipcperf_core::Missing;
use ipcperf_sys::limits;
use ipcperf_sys::process::{self, Worker, own_pid};
use std::sync::OnceLock;

/// Whether anything can be measured here: there are descriptors and memory, the page that workers share, the files
/// that workers need, and two workers.
///
/// # Errors
/// What is missing.
pub fn probe() -> Result<(), Missing> {
    static TRIED: OnceLock<Result<(), Missing>> = OnceLock::new();
    TRIED.get_or_init(tried).clone()
}

fn tried() -> Result<(), Missing> {
    limits::room()?;
    // Only that a page can be made: `room` has checked the limits for its slots, and clearing them takes milliseconds.
    Page::create(0).map_err(|error| {
        let what = format!("no shared memory (memfd_create: {})", words(&error));
        Missing::new(what, "a kernel and a sandbox with memfd_create, and more memory")
    })?;
    let no_worker = |missing: Missing| Missing {
        what: format!("no worker process: {}", missing.what),
        ..missing
    };
    process::files().map_err(no_worker)?;
    let worker = || {
        Worker::start(&[SUBCOMMAND, &own_pid().to_string()], 0)
            .map_err(|error| no_worker(limits::not_started(&error)))
    };
    // Both live at once: a limit may have room for one.
    let _one = worker()?;
    worker().map(drop)
}
