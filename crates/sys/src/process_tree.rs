//! What a program of others has consumed so far, with every process that it has started: read from outside, while they run.

use crate::clock;
use crate::procfs::{Consumption, text, tick_ns};
use std::collections::{BTreeMap, BTreeSet};

/// `SIGCHLD` in the masks of `/proc/PID/status`.
const CHILD: u64 = 1 << (libc::SIGCHLD - 1);

/// The account of all processes that descend from one. Processes that end are in it as long as their parents wait
/// for them: the kernel adds what they consumed to the parent, in steps of its times (10 ms).
#[derive(Debug, Default)]
pub struct Account {
    /// Whose tree it is, if not that of the calling process, which is no part of its own.
    root: Option<u32>,
    processes: BTreeMap<u32, Process>,
    /// Voluntary and involuntary switches of every thread that was seen; those of children that were waited for are unknown.
    threads: BTreeMap<u32, [u64; 2]>,
    most_processes: u64,
    most_threads: u64,
    is_incomplete: bool,
}

/// One process as it was seen last.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    parent: u32,
    /// Its own CPU time, ns, exact.
    own_ns: u64,
    /// CPU time of children that it has waited for, ns.
    children_ns: u64,
    /// User and system time of both, ns.
    split_ns: [u64; 2],
    /// Minor and major faults of both.
    faults: [u64; 2],
    threads: u64,
    ignores_children: bool,
}

impl Account {
    /// Of another process and all that descend from it.
    #[must_use]
    pub fn of(root: u32) -> Self {
        Self { root: Some(root), ..Self::default() }
    }

    /// Reads all of them; what they have consumed together since the first of them was started.
    pub fn read(&mut self) -> Consumption {
        let mut now = descendants(self.root.unwrap_or_else(std::process::id));
        now.extend(self.root.and_then(|root| Some((root, process(root)?))));
        let grace = 2 * tick_ns();
        for (_, gone) in self.processes.iter().filter(|(pid, _)| !now.contains_key(pid)) {
            let parent = (self.processes.get(&gone.parent), now.get(&gone.parent));
            // Its parent, which waited for it, has its time now. If the parent is gone, too, a process above both has it.
            if let (Some(before), Some(after)) = parent {
                let added = after.children_ns.saturating_sub(before.children_ns) + grace;
                self.is_incomplete |= added < gone.own_ns + gone.children_ns;
            }
        }
        let all = |processes: &BTreeMap<u32, Process>| {
            processes.values().map(|one| one.own_ns + one.children_ns).sum::<u64>()
        };
        let gone = self.processes.keys().filter(|pid| !now.contains_key(pid)).count() as u64;
        self.is_incomplete |= all(&now) + grace * (1 + gone) < all(&self.processes);
        // What nobody waits for is added to nobody.
        self.is_incomplete |= now.values().any(|one| one.ignores_children);
        self.processes = now;
        let processes = self.processes.values();
        self.most_processes = self.most_processes.max(self.processes.len() as u64);
        self.most_threads = self.most_threads.max(processes.clone().map(|one| one.threads).sum());
        for pid in self.processes.keys() {
            for thread in threads(*pid) {
                if let Some(switches) = switches(*pid, thread) {
                    self.threads.insert(thread, switches);
                }
            }
        }
        let sum = |of: fn(&Process) -> u64| processes.clone().map(of).sum();
        let [voluntary, involuntary] =
            [0, 1].map(|at| self.threads.values().map(|switches| switches[at]).sum());
        Consumption {
            cpu_ns: all(&self.processes),
            user_ns: sum(|one| one.split_ns[0]),
            system_ns: sum(|one| one.split_ns[1]),
            voluntary_switches: voluntary,
            involuntary_switches: involuntary,
            minor_faults: sum(|one| one.faults[0]),
            major_faults: sum(|one| one.faults[1]),
        }
    }

    /// Whether a process was lost before anybody had its account: its parent ignored its end.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Most processes that were seen together, and most threads of all of them.
    #[must_use]
    pub fn most(&self) -> [u64; 2] {
        [self.most_processes, self.most_threads]
    }
}

/// A process and all that descend from it now, but the calling one.
#[must_use]
pub fn family(root: u32) -> Vec<u32> {
    let all = descendants(root).into_keys().chain([root]);
    all.filter(|pid| *pid != std::process::id()).collect()
}

/// Processes that descend from this one. Those that have ended and were not waited for are among them.
fn descendants(own: u32) -> BTreeMap<u32, Process> {
    let mut found = BTreeMap::new();
    let mut next = match children(own) {
        Some(children) => children,
        // A kernel without the list of children: everybody is asked for the parent.
        None => return of_all(own),
    };
    while let Some(pid) = next.pop() {
        if let Some(process) = process(pid) {
            found.insert(pid, process);
        }
        next.extend(children(pid).unwrap_or_default());
    }
    found
}

/// The children of a process, where the kernel lists them.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in threads(pid) {
        let list = text(&format!("/proc/{pid}/task/{thread}/children"))?;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Some(children)
}

fn of_all(own: u32) -> BTreeMap<u32, Process> {
    let all: BTreeMap<u32, Process> =
        numbers("/proc").into_iter().filter_map(|pid| Some((pid, process(pid)?))).collect();
    let mut known = BTreeSet::from([own]);
    loop {
        let before = known.len();
        known.extend(
            all.iter()
                .filter(|(_, one)| known.contains(&one.parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if known.len() == before {
            return all.into_iter().filter(|(pid, _)| *pid != own && known.contains(pid)).collect();
        }
    }
}

fn numbers(folder: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn threads(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// CPU time of a process so far, ns; `None` if there is no such process.
#[must_use]
pub fn cpu_ns(pid: u32) -> Option<u64> {
    process(pid).map(|process| process.own_ns)
}

fn process(pid: u32) -> Option<Process> {
    let stat = text(&format!("/proc/{pid}/stat"))?;
    // The name before it may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let ticks = |at: usize| Some(field(at)? * tick_ns());
    let [user, system] = [ticks(11)?, ticks(12)?];
    let [children_user, children_system] = [ticks(13)?, ticks(14)?];
    let status = text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    Some(Process {
        parent: u32::try_from(field(1)?).ok()?,
        own_ns: clock::cpu_ns_of(pid).unwrap_or(user + system),
        children_ns: children_user + children_system,
        split_ns: [user + children_user, system + children_system],
        faults: [field(7)? + field(8)?, field(9)? + field(10)?],
        threads: field(17)?,
        ignores_children: ignored & CHILD != 0,
    })
}

fn switches(pid: u32, thread: u32) -> Option<[u64; 2]> {
    let status = text(&format!("/proc/{pid}/task/{thread}/status"))?;
    let number = |key: &str| {
        status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse::<u64>().ok()
    };
    Some([number("voluntary_ctxt_switches:")?, number("nonvoluntary_ctxt_switches:")?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Starts a shell and reads the account until `is_enough` of it. The account is of all children of this process, of
    /// which other tests have some, so only what is there at the least is looked at.
    fn until(script: &str, is_enough: impl Fn(&Consumption, &Account) -> bool) -> Account {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        started(command, is_enough)
    }

    fn started(
        mut command: Command,
        is_enough: impl Fn(&Consumption, &Account) -> bool,
    ) -> Account {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let _program = Program::start(&mut command).expect("a shell");
        let (mut account, until) = (Account::default(), Instant::now() + Duration::from_secs(60));
        while !{
            let read = account.read();
            is_enough(&read, &account)
        } {
            assert!(Instant::now() < until, "{account:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        account
    }

    const BUSY: &str = "while :; do :; done";

    #[test]
    fn a_process_is_of_the_family_of_its_parent() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("it is everywhere");
        let (own, id) = (std::process::id(), child.id());
        let found = [family(own), family(id)];
        child.kill().expect("our own");
        child.wait().expect("our own");
        assert!(found[0].contains(&id) && !found[0].contains(&own), "{found:?}");
        assert_eq!(found[1], [id]);
    }

    #[test]
    fn what_a_wrapper_starts_and_waits_for_is_in_its_account() {
        let child = format!("sh -c '{BUSY}'; true");
        until(&child, |read, account| {
            read.cpu_ns > 20_000_000 && read.minor_faults > 0 && account.most()[0] >= 2
        });
        // Children of children that have ended by now.
        let ended = "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; sleep 60";
        let is_waited_for = |_: &Consumption, account: &Account| {
            account.processes.values().any(|one| one.children_ns >= tick_ns())
        };
        until(ended, is_waited_for);
    }

    #[test]
    fn who_ignores_the_end_of_children_has_no_complete_account() {
        // A shell would heed it again.
        let mut command = Command::new("sleep");
        command.arg("60");
        let ignore = || {
            // SAFETY: one call of the kernel, between fork and exec.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            Ok(())
        };
        // SAFETY: as above.
        unsafe { command.pre_exec(ignore) };
        started(command, |_, account| account.is_incomplete());
    }
}
