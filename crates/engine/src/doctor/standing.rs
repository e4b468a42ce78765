//! Settings and limits of the machine, which can be read at any time.

use crate::scheduling;
use ipcperf_core::findings::{self, Row};
use ipcperf_core::result::{Check, Host, Kernel, NO_SCHED_EXT};
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use ipcperf_sys::io::uring;
use ipcperf_sys::procfs;
use std::fs;
use std::path::PathBuf;

/// The files of a machine, below its root, and what no file says.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    /// Why a ring of io_uring cannot be had; tried, since filters and limits refuse what settings allow.
    no_ring: Option<Missing>,
}

impl Files {
    /// Of this machine.
    pub(crate) fn here() -> Self {
        let no_ring = match uring::probe::<uring::Enter>(uring::Kind::Pipe, uring::Buffers::Plain) {
            Ok(()) => None,
            Err(SetupError::Unavailable(missing)) => Some(missing),
            Err(other) => Some(Missing::new(other.to_string(), "")),
        };
        Self { root: PathBuf::from("/"), no_ring }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok().map(|text| text.trim().to_owned())
    }
}

/// All of them.
pub(crate) fn checks(files: &Files, host: &Host, kernel: &Kernel) -> Vec<Check> {
    let all = [
        Some(virtual_machine(host)),
        host.container.clone().map(|name| findings::CONTAINER.noted(name, &[])),
        Some(cpus(host)),
        cores(host),
        smt(files),
        Some(frequency(host)),
        turbo(files),
        Some(idle_states(files, host)),
        Some(isolation(files)),
        scheduler(kernel),
        Some(huge_pages(files, kernel)),
        Some(mitigations(kernel)),
        Some(layout(kernel)),
        Some(cpu_limit(host)),
        Some(seccomp(files)),
        Some(limits(files)),
        Some(settings(files, kernel)),
        Some(rings(files)),
        Some(shared_memory(files)),
        loopback(kernel),
    ];
    all.into_iter().flatten().collect()
}

/// A check that is noted if this is so, and fine otherwise.
pub(super) fn noted_if(is_so: bool, row: &Row, found: impl Into<String>) -> Check {
    if is_so { row.noted(found, &[]) } else { row.fine(found) }
}

/// The largest packet of an unchanged loopback interface, bytes, and its queueing discipline (drivers/net/loopback.c).
const USUAL_MTU: &str = "65536";
const NO_QUEUE: &str = "noqueue";

/// Of a loopback interface that could be read.
fn loopback(kernel: &Kernel) -> Option<Check> {
    let of = |name: &str| kernel.loopback.get(name).map(String::as_str);
    let (mtu, qdisc, filters) = (of("mtu")?, of("qdisc")?, of("filters"));
    let filtered = match filters {
        None => "filters not visible".to_owned(),
        Some("0") => "no filter".to_owned(),
        Some(count) => format!("{count} chains or tables of filters"),
    };
    let is_plain =
        mtu == USUAL_MTU && qdisc == NO_QUEUE && filters.is_none_or(|count| count == "0");
    Some(noted_if(!is_plain, &findings::LOOPBACK, format!("MTU {mtu}, {qdisc}, {filtered}")))
}

fn virtual_machine(host: &Host) -> Check {
    let found = host.hypervisor.as_deref().unwrap_or("none visible");
    noted_if(host.hypervisor.is_some(), &findings::VM, found)
}

fn cpus(host: &Host) -> Check {
    let (allowed, online) = (host.cpus_allowed.len(), host.cpus_online.len());
    let found = format!("{allowed} of {online} may be used");
    let row = if allowed < 2 { findings::ONE_CPU } else { findings::CPUS };
    noted_if(allowed < 2 || allowed < online, &row, found)
}

fn cores(host: &Host) -> Option<Check> {
    let kinds = host.core_kinds.iter();
    let words: Vec<_> = kinds.map(|kind| format!("{} {}", kind.cpus.len(), kind.name)).collect();
    (words.len() > 1).then(|| findings::CORES.noted(words.join(", "), &[]))
}

fn smt(files: &Files) -> Option<Check> {
    let is_on = files.text("sys/devices/system/cpu/smt/active")? == "1";
    let found = if is_on { "several per core" } else { "one per core" };
    Some(noted_if(is_on, &findings::SMT, found))
}

fn frequency(host: &Host) -> Check {
    let Some(found) = &host.frequency else {
        return findings::NO_FREQUENCY.noted("not visible", &[]);
    };
    let is_performance = found.split(", ").any(|word| word == "performance");
    noted_if(!is_performance, &findings::FREQUENCY, found)
}

fn turbo(files: &Files) -> Option<Check> {
    let root = "sys/devices/system/cpu";
    let (path, on, off) = [("intel_pstate/no_turbo", "0", "1"), ("cpufreq/boost", "1", "0")]
        .into_iter()
        .find(|(path, _, _)| files.text(&format!("{root}/{path}")).is_some())?;
    let is_on = files.text(&format!("{root}/{path}"))? == on;
    let command = format!("echo {off} > /{root}/{path}");
    let row = findings::TURBO;
    Some(if is_on { row.noted("on", &[&command]) } else { row.fine("off") })
}

/// From which time of leaving the deepest idle state on a wake-up is mostly that; a wake-up itself takes a few us.
const SHALLOW_US: u64 = 10;

fn idle_states(files: &Files, host: &Host) -> Check {
    let root = "sys/devices/system/cpu/cpu0/cpuidle";
    let state = |number: usize| {
        let read = |name: &str| files.text(&format!("{root}/state{number}/{name}"));
        let is_on = read("disable").is_none_or(|text| text == "0");
        Some((read("name")?, read("latency")?.parse::<u64>().ok()?, is_on))
    };
    let states = (0..32).map_while(state).filter(|(_, _, is_on)| *is_on);
    let deepest = states.max_by_key(|(_, latency, _)| *latency);
    let mut found = host.idle.clone().unwrap_or_else(|| "no driver".into());
    if let Some((name, latency, _)) = &deepest {
        found.push_str(&format!("; left from {name} in {latency} us"));
    }
    if let Some(ns) = files.text("sys/module/haltpoll/parameters/guest_halt_poll_ns") {
        found.push_str(&format!("; polls for {ns} ns before it halts"));
    }
    let as_root = if host.may_poll_idle { "" } else { " as root" };
    let is_deep = deepest.is_some_and(|(_, latency, _)| latency > SHALLOW_US);
    let way = if is_deep { "leaving its sleep state" } else { "returning from the host" };
    match is_deep || host.hypervisor.is_some() {
        true => findings::IDLE.noted(found, &[way, as_root]),
        false => findings::IDLE.fine(found),
    }
}

fn isolation(files: &Files) -> Check {
    let list = |name: &str| {
        let list = files.text(&format!("sys/devices/system/cpu/{name}"));
        list.filter(|list| !list.is_empty() && list != "(null)")
    };
    let found: Vec<String> = [("isolated", "isolated"), ("nohz_full", "without ticks")]
        .into_iter()
        .filter_map(|(name, words)| Some(format!("{} {words}", list(name)?)))
        .collect();
    let words = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    noted_if(found.is_empty(), &findings::ISOLATION, words)
}

fn scheduler(kernel: &Kernel) -> Option<Check> {
    let found = kernel.scheduling();
    let is_loaded = kernel.sched_ext.as_ref().is_some_and(|name| name != NO_SCHED_EXT);
    (!found.is_empty()).then(|| noted_if(is_loaded, &findings::SCHEDULER, found))
}

fn huge_pages(files: &Files, kernel: &Kernel) -> Check {
    let enabled = files.text("sys/kernel/mm/transparent_hugepage/enabled");
    let private = enabled.as_deref().and_then(scheduling::chosen);
    let words = |word: Option<&str>| word.unwrap_or("not visible").to_owned();
    let shared = words(kernel.shmem_huge_pages.as_deref());
    let found = format!("{}; shared memory: {shared}", words(private));
    noted_if(private == Some("always"), &findings::HUGEPAGES, found)
}

fn mitigations(kernel: &Kernel) -> Check {
    let all = &kernel.mitigations;
    let active = all.values().filter(|state| state.starts_with("Mitigation")).count();
    let found = format!("{active} of {} known vulnerabilities are mitigated", all.len());
    noted_if(active > 0, &findings::MITIGATIONS, found)
}

fn layout(kernel: &Kernel) -> Check {
    let is_off = kernel.sysctl.get("kernel.randomize_va_space").is_some_and(|value| value == "0");
    noted_if(is_off, &findings::ASLR, if is_off { "fixed" } else { "random" })
}

fn cpu_limit(host: &Host) -> Check {
    match &host.cpu_limit {
        None => findings::CPULIMIT.fine("none"),
        Some(limit) => findings::CPULIMIT.noted(format!("quota and period {limit} us"), &[]),
    }
}

fn seccomp(files: &Files) -> Check {
    let status = files.text("proc/self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    match mode {
        Some("0") => findings::SECCOMP.fine("none"),
        Some(_) => findings::SECCOMP.noted("yes (seccomp)", &[]),
        None => findings::SECCOMP.fine("not visible"),
    }
}

/// A limit: the kernel's name for it, a name for people, the least that is enough, what less of it prevents, and enough of it
/// as `ulimit` takes it (memory and files in KiB).
type Limit = (&'static str, &'static str, u64, &'static str, &'static str);

/// Limits of a process. 819,200 bytes of messages are the kernel's own default (`MQ_BYTES_MAX`); 64 descriptors and
/// processes are what a fan of 16 ends needs; 64 signals are under way each way; 1 MiB is a large message.
const LIMITS: [Limit; 7] = [
    ("Max open files", "open files", 64, "fans and connections with many ends", "-n 1024"),
    ("Max processes", "processes", 64, "fans and connections with many ends", "-u 1024"),
    ("Max msgqueue size", "message queues", 819_200, "posix-mq with large messages", "-q 819200"),
    (
        "Max file size",
        "file size",
        1 << 30,
        "files as messages, and large result files",
        "-f unlimited",
    ),
    ("Max address space", "address space", 4 << 30, "large shared memory", "-v unlimited"),
    ("Max pending signals", "pending signals", 128, "queued signals", "-i 1024"),
    (
        "Max locked memory",
        "locked memory",
        1 << 20,
        "io_uring and large messages without a copy",
        "-l 8192",
    ),
];

/// A limit of control groups: its file in the unified hierarchy and in its own, a name for people, the least that is enough,
/// what less of it prevents, and the value that lifts it in both.
type GroupLimit = ([&'static str; 2], &'static str, u64, &'static str, [&'static str; 2]);

/// 256 MiB is a judgement: nobody has measured what the largest messages and fans take together.
const GROUP_LIMITS: [GroupLimit; 2] = [
    (
        ["memory.max", "memory.limit_in_bytes"],
        "memory of the control group",
        256 << 20,
        "large messages, and many ends",
        ["max", "-1"],
    ),
    (
        ["pids.max"; 2],
        "processes of the control group",
        64,
        "fans and connections with many ends",
        ["max"; 2],
    ),
];

/// The tightest of such a limit, of all control groups around this process, and the command that takes it away.
fn group_limit(files: &Files, limit: &GroupLimit) -> Option<(u64, String)> {
    let folders = procfs::group_folders(&files.text("proc/self/cgroup")?);
    let read = |(folder, at): (&PathBuf, usize)| {
        let file = folder.join(limit.0[at]);
        let value = files.text(file.to_str()?.trim_start_matches('/'))?.parse().ok()?;
        Some((value, format!("echo {} > {}", limit.4[at], file.display())))
    };
    let files = folders.iter().flat_map(|folder| [(folder, 0), (folder, 1)]);
    // Without a limit a hierarchy of its own shows all that 63 bits can say, in whole pages.
    files.filter_map(read).filter(|(value, _)| *value < 1 << 60).min()
}

fn limits(files: &Files) -> Check {
    let text = files.text("proc/self/limits").unwrap_or_default();
    let soft = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let (mut found, mut tight) = (Vec::new(), Vec::new());
    let mut look = |words: &str, value: u64, least: u64, what: &str| {
        let is_bytes =
            ["memory", "file size", "address", "queues"].iter().any(|one| words.contains(one));
        let shown = if is_bytes { format_size(value) } else { value.to_string() };
        found.push(format!("{words} {shown}"));
        let is_tight = value < least;
        if is_tight {
            tight.push(format!("{words} of {shown} may prevent {what}"));
        }
        is_tight
    };
    let mut remedies = Vec::new();
    for (name, words, least, what, enough) in LIMITS {
        if soft(name).is_some_and(|value| look(words, value, least, what)) {
            remedies.push(enough);
        }
    }
    let ulimit = (!remedies.is_empty()).then(|| format!("ulimit {}", remedies.join(" ")));
    let mut commands: Vec<String> = ulimit.into_iter().collect();
    for limit in &GROUP_LIMITS {
        let (_, words, least, what, _) = limit;
        let Some((value, command)) = group_limit(files, limit) else { continue };
        if look(words, value, *least, what) {
            commands.push(command);
        }
    }
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    match tight.is_empty() {
        true => findings::LIMITS.fine(found),
        false => findings::LIMITS.noted(found, &[&tight.join("; "), &commands.join("; ")]),
    }
}

/// The kernel's own defaults: settings below them prevent large messages or many channels.
const DEFAULTS: [(&str, u64); 14] = [
    ("fs.pipe-max-size", 1 << 20),
    ("fs.mqueue.msg_max", 10),
    ("fs.mqueue.msgsize_max", 8192),
    ("fs.mqueue.queues_max", 256),
    ("fs.inotify.max_user_instances", 128),
    ("kernel.msgmax", 8192),
    ("kernel.msgmnb", 16_384),
    ("kernel.msgmni", 32_000),
    ("kernel.shmmni", 4096),
    ("kernel.pty.max", 4096),
    ("net.core.rmem_max", 212_992),
    ("net.core.wmem_max", 212_992),
    ("net.core.optmem_max", 20_480),
    ("net.unix.max_dgram_qlen", 10),
];

fn settings(files: &Files, kernel: &Kernel) -> Check {
    let value = |name: &str| {
        let recorded = kernel.sysctl.get(name).cloned();
        let read = || files.text(&format!("proc/sys/{}", name.replace('.', "/")));
        recorded.or_else(read)?.parse::<u64>().ok()
    };
    let bytes = |name| value(name).map_or_else(|| "not visible".into(), format_size);
    let found = format!(
        "pipe {}, POSIX message {}, System V message {}, socket buffer {}",
        bytes("fs.pipe-max-size"),
        bytes("fs.mqueue.msgsize_max"),
        bytes("kernel.msgmax"),
        bytes("net.core.wmem_max"),
    );
    let is_less = |(name, default): &&(&str, u64)| value(name).is_some_and(|is| is < *default);
    let less: Vec<_> = DEFAULTS.iter().filter(is_less).collect();
    if less.is_empty() {
        return findings::SYSCTL.fine(found);
    }
    let are = less.iter().filter_map(|(name, _)| Some(format!("{name}={}", value(name)?)));
    let below = format!(" (below the default: {})", are.collect::<Vec<_>>().join(", "));
    let defaults = less.iter().map(|(name, default)| format!(" {name}={default}"));
    let remedy = format!("sysctl -w{}", defaults.collect::<String>());
    findings::SYSCTL.noted(found, &[&below, &remedy])
}

fn rings(files: &Files) -> Check {
    match &files.no_ring {
        None => findings::URING.fine("allowed"),
        Some(Missing { what, how }) => {
            findings::URING.noted("refused", &[&format!(": {what}"), how])
        }
    }
}

/// What a container gets by default: too little for a ring of large messages besides others.
const SMALL_SHM: u64 = 64 << 20;

fn shared_memory(files: &Files) -> Check {
    let Some((all, free)) = ipcperf_sys::file::space(&files.path("dev/shm")) else {
        return findings::NO_SHM.noted("missing", &[]);
    };
    let found = format!("{} of {} MiB are free", free >> 20, all >> 20);
    noted_if(free <= SMALL_SHM, &findings::SHM, found)
}

#[cfg(test)]
impl Files {
    /// Of a machine that is described below `root`.
    pub(crate) fn below(root: &std::path::Path) -> Self {
        let mut files = Self { root: root.to_owned(), no_ring: None };
        let is_disabled =
            files.text("proc/sys/kernel/io_uring_disabled").is_some_and(|is| is != "0");
        files.no_ring = is_disabled.then(|| Missing::new("it is disabled", "enable it"));
        files
    }
}
