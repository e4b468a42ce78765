//! Worker processes: started by re-executing this program, killed with their parent, never left behind.

use crate::control::Control;
use crate::io::sysctl;
use crate::procfs;
use crate::signals::Interrupts;
use ipcperf_core::Missing;
use ipcperf_core::units::format_size;
use rustix::fs::Mode;
use rustix::process::{Pid, PidfdFlags, Resource, Signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A running worker. Dropping it kills and reaps the process.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    pidfd: OwnedFd,
    control: Control,
}

impl Worker {
    /// Starts this very program again with `arguments`, in its own process group, with the control channel as its
    /// standard input and `pad` bytes of extra environment (so that no stack layout is special).
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(arguments: &[&str], pad: usize) -> io::Result<Self> {
        let (control, theirs) = Control::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).stdin(theirs.into_fd()).stdout(Stdio::null()).process_group(0);
        if pad > 0 {
            command.env("IPCPERF_PAD", "x".repeat(pad));
        }
        let mut child = command.stderr(Stdio::inherit()).spawn()?;
        let pidfd = pidfd_of(&mut child)?;
        Ok(Self { child, pidfd, control })
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
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

    /// Stops it where it is, as a debugger or a shell's job control would.
    pub fn pause(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::CONT);
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
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
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
    let null = std::fs::File::open("/dev/null")?;
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

/// A limit of a process.
struct Limit {
    resource: Resource,
    words: &'static str,
    /// For `ulimit`, which counts in units of so many bytes.
    letter: char,
    unit: u64,
    /// For `prlimit`.
    name: &'static str,
}

const STACK: Limit =
    Limit { resource: Resource::Stack, words: "a stack", letter: 's', unit: 1024, name: "stack" };
const ADDRESSES: Limit = Limit {
    resource: Resource::As,
    words: "an address space",
    letter: 'v',
    unit: 1024,
    name: "as",
};
const DATA: Limit = Limit {
    resource: Resource::Data,
    words: "private memory",
    letter: 'd',
    unit: 1024,
    name: "data",
};
// Shells count blocks of 512 or of 1024 bytes.
const FILE_SIZE: Limit = Limit {
    resource: Resource::Fsize,
    words: "a file size",
    letter: 'f',
    unit: 512,
    name: "fsize",
};
const FILES: Limit = Limit {
    resource: Resource::Nofile,
    words: "a number of open files",
    letter: 'n',
    unit: 1,
    name: "nofile",
};
const QUEUES: Limit = Limit {
    resource: Resource::Msgqueue,
    words: "bytes of message queues",
    letter: 'q',
    unit: 1,
    name: "msgqueue",
};
const PROCESSES: Limit = Limit {
    resource: Resource::Nproc,
    words: "a number of processes",
    letter: 'u',
    unit: 1,
    name: "nproc",
};

impl Limit {
    /// What is in force; `None` for no limit.
    fn current(&self) -> Option<u64> {
        rustix::process::getrlimit(self.resource).current
    }

    /// The command that sets it: who is not root cannot go above the hard limit.
    fn set(&self, value: u64) -> String {
        let hard = rustix::process::getrlimit(self.resource).maximum;
        if rustix::process::geteuid().is_root() || hard.is_none_or(|hard| value <= hard) {
            return format!("ulimit -{} {}", self.letter, value / self.unit);
        }
        format!("sudo prlimit --pid $$ --{}={value}:{value}", self.name)
    }

    fn at_least(&self, needed: u64) -> Result<(), Missing> {
        match self.current() {
            Some(value) if value < needed => {
                let shown = |value: u64| match self.unit {
                    1 => value.to_string(),
                    _ => format_size(value),
                };
                let what = format!(
                    "{} (ulimit -{}) of {} is too small: {} is the least",
                    self.words,
                    self.letter,
                    shown(value),
                    shown(needed)
                );
                Err(Missing::new(what, self.set(needed)))
            }
            _ => Ok(()),
        }
    }
}

/// Whether the stack is as large as the command line takes: one that is not overflows without a word.
///
/// # Errors
/// It is not.
pub fn stack() -> Result<(), Missing> {
    STACK.at_least(1 << 20)
}

/// Whether there is as much of everything as any two workers take: who runs out of memory is aborted. What a pair of a
/// pipe takes was measured: 16 descriptors, and less than 61 MiB of private memory.
///
/// # Errors
/// What there is too little of.
pub fn room() -> Result<(), Missing> {
    ADDRESSES.at_least(128 << 20)?;
    DATA.at_least(64 << 20)?;
    // The page that workers share is a file of 4 MiB in memory.
    FILE_SIZE.at_least(16 << 20)?;
    FILES.at_least(32)
}

/// Why `mq_open` had no room: RLIMIT_MSGQUEUE is for all processes of this user together.
pub(crate) fn no_queue() -> Missing {
    let most = QUEUES.current().unwrap_or(u64::MAX);
    let what = format!("the queues of this user would take more than {most} bytes (ulimit -q)");
    // The kernel's default (`MQ_BYTES_MAX`).
    let more = QUEUES.set(most.saturating_mul(2).max(819_200));
    Missing::new(what, format!("{more}, or a smaller posix-mq.depth or posix-mq.size"))
}

/// Why a process or a thread could not be started, with the limit that was reached and what raises it.
#[must_use]
pub fn not_started(error: &io::Error) -> Missing {
    let code = error.raw_os_error();
    let why = code.map_or_else(|| error.to_string(), ipcperf_core::errno::text);
    match code {
        Some(libc::EMFILE) => {
            let value = FILES.current().unwrap_or(u64::MAX);
            let what =
                format!("all open files are in use, of which {value} are allowed (ulimit -n)");
            Missing::new(what, FILES.set(value.saturating_mul(2)))
        }
        Some(libc::EAGAIN) => too_many(procfs::full_group(), system(), PROCESSES.current()),
        Some(libc::ENOMEM) => match ADDRESSES.current() {
            Some(value) => {
                let what = format!("the address space is full: {} (ulimit -v)", format_size(value));
                Missing::new(what, ADDRESSES.set(value.max(1 << 30).saturating_mul(2)))
            }
            None => Missing::new("memory is short", "end other programs"),
        },
        _ => Missing::new(why, ""),
    }
}

/// Threads of the system, and how many it may have.
fn system() -> Option<(u64, u64)> {
    let limits = ["kernel/threads-max", "kernel/pid_max"].map(sysctl::number);
    Some((procfs::threads()?, limits.into_iter().flatten().min()?))
}

/// Which of the limits is reached for which `fork(2)` has one error: of a control group, of the system, or of this user,
/// whose number of processes cannot be seen from within a container, so that its limit is what is left.
fn too_many(
    group: Option<(PathBuf, u64)>,
    system: Option<(u64, u64)>,
    user: Option<u64>,
) -> Missing {
    if let Some((file, most)) = group {
        let what = format!("{} allows {most} processes and threads, all in use", file.display());
        return Missing::new(what, format!("echo max > {}", file.display()));
    }
    let is_full = system.is_some_and(|(threads, most)| threads + threads / 20 >= most);
    match user.filter(|_| !is_full) {
        Some(most) => {
            let what = format!("this user may have {most} processes and threads (ulimit -u)");
            Missing::new(what, PROCESSES.set(most.saturating_mul(2).max(1024)))
        }
        None => {
            let most = system.map_or(0, |(_, most)| most);
            let what = format!(
                "as many processes or threads exist as kernel.threads-max or kernel.pid_max allows ({most})"
            );
            Missing::new(
                what,
                format!("sysctl kernel.threads-max={0} kernel.pid_max={0}", 2 * most),
            )
        }
    }
}

/// Lets this user read, write and enter what this process and its workers make, whatever the umask says: they could not
/// use it otherwise, nor remove it.
pub fn use_own_files() {
    let others = Mode::RWXG | Mode::RWXO;
    // It can only be read by setting it.
    let mask = rustix::process::umask(others);
    rustix::process::umask(mask & others);
}

/// The calling process.
#[must_use]
pub fn own_pid() -> u32 {
    std::process::id()
}

/// Whether a process with this number exists.
#[must_use]
pub fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// The cheapest call into the kernel (`getppid`, by the raw route): the null system call of the bounds.
pub fn null_syscall() {
    std::hint::black_box(rustix::process::getppid());
}

/// How system calls of the measured path enter the kernel.
pub const SYSCALL_ROUTE: &str = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    "inline assembly"
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
        "not glibc".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_full_is_named_with_what_raises_it() {
        let group = || Some((PathBuf::from("/sys/fs/cgroup/a/pids.max"), 20));
        for (group, system, user, told) in [
            (group(), Some((9, 1000)), Some(5), "/sys/fs/cgroup/a/pids.max allows 20 processes"),
            (None, Some((990, 1000)), Some(5), "kernel.pid_max allows (1000); sysctl"),
            (
                None,
                Some((9, 1000)),
                Some(5),
                "this user may have 5 processes and threads (ulimit -u);",
            ),
            (None, Some((9, 1000)), None, "kernel.pid_max allows (1000)"),
        ] {
            let text = too_many(group, system, user).to_string();
            assert!(text.contains(told), "{text}");
        }
        let refused = not_started(&io::Error::from_raw_os_error(libc::ENOENT));
        assert_eq!(refused.to_string(), "No such file or directory");
    }
}
