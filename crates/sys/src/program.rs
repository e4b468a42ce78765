//! Programs of others: started, watched, killed with this process, and what they consumed.
//!
//! # Safety
//! Between `fork` and `exec` the child makes a few system calls and nothing else: no allocation, no lock.

use crate::control::Control;
use crate::process::{PADDING, pidfd_of};
use crate::{limits, procfs};
use rustix::fs::{Mode, OFlags};
use rustix::process::{
    Pid, Resource, Signal, WaitId, WaitIdOptions, getppid, set_parent_process_death_signal,
    setrlimit, waitid,
};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

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

/// Lets what `command` starts be as its user would start it, in a process group of its own: a signal for a group does not
/// reach this process.
pub(crate) fn as_users_do(command: &mut Command) {
    // The stack of a worker is moved by it, and no program of others may be.
    command.process_group(0).env_remove(PADDING);
    // SAFETY: see the module. A signal that this thread has blocked would stay blocked.
    unsafe { command.pre_exec(crate::signals::block_none) };
    // Some programs cannot use more open files than this process was started with.
    if let Some(limit) = limits::as_started() {
        // SAFETY: see the module.
        unsafe {
            command.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?));
        }
    }
}

/// Lets what `command` starts hand over its own account of the bytes it moves, by the channel that is returned. Such a file
/// is its user's as long as the process has memory, and root's once it has ended, when it is read: only who has it open by
/// then can read it without being root.
fn hand_over_account(command: &mut Command) -> io::Result<Control> {
    let (ours, theirs) = Control::pair()?;
    // SAFETY: see the module.
    unsafe {
        command.pre_exec(move || {
            // Without one nothing is counted.
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            if let Ok(account) = rustix::fs::open(c"/proc/self/io", flags, Mode::empty()) {
                let _ = theirs.send("io", &[account.as_fd()]);
            }
            Ok(())
        });
    }
    Ok(ours)
}

/// Lets what `command` starts have `fd` as its descriptor 3. The result must live until it is started.
///
/// # Errors
/// There is no descriptor left.
pub fn give_third(command: &mut Command, fd: impl AsFd) -> io::Result<OwnedFd> {
    // The number is taken here, too, so that nothing which is needed to start a program gets it.
    let held = rustix::io::fcntl_dupfd_cloexec(fd, THIRD)?;
    let raw = held.as_raw_fd();
    // SAFETY: see the module; both are calls of the kernel alone.
    unsafe {
        command.pre_exec(move || {
            let done = if raw == THIRD {
                libc::fcntl(raw, libc::F_SETFD, 0)
            } else {
                libc::dup2(raw, THIRD)
            };
            if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        });
    }
    Ok(held)
}

/// What a program may say by itself (`docs/ENDS.md`).
const THIRD: i32 = 3;

/// Kills all children of this process, and what becomes its child because of that, and waits for them; says how many there were
/// at first.
pub fn end_children() -> usize {
    if !has_children() {
        return 0;
    }
    let count = procfs::children().len();
    drop(Orphans { before: Vec::new() });
    count
}

/// A running program. Dropping it kills its process group and reaps the process.
#[derive(Debug)]
pub struct Program {
    child: Child,
    pidfd: OwnedFd,
    /// Its `/proc/PID/io`, where there is one.
    account: Option<File>,
    /// What it was when it was reaped.
    ended: Option<Ended>,
}

/// What a program was when it ended. Children that it has waited for are in every count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How it ended.
    #[serde(with = "exit_status")]
    pub status: ExitStatus,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Switches to another process because it waited.
    pub voluntary_switches: u64,
    /// Switches to another process because its turn was over.
    pub involuntary_switches: u64,
    /// How many bytes its calls have moved; `None` where the kernel does not count them.
    pub moved: Option<Moved>,
}

/// Bytes that the calls of a process have moved, to and from whatever it had open (`rchar` and `wchar` of
/// `/proc/PID/io`). Bytes that `splice(2)` moves are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Read, the program's own libraries included.
    pub read: u64,
    /// Written.
    pub written: u64,
}

/// How a process ended, as a number that travels.
pub mod exit_status {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    /// For `serde(with)`.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(status: &ExitStatus, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i32(status.into_raw())
    }

    /// For `serde(with)`.
    ///
    /// # Errors
    /// It is no number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ExitStatus, D::Error> {
        i32::deserialize(from).map(ExitStatus::from_raw)
    }
}

impl Program {
    /// Starts `command` in its own process group.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        as_users_do(command);
        die_with_us(command);
        let channel = hand_over_account(command);
        let mut child = command.spawn()?;
        let pidfd = pidfd_of(&mut child)?;
        // It came before the program was executed, or there is none.
        let parcel = channel.and_then(|channel| channel.receive(Some(Instant::now())));
        let account = parcel.unwrap_or_default().fds.pop().map(File::from);
        Ok(Self { child, pidfd, account, ended: None })
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

    /// What it was when it ended, once that is known.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Reaps it if it has ended. What is left of its process group is killed then.
    ///
    /// # Errors
    /// The kernel's.
    pub fn try_wait(&mut self) -> io::Result<()> {
        if self.ended.is_none() && self.has_ended(WaitIdOptions::NOHANG)? {
            self.reap()?;
        }
        Ok(())
    }

    /// Waits for its end and says what it consumed. What is left of its process group is killed.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&mut self) -> io::Result<Ended> {
        match &self.ended {
            Some(ended) => Ok(ended.clone()),
            None => self.has_ended(WaitIdOptions::empty()).and_then(|_| self.reap()),
        }
    }

    /// Ended but not reaped, it still has its counters in /proc.
    fn has_ended(&self, how: WaitIdOptions) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | how;
        let id = WaitId::PidFd(self.pidfd.as_fd());
        Ok(crate::control::retry(|| waitid(id.clone(), options))?.is_some())
    }

    fn reap(&mut self) -> io::Result<Ended> {
        let moved = self.account.take().and_then(moved);
        self.kill();
        let (status, usage) = reap(&self.child)?;
        let nanos = |time: libc::timeval| {
            time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
        };
        let ended = Ended {
            status,
            user_ns: nanos(usage.ru_utime),
            system_ns: nanos(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw.cast_unsigned(),
            involuntary_switches: usage.ru_nivcsw.cast_unsigned(),
            moved,
        };
        Ok(self.ended.insert(ended).clone())
    }

    /// Kills it, with what is in its process group.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Asks it to end, by SIGTERM, with what is in its process group.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// The number of the group is free once the process is reaped: before that no other group is hit.
    fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Whether this kernel counts the bytes that processes move.
#[must_use]
pub fn counts_bytes() -> bool {
    File::open("/proc/self/io").ok().and_then(moved).is_some()
}

fn moved(mut account: File) -> Option<Moved> {
    let mut text = String::new();
    account.read_to_string(&mut text).ok()?;
    let number = |key| text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok();
    Some(Moved { read: number("rchar:")?, written: number("wchar:")? })
}

/// How many bytes wait in a pipe.
///
/// # Errors
/// It is none.
pub fn waiting_bytes(pipe: impl AsFd) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(pipe)?)
}

/// Programs that outlive the one that started them become children of this process, and are killed when this is
/// dropped. Children that this process had before are left alone.
#[derive(Debug)]
pub struct Orphans {
    before: Vec<u32>,
}

impl Orphans {
    /// How long killed processes may take to be gone.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// From now on what outlives its parent becomes a child of this process, if it descends from it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn adopt() -> io::Result<Self> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let before = if has_children() { procfs::children() } else { Vec::new() };
        Ok(Self { before })
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        let until = Instant::now() + Self::PATIENCE;
        // What a killed one has started becomes ours in turn.
        while has_children() && Instant::now() < until {
            let mut ours = procfs::children();
            ours.retain(|pid| !self.before.contains(pid));
            if ours.is_empty() {
                break;
            }
            for pid in ours.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
            }
            sleep(Duration::from_millis(1));
        }
    }
}

/// Cheaper to ask than which.
fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
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

    fn start(script: &str) -> Program {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        Program::start(command.stderr(Stdio::null())).expect("a shell")
    }

    #[test]
    fn the_end_is_told_with_what_was_moved() {
        let ended = start("printf 12345; printf oh >&2; exit 3").wait().expect("it ends");
        assert_eq!(ended.status.code(), Some(3));
        match counts_bytes() {
            true => assert_eq!(ended.moved.map(|moved| moved.written), Some(7)),
            false => {
                crate::skipped::skipped("/proc/PID/io", "no bytes of programs that have ended")
            }
        }
    }

    #[test]
    fn cpu_time_is_that_of_the_program() {
        let busy = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
        let ended = start(busy).wait().expect("it ends");
        assert!(ended.status.success() && ended.user_ns + ended.system_ns > 1_000_000, "{ended:?}");
    }

    #[test]
    fn a_signal_that_is_blocked_here_ends_a_program() {
        crate::signals::mask(libc::SIG_BLOCK, &[libc::SIGTERM]).expect("it can be blocked");
        let ended = start("kill -TERM $$; exit 3").wait().expect("it ends");
        assert_eq!(ended.status.signal(), Some(libc::SIGTERM), "{ended:?}");
    }

    #[test]
    fn what_is_dropped_or_left_behind_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let path = file.display();
        let child = || loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n').and_then(|text| text.parse::<u32>().ok()) {
                break pid;
            }
            sleep(Duration::from_millis(1));
        };
        let gone = |pid: u32| {
            // Killed, it is reaped by the process that adopts it.
            let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            while !state().is_empty() && !state().contains(") Z ") {
                sleep(Duration::from_millis(1));
            }
        };
        let program = start(&format!("sleep 600 & echo $! > {path}; wait"));
        let (parent, left) = (program.pid(), child());
        drop(program);
        assert!(!crate::process::exists(parent));
        gone(left);
        std::fs::remove_file(&file).expect("it was there");
        let mut program = start(&format!("sleep 600 & echo $! > {path}"));
        assert!(program.wait().expect("it ends").status.success());
        gone(child());
    }
}
