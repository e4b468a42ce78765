//! The program that measured, what was asked for, and the machine.

use super::cell::Cell;
use super::metric::Metric;
use super::requirements::Requirements;
use crate::names::Axis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Always `ipcperf`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Compiler, profile, target: whatever can change a number.
    pub build: BTreeMap<String, String>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Invocation {
    /// The command line, with the names of files in place of their paths.
    pub argv: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The plan.
    pub plan: Plan,
}

/// The plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// `survey`, `run`, `choose`, `explain` or `replicate`.
    pub command: String,
    /// Cells that can run here.
    pub cells: u64,
    /// Rounds.
    pub rounds: u64,
    /// Length of a slice, ms; 0 with `samples`.
    pub slice_ms: f64,
    /// Warm-up, ms; 0 with `warmup_operations`.
    pub warmup_ms: f64,
    /// Samples per slice; absent if slices have a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Operations of the warm-up; absent if it has a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_operations: Option<u64>,
    /// Operations per sample; absent if the warm-up decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Predicted duration, s.
    pub expected_s: f64,
    /// Arms that differ by no more than this share are as fast as each other; absent: 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Requirements of `choose`; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Requirements>,
    /// The search of `crossover`; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossover: Option<Crossover>,
}

/// A search for where one of two arms overtakes the other. The cells are its points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crossover {
    /// Arm A: a mechanism, and the knobs that were set: `pipe size=1M`.
    pub a: String,
    /// Arm B.
    pub b: String,
    /// What grows.
    pub over: Axis,
    /// Largest number of points; certainty at each is adjusted for all of them.
    pub most_points: u64,
}

/// CPUs of one kind of cores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreKind {
    /// `cpu_core`, `cpu_atom` or `cpu_lowpower`, as the kernel names it; where it gives capacities only, the largest:
    /// `capacity 1024`.
    pub name: String,
    /// Its largest capacity: speed as the kernel states it, 1024 for the fastest CPU of the machine; absent where it says
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Its CPUs, ascending, whether they may be used or not.
    pub cpus: Vec<usize>,
}

/// The machine. No host name, no user name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// Revision of the CPU's microcode, as the kernel writes it (`0x2b000603`); absent where it does not say, and in
    /// documents of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// CPUs online.
    pub cpus_online: Vec<usize>,
    /// CPUs this process may use (cpuset, affinity).
    pub cpus_allowed: Vec<usize>,
    /// Physical cores among them.
    pub cores: u64,
    /// Last-level caches among them.
    pub last_level_caches: u64,
    /// NUMA nodes among them.
    pub nodes: u64,
    /// Kinds of cores of the whole machine (fast ones and thrifty ones), the fastest first. Absent where all are of one kind,
    /// where the kernel does not say, and in documents of older builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_kinds: Vec<CoreKind>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Hypervisor, if one is visible.
    pub hypervisor: Option<String>,
    /// Container runtime, if one is visible.
    pub container: Option<String>,
    /// CPU bandwidth limit of the control group (`max` or quota and period in us).
    pub cpu_limit: Option<String>,
    /// Frequency driver and governor.
    pub frequency: Option<String>,
    /// Idle driver and governor.
    pub idle: Option<String>,
    /// Whether the PM QoS request may be held: `--idle poll` works.
    pub may_poll_idle: bool,
}

/// The kernel and its settings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Mitigations by vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// Settings that change IPC.
    pub sysctl: BTreeMap<String, String>,
    /// Knobs granted below their usual value because a quota was used up: `pipe.size` is `8K in place of 64K`. Absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quotas: BTreeMap<String, String>,
    /// How it divides CPU time into user and system: `tick` (sampled at clock ticks), `precise` (at every change),
    /// `unknown`.
    #[serde(default)]
    pub cpu_accounting: String,
    /// When it takes the CPU from code of its own: `none`, `voluntary`, `full`, `lazy` or `rt`, as it was booted where root
    /// alone may read the present one; `dynamic` where it can change and neither can be read. Absent where nothing says it,
    /// and in documents of older builds, as the keys below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// The scheduler that is loaded as programs (`sched_ext`), as it names itself; `disabled` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sched_ext: Option<String>,
    /// Whether each session has the same share of a CPU, however many processes it has (autogroup).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autogroup: Option<bool>,
    /// Features of the scheduler by name, and whether they are on; root alone may read them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sched_features: BTreeMap<String, bool>,
    /// Timer interrupts per second of a busy CPU (`CONFIG_HZ`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u64>,
    /// The loopback interface: `mtu` in bytes, `qdisc` (its queueing discipline) and `filters`, how many chains of nftables and
    /// tables of iptables look at packets (absent where the right to see them is missing).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loopback: BTreeMap<String, String>,
    /// When shared memory gets transparent huge pages: `always`, `within_size`, `advise`, `never`, `deny` or `force`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shmem_huge_pages: Option<String>,
}

impl Kernel {
    /// The longest time that real-time programs may run in each period, us, and -1 without a limit
    /// (`kernel.sched_rt_runtime_us`); `None` where it could not be read.
    #[must_use]
    pub fn rt_runtime_us(&self) -> Option<&str> {
        self.sysctl.get(RT_RUNTIME).map(String::as_str)
    }

    /// How it schedules, in words, without what could not be read: `preemption none, 250 Hz, autogroup on`.
    #[must_use]
    pub fn scheduling(&self) -> String {
        let on = |is_on: bool| if is_on { "on" } else { "off" };
        let features = self.sched_features.len();
        let rt = self.rt_runtime_us().map(|us| match us {
            "-1" => "no real-time limit".to_owned(),
            us => format!("real-time limit {us} us"),
        });
        let all = [
            self.preemption.as_ref().map(|model| format!("preemption {model}")),
            self.hz.map(|hz| format!("{hz} Hz")),
            self.sched_ext.as_ref().map(|name| format!("sched_ext {name}")),
            self.autogroup.map(|is_on| format!("autogroup {}", on(is_on))),
            (features > 0).then(|| format!("{features} features")),
            rt,
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The setting that limits real-time programs, as `sysctl` has it.
pub const RT_RUNTIME: &str = "kernel.sched_rt_runtime_us";

/// What [`Kernel::sched_ext`] is without a scheduler that is loaded as programs.
pub const NO_SCHED_EXT: &str = "disabled";

/// What [`Kernel::preemption`] is where the model can change and the present one could not be read.
pub const DYNAMIC: &str = "dynamic";

/// The clock that timed everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockFacts {
    /// `tsc`, `cntvct` or `clock_monotonic`.
    pub source: String,
    /// Why not the counter, where it is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// Ticks per second, fitted over the whole run.
    pub ticks_per_second: f64,
    /// Largest distance from that fit, ns.
    pub worst_residual_ns: f64,
    /// Cost of one start-stop pair before the run, by CPU.
    pub before: Vec<ClockReading>,
    /// The same after the run.
    pub after: Vec<ClockReading>,
}

/// Cost of an empty measurement on one CPU, contained in every per-operation time (never subtracted).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockReading {
    /// The CPU.
    pub cpu: usize,
    /// Smallest, ns.
    pub min_ns: f64,
    /// Median, ns.
    pub p50_ns: f64,
    /// 90th percentile, ns.
    pub p90_ns: f64,
    /// 99th percentile, ns.
    pub p99_ns: f64,
    /// Smallest step the clock shows, ns.
    pub granularity_ns: f64,
    /// Readings that ran backwards; must be 0.
    pub negative: u64,
}

/// The machine's own limits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// One system call that does nothing (`getppid`).
    pub null_syscall_ns: Option<Spread>,
    /// Copy bandwidth of one thread by block size.
    pub memcpy: Vec<CopyBandwidth>,
    /// Of each CPU pair used.
    pub pairs: Vec<PairBounds>,
    /// The first return of a program after a switch of tasks: what a call that slept takes longer than one with no return
    /// after it. Absent where it is not measured (other than x86-64) and in documents of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_after_switch_ns: Option<Spread>,
    /// The same after a call that went on at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_after_call_ns: Option<Spread>,
    /// What calls through pointers add to a message of a plug-in: the pipe of ipcperf against the same pipe as a plug-in, 64 bytes on
    /// one CPU, measured once for a program and a machine. Absent where no plug-in was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_call_ns: Option<Metric>,
}

/// Minimum, median and maximum over the rounds in which something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest.
    pub max: f64,
    /// How many.
    pub n: u64,
}

/// Copy bandwidth at one block size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyBandwidth {
    /// Bytes of a block.
    pub size_bytes: u64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// The same where source or target, whichever is faster, are the same 4 KiB again and again: what no stream of messages
    /// of this size can exceed. Absent in documents of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_bytes_per_second: Option<f64>,
}

/// Limits of one CPU pair.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairBounds {
    /// Where they are.
    pub placement: String,
    /// The two CPUs.
    pub cpus: Vec<usize>,
    /// One cache line there and back, both spinning, ns; absent on one CPU.
    #[serde(default)]
    pub cacheline_rtt_ns: Option<Spread>,
    /// The modes it was seen in over the slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cacheline_modes: Vec<super::Mode>,
    /// Futex wake there and back, ns, idle `as-is`.
    #[serde(default)]
    pub futex_wake_rtt_ns: Option<Spread>,
    /// The same with idle CPUs polling, where it may be measured.
    #[serde(default)]
    pub futex_wake_rtt_idle_poll_ns: Option<Spread>,
}

/// How disturbed the run was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// `A` (quiet) to `F` (no claims); `none` where no cell was measured, and where it is not known how far the rounds
    /// differ or how busy the CPUs were.
    pub grade: String,
    /// What gave the grade its value, in words with the figure: `steal 9.1 %`; why there is none, where cells were
    /// measured. Absent where nothing did (`A`) and in documents of older builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What the grade does without, because it could not be read: `steal`, `load` (where no end spins), `speed` (where
    /// there are too few rounds). Absent in documents of older builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Warnings as data, worst first.
    pub findings: Vec<Finding>,
    /// Findings about settings and limits of the machine, as `ipcperf doctor` reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<Finding>,
    /// CPUs' worth of busy time while this run did nothing, between the slices.
    #[serde(default)]
    pub idle_busy_cpus: Option<f64>,
    /// Power of the processor packages meanwhile, W.
    #[serde(default)]
    pub idle_watts: Option<f64>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Slices were rejected or a number is invalid.
    Error,
    /// Lowers what may be claimed.
    Warning,
    /// Good to know.
    Info,
}

/// A coded warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// `W-STEAL`; the prefix is the severity.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, in one sentence with its consequence.
    pub text: String,
    /// The measured value.
    pub value: Option<f64>,
    /// The limit it passed.
    pub limit: Option<f64>,
    /// Identities of the cells it concerns; empty: the whole run.
    pub cells: Vec<String>,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// One of the whole run, without a value; the first letter of its code says how much it matters.
    #[must_use]
    pub fn new(code: &str, text: String, remedy: &str) -> Self {
        let severity = match code.split('-').next() {
            Some("E") => Severity::Error,
            Some("W") => Severity::Warning,
            _ => Severity::Info,
        };
        let (code, remedy) = (code.to_owned(), remedy.to_owned());
        Self { code, severity, text, value: None, limit: None, cells: Vec::new(), remedy }
    }

    /// The same with the value that passed a limit.
    #[must_use]
    pub fn against(self, value: f64, limit: f64) -> Self {
        Self { value: Some(value), limit: Some(limit), ..self }
    }

    /// The same of these cells alone.
    #[must_use]
    pub fn of<'a>(self, cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        Self { cells: cells.into_iter().map(|cell| cell.id.clone()).collect(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_an_older_build_goes_by_time_and_is_written_as_it_was() {
        let text = r#"{"command":"run","cells":1,"rounds":2,"slice_ms":100.0,"warmup_ms":20.0,"expected_s":1.5}"#;
        let plan: Plan = serde_json::from_str(text).expect("a plan");
        assert_eq!((plan.samples, plan.warmup_operations, plan.batch), (None, None, None));
        assert_eq!(serde_json::to_string(&plan).expect("a text"), text);
    }
}
