//! Worker processes: started by re-executing this program, killed with their parent, never left behind.

mod spawn;

use crate::control::Control;
use crate::namespaces;
use crate::signals::Interrupts;
use ipcperf_core::{Missing, errno};
use rustix::fs::Mode;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// The running program, whatever has become of its file.
const PROGRAM: &CStr = c"/proc/self/exe";

/// Where a worker's input comes from and its output goes to.
const NOTHING: &str = "/dev/null";

/// The variable that moves the stack of a worker.
pub(crate) const PADDING: &str = "IPCPERF_PAD";

/// A running worker. Dropping it kills and reaps the process.
#[derive(Debug)]
pub struct Worker {
    pid: Pid,
    pidfd: OwnedFd,
    control: Control,
    /// How it ended, after a wait for it: from then on another process may have its number.
    ended: Option<ExitStatus>,
}

/// What a signal did to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It stopped it.
    Stands,
    /// It let it go on after a stop.
    GoesOn,
}

impl Worker {
    /// Starts this very program again with `arguments`, in its own process group, with the control channel as its
    /// standard input and `pad` bytes of extra environment (so that no stack layout is special). All signals are blocked in
    /// it until it enlists ([`enlist`]).
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(arguments: &[&str], pad: usize) -> io::Result<Self> {
        let (control, theirs) = Control::pair()?;
        let theirs = theirs.into_fd();
        let null = std::fs::File::options().write(true).open(NOTHING)?;
        let mut words = vec![PROGRAM.to_owned()];
        for argument in arguments {
            words.push(CString::new(*argument)?);
        }
        let environment = std::env::vars_os().map(|(name, value)| variable(&name, &value));
        let padding = (pad > 0).then(|| variable(PADDING.as_ref(), "x".repeat(pad).as_ref()));
        let environment = environment.chain(padding).collect::<Result<Vec<_>, _>>()?;
        let streams = [theirs.as_fd(), null.as_fd()];
        let pid = spawn::spawn(PROGRAM, &words, &environment, streams)?;
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).inspect_err(|_| {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = spawn::reap(pid);
        })?;
        Ok(Self { pid, pidfd, control, ended: None })
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Its control channel.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Readable when the process has ended.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Kills it. Not an error if it has already ended.
    pub fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Asks it to end, by SIGTERM.
    pub fn terminate(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::TERM);
    }

    /// Stops it where it is, as a debugger or a shell's job control would.
    pub fn pause(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::CONT);
    }

    /// What a signal did to it since the last call: the last of several, nothing if it ran all the time.
    pub fn halt(&self) -> Option<Halt> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        let status = rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
        let status = status.ok().flatten()?;
        let halts = [(status.stopped(), Halt::Stands), (status.continued(), Halt::GoesOn)];
        halts.into_iter().find_map(|(is_so, halt)| is_so.then_some(halt))
    }

    /// Sends it SIGUSR1, which ends it unless it has called [`crate::signals::count_interruptions`].
    pub fn interrupt(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::USR1);
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let ended = spawn::reap(self.pid)?;
        self.ended = Some(ended);
        Ok(ended)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.wait();
    }
}

/// A variable of an environment as `execve(2)` has it.
fn variable(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    Ok(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?)
}

/// A descriptor of a child that nobody has waited for, so that its number cannot have been reused; without one it is
/// killed.
pub(crate) fn pidfd_of(child: &mut Child) -> io::Result<OwnedFd> {
    rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(|error| {
        let _ = child.kill();
        let _ = child.wait();
        error.into()
    })
}

/// Why a process ended, in words: "killed by signal 9", "exit code 1".
#[must_use]
pub fn describe_end(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "unknown end".into(),
    }
}

/// Whether this root has the files that every worker is started from and opens. A bare image or `chroot` may lack them.
///
/// # Errors
/// The file that it lacks, and what makes it.
pub fn files() -> Result<(), Missing> {
    let lacking = |path: &str, error: &io::Error, how: &str| {
        let why = error.raw_os_error().map_or_else(|| error.to_string(), errno::text);
        Missing::new(format!("{path}: {why}"), how)
    };
    rustix::fs::readlink(PROGRAM, Vec::new())
        .map_err(|error| lacking("/proc/self/exe", &error.into(), "mount -t proc proc /proc"))?;
    let null = std::fs::File::options().read(true).write(true).open(NOTHING);
    null.map(drop).map_err(|error| lacking(NOTHING, &error, "mknod -m 666 /dev/null c 1 3"))
}

/// In a worker, first thing: die with the coordinator, take the control channel from standard input.
///
/// # Errors
/// The coordinator is already gone (`parent` is not the parent any more), or standard input is not its channel.
pub fn enlist(parent: u32) -> io::Result<Control> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the request was in place: then nobody would send the signal.
    let now =
        rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    if now != parent {
        return Err(io::Error::other("the coordinator is gone"));
    }
    crate::signals::block_none()?;
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    // Standard input keeps a copy of the channel otherwise, and the coordinator's end-of-file would never come.
    let null = std::fs::File::open(NOTHING)?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(Control::from_fd(control))
}

/// In a worker that has something to end: from now on it is told of the coordinator's end, in place of being killed by it.
/// Whatever tells it to end (SIGTERM) does so in the same way.
///
/// # Errors
/// The kernel's, or the coordinator is already gone.
pub fn outlive_coordinator() -> io::Result<Interrupts> {
    // Until the request is replaced, the end of this parent kills.
    let parent = rustix::process::getppid();
    let interrupts = Interrupts::terminated()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if rustix::process::getppid() != parent {
        return Err(io::Error::other("the coordinator is gone"));
    }
    Ok(interrupts)
}

/// Lets this user read, write and enter what this process and its workers make, whatever the umask says: they could not
/// use it otherwise, nor remove it.
pub fn use_own_files() {
    let others = Mode::RWXG | Mode::RWXO;
    // It can only be read by setting it.
    let mask = rustix::process::umask(others);
    rustix::process::umask(mask & others);
}

/// The calling process, by the number that its coordinator knows it by: another one than its own where it has entered a
/// PID namespace.
#[must_use]
pub fn own_pid() -> u32 {
    let own = std::process::id();
    if own == FIRST { namespaces::outer_pid().unwrap_or(own) } else { own }
}

/// Starts a process that ends at once, and waits for its end.
///
/// # Errors
/// The kernel's.
pub fn fork_once() -> io::Result<()> {
    // SAFETY: the child makes one system call, which ends it: it takes no lock that another thread may have.
    let child = match unsafe { libc::fork() } {
        // SAFETY: it does not return, and runs nothing of this process.
        0 => unsafe { libc::_exit(0) },
        child if child > 0 => Pid::from_raw(child),
        _ => return Err(io::Error::last_os_error()),
    };
    spawn::reap(child.ok_or(io::ErrorKind::NotFound)?).map(drop)
}

/// The number of the first process in a PID namespace.
const FIRST: u32 = 1;

/// Whether a process with this number exists.
#[must_use]
pub fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// The cheapest call into the kernel (`getppid`, made as the timed loops make theirs): the null system call of the bounds.
pub fn null_syscall() {
    // SAFETY: takes nothing, changes nothing.
    let _ = std::hint::black_box(unsafe { crate::io::raw::call3(libc::SYS_getppid, 0, 0, 0) });
}

/// How this crate was optimised, and with it all crates that are timed: the profile has no settings of their own for them.
pub const OPT_LEVEL: &str = env!("IPCPERF_TIMED_OPT_LEVEL");

/// How system calls of the measured path enter the kernel: by a function that returns. Builds up to 1.0 had the instruction
/// in the timed loop, `inline assembly`.
pub const SYSCALL_ROUTE: &str = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    "function in assembly"
} else {
    "libc::syscall"
};

/// The C library and its version: "glibc 2.36".
#[must_use]
pub fn libc_version() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it returns a static, NUL-terminated string.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    {
        // It does not tell its version.
        if cfg!(target_env = "musl") { "musl".into() } else { "not glibc".into() }
    }
}
