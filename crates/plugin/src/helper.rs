//! The helper of a transport: one program, such as a broker, that runs as long as the channel.

use ipcperf_core::{Missing, SetupError, errno};
use ipcperf_sys::clock;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::process::describe_end;
use ipcperf_sys::program::Program;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take to end after SIGTERM; then it is killed.
pub(crate) const ENDS: Duration = Duration::from_secs(5);

/// What a plug-in declares of its helper.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeclaredHelper {
    /// The program and its arguments, separated by spaces; `{directory}` and `{prefix}` are those of the channel.
    pub(crate) command: String,
    /// It is ready when its output contains this; empty: once it is started.
    pub(crate) ready: String,
}

/// A helper that is ready. Dropping it kills it, with its process group.
#[derive(Debug)]
pub(crate) struct Helper {
    program: Program,
    name: String,
    /// CPU time that it had consumed when it was ready, ns.
    before_ns: u64,
}

impl Helper {
    /// Starts it, and waits until it is ready, no longer than `patience`. What it writes goes to standard error.
    pub(crate) fn start(
        declared: &DeclaredHelper,
        directory: &str,
        prefix: &str,
        patience: Duration,
    ) -> Result<Self, SetupError> {
        let mut words = words(&declared.command, directory, prefix);
        let name = words.next().unwrap_or_default();
        let failed = |error: io::Error| {
            let why = error.raw_os_error().map_or_else(|| error.to_string(), errno::text);
            Missing::new(format!("its helper {name}: {why}"), format!("install {name}"))
        };
        let (output, input) = io::pipe().map_err(failed)?;
        let mut command = Command::new(&name);
        let errors = input.try_clone().map_err(failed)?;
        command.args(words).stdin(Stdio::null()).stdout(input).stderr(errors);
        let program = Program::start(&mut command).map_err(failed)?;
        // The command holds a copy of the pipe, which would hide the end of the program.
        drop(command);
        let (ready, is_ready) = mpsc::channel();
        let wanted = declared.ready.clone().into_bytes();
        // It reads on for as long as the program writes, so that the program never waits for it.
        thread::spawn(move || follow(output, &wanted, &ready));
        let mut helper = Self { program, name, before_ns: 0 };
        if !declared.ready.is_empty() && is_ready.recv_timeout(patience).is_err() {
            return Err(SetupError::Protocol(helper.not_ready(&declared.ready, patience)));
        }
        helper.before_ns = clock::cpu_ns_of(helper.program.pid()).unwrap_or(0);
        Ok(helper)
    }

    /// Why it is not ready, when its output has ended or the time is over.
    fn not_ready(&mut self, wanted: &str, patience: Duration) -> String {
        let name = &self.name;
        // Its output may have ended a moment before it.
        let until = Instant::now() + Duration::from_secs(1);
        let has_ended = wait_any(&[self.program.pidfd()], until).is_ok_and(|ended| ended[0]);
        match has_ended.then(|| self.program.wait()) {
            Some(Ok(ended)) => format!(
                "its helper {name} ended before it was ready: {}",
                describe_end(ended.status)
            ),
            _ => format!(
                "its helper {name} has not written '{wanted}' within {} s",
                patience.as_secs()
            ),
        }
    }

    /// Ends it; its CPU time since it was ready, ns. It may have ended by itself when its clients were gone.
    pub(crate) fn end(mut self) -> Result<u64, String> {
        let name = &self.name;
        let lost = |error: io::Error| format!("its helper {name}: {error}");
        self.program.try_wait().map_err(lost)?;
        if let Some(ended) = self.program.ended() {
            return match ended.status.success() {
                true => Ok((ended.user_ns + ended.system_ns).saturating_sub(self.before_ns)),
                false => Err(format!(
                    "its helper {name} ended before the channel: {}",
                    describe_end(ended.status)
                )),
            };
        }
        let now_ns = clock::cpu_ns_of(self.program.pid()).unwrap_or(self.before_ns);
        self.program.terminate();
        let until = Instant::now() + ENDS;
        if !wait_any(&[self.program.pidfd()], until).map_err(lost)?[0] {
            self.program.kill();
        }
        self.program.wait().map_err(lost)?;
        Ok(now_ns - self.before_ns)
    }
}

/// The words of a command for a channel. A directory with a space in its name stays one word.
fn words<'a>(
    command: &'a str,
    directory: &'a str,
    prefix: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let filled = |word: &str| word.replace("{directory}", directory).replace("{prefix}", prefix);
    command.split_ascii_whitespace().map(filled)
}

/// Copies what a program writes to standard error, and reports once that it contains what is wanted.
fn follow(mut output: io::PipeReader, wanted: &[u8], ready: &mpsc::Sender<()>) {
    let (mut part, mut seen, mut is_ready) = ([0; 4096], Vec::new(), wanted.is_empty());
    while let Ok(count @ 1..) = output.read(&mut part) {
        // It is memory with an end; what does not fit is not kept.
        let _ = io::stderr().write_all(&part[..count]);
        if is_ready {
            continue;
        }
        seen.extend_from_slice(&part[..count]);
        is_ready = seen.windows(wanted.len()).any(|some| some == wanted);
        if is_ready {
            // The receiver has stopped listening where the time is over.
            let _ = ready.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_space_is_one_word() {
        let all: Vec<String> =
            words("broker  --at={directory}/{prefix}x -v", "/a b", "p-").collect();
        assert_eq!(all, ["broker", "--at=/a b/p-x", "-v"]);
    }
}
