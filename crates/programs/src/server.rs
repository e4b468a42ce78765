//! What the commands that start a server and its client share.

use ipcperf_kit::error::{Code, Stop};
use ipcperf_kit::shell_words;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

/// How long a program may take until it listens, where a client waits for that.
pub(crate) const LISTENS_WITHIN: Duration = Duration::from_secs(60);

/// Why a client did not begin.
pub(crate) fn never_listens() -> String {
    let seconds = LISTENS_WITHIN.as_secs();
    format!("the program has not listened within {seconds} s, so that its client did not begin")
}

/// The words of a program that was given as one argument.
pub(crate) fn split(flag: &str, command: &str) -> Result<Vec<String>, Stop> {
    let words = shell_words::split(command).map_err(|why| Stop::usage(format!("{flag}: {why}")))?;
    if words.is_empty() {
        return Err(Stop::usage(format!("{flag}: no program")));
    }
    Ok(words)
}

/// The exit code of a program that ended so.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCode::from(code as u8),
        (None, Some(signal)) => ExitCode::from((128 + signal) as u8),
        (None, None) => Code::Internal.into(),
    }
}
