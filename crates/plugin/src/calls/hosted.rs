//! Whether an interpreter is the host of this process, and makes the table in place of a library that is loaded.

use super::abi::Transport;
use ipcperf_core::Missing;
use ipcperf_core::errno;
use std::ffi::CString;
use std::io;
use std::ptr;
use std::sync::OnceLock;

/// What makes the table. It returns NULL where it has written to standard error why there is none.
pub(super) type MakeTransport = unsafe extern "C" fn() -> *const Transport;

static HOST: OnceLock<MakeTransport> = OnceLock::new();

/// What makes the table in this process, if an interpreter is its host.
pub(super) fn transport() -> Option<MakeTransport> {
    HOST.get().copied()
}

/// Whether an interpreter is the host of this process.
pub(crate) fn is_hosted() -> bool {
    HOST.get().is_some()
}

/// From now on an interpreter is the host, whose table this makes; false where it has been already.
pub(super) fn enter(transport: MakeTransport) -> bool {
    HOST.set(transport).is_ok()
}

/// Becomes another program, with the signals that are blocked and ignored. What is returned is why it cannot.
pub(crate) fn execute(program: &str, words: &[CString]) -> Missing {
    let lacking = |error: io::Error| {
        let why = error.raw_os_error().map_or_else(|| error.to_string(), errno::text);
        Missing::new(format!("{program}: {why}"), format!("install {program}, or put it on PATH"))
    };
    let name = match CString::new(program) {
        Ok(name) => name,
        Err(error) => return lacking(error.into()),
    };
    let all: Vec<_> = [&name].into_iter().chain(words).map(|word| word.as_ptr()).collect();
    let all: Vec<_> = all.into_iter().chain([ptr::null()]).collect();
    // SAFETY: texts that end with a zero and outlive the call, and a list of them that ends with NULL.
    unsafe { libc::execvp(name.as_ptr(), all.as_ptr()) };
    lacking(io::Error::last_os_error())
}
