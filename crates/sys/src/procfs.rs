//! The few files of `/proc` and `/sys` a run reads. Whatever is not readable is `None`, never a made-up zero.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What a process has consumed, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumption {
    /// CPU time, ns, exact.
    pub cpu_ns: u64,
    /// User share, ns; by ticks on many kernels.
    pub user_ns: u64,
    /// System share, ns; by ticks on many kernels.
    pub system_ns: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
}

impl Consumption {
    fn each(&self, other: &Self, by: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_ns: by(self.cpu_ns, other.cpu_ns),
            user_ns: by(self.user_ns, other.user_ns),
            system_ns: by(self.system_ns, other.system_ns),
            voluntary_switches: by(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: by(self.involuntary_switches, other.involuntary_switches),
            minor_faults: by(self.minor_faults, other.minor_faults),
            major_faults: by(self.major_faults, other.major_faults),
        }
    }

    /// From then to this.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.each(other, |one, two| one + two)
    }

    /// What is made of each count.
    #[must_use]
    pub fn map(&self, by: impl Fn(u64) -> u64) -> Self {
        self.each(self, |one, _| by(one))
    }
}

/// What the calling process has consumed so far.
#[must_use]
pub fn consumption() -> Consumption {
    // SAFETY: an all-zero rusage is a valid value.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    // SAFETY: `usage` is a valid place for the result, RUSAGE_SELF a valid argument.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let nanos = |time: libc::timeval| {
        time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
    };
    Consumption {
        cpu_ns: crate::clock::process_cpu_ns(),
        user_ns: nanos(usage.ru_utime),
        system_ns: nanos(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw.cast_unsigned(),
        involuntary_switches: usage.ru_nivcsw.cast_unsigned(),
        minor_faults: usage.ru_minflt.cast_unsigned(),
        major_faults: usage.ru_majflt.cast_unsigned(),
    }
}

/// Time this process was ready but not running, ns.
#[must_use]
pub fn run_delay_ns() -> Option<u64> {
    RunDelay::of_this_process().ns()
}

/// How long a process was ready but not running, in a file that stays open: 2 us, and 7.5 us with opening it.
#[derive(Debug)]
pub(crate) struct RunDelay(Option<File>);

impl RunDelay {
    /// Of the process that calls this.
    pub(crate) fn of_this_process() -> Self {
        Self(File::open("/proc/self/schedstat").ok())
    }

    /// So far, ns; `None` where the kernel does not count it.
    pub(crate) fn ns(&self) -> Option<u64> {
        text_of(self.0.as_ref()?)?.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

/// How often this process was moved between CPUs.
#[must_use]
pub fn migrations() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/sched").ok()?;
    text.lines()
        .find(|line| line.starts_with("se.nr_migrations"))?
        .rsplit(':')
        .next()?
        .trim()
        .parse()
        .ok()
}

/// The process that traces this one by `ptrace(2)`; `None` also where it is in a PID namespace that cannot be seen from here.
#[must_use]
pub fn tracer() -> Option<u32> {
    tracer_of(std::process::id())
}

/// The process that traces another one; `None` likewise.
#[must_use]
pub fn tracer_of(process: u32) -> Option<u32> {
    tracer_in(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn tracer_in(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    line.trim().parse().ok().filter(|pid| *pid != 0)
}

/// Interrupts one CPU sends another to wake it or make it run something, so far, on the given CPUs.
#[must_use]
pub fn inter_processor_interrupts(cpus: &[usize]) -> Option<u64> {
    count_interrupts(&fs::read_to_string("/proc/interrupts").ok()?, cpus)
}

/// The same from the text of `/proc/interrupts`.
#[must_use]
pub fn count_interrupts(text: &str, cpus: &[usize]) -> Option<u64> {
    let mut lines = text.lines();
    // The header names the online CPUs, so a column is a CPU only by this line.
    let columns: Vec<usize> = lines
        .next()?
        .split_ascii_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    let mut total = None;
    for line in lines {
        let Some((name, counts)) = line.split_once(':') else { continue };
        let words = |wanted: [&str; 2]| wanted.iter().any(|word| line.contains(word));
        let wanted = matches!(name.trim(), "RES" | "CAL")
            || (name.trim().starts_with("IPI") && words(["Rescheduling", "Function call"]));
        if wanted {
            total = counts
                .split_ascii_whitespace()
                .zip(&columns)
                .filter(|(_, cpu)| cpus.contains(cpu))
                .filter_map(|(count, _)| count.parse::<u64>().ok())
                .try_fold(total.unwrap_or(0), u64::checked_add);
            total?;
        }
    }
    total
}

/// Interrupts of all kinds so far, by CPU.
#[must_use]
pub fn interrupts_by_cpu() -> Option<BTreeMap<usize, u64>> {
    let text = fs::read_to_string("/proc/interrupts").ok()?;
    let (head, lines) = text.split_once('\n')?;
    let cpu = |name: &str| name.strip_prefix("CPU")?.parse::<usize>().ok();
    let columns: Vec<usize> = head.split_ascii_whitespace().filter_map(cpu).collect();
    let mut sums = BTreeMap::<usize, u64>::new();
    for (_, counts) in lines.lines().filter_map(|line| line.split_once(':')) {
        let counts = counts.split_ascii_whitespace().map_while(|count| count.parse::<u64>().ok());
        for (cpu, count) in columns.iter().zip(counts) {
            let sum = sums.entry(*cpu).or_insert(0);
            *sum = sum.checked_add(count)?;
        }
    }
    Some(sums)
}

/// How often the CPU limit of a control group this process is in, at any level, has stopped the group so far.
#[must_use]
pub fn throttled() -> Option<u64> {
    Withheld::open().throttled()
}

/// CPU time that the hypervisor or a control group kept from this process, in files that stay open: read before and after
/// every slice, 12 us for both figures, and 75 us with looking for the files.
#[derive(Debug)]
pub struct Withheld {
    stat: Option<File>,
    /// `cpu.stat` of the control groups this process was in.
    groups: Vec<File>,
}

impl Withheld {
    /// Of the control groups that this process is in now. One that is moved later needs another.
    #[must_use]
    pub fn open() -> Self {
        Self { stat: File::open("/proc/stat").ok(), groups: opened(&groups()) }
    }

    /// Time stolen by the hypervisor from all CPUs since boot, ns (steps of 10 ms).
    #[must_use]
    pub fn steal_ns(&self) -> Option<u64> {
        stolen_ns(&text_of(self.stat.as_ref()?)?)
    }

    /// How often the CPU limit of one of these control groups has stopped it so far.
    #[must_use]
    pub fn throttled(&self) -> Option<u64> {
        let count = |file: &File| {
            let text = text_of(file)?;
            let count = text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?;
            count.trim().parse::<u64>().ok()
        };
        self.groups.iter().filter_map(count).reduce(u64::saturating_add)
    }
}

/// The files with the CPU time of these control groups, as far as they have one.
fn opened(groups: &[PathBuf]) -> Vec<File> {
    groups.iter().filter_map(|folder| File::open(folder.join("cpu.stat")).ok()).collect()
}

/// All of an open file from its beginning, wherever it was read before.
fn text_of(file: &File) -> Option<String> {
    let (mut bytes, mut filled) = (vec![0; 4 << 10], 0);
    loop {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    String::from_utf8(bytes).ok()
}

/// The tightest CPU limit named by a control group this process is in: quota and period, us.
#[must_use]
pub fn cpu_limit() -> Option<String> {
    tightest(&groups())
}

fn tightest(groups: &[PathBuf]) -> Option<String> {
    let limits = groups.iter().filter_map(|folder| {
        let read = |name: &str| text(&folder.join(name).to_string_lossy());
        let unified = read("cpu.max").filter(|limit| !limit.starts_with("max"));
        let split = || {
            let quota = read("cpu.cfs_quota_us").filter(|quota| !quota.starts_with('-'))?;
            Some(format!("{quota} {}", read("cpu.cfs_period_us")?))
        };
        unified.or_else(split)
    });
    limits.min_by(|one, other| allowed(one).total_cmp(&allowed(other)))
}

/// How many CPUs a quota and its period allow.
fn allowed(limit: &str) -> f64 {
    let mut times = limit.split_ascii_whitespace().map_while(|time| time.parse::<f64>().ok());
    match (times.next(), times.next()) {
        (Some(quota), Some(period)) if period > 0.0 => quota / period,
        _ => f64::INFINITY,
    }
}

/// Folders of the control groups of this process that can limit CPU time, memory or processes, innermost first, in both
/// hierarchies.
fn groups() -> Vec<PathBuf> {
    fs::read_to_string("/proc/self/cgroup").map_or_else(|_| Vec::new(), |text| group_folders(&text))
}

/// Folders of this process's control groups that share out CPU time, innermost first: the controller `cpu` of
/// version 1 if there is one, otherwise version 2.
#[must_use]
pub(crate) fn cpu_group() -> Vec<PathBuf> {
    let Ok(text) = fs::read_to_string("/proc/self/cgroup") else { return Vec::new() };
    let has_cpu = |line: &&str| {
        line.split(':').nth(1).is_some_and(|list| list.split(',').any(|one| one == "cpu"))
    };
    let line =
        text.lines().find(has_cpu).or_else(|| text.lines().find(|line| line.starts_with("0:")));
    line.map_or_else(Vec::new, group_folders)
}

/// The same from the text of `/proc/self/cgroup`.
#[must_use]
pub fn group_folders(membership: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup").to_owned(),
            // A folder there, so without a slash, which would lead elsewhere.
            list if !list.contains('/')
                && list.split(',').any(|one| ["cpu", "memory", "pids"].contains(&one)) =>
            {
                Path::new("/sys/fs/cgroup").join(list)
            }
            _ => continue,
        };
        let inner = root.join(path.trim_start_matches('/'));
        folders.extend(
            inner.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_owned),
        );
    }
    folders
}

/// The file with the limit of processes of a control group around this process that has as many as it may have, and how
/// many those are.
#[must_use]
pub fn full_group() -> Option<(PathBuf, u64)> {
    full(&groups())
}

/// The file with the limit of processes of the control group around this process that leaves the fewest, how many it leaves,
/// and the limit; `None` where no group has one.
#[must_use]
pub fn tightest_group() -> Option<(PathBuf, u64, u64)> {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &PathBuf| {
        let file = folder.join("pids.max");
        let most = number(&file)?;
        let used = number(&folder.join("pids.current"))?;
        Some((file, most.saturating_sub(used), most))
    };
    groups().iter().filter_map(left).min_by_key(|(_, left, _)| *left)
}

fn full(groups: &[PathBuf]) -> Option<(PathBuf, u64)> {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    groups.iter().find_map(|folder| {
        let file = folder.join("pids.max");
        let most = number(&file)?;
        (number(&folder.join("pids.current"))? >= most).then_some((file, most))
    })
}

/// How many CPUs there are, and how long they have not run anything since boot, all together, ns (steps of 10 ms):
/// idle, waiting for a disk, or stolen. What is left of the time they were busy. The times the same file shows for
/// programs, kernel and interrupts are sampled at clock ticks, and a CPU that sleeps often misses ticks: measured over
/// four seconds of a blocking ping-pong, these times and the idle time add up to 81 % of the four seconds, and what they
/// show is less than what the two processes used by their own clocks.
#[must_use]
pub fn rest_ns() -> Option<(usize, u64)> {
    let (cpus, ticks) = rest_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    Some((cpus, ticks.checked_mul(tick_ns())?))
}

/// The step of the times in `/proc/stat`, ns.
#[must_use]
pub fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// How many CPUs the text of `/proc/stat` has; ticks of all of them that were idle, waited for a disk or were stolen.
#[must_use]
pub fn rest_ticks(text: &str) -> Option<(usize, u64)> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    let fields: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let [.., idle, iowait, _irq, _softirq, steal] = fields.as_slice() else { return None };
    let is_cpu = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
    let ticks = idle.checked_add(*iowait)?.checked_add(*steal)?;
    Some((text.lines().filter(is_cpu).count(), ticks))
}

/// Time stolen by the hypervisor from all CPUs since boot, ns (steps of 10 ms).
#[must_use]
pub fn steal_ns() -> Option<u64> {
    stolen_ns(&fs::read_to_string("/proc/stat").ok()?)
}

fn stolen_ns(text: &str) -> Option<u64> {
    let ticks: u64 = text.lines().next()?.split_ascii_whitespace().nth(8)?.parse().ok()?;
    ticks.checked_mul(tick_ns())
}

/// Share of all CPU time since boot that the hypervisor took.
#[must_use]
pub fn stolen_share() -> Option<f64> {
    share_stolen(&fs::read_to_string("/proc/stat").ok()?)
}

/// The same from the text of `/proc/stat`.
#[must_use]
pub fn share_stolen(text: &str) -> Option<f64> {
    let words = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    // The times of guests, which follow, are in those of user programs already.
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let [.., steal] = ticks.as_slice() else { return None };
    let all: f64 = ticks.iter().map(|ticks| *ticks as f64).sum();
    (ticks.len() == 8 && all > 0.0).then(|| *steal as f64 / all)
}

/// One value of a `Name: value kB` file such as `/proc/meminfo`, in bytes.
#[must_use]
pub fn memory_bytes(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Threads of the whole system.
pub(crate) fn threads() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Memory that can still be had: what the machine has available, or less where a control group limits it.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    memory_bytes("MemAvailable").into_iter().chain(left_to(&groups())).min()
}

/// What the tightest limit of these control groups leaves. Cached pages of files that nobody has used lately are given up.
fn left_to(groups: &[PathBuf]) -> Option<u64> {
    let left = |folder: &PathBuf| {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        // 'max' is no number.
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
        let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
        let cached = read("memory.stat").and_then(|text| {
            text.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok())
        });
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    };
    groups.iter().filter_map(left).min()
}

/// The frequency that the first CPU names, MHz: in the name of its model, or else by CPUID.
///
/// The "cpu MHz" of `/proc/cpuinfo` is none: where the kernel does not control the frequency, it is the rate of the counter as the
/// kernel has measured it.
#[must_use]
pub fn named_mhz() -> Option<f64> {
    named_in(&fs::read_to_string("/proc/cpuinfo").ok()?).or_else(mhz_by_cpuid)
}

/// CPUID leaf 0x15 has the rate of the counter, as a ratio of that of a crystal, and leaf 0x16 the base frequency in MHz (Intel's
/// manual, volume 2A, CPUID). What a processor does not say is 0 there; those of AMD say neither.
fn mhz_by_cpuid() -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        let most = __cpuid(0).eax;
        let by_crystal = || {
            let leaf = __cpuid(0x15);
            let mhz = f64::from(leaf.ecx) / 1e6 * f64::from(leaf.ebx) / f64::from(leaf.eax);
            Some(mhz).filter(|mhz| mhz.is_finite() && *mhz > 0.0)
        };
        let base = || Some(f64::from(__cpuid(0x16).eax & 0xffff)).filter(|mhz| *mhz > 0.0);
        let by_crystal = (most >= 0x15).then(by_crystal).flatten();
        by_crystal.or_else(|| (most >= 0x16).then(base).flatten())
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// The one in the name of its model, from the text of `/proc/cpuinfo`.
#[must_use]
pub fn named_in(info: &str) -> Option<f64> {
    let model = info.lines().find(|line| line.starts_with("model name"));
    let ghz = model.and_then(|line| line.rsplit_once('@')?.1.trim().strip_suffix("GHz"));
    let named = ghz.and_then(|ghz| ghz.trim().parse::<f64>().ok()).map(|ghz| ghz * 1e3);
    named.filter(|mhz| mhz.is_finite() && *mhz > 0.0)
}

/// The present frequency of the first CPU, MHz, as `/proc/cpuinfo` has it.
#[must_use]
pub fn present_mhz(info: &str) -> Option<f64> {
    let line = info.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// A small text file without its line end.
#[must_use]
pub fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}

/// Processes whose parent is this one.
#[must_use]
pub fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: &u32| {
        let text = text(&format!("/proc/{pid}/stat"))?;
        // The name before it may contain anything.
        text.rsplit_once(") ")?.1.split(' ').nth(1).map(ToOwned::to_owned)
    };
    pids.filter(|pid| parent(pid).as_ref() == Some(&own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_traces_a_process_is_read_from_its_status() {
        let status = |pid: &str| format!("Name:\tx\nPPid:\t7\nTracerPid:\t{pid}\nUid:\t0\n");
        assert_eq!(tracer_in(&status("417")), Some(417));
        assert_eq!(tracer_in(&status("0")), None);
        assert_eq!(tracer_in("Name:\tx\n"), None);
    }

    #[test]
    fn interrupts_are_counted_by_the_header_not_by_position() {
        let x86 = "            CPU0       CPU2       CPU3\n  0:         10          0          0   IO-APIC\nRES:          5          7         11   Rescheduling interrupts\nCAL:          1          2          3   Function call interrupts\nTLB:        100        100        100   TLB shootdowns\n";
        assert_eq!(count_interrupts(x86, &[2, 3]), Some(23));
        assert_eq!(count_interrupts(x86, &[1]), Some(0));
        let arm = "           CPU0       CPU1\nIPI0:         4          6       Rescheduling interrupts\nIPI1:         2          3       Function call interrupts\nIPI2:         9          9       CPU stop interrupts\n";
        assert_eq!(count_interrupts(arm, &[0, 1]), Some(15));
        assert_eq!(count_interrupts("CPU0\n 1: 5 x\n", &[0]), None);
    }

    #[test]
    fn a_frequency_is_that_of_the_model_and_not_that_of_the_moment() {
        let model = "model name\t: A CPU @ 2.67GHz\n";
        let now = "cpu MHz\t\t: 800.5\n";
        assert_eq!(named_in(&format!("{model}{now}")), Some(2670.0));
        assert_eq!(named_in(&format!("model name\t: Another CPU\n{now}")), None);
        assert_eq!(named_in("model name\t: A CPU @ 0.00GHz\n"), None);
        assert_eq!((named_in("flags: x\n"), present_mhz(now)), (None, Some(800.5)));
    }

    #[test]
    fn limits_are_looked_for_at_every_level_of_both_hierarchies() {
        let folders = group_folders("3:cpuset:/x\n1:cpu,cpuacct:/a\n0::/user/job\n");
        let shown: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let wanted = ["cpu,cpuacct/a", "cpu,cpuacct", "user/job", "user", ""];
        let wanted =
            wanted.map(|end| format!("/sys/fs/cgroup/{end}").trim_end_matches('/').to_owned());
        assert_eq!(shown.iter().map(|path| path.trim_end_matches('/')).collect::<Vec<_>>(), wanted);
        for text in ["nonsense\n\n:", "1:/cpu,cpu:/a"] {
            assert!(group_folders(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_a_control_group_leaves_is_its_limit_less_what_it_needs() {
        let [inner, outer] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let groups = [&inner, &outer].map(|folder| folder.path().to_owned());
        let write = |folder: &tempfile::TempDir, name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        assert_eq!(left_to(&groups), None);
        write(&inner, "memory.max", "max\n");
        write(&inner, "memory.current", "700\n");
        write(&outer, "memory.limit_in_bytes", "1000\n");
        write(&outer, "memory.usage_in_bytes", "900\n");
        assert_eq!(left_to(&groups), Some(100));
        write(&outer, "memory.stat", "active_file 5\ninactive_file 300\n");
        assert_eq!(left_to(&groups), Some(400));
        write(&inner, "memory.max", "650\n");
        assert_eq!(left_to(&groups), Some(0));
    }

    #[test]
    fn files_that_stay_open_show_what_has_become_of_them() {
        let [inner, outer] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let write = |folder: &tempfile::TempDir, text: &str| {
            fs::write(folder.path().join("cpu.stat"), text).expect("a file");
        };
        let groups = [&inner, &outer].map(|folder| folder.path().to_owned());
        let without = Withheld { stat: None, groups: opened(&groups) };
        assert_eq!((without.throttled(), without.steal_ns()), (None, None));
        write(&inner, "nr_periods 7\nnr_throttled 3\n");
        write(&outer, "usage_usec 7\n");
        let stat = outer.path().join("stat");
        // Longer than what is read at once.
        let text = format!("cpu  1 2 3 4 5 6 7 9 0\n{}", "intr 1 2 3\n".repeat(5000));
        fs::write(&stat, &text).expect("a file");
        let open = Withheld { stat: File::open(&stat).ok(), groups: opened(&groups) };
        assert_eq!((open.throttled(), open.steal_ns()), (Some(3), Some(9 * tick_ns())));
        assert_eq!(open.stat.as_ref().and_then(text_of), Some(text));
        write(&inner, "nr_periods 8\nnr_throttled 12\n");
        write(&outer, "nr_throttled 100\n");
        assert_eq!(open.throttled(), Some(112));
        let machine = Withheld::open();
        assert_eq!(machine.steal_ns().is_some(), steal_ns().is_some());
    }

    #[test]
    fn a_group_that_is_full_is_found_and_none_that_is_not() {
        let [inner, outer] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let groups = [&inner, &outer].map(|folder| folder.path().to_owned());
        let write = |folder: &tempfile::TempDir, name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        assert_eq!(full(&groups), None);
        write(&inner, "pids.max", "max\n");
        write(&inner, "pids.current", "20\n");
        write(&outer, "pids.max", "21\n");
        write(&outer, "pids.current", "20\n");
        assert_eq!(full(&groups), None);
        write(&outer, "pids.current", "21\n");
        assert_eq!(full(&groups), Some((outer.path().join("pids.max"), 21)));
        assert!(threads().is_none_or(|threads| threads > 0));
    }

    #[test]
    fn of_several_limits_the_tightest_is_told() {
        let [inner, outer] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let groups = [&inner, &outer].map(|folder| folder.path().to_owned());
        for (own, above, told) in [
            ("400000 100000\n", "100000 100000\n", Some("100000 100000")),
            ("50000 100000\n", "20000 10000\n", Some("50000 100000")),
            ("50000 100000\n", "max 100000\n", Some("50000 100000")),
            ("max 100000\n", "max 100000\n", None),
        ] {
            for (folder, limit) in groups.iter().zip([own, above]) {
                fs::write(folder.join("cpu.max"), limit).expect("a file");
            }
            assert_eq!(tightest(&groups).as_deref(), told);
        }
    }

    #[test]
    fn a_cpu_that_is_idle_or_stolen_is_not_busy() {
        let text = "cpu  1 2 4 1000 300 8 16 7 1 0\ncpu0 9 9 9 9\ncpu3 9 9 9 9\nintr 5\n";
        assert_eq!(rest_ticks(text), Some((2, 1307)));
        assert_eq!(rest_ticks("cpu0 1 2 3 4 5 6 7 8"), None);
        assert_eq!(rest_ticks("cpu 1 2 x"), None);
        assert!(rest_ns().expect("stat is readable").0 > 0);
    }

    /// Sums beyond 64 bits ended a debug build, and were another number in others.
    #[test]
    fn counts_that_make_no_sum_are_no_number() {
        let most = u64::MAX;
        assert_eq!(rest_ticks(&format!("cpu  1 2 3 {most} 5 6 7 8 9\n")), None);
        assert_eq!(share_stolen(&format!("cpu  0 0 0 {most} 0 0 0 {most}\n")), Some(0.5));
        for text in
            [format!("CPU0 CPU1\nRES: {most} {most} x\n"), format!("CPU0\nRES: {most}\nCAL: 3 x\n")]
        {
            assert_eq!(count_interrupts(&text, &[0, 1]), None, "{text}");
        }
        assert_eq!(count_interrupts(&format!("CPU0\nRES: {most} x\n"), &[0]), Some(most));
    }

    #[test]
    fn the_stolen_share_is_that_of_the_first_eight_times() {
        let text = "cpu  10 0 10 60 0 0 0 20 9 9\ncpu0 1 1 1 1 1 1 1 1\n";
        assert_eq!(share_stolen(text), Some(0.2));
        assert_eq!(share_stolen("cpu 1 2 3\n"), None);
        let all = interrupts_by_cpu().expect("/proc/interrupts is readable");
        assert!(all.values().any(|count| *count > 0), "{all:?}");
    }

    #[test]
    fn consumption_of_this_process_grows() {
        let before = consumption();
        let mut sum = 0_u64;
        while consumption().cpu_ns < before.cpu_ns + 1_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        let after = consumption();
        assert!(after.cpu_ns > before.cpu_ns && after.minor_faults >= before.minor_faults);
        assert!(memory_bytes("MemTotal").expect("meminfo is readable") > 1 << 20);
    }
}
