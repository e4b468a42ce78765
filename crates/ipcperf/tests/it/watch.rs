//! What can be seen of a run from outside: its processes and the kernel objects that outlive processes.

use crate::common::Sandbox;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sends a signal, by the shell's own `kill`: not every machine has the program.
pub(crate) fn signal(name: &str, pid: u32) {
    let words = ["-c", "kill -s \"$0\" \"$1\"", name, &pid.to_string()];
    // It may have ended a moment ago; then the shell says so, and that is no error.
    Command::new("sh").args(words).output().expect("there is a shell");
}

/// Sends a signal to all processes of a group.
pub(crate) fn signal_group(name: &str, leader: u32) {
    let words = ["-c", "kill -s \"$0\" -- \"-$1\"", name, &leader.to_string()];
    Command::new("sh").args(words).output().expect("there is a shell");
}

/// Workers of this sandbox, in the order of their numbers, whatever their parent is now: those of a run, which has its
/// directory by then. Before that it is tried whether there can be any.
pub(crate) fn workers(sandbox: &Sandbox) -> Vec<u32> {
    let has_begun = fs::read_dir(sandbox.run_directories()).is_ok_and(|all| all.count() > 0);
    let mut pids = if has_begun { processes(sandbox) } else { Vec::new() };
    pids.retain(|pid| has(*pid, "cmdline", "__worker"));
    pids
}

/// Those of them that are in another network namespace than this process, by which other kinds are told as well.
pub(crate) fn elsewhere(sandbox: &Sandbox) -> Vec<u32> {
    let of = |whose: &str| fs::read_link(format!("/proc/{whose}/ns/net")).ok();
    let ours = of("self");
    let mut pids = workers(sandbox);
    pids.retain(|pid| of(&pid.to_string()).is_some_and(|theirs| Some(theirs) != ours));
    pids
}

/// Processes that inherited the folder of run directories, in the order of their numbers: the coordinator, its workers, and
/// whatever they started.
pub(crate) fn processes(sandbox: &Sandbox) -> Vec<u32> {
    let folder = sandbox.run_directories();
    let inherited = format!("XDG_RUNTIME_DIR={}", folder.to_str().expect("UTF-8"));
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .expect("proc is mounted")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| has(*pid, "environ", &inherited))
        .collect();
    pids.sort_unstable();
    pids
}

/// Whether one of the words of a file of this process is that one. Somebody else's processes, and those that end right now,
/// cannot be read.
pub(crate) fn has(pid: u32, file: &str, word: &str) -> bool {
    let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    text.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
}

/// Whether the process has a pipe of its own open, as a worker has only while it measures pipes. Those that the test
/// itself was given (by a job server, say) are inherited by everybody.
pub(crate) fn holds_pipes(pid: u32) -> bool {
    !pipes(&pid.to_string()).is_subset(&pipes("self"))
}

fn pipes(process: &str) -> BTreeSet<PathBuf> {
    let fds = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    fds.filter_map(|fd| fs::read_link(fd.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("pipe:"))
        .collect()
}

/// Whether the process was the last to send to some System V queue.
pub(crate) fn has_sent(pid: u32) -> bool {
    let table = fs::read_to_string("/proc/sysvipc/msg").expect("this kernel has System V queues");
    let mut senders = table.lines().filter_map(|queue| queue.split_whitespace().nth(5));
    senders.any(|sender| sender == pid.to_string())
}

/// Kernel objects of this machine that outlive processes.
#[derive(Debug)]
pub(crate) struct Objects(BTreeSet<String>);

impl Objects {
    /// All that exist now.
    pub(crate) fn now() -> Self {
        let mut found = BTreeSet::new();
        for kind in ["msg", "sem", "shm"] {
            // Absent in a kernel without System V objects.
            let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
            let ids = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
            found.extend(ids.map(|id| format!("System V {kind} {id}")));
        }
        for folder in ["/dev/shm", "/dev/mqueue"] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            found.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        // What a namespace holds goes with the last process in it: what is seen from here was not made there.
        let devices = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
        let devices = devices.map(|entry| entry.path().display().to_string());
        found.extend(devices.filter(|path| path.contains("/ipcperf")));
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("proc is mounted");
        let (tmp, shm) = (std::env::temp_dir(), Path::new("/dev/shm"));
        let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        let places =
            places.filter(|place| [&*tmp, shm].iter().any(|own| Path::new(place).starts_with(own)));
        found.extend(places.map(|place| format!("a mount at {place}")));
        Self(found)
    }

    /// Those that did not exist then.
    pub(crate) fn since(self, before: &Self) -> Self {
        Self(self.0.difference(&before.0).cloned().collect())
    }

    /// How many may be ours: System V objects and mounts have no names of ours, and all others begin alike.
    pub(crate) fn ours(&self) -> usize {
        let is_nameless = |name: &str| name.starts_with("System V") || name.starts_with("a mount");
        let is_ours = |name: &&String| is_nameless(name) || name.contains("/ipcperf");
        self.0.iter().filter(is_ours).count()
    }

    /// Whether none of those exists any more.
    pub(crate) fn none_of(&self, others: &Self) -> bool {
        self.0.is_disjoint(&others.0)
    }
}
