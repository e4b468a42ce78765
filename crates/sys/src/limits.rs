//! Limits of the system that stop a call: which one it is, what it allows, and the command that raises it.

use crate::procfs;
use crate::sysctl;
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, errno};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CapabilitySet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The limit of open files that this process was started with, and how many it had open then beside the standard three.
static OPEN_FILES: OnceLock<(Rlimit, u64)> = OnceLock::new();

/// Open files and sockets of a process, at the most: the soft RLIMIT_NOFILE.
#[must_use]
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Locked memory of all processes of a user together, bytes: the soft RLIMIT_MEMLOCK.
pub(crate) fn locked_memory() -> u64 {
    getrlimit(Resource::Memlock).current.unwrap_or(u64::MAX)
}

/// Whether this process may lock memory beyond that.
pub(crate) fn may_lock() -> bool {
    has(CapabilitySet::IPC_LOCK)
}

/// Whether limits of a user that guard the system, those of pipes among them, are none for this process.
pub(crate) fn has_no_quota() -> bool {
    has(CapabilitySet::SYS_RESOURCE) || has(CapabilitySet::SYS_ADMIN)
}

/// Whether this process may have itself scheduled in any way.
pub(crate) fn may_schedule() -> bool {
    has(CapabilitySet::SYS_NICE)
}

/// The highest real-time priority without that right: RLIMIT_RTPRIO.
pub(crate) fn realtime_priority() -> u64 {
    REALTIME.current().unwrap_or(u64::MAX)
}

/// The command that allows this one.
pub(crate) fn more_realtime_priority(priority: u64) -> String {
    format!("{}, or run as root", REALTIME.set(priority))
}

/// 20 less the lowest nice value without that right: RLIMIT_NICE.
pub(crate) fn niceness() -> u64 {
    NICENESS.current().unwrap_or(u64::MAX)
}

/// The command that allows this one.
pub(crate) fn more_niceness(needed: u64) -> String {
    format!("{}, or run as root", NICENESS.set(needed))
}

/// Ends this process if one of its threads of a real-time class uses a CPU for this time without waiting, with or without a
/// coordinator (`RLIMIT_RTTIME`, soft and hard). A hard limit that is lower already is kept.
///
/// # Errors
/// The kernel's.
pub fn limit_realtime(time: Duration) -> io::Result<()> {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let limit = getrlimit(Resource::Rttime).maximum.map_or(micros, |most| most.min(micros));
    Ok(setrlimit(Resource::Rttime, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

/// The inode of the first namespace of users (`PROC_USER_INIT_INO`, `linux/proc_ns.h`). Limits of the system heed only
/// capabilities in that one.
const FIRST_USERS: u64 = 0xEFFF_FFFD;

fn has(capability: CapabilitySet) -> bool {
    let is_first = std::fs::metadata("/proc/self/ns/user").is_ok_and(|of| of.ino() == FIRST_USERS);
    let sets = rustix::thread::capabilities(None);
    is_first && sets.is_ok_and(|sets| sets.effective.contains(capability))
}

/// Takes as many open files as this process may have. The soft limit is low for the sake of programs that use
/// `select(2)` with whatever descriptors they have; programs of others get it back ([`of_programs`]).
pub fn raise_open_files() {
    let now = getrlimit(Resource::Nofile);
    // One more is that of the directory.
    let inherited =
        std::fs::read_dir("/proc/self/fd").map_or(0, |all| all.count().saturating_sub(4));
    if OPEN_FILES.set((now, inherited as u64)).is_ok() && now.current != now.maximum {
        // As it was, it serves most patterns.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now });
    }
}

/// The limit of open files of before [`raise_open_files`], if that was called.
pub(crate) fn as_started() -> Option<Rlimit> {
    OPEN_FILES.get().map(|(limit, _)| *limit)
}

/// The limit that programs of others are to have, the soft and the hard one, for a process that starts them for this one.
#[must_use]
pub fn of_programs() -> Option<[Option<u64>; 2]> {
    as_started().map(|limit| [limit.current, limit.maximum])
}

/// Takes it over from the process that this one starts programs for.
pub fn take_of_programs([current, maximum]: [Option<u64>; 2]) {
    let _ = OPEN_FILES.set((Rlimit { current, maximum }, 0));
}

/// Why a process cannot have so many open files for this, beside those that it was started with; `None` where it can.
#[must_use]
pub fn too_few_open_files(what_for: &str, needed: u64) -> Option<Missing> {
    let limit = open_files();
    let needed = needed.saturating_add(OPEN_FILES.get().map_or(0, |(_, inherited)| *inherited));
    (needed > limit).then(|| {
        let what = format!(
            "{what_for} needs {needed} open files in a process, and RLIMIT_NOFILE is {limit}"
        );
        Missing::new(what, more_open_files(needed))
    })
}

/// The command that allows a process so many open files.
#[must_use]
pub fn more_open_files(needed: u64) -> String {
    FILES.set(needed)
}

/// The command that allows so many bytes of locked memory.
pub(crate) fn more_locked_memory(bytes: u64) -> String {
    LOCKED.set(bytes)
}

/// The limit that a call has reached which failed with this `errno`, where one is the reason.
#[must_use]
pub fn reached(code: i32) -> Option<Missing> {
    let limit = open_files();
    let more = || more_open_files(limit.saturating_mul(2));
    match code {
        libc::EMFILE => {
            let what = format!("the open files of a process have reached RLIMIT_NOFILE ({limit})");
            Some(Missing::new(what, more()))
        }
        libc::ETOOMANYREFS => {
            let what = format!(
                "the descriptors that this user has under way in messages have reached RLIMIT_NOFILE ({limit})"
            );
            Some(Missing::new(what, more()))
        }
        libc::ENFILE => {
            let most = sysctl::number("fs/file-max").unwrap_or(0);
            let what = format!("the open files of the system have reached fs.file-max ({most})");
            Some(Missing::new(what, format!("sysctl fs.file-max={}", most.saturating_mul(2))))
        }
        _ => None,
    }
}

/// The text of an `errno`, with the limit that was reached and what raises it.
#[must_use]
pub fn text(code: i32) -> String {
    let text = errno::text(code);
    match reached(code) {
        Some(limit) => format!("{text}: {limit}"),
        None => text,
    }
}

/// A limit of a process.
struct ProcessLimit {
    resource: Resource,
    words: &'static str,
    /// For `ulimit`, which counts in units of so many bytes.
    letter: char,
    unit: u64,
    /// For `prlimit`.
    name: &'static str,
}

const STACK: ProcessLimit = ProcessLimit {
    resource: Resource::Stack,
    words: "a stack",
    letter: 's',
    unit: 1024,
    name: "stack",
};
const ADDRESSES: ProcessLimit = ProcessLimit {
    resource: Resource::As,
    words: "an address space",
    letter: 'v',
    unit: 1024,
    name: "as",
};
const DATA: ProcessLimit = ProcessLimit {
    resource: Resource::Data,
    words: "private memory",
    letter: 'd',
    unit: 1024,
    name: "data",
};
// Shells count blocks of 512 or of 1024 bytes.
const FILE_SIZE: ProcessLimit = ProcessLimit {
    resource: Resource::Fsize,
    words: "a file size",
    letter: 'f',
    unit: 512,
    name: "fsize",
};
const FILES: ProcessLimit = ProcessLimit {
    resource: Resource::Nofile,
    words: "a number of open files",
    letter: 'n',
    unit: 1,
    name: "nofile",
};
const LOCKED: ProcessLimit = ProcessLimit {
    resource: Resource::Memlock,
    words: "locked memory",
    letter: 'l',
    unit: 1024,
    name: "memlock",
};
const QUEUES: ProcessLimit = ProcessLimit {
    resource: Resource::Msgqueue,
    words: "bytes of message queues",
    letter: 'q',
    unit: 1,
    name: "msgqueue",
};
const PROCESSES: ProcessLimit = ProcessLimit {
    resource: Resource::Nproc,
    words: "a number of processes",
    letter: 'u',
    unit: 1,
    name: "nproc",
};

const REALTIME: ProcessLimit = ProcessLimit {
    resource: Resource::Rtprio,
    words: "a real-time priority",
    letter: 'r',
    unit: 1,
    name: "rtprio",
};
const NICENESS: ProcessLimit = ProcessLimit {
    resource: Resource::Nice,
    words: "a nice value",
    letter: 'e',
    unit: 1,
    name: "nice",
};

impl ProcessLimit {
    /// What is in force; `None` for no limit.
    fn current(&self) -> Option<u64> {
        getrlimit(self.resource).current
    }

    /// The command that sets it: who is not root cannot go above the hard limit.
    fn set(&self, value: u64) -> String {
        let value = value.div_ceil(self.unit) * self.unit;
        let hard = getrlimit(self.resource).maximum;
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
    let why = code.map_or_else(|| error.to_string(), errno::text);
    match code {
        Some(libc::EMFILE) => reached(libc::EMFILE).unwrap_or_else(|| Missing::new(why, "")),
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

/// Why so many more processes and threads cannot be had for this; `None` where no limit that can be seen forbids it. Those that
/// this user has elsewhere are not known, so that one may be met all the same.
#[must_use]
pub fn too_few_processes(what_for: &str, needed: u64) -> Option<Missing> {
    if let Some((file, left, most)) = procfs::tightest_group().filter(|(_, left, _)| *left < needed)
    {
        let what = format!(
            "{what_for} needs {needed} more processes and threads, and {} ({most}) leaves {left}",
            file.display()
        );
        let more = most.saturating_add(needed - left);
        return Some(Missing::new(what, format!("echo {more} > {}", file.display())));
    }
    let limit = PROCESSES.current().filter(|_| !has_no_quota())?;
    (limit < needed).then(|| {
        let what = format!(
            "{what_for} needs {needed} processes and threads, and this user may have {limit} (ulimit -u)"
        );
        Missing::new(what, PROCESSES.set(needed.saturating_mul(2)))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_limit_is_told_with_what_is_needed_and_the_command() {
        let limit = open_files();
        assert_eq!(too_few_open_files("a server", limit), None);
        if let Some(more) = limit.checked_add(1) {
            let told = too_few_open_files("a server", more).expect("too few").to_string();
            let expected = format!(
                "a server needs {more} open files in a process, and RLIMIT_NOFILE is {limit}; {}",
                more_open_files(more)
            );
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn the_command_that_raises_a_limit_is_one_that_this_user_can_run() {
        let hard = getrlimit(Resource::Memlock).maximum;
        assert_eq!(more_locked_memory(hard.unwrap_or(u64::MAX).min(1025)), "ulimit -l 2");
        let beyond = hard.and_then(|hard| hard.checked_add(1024)).map(more_locked_memory);
        if let Some(told) = beyond {
            let is_root = rustix::process::geteuid().is_root();
            let command = if is_root { "ulimit -l " } else { "sudo prlimit --pid $$ --memlock=" };
            assert!(told.starts_with(command), "{told}");
        }
    }

    #[test]
    fn an_errno_names_its_limit_and_one_that_has_none_is_a_text() {
        for (code, limit) in [
            (libc::EMFILE, "RLIMIT_NOFILE"),
            (libc::ENFILE, "fs.file-max"),
            (libc::ETOOMANYREFS, "RLIMIT_NOFILE"),
        ] {
            assert!(text(code).contains(limit), "{}", text(code));
        }
        assert_eq!(text(libc::ENOENT), "No such file or directory");
    }

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
