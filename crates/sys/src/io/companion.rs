//! Programs that serve a channel beside its two ends.

use crate::io::epoll::Interest;
use crate::io::ready;
use ipcperf_core::SetupError;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to say that it is ready.
const READY: Duration = Duration::from_secs(10);

/// A running program. It is killed with its owner, however that ends.
#[derive(Debug)]
pub struct Companion(Child);

impl Companion {
    /// Starts `program` and waits for the first line of its output, by which it says that it is ready.
    ///
    /// # Errors
    /// It cannot be started, or ended or stayed silent instead.
    pub fn start<I>(program: &str, arguments: I) -> Result<Self, SetupError>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        crate::program::die_with_us(&mut command);
        crate::program::with_usual_files(&mut command);
        let child = command.spawn().map_err(|error| failed(program, &error))?;
        let mut companion = Self(child);
        companion.await_line(program)?;
        Ok(companion)
    }

    fn await_line(&mut self, program: &str) -> Result<(), SetupError> {
        let Some(mut output) = self.0.stdout.take() else { return Ok(()) };
        let deadline = Instant::now() + READY;
        let mut letter = [0];
        while letter != *b"\n" {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut is_ready = false;
            ready::wait(&[(output.as_fd(), Interest::Readable)], Some(left), |_| is_ready = true)
                .map_err(|code| SetupError::sys("poll", code))?;
            if !is_ready && left.is_zero() {
                return Err(SetupError::Protocol(format!("{program} did not say it is ready")));
            }
            let read = if is_ready { output.read(&mut letter) } else { continue };
            if read.map_err(|error| failed(program, &error))? == 0 {
                return Err(SetupError::Protocol(format!("{program} ended at once")));
            }
        }
        Ok(())
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn failed(program: &str, error: &io::Error) -> SetupError {
    SetupError::sys(program, error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_companion_is_gone_with_its_owner() {
        let companion =
            Companion::start("sh", ["-c", "echo ready; exec sleep 600"]).expect("a shell");
        let pid = companion.0.id();
        assert!(crate::process::exists(pid));
        drop(companion);
        assert!(!crate::process::exists(pid));
    }

    #[test]
    fn one_that_ends_or_does_not_exist_is_an_error() {
        assert!(Companion::start("true", [""; 0]).is_err());
        assert!(Companion::start("ipcperf-no-such-program", [""; 0]).is_err());
    }
}
