//! Waiting for processes with a deadline, without polling them: the CPUs belong to the measurement.

use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A descriptor that becomes readable when the process ends.
pub(crate) fn pidfd(pid: libc::pid_t) -> Result<OwnedFd> {
    // SAFETY: takes two integers; a non-negative result is a descriptor that is ours alone.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            return Err(std::io::Error::last_os_error()).context("pidfd_open");
        }
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Index of the first process to end, or `None` at the deadline.
pub(crate) fn first_to_end(pidfds: &[i32], until: Instant) -> Result<Option<usize>> {
    let mut polled: Vec<_> =
        pidfds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    loop {
        let left = until.saturating_duration_since(Instant::now()).as_millis() as i32;
        // SAFETY: the array is alive and as long as stated.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, left) };
        match ready {
            0 => return Ok(None),
            1.. => return Ok(polled.iter().position(|entry| entry.revents != 0)),
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error).context("poll");
                }
            }
        }
    }
}

/// Status and resource usage of a process that has ended, or will at once.
pub(crate) fn reap(pid: libc::pid_t) -> Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zeroes is a valid rusage, and both places are writable.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(pid, &mut status, 0, &mut usage) != pid {
            return Err(std::io::Error::last_os_error()).context("wait4");
        }
        Ok((status, usage))
    }
}

/// For the paths on which nobody wants to know how it ended.
pub(crate) fn kill_and_reap(pid: libc::pid_t) {
    // SAFETY: the process is an unreaped child, so the number cannot have been given to another.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
    /// Largest resident set of the process or of any process it waited for.
    pub(crate) peak_rss_bytes: u64,
}

/// Runs a command to its end or kills it at the limit.
///
/// The output goes to memory files, not pipes: no thread is needed to drain them, and a parent
/// with a second thread would not be fit to fork the bare pairs.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Finished> {
    let (mut stdout, mut stderr) = (memory_file()?, memory_file()?);
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let pid = child.id() as libc::pid_t;
    let ended = pidfd(pid).and_then(|fd| first_to_end(&[fd.as_raw_fd()], start + limit));
    if !matches!(ended, Ok(Some(_))) {
        kill_and_reap(pid);
        ended?;
        bail!("{} did not end within {} s", command.get_program().display(), limit.as_secs());
    }
    let (status, usage) = reap(pid)?;
    Ok(Finished {
        elapsed: start.elapsed(),
        success: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        stdout: contents(&mut stdout)?,
        stderr: contents(&mut stderr)?,
        peak_rss_bytes: usage.ru_maxrss as u64 * 1024,
    })
}

fn memory_file() -> Result<std::fs::File> {
    // SAFETY: the name is a C string; a non-negative result is a descriptor that is ours alone.
    unsafe {
        let fd = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(std::io::Error::last_os_error()).context("memfd_create");
        }
        Ok(std::fs::File::from_raw_fd(fd))
    }
}

fn contents(file: &mut std::fs::File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn a_command_is_heard_on_both_streams() {
        let finished =
            run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), LIMIT).unwrap();
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
        assert!(!finished.success);
        assert!(finished.peak_rss_bytes > 0);
    }

    #[test]
    fn a_command_that_hangs_is_killed_and_reported() {
        let error = run(Command::new("sleep").arg("1000"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("did not end"), "{error}");
    }
}
