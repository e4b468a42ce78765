//! System calls of programs from their start, or of processes that run already, with all processes and threads that they make.
//!
//! # Safety
//! As in the parent module. Between `fork` and `exec` the child makes system calls and nothing else: no allocation, no
//! lock.

use super::{FOREIGN, Info, entry, info, request, returned};
use rustix::process::{Pid, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// What to be told of.
const TOLD: usize = (libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC) as usize;

/// The same, and that nothing that was started here outlives the tracer.
const OPTIONS: usize = TOLD | libc::PTRACE_O_EXITKILL as usize;

/// Whose a task is that no program here has made.
const NOBODY: usize = usize::MAX;

/// How long tasks may take to stop that are let go.
const PATIENCE: Duration = Duration::from_secs(2);

/// A thread was made, not a process.
const CLONE: i32 = libc::PTRACE_EVENT_CLONE;

/// A task was made.
const MADE: [i32; 3] = [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, CLONE];

/// Whatever this thread has started or traces, and nothing of other threads.
const OURS: i32 = libc::__WALL | libc::__WNOTHREAD;

/// Programs under observation, children of this process. The thread that started them is the one that may go on.
/// Dropping it kills and reaps all that is left of them.
pub struct Follow {
    /// Readable when one has changed its state.
    signals: OwnedFd,
    programs: Vec<Followed>,
    /// Every task that is traced, and which program it belongs to.
    tasks: BTreeMap<libc::pid_t, usize>,
    /// Tasks that have stopped before it was known whose they are.
    early: BTreeSet<libc::pid_t>,
    /// Those that ran already, with what they have made: they run on afterwards.
    seized: BTreeSet<libc::pid_t>,
    /// Takes what happens, if somebody asked for it.
    watch: Option<Watch>,
    /// Programs read clocks by calls.
    clocks_are_calls: bool,
    /// The call that each task is in, and when it was entered, ns of the monotonic clock.
    entered: BTreeMap<libc::pid_t, (Info, u64)>,
}

/// Takes what happened, while the thread that did it is stopped.
pub type Watch = Box<dyn FnMut(CallsSeen)>;

/// What a program did.
#[derive(Clone, Copy, Debug)]
pub enum CallsSeen {
    /// A call has returned.
    Returned(Returned),
    /// A thread has made a process.
    Made {
        /// The thread.
        thread: u32,
        /// The process that it made.
        child: u32,
    },
}

/// A call that has returned.
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    /// The thread that made it.
    pub thread: u32,
    /// Its number on this architecture, or [`FOREIGN`].
    pub number: i64,
    /// What was passed.
    pub arguments: [u64; 6],
    /// What it returned; an error is negative.
    pub result: i64,
    /// When it was entered, ns of the monotonic clock; 0 if that was not seen.
    pub begun: u64,
    /// When it returned, likewise.
    pub ended: u64,
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("programs", &self.programs).finish_non_exhaustive()
    }
}

/// A program and what it has called, its processes and threads included.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Its process.
    pub pid: u32,
    /// System call numbers of this architecture, and how often each was called.
    pub calls: BTreeMap<i64, u64>,
    /// How it ended, if it has.
    pub ended: Option<ExitStatus>,
}

impl Follow {
    /// Nothing yet.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> io::Result<Self> {
        let signals = crate::signals::descriptor(&[libc::SIGCHLD])?;
        Ok(Self {
            signals,
            programs: Vec::new(),
            tasks: BTreeMap::new(),
            early: BTreeSet::new(),
            seized: BTreeSet::new(),
            watch: None,
            clocks_are_calls: false,
            entered: BTreeMap::new(),
        })
    }

    /// The same; `watch` gets every call that returns. With `clocks_are_calls` that includes looks at a clock: programs do not
    /// get the code that reads clocks without a call (the vDSO).
    ///
    /// # Errors
    /// The kernel's.
    pub fn watched(watch: Watch, clocks_are_calls: bool) -> io::Result<Self> {
        let mut follow = Self::new()?;
        (follow.watch, follow.clocks_are_calls) = (Some(watch), clocks_are_calls);
        Ok(follow)
    }

    /// Starts a program. Its calls count from the moment it is loaded.
    ///
    /// # Errors
    /// It cannot be started, or tracing is refused (`PermissionDenied`).
    pub fn start(&mut self, command: &mut Command) -> io::Result<()> {
        crate::program::as_users_do(command);
        // SAFETY: see the module.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let child = command.spawn()?;
        let pid = child.id().cast_signed();
        self.tasks.insert(pid, self.programs.len());
        let calls = BTreeMap::new();
        self.programs.push(Followed { pid: child.id(), calls, ended: None });
        // It stops when it is loaded, before its first instruction.
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        if unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } != pid {
            return Err(io::Error::last_os_error());
        }
        if !libc::WIFSTOPPED(status) {
            return self.take_in(pid, status);
        }
        request(libc::PTRACE_SETOPTIONS as usize, pid, 0, OPTIONS)?;
        self.loaded(pid)?;
        request(libc::PTRACE_SYSCALL as usize, pid, 0, 0).map(drop)
    }

    /// Traces a process that runs already, with all its threads. It runs on when this is dropped. A call that it sleeps in
    /// begins again, or ends with `EINTR` where the kernel has it so (`epoll_wait`; `signal(7)`).
    ///
    /// # Errors
    /// `PermissionDenied` where it may not be traced, or is already.
    pub fn attach(&mut self, process: u32) -> io::Result<()> {
        // Why no thread is traced. One that has ended, as the first may have, is refused like one of another user.
        let mut refused = None;
        // Threads may make others meanwhile, until all are traced.
        loop {
            let mut is_new = false;
            for task in fs::read_dir(format!("/proc/{process}/task"))?.flatten() {
                let Some(task) = task.file_name().to_str().and_then(|name| name.parse().ok())
                else {
                    continue;
                };
                if self.tasks.contains_key(&task) {
                    continue;
                }
                match request(libc::PTRACE_SEIZE as usize, task, 0, TOLD) {
                    Ok(_) => refused = Some(Ok(())),
                    // It has ended, or was made by one that is traced, and so it is as well.
                    Err(error) => {
                        refused.get_or_insert(Err(error));
                        continue;
                    }
                }
                is_new = true;
                self.tasks.insert(task, NOBODY);
                self.seized.insert(task);
                let _ = request(libc::PTRACE_INTERRUPT as usize, task, 0, 0);
            }
            if !is_new {
                return refused.unwrap_or(Ok(()));
            }
        }
    }

    /// Lets all go on untraced that ran already.
    fn let_go(&mut self) {
        for task in &self.seized {
            let _ = request(libc::PTRACE_INTERRUPT as usize, *task, 0, 0);
        }
        let until = Instant::now() + PATIENCE;
        while !self.seized.is_empty() && Instant::now() < until {
            let mut status = 0;
            // SAFETY: `status` is a valid place for the result.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, OURS | libc::WNOHANG) };
            if pid < 0 {
                return;
            }
            if pid == 0 {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            self.release(pid, status);
        }
    }

    /// Lets one go that has stopped or ended. A task may stop before the one that made it says so.
    fn release(&mut self, pid: libc::pid_t, status: i32) {
        if !libc::WIFSTOPPED(status) {
            self.tasks.remove(&pid);
            self.early.remove(&pid);
            self.seized.remove(&pid);
            return;
        }
        if !self.seized.remove(&pid) {
            if !self.tasks.contains_key(&pid) {
                self.early.insert(pid);
            }
            return;
        }
        self.tasks.remove(&pid);
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        if MADE.contains(&event)
            && let Ok(made) = message(pid)
        {
            if self.early.remove(&made) {
                detach(made, 0);
            } else {
                self.tasks.insert(made, NOBODY);
                self.seized.insert(made);
            }
        }
        let is_sent = event == 0 && signal != libc::SIGTRAP | 0x80;
        detach(pid, if is_sent { signal as usize } else { 0 });
    }

    /// To poll on: readable when [`go_on`](Self::go_on) has something to do.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// The programs, in the order of their start.
    #[must_use]
    pub fn programs(&self) -> &[Followed] {
        &self.programs
    }

    /// Tasks that have not ended, of programs that were started and of what they have made.
    pub fn left(&self) -> impl Iterator<Item = u32> {
        self.tasks.keys().map(|task| task.cast_unsigned())
    }

    /// Asks the programs that have not ended to end, by SIGTERM, with what is in their groups.
    pub fn terminate(&self) {
        for program in self.programs.iter().filter(|program| program.ended.is_none()) {
            // The process is not reaped, so its number is the number of no other group.
            if let Some(group) = Pid::from_raw(program.pid.cast_signed()) {
                let _ = rustix::process::kill_process_group(group, Signal::TERM);
            }
        }
    }

    /// Takes in all that has happened, and lets everybody who has stopped go on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn go_on(&mut self) -> io::Result<()> {
        let mut signal = [0_u8; size_of::<libc::signalfd_siginfo>()];
        // Read before the states are: a change after that is signalled anew.
        let _ = rustix::io::read(&self.signals, &mut signal);
        let mut status = 0;
        loop {
            // SAFETY: `status` is a valid place for the result.
            match unsafe { libc::waitpid(-1, &raw mut status, OURS | libc::WNOHANG) } {
                0 => return Ok(()),
                -1 => {
                    let error = io::Error::last_os_error();
                    // Nobody is left.
                    let is_over = error.raw_os_error() == Some(libc::ECHILD);
                    return if is_over { Ok(()) } else { Err(error) };
                }
                pid => match self.take_in(pid, status) {
                    // Killed since.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    other => other?,
                },
            }
        }
    }

    fn take_in(&mut self, pid: libc::pid_t, status: i32) -> io::Result<()> {
        if !libc::WIFSTOPPED(status) {
            if let Some(owner) = self.tasks.remove(&pid)
                && let Some(program) = self.programs.get_mut(owner)
                && program.pid == pid.cast_unsigned()
            {
                program.ended = Some(ExitStatus::from_raw(status));
            }
            self.early.remove(&pid);
            self.seized.remove(&pid);
            return Ok(());
        }
        let Some(&owner) = self.tasks.get(&pid) else {
            self.early.insert(pid);
            return Ok(());
        };
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let mut passed = 0;
        match (signal, event) {
            (_, 0) if signal == libc::SIGTRAP | 0x80 => match entry(pid)? {
                Some(info) => self.enters(pid, owner, info),
                None => self.returns(pid)?,
            },
            (_, event) if MADE.contains(&event) => {
                let made = message(pid)?;
                self.tasks.insert(made, owner);
                if self.seized.contains(&pid) {
                    self.seized.insert(made);
                }
                if let Some(watch) = self.watch.as_mut().filter(|_| event != CLONE) {
                    let (thread, child) = (pid.cast_unsigned(), made.cast_unsigned());
                    watch(CallsSeen::Made { thread, child });
                }
                if self.early.remove(&made) {
                    // It may have been killed since; the task that made it goes on all the same.
                    let _ = resume(made, 0);
                }
            }
            // A thread that loads a program becomes the process; its old number is nobody's.
            (_, libc::PTRACE_EVENT_EXEC) => {
                let old = message(pid)?;
                if old != pid {
                    self.tasks.remove(&old);
                    self.seized.remove(&old);
                }
                self.loaded(pid)?;
            }
            // A process that a signal has stopped stays so until another one lets it go on.
            (
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU,
                libc::PTRACE_EVENT_STOP,
            ) => return request(libc::PTRACE_LISTEN as usize, pid, 0, 0).map(drop),
            // A task that was made begins with this stop, which nobody has sent.
            (libc::SIGSTOP, 0) => {}
            (_, 0) => passed = signal as usize,
            _ => {}
        }
        resume(pid, passed)
    }

    fn enters(&mut self, pid: libc::pid_t, owner: usize, mut info: Info) {
        if info.arch & IS_64_BIT == 0 {
            info.number = FOREIGN.cast_unsigned();
        }
        if let Some(program) = self.programs.get_mut(owner) {
            *program.calls.entry(info.number.cast_signed()).or_default() += 1;
        }
        if self.watch.is_some() {
            self.entered.insert(pid, (info, now()));
        }
    }

    fn returns(&mut self, pid: libc::pid_t) -> io::Result<()> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        let (Some((info, begun)), Some(result)) = (self.entered.remove(&pid), returned(pid)?)
        else {
            return Ok(());
        };
        watch(CallsSeen::Returned(Returned {
            thread: pid.cast_unsigned(),
            number: info.number.cast_signed(),
            arguments: info.arguments,
            result,
            begun,
            ended: now(),
        }));
        Ok(())
    }

    /// A program was loaded, and has not begun.
    fn loaded(&self, pid: libc::pid_t) -> io::Result<()> {
        if self.clocks_are_calls { hide_clocks(pid) } else { Ok(()) }
    }
}

/// `__AUDIT_ARCH_64BIT` (`linux/audit.h`).
const IS_64_BIT: u32 = 0x8000_0000;

/// Takes the address of the vDSO from what the kernel tells a program at its start (`getauxval(3)`): its stack begins with
/// the number of arguments, the arguments, a zero, the environment, a zero, and pairs of a type and a value.
fn hide_clocks(pid: libc::pid_t) -> io::Result<()> {
    const WORD: u64 = size_of::<u64>() as u64;
    let Info { arch, stack: mut at, .. } = info(pid)?;
    // Calls of 32-bit programs are not understood either.
    if arch & IS_64_BIT == 0 {
        return Ok(());
    }
    at += WORD * (peek(pid, at)?.saturating_add(2));
    while peek(pid, at)? != 0 {
        at += WORD;
    }
    at += WORD;
    loop {
        match peek(pid, at)? {
            libc::AT_NULL => return Ok(()),
            libc::AT_SYSINFO_EHDR => {
                let nothing = libc::AT_IGNORE as usize;
                request(libc::PTRACE_POKEDATA as usize, pid, at as usize, nothing)?;
            }
            _ => {}
        }
        at += 2 * WORD;
    }
}

/// A word of the memory of a stopped process.
fn peek(pid: libc::pid_t, at: u64) -> io::Result<u64> {
    let mut word = 0_u64;
    let into = std::ptr::from_mut(&mut word) as usize;
    request(libc::PTRACE_PEEKDATA as usize, pid, at as usize, into)?;
    Ok(word)
}

/// ns of the monotonic clock.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.let_go();
        self.tasks.retain(|task, _| !self.seized.contains(task));
        // Those that made them ran before and have not reported them in time. The kernel detaches them when this thread ends.
        if self.programs.is_empty() {
            self.early.clear();
        }
        for pid in self.tasks.keys().chain(&self.early) {
            // SAFETY: takes numbers only. No task here is reaped, so none of the numbers is somebody else's.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        let mut status = 0;
        // In any order: the first thread of a process is gone only after all others.
        while !self.tasks.is_empty() || !self.early.is_empty() {
            // SAFETY: `status` is a valid place for the result. Killed, a task ends.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, OURS) };
            if pid < 0 {
                return;
            }
            if !libc::WIFSTOPPED(status) {
                self.tasks.remove(&pid);
                self.early.remove(&pid);
            }
        }
    }
}

fn resume(pid: libc::pid_t, signal: usize) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL as usize, pid, 0, signal).map(drop)
}

/// A stopped task goes on untraced.
fn detach(pid: libc::pid_t, signal: usize) {
    let _ = request(libc::PTRACE_DETACH as usize, pid, 0, signal);
}

/// Which task an event is about.
fn message(pid: libc::pid_t) -> io::Result<libc::pid_t> {
    let mut message: libc::c_ulong = 0;
    let at = std::ptr::from_mut(&mut message) as usize;
    request(libc::PTRACE_GETEVENTMSG as usize, pid, 0, at)?;
    Ok(message as libc::pid_t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wait_any;
    use crate::trace::name;
    use std::process::Stdio;

    /// The calls of a script by name, or nothing where tracing is refused.
    fn calls(script: &str) -> Option<BTreeMap<String, u64>> {
        let mut follow = Follow::new().expect("a descriptor");
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        match follow.start(&mut command) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                crate::skipped::skipped("ptrace", error);
                return None;
            }
            other => other.expect("a shell"),
        }
        while follow.programs()[0].ended.is_none() {
            let soon = Instant::now() + Duration::from_millis(2);
            wait_any(&[follow.fd()], soon).expect("poll");
            follow.go_on().expect("it goes on");
        }
        assert!(follow.programs()[0].ended.is_some_and(|status| status.code() == Some(3)));
        let named =
            follow.programs()[0].calls.iter().map(|(number, count)| (name(*number), *count));
        Some(named.collect())
    }

    #[test]
    fn calls_of_a_program_and_of_its_children_are_counted() {
        let Some(one) = calls("printf x; exit 3") else { return };
        let many = calls("printf x; (printf x; printf x); (printf x) & wait; exit 3");
        let writes = |calls: &BTreeMap<String, u64>| calls.get("write").copied().unwrap_or(0);
        assert_eq!(many.as_ref().map(writes), Some(writes(&one) + 3), "{one:?} {many:?}");
    }

    #[test]
    fn what_stops_before_its_parent_says_that_it_made_it_is_let_go_as_well() {
        let mut shell = Command::new("sh");
        let mut shell = shell
            .args(["-c", "i=0; while [ $((i += 1)) -lt 100000 ]; do (:); done"])
            .spawn()
            .expect("a shell");
        let pid = shell.id().cast_signed();
        let stop = |pid| {
            let mut status = 0;
            // SAFETY: `status` is a valid place for the result.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, OURS) }, pid);
            assert!(libc::WIFSTOPPED(status), "{status:x}");
            status
        };
        let mut follow = Follow::new().expect("a descriptor");
        match follow.attach(shell.id()) {
            Err(error) => crate::skipped::skipped("ptrace", error),
            Ok(()) => {
                let told = loop {
                    match stop(pid) {
                        status if MADE.contains(&(status >> 16)) => break status,
                        _ => resume(pid, 0).expect("it has stopped"),
                    }
                };
                let child = message(pid).expect("it has made one");
                follow.release(child, stop(child));
                follow.release(pid, told);
                assert!(follow.seized.is_empty() && follow.early.is_empty(), "{:?}", follow.seized);
                assert!(shell.try_wait().expect("our own child").is_none(), "it runs on");
            }
        }
        shell.kill().expect("our own child");
        shell.wait().expect("our own child");
    }

    #[test]
    fn what_is_dropped_is_gone() {
        let mut follow = Follow::new().expect("a descriptor");
        let mut command = Command::new("sleep");
        if let Err(error) = follow.start(command.arg("600")) {
            return crate::skipped::skipped("ptrace", error);
        }
        let pid = follow.programs()[0].pid;
        assert!(crate::process::exists(pid));
        drop(follow);
        assert!(!crate::process::exists(pid));
    }
}
