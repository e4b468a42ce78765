//! Programs of others: started, watched, killed with this process, and what they consumed.
//!
//! # Safety
//! Between `fork` and `exec` the child makes two system calls and nothing else: no allocation, no lock.

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getppid, set_parent_process_death_signal,
};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

/// Lets what `command` starts be killed when this process ends, however that happens.
pub(crate) fn die_with_us(command: &mut Command) {
    let parent = Pid::from_raw(std::process::id().cast_signed());
    // SAFETY: see the module.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the request was in place.
            if getppid() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
}

/// A running program. Dropping it kills and reaps the process.
#[derive(Debug)]
pub struct Program {
    child: Child,
    pidfd: OwnedFd,
    is_reaped: bool,
}

/// What a program was when it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// CPU time in user mode, its waited-for children included.
    pub user_ns: u64,
    /// CPU time in the kernel, its waited-for children included.
    pub system_ns: u64,
    /// How many bytes its calls have written to whatever it had open; `None` where the kernel does not count them.
    pub written_bytes: Option<u64>,
    /// What it wrote to its standard error, if that was piped.
    pub complaint: String,
}

impl Program {
    /// Starts `command` in its own process group.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.process_group(0);
        die_with_us(command);
        let mut child = command.spawn()?;
        // The child is not reaped before `self` is, so its pid cannot have been reused.
        match rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { child, pidfd, is_reaped: false }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error.into())
            }
        }
    }

    /// What `command` writes to a piped standard output, which must fit a pipe, if it succeeds before `deadline`.
    ///
    /// # Errors
    /// It cannot be started, fails, or takes too long.
    pub fn output(command: &mut Command, deadline: Instant) -> io::Result<String> {
        let mut program = Self::start(command)?;
        if !crate::control::wait_any(&[program.pidfd()], deadline)?.contains(&true) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let text = program.child.stdout.take().map(drain).transpose()?.unwrap_or_default();
        if program.wait()?.status.success() { Ok(text) } else { Err(io::ErrorKind::Other.into()) }
    }

    /// Readable when the process has ended.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end and says what it consumed. What it wrote to a piped standard error is read afterwards, so it
    /// must fit a pipe.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(mut self) -> io::Result<Ended> {
        let id = WaitId::PidFd(self.pidfd.as_fd());
        // Ended but not reaped, it still has its counters in /proc.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        crate::control::retry(|| rustix::process::waitid(id.clone(), options))?;
        let written_bytes = written_bytes(self.child.id());
        let complaint = self.child.stderr.take().map(drain).transpose()?.unwrap_or_default();
        let (status, usage) = reap(&self.child)?;
        self.is_reaped = true;
        let nanos = |time: libc::timeval| {
            time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
        };
        Ok(Ended {
            status,
            user_ns: nanos(usage.ru_utime),
            system_ns: nanos(usage.ru_stime),
            written_bytes,
            complaint,
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Whether this kernel counts the bytes that processes write.
#[must_use]
pub fn counts_written_bytes() -> bool {
    written_bytes(std::process::id()).is_some()
}

fn written_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar:"))?.trim().parse().ok()
}

/// What is in a pipe. A grandchild may hold its other end open for ever.
fn drain(mut pipe: impl Read + AsFd) -> io::Result<String> {
    let flags = rustix::fs::fcntl_getfl(&pipe)?;
    rustix::fs::fcntl_setfl(&pipe, flags | rustix::fs::OFlags::NONBLOCK)?;
    let mut bytes = Vec::new();
    match pipe.read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn reap(child: &Child) -> io::Result<(ExitStatus, libc::rusage)> {
    let pid = child.id().cast_signed();
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    loop {
        // SAFETY: both pointers are valid places for the results.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        let error = match reaped {
            -1 => io::Error::last_os_error(),
            _ => return Ok((ExitStatus::from_raw(status), usage)),
        };
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        command
    }

    #[test]
    fn the_end_is_told_with_what_was_written_and_said() {
        let program = Program::start(&mut shell("printf 12345; printf oh >&2; exit 3"));
        let ended = program.expect("a shell").wait().expect("it ends");
        assert_eq!((ended.status.code(), ended.complaint.as_str()), (Some(3), "oh"));
        if counts_written_bytes() {
            assert_eq!(ended.written_bytes, Some(7));
        }
    }

    #[test]
    fn cpu_time_is_that_of_the_program() {
        let busy = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
        let ended = Program::start(&mut shell(busy)).expect("a shell").wait().expect("it ends");
        assert!(ended.status.success() && ended.user_ns + ended.system_ns > 1_000_000, "{ended:?}");
    }

    #[test]
    fn one_that_is_dropped_is_gone() {
        let program = Program::start(&mut shell("exec sleep 600")).expect("a shell");
        let pid = program.pid();
        assert!(crate::process::exists(pid));
        drop(program);
        assert!(!crate::process::exists(pid));
    }
}
