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
