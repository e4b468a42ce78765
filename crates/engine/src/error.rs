//! Words for errors of the kernel.

use ipcperf_sys::limits;
use std::io;

/// What it says, with the limit that was reached and what raises it.
pub(crate) fn words(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), limits::text)
}

/// The same error with what was tried.
pub(crate) fn named(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {}", words(error)))
}

/// The same of a process that could not be started, with the limit that was reached and what raises it.
#[must_use]
pub fn not_started(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {}", limits::not_started(error)))
}
