//! What an error of the kernel says to a user.

use std::io;

/// The same error with what was tried.
pub(crate) fn named(what: &str, error: &io::Error) -> io::Error {
    let words = match error.raw_os_error() {
        Some(code) => ipcperf_core::errno::text(code),
        None => error.to_string(),
    };
    io::Error::new(error.kind(), format!("{what}: {words}"))
}

/// The same of a process that could not be started, with the limit that was reached and what raises it.
pub(crate) fn not_started(what: &str, error: &io::Error) -> io::Error {
    let told = named(what, error);
    match error.raw_os_error().and_then(ipcperf_sys::process::limit_reached) {
        Some(limit) => io::Error::new(told.kind(), format!("{told}: {limit}")),
        None => told,
    }
}
