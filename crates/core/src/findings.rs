//! Everything that a run or `ipcperf doctor` can find, in one table. What measures passes numbers; every text about a finding
//! comes from its row, in documents, on screens and pages, in `ipcperf explain` and in docs/WORDS.md. A new finding is a row
//! here, its name in the list at the end, and the line that raises it.

#![expect(missing_docs, reason = "the sentence of a row says what it is")]

mod checks;

pub use checks::*;

use crate::result::{Check, Finding, Rating, Rejection};
use crate::units::{counted, format_nanos, percent};
use Limit::{Above, Fewer, Longer, More, Share, Without};
use std::fmt;

/// What a value must pass to be a finding, with its unit.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// There is no value, or no fixed limit for it.
    Without,
    /// More than this share.
    Share(f64),
    /// A ratio above this.
    Above(f64),
    /// Longer than this, ns.
    Longer(f64),
    /// More of these than this.
    More(u64, &'static str),
    /// Fewer of these than this.
    Fewer(u64, &'static str),
}

impl Limit {
    /// The limit as a number, in the unit of the value.
    #[must_use]
    pub const fn number(self) -> Option<f64> {
        match self {
            Without => None,
            Share(limit) | Above(limit) | Longer(limit) => Some(limit),
            More(limit, _) | Fewer(limit, _) => Some(limit as f64),
        }
    }

    /// A value in its unit.
    fn value(self, value: f64) -> String {
        match self {
            Without | Above(_) => format!("{value:.1}"),
            Share(_) => percent(value),
            Longer(_) => format_nanos(value),
            More(_, what) | Fewer(_, what) => counted(value as u64, what),
        }
    }

    /// Any value that passes it.
    fn any(self) -> String {
        let limit = self.value(self.number().unwrap_or_default());
        let than = if matches!(self, Fewer(..)) { "fewer" } else { "more" };
        format!("{than} than {}", limit.replace(".0 %", " %"))
    }
}

/// One thing that can be found. In the texts `{value}` is the measured value. Other braces are filled with words that the
/// measuring code made of its numbers, in order; what they contain here is what they mean in general.
#[derive(Debug)]
pub struct Row {
    /// `W-STEAL`; the prefix is the severity.
    pub code: &'static str,
    /// What `ipcperf doctor` examines; empty for findings of a run.
    pub subject: &'static str,
    /// It is found in somebody's benchmark, by `ipcperf audit`.
    pub is_of_audit: bool,
    /// What its value must pass.
    pub limit: Limit,
    sentence: &'static str,
    consequence: &'static str,
    remedy: &'static str,
}

/// A row: a sentence, its consequence and its remedy. Braces in them are filled when it is found.
#[must_use]
pub const fn finding(
    code: &'static str,
    limit: Limit,
    sentence: &'static str,
    consequence: &'static str,
    remedy: &'static str,
) -> Row {
    Row { code, subject: "", is_of_audit: false, limit, sentence, consequence, remedy }
}

/// A row of `ipcperf audit`: a sentence with its words in braces, its consequence and its remedy.
#[must_use]
pub const fn of_benchmark(
    code: &'static str,
    sentence: &'static str,
    consequence: &'static str,
    remedy: &'static str,
) -> Row {
    Row { is_of_audit: true, ..finding(code, Without, sentence, consequence, remedy) }
}

const fn check(
    code: &'static str,
    subject: &'static str,
    sentence: &'static str,
    consequence: &'static str,
    remedy: &'static str,
) -> Row {
    Row { subject, ..finding(code, Without, sentence, consequence, remedy) }
}

/// A text whose braces contain these words, or what they contain in general.
fn filled(text: &str, value: &str, words: Option<&mut std::slice::Iter<'_, &str>>) -> String {
    let mut words = words;
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (general, rest) = part.split_once('}').unwrap_or((part, ""));
        filled += match (general, &mut words) {
            ("value", _) => value,
            (_, Some(words)) => words.next().copied().unwrap_or(general),
            (_, None) => general,
        };
        filled += rest;
    }
    filled
}

impl Row {
    /// Whether a value passes the limit.
    #[must_use]
    pub fn is_passed(&self, value: f64) -> bool {
        match self.limit {
            Without => false,
            Fewer(limit, _) => value < limit as f64,
            limit => limit.number().is_some_and(|limit| value > limit),
        }
    }

    /// Why a slice does not count: `E-MIGRATE: pinned to CPU 1`.
    #[must_use]
    pub fn rejection(&self, why: impl fmt::Display) -> Rejection {
        Rejection { code: self.code.into(), reason: why.to_string() }
    }

    /// What was found where a slice was rejected by this row; `None` of another one.
    #[must_use]
    pub fn reason<'a>(&self, rejection: &'a Rejection) -> Option<&'a str> {
        (rejection.code == self.code).then_some(rejection.reason.as_str())
    }

    /// Whether a finding has the code of this row.
    #[must_use]
    pub fn is_of(&self, finding: &Finding) -> bool {
        finding.code == self.code
    }

    /// It was found, and no number belongs to it.
    #[must_use]
    pub fn found(&self, words: &[&str]) -> Finding {
        self.finding("", words)
    }

    /// It was found by this value.
    #[must_use]
    pub fn measured(&self, value: f64, words: &[&str]) -> Finding {
        let finding = self.finding(&self.limit.value(value), words);
        Finding { value: Some(value), limit: self.limit.number(), ..finding }
    }

    fn finding(&self, value: &str, words: &[&str]) -> Finding {
        let mut words = words.iter();
        let [sentence, consequence, remedy] = [self.sentence, self.consequence, self.remedy]
            .map(|text| filled(text, value, Some(&mut words)));
        let text = joined(sentence, &consequence);
        debug_assert!(words.next().is_none(), "{}: more words than braces", self.code);
        Finding::new(self.code, text, &remedy)
    }

    /// What a check is called: its code without the severity.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.subject {
            "" => self.code,
            _ => self.code.split_once('-').map_or(self.code, |(_, name)| name),
        }
    }

    /// A check with nothing to complain about.
    #[must_use]
    pub fn fine(&self, found: impl Into<String>) -> Check {
        Check {
            code: self.name(),
            subject: self.subject,
            found: found.into(),
            rating: Rating::Fine,
            consequence: String::new(),
            remedy: String::new(),
        }
    }

    /// A check whose consequence matters.
    #[must_use]
    pub fn noted(&self, found: impl Into<String>, words: &[&str]) -> Check {
        let mut words = words.iter();
        let [consequence, remedy] =
            [self.consequence, self.remedy].map(|text| filled(text, "", Some(&mut words)));
        let rating = if self.code.starts_with('W') { Rating::Warning } else { Rating::Note };
        Check { rating, consequence, remedy, ..self.fine(found) }
    }

    /// What it means in general, without the stop at its end.
    #[must_use]
    pub fn meaning(&self) -> String {
        let general = |text| filled(text, &self.limit.any(), None);
        joined(general(self.sentence), &general(self.consequence))
    }

    /// What to do about it in general, without the stop at its end.
    #[must_use]
    pub fn advice(&self) -> String {
        match filled(self.remedy, "", None) {
            nothing if nothing.is_empty() => "nothing needs to be done".to_owned(),
            advice => advice,
        }
    }
}

fn joined(sentence: String, consequence: &str) -> String {
    if consequence.is_empty() { sentence } else { format!("{sentence}: {consequence}") }
}

pub const IMPOSSIBLE: Row = finding(
    "E-IMPOSSIBLE",
    More(0, "slice"),
    "{slices were} rejected because they were faster than this machine's hardware limits{}",
    "",
    "repeat the run, since the clock or the machine changed during it; if this persists, report a bug in ipcperf",
);
pub const MOVED: Row = finding(
    "E-TOPOLOGY",
    More(0, "slice"),
    "{slices were} rejected because the cache-line round trip measured with them shows that the CPUs were moved{}",
    "",
    "pin the CPUs of the virtual machine on its host",
);
pub const MIGRATE: Row = finding(
    "E-MIGRATE",
    More(0, "slice"),
    "{slices were} rejected because a process was not on the CPU it was pinned to{}",
    "",
    "find what moves processes: cpuset managers, taskset, CPU hotplug",
);
pub const TRACED: Row = finding(
    "E-TRACED",
    More(0, "slice"),
    "{slices were} rejected because a tracer (ptrace) stopped the process at its system calls{}",
    "",
    "run it without strace, ltrace or gdb; 'ipcperf run --time-calls' times single calls",
);
pub const THROTTLE: Row = finding(
    "E-THROTTLE",
    More(0, "slice"),
    "{slices were} rejected because the CPU limit of a control group stopped them{}",
    "",
    "raise the CPU limit (docker run without --cpus; Kubernetes: whole CPUs under the static CPU policy), or use a shorter --slice",
);
pub const CLOCKJUMP: Row = finding(
    "E-CLOCKJUMP",
    More(0, "slice"),
    "{slices were} rejected because the clock jumped: the machine was paused, suspended or moved{}",
    "",
    "repeat the run; the other slices are valid",
);
pub const PAYLOAD: Row = finding(
    "E-PAYLOAD",
    More(0, "cell"),
    "{cells have} no result because a message arrived with the wrong content{}",
    "",
    "trust nothing measured over this mechanism, and report it",
);
pub const BACKWARDS: Row = finding(
    "E-CLOCK",
    More(0, "time"),
    "the clock ran backwards{}",
    "no time in this run can be trusted",
    "switch the kernel to another clock source and repeat the run",
);
pub const MULTIMODAL: Row = finding(
    "W-MULTIMODAL",
    Above(1.5),
    "the rounds of {a cell} are bimodal{}",
    "the larger mode is reported, never the average",
    "compare cacheline_rtt_ns across the rounds, pin the CPUs of a virtual machine, or try --idle poll",
);
pub const OPMODES: Row = finding(
    "W-OPMODES",
    Above(1.5),
    "{some} measurements mix fast and slow operations{}",
    "the median hides the slow ones, so read the mean as well",
    "{look for other work on the CPUs, try --idle poll, and measure with your program's pauses (--think)}",
);
pub const UNSTABLE: Row = finding(
    "W-UNSTABLE",
    Share(0.05),
    "the rounds of {some} cells differ by more than 5 %{}",
    "use the intervals, ignore the last digits",
    "use a quieter machine, more rounds or longer slices",
);
pub const DRIFT: Row = finding(
    "W-DRIFT",
    Share(0.02),
    "{more} cells drifted in one direction over the rounds{ than chance explains (Theil-Sen above 2 %, Mann-Kendall below 1 in 100)}",
    "the machine was not in a steady state",
    "let the machine warm up or cool down, and repeat the run",
);
pub const LOAD: Row = finding(
    "W-LOAD",
    Share(0.05),
    "other work ran on the CPUs",
    "busy-waiting processes were ready but not running {value} of the time",
    "stop other work, or use CPUs that it does not use (taskset)",
);
pub const BUSY: Row = finding(
    "W-LOAD",
    Share(0.10),
    "other programs used {value} of all CPUs between the rounds",
    "they probably ran during the measurements too",
    "stop other work, and repeat the run",
);
pub const LOSS: Row = finding(
    "W-LOSS",
    More(0, "message"),
    "{some} messages were lost or arrived too late{}",
    "rates count only messages that arrived, and a quantile among the lost ones has no value",
    "use {a larger receive buffer (--set udp.rcvbuf=4M), or a mechanism that makes the sender wait}",
);
pub const SHORT: Row = finding(
    "W-SHORT",
    Without,
    "slices of {some cells} ended before half of their planned time{}",
    "their results rest on few operations",
    "use longer slices and warm-ups (--slice, --warmup) on a quieter machine",
);
pub const QUOTA: Row = finding(
    "W-QUOTA",
    Without,
    "the kernel granted less than usual{, for example small pipes, because a quota of this user is used up}",
    "",
    "{raise the quota that the finding names, or close what uses it up}",
);
pub const STOPPED: Row = finding(
    "W-STOPPED",
    Without,
    "a process was stopped in {some slices}{}",
    "means, rates and tails include the pause",
    "find what stops processes (a shell, a debugger, a control group, the host) and repeat the run; --stall does it on purpose",
);
pub const PAUSED: Row = finding(
    "W-STOPPED",
    Longer(100e6),
    "ipcperf itself was stopped for {value}",
    "what came before and after was measured at different times",
    "let ipcperf run without interruption, and repeat the run",
);
pub const SUSPENDED: Row = finding(
    "W-STOPPED",
    Longer(100e6),
    "the machine was suspended for {value}",
    "what came before and after was measured at different times",
    "keep the machine awake, and repeat the run",
);
pub const STRANGERS: Row = finding(
    "W-STRANGERS",
    More(0, "connection"),
    "{connections} from other programs reached the server of a connect cell{}",
    "it answered them in addition to the measured ones",
    "find what connects to every port of this machine, or measure in a separate network namespace",
);
pub const FEW_REFUSED: Row = finding(
    "W-REFUSED",
    More(0, "request"),
    "{up to 1 % of the} requests failed{}",
    "rates count only answered requests, and quantiles treat the others as infinite",
    "{fix the error that the finding names: open files, ports, backlog, clients, or what breaks connections}",
);
pub const REFUSED: Row = finding(
    "E-REFUSED",
    More(0, "request"),
    "{more than 1 % of the} requests failed{}",
    "rates count only answered requests, and the exit code is 1",
    "{fix the error that the finding names: open files, ports, backlog, clients, or what breaks connections}",
);
pub const BACKLOG: Row = finding(
    "W-BACKLOG",
    Without,
    "connections found the TCP backlog of the server full{}",
    "TCP retries after a second and ipcperf after 1.5 s, which lowers the rate",
    "use {a larger backlog (--set tcp.backlog=64), or fewer clients}",
);
pub const SATURATED: Row = finding(
    "W-SATURATED",
    Without,
    "messages came faster than they were answered or read in {some open loops}{}",
    "there are no response times, which would only tell how long the slice was",
    "use a lower --rate; the service times are valid",
);
pub const GENLIMIT: Row = finding(
    "W-GENLIMIT",
    Share(0.1),
    "the sender itself was late by more than a tenth of the median response in {some open loops}{}",
    "the response times include that delay",
    "use a lower --rate, two CPUs (--place), --idle poll or a quieter machine; the service times do not include the delay",
);
pub const NOBOUND: Row = finding(
    "W-NOBOUND",
    Without,
    "could not measure {a hardware limit of this machine}{}",
    "implausibly good results cannot be rejected",
    "fix the cause that the finding names",
);
pub const UNKNOWN_CPUS: Row = finding(
    "W-UNKNOWN-CPUS",
    Without,
    "the kernel does not report which CPUs share a cache",
    "the names of placements on two CPUs are guesses",
    "mount /sys, or name the CPUs (--place 0,1)",
);
pub const STOLEN: Row = finding(
    "W-STEAL",
    Share(0.01),
    "the hypervisor took {value} of the CPU time",
    "tails measure the host",
    "use a quieter host, or more rounds and only medians",
);
pub const SPEED: Row = finding(
    "W-SPEED",
    Share(0.02),
    "the speed of {a CPU} varied by {value} between slices",
    "its frequency changes, or its core is shared",
    "fix the frequency (governor performance, no turbo), and keep the other thread of the core idle",
);
pub const TOPOLOGY: Row = finding(
    "W-TOPOLOGY",
    Above(1.5),
    "the cache-line round trip of {a CPU pair} was bimodal{}",
    "the CPUs were moved, since CPUs of a virtual machine are threads of its host",
    "pin the CPUs of the virtual machine on its host",
);
pub const KINDS: Row = finding(
    "W-KINDS",
    More(0, "slice"),
    "the two ends of {slices were} on different kinds of cores{}",
    "the slower one decides, and another pair of CPUs gives other figures",
    "choose a kind: --place p-cores, e-cores, or cross-kind to mean it",
);
pub const CLOCK: Row = finding(
    "W-CLOCK",
    Longer(3.0),
    "the cost of reading the clock{} changed during the run{, by more than 20 % and 3 ns}",
    "the frequency or a neighbour changed",
    "repeat the run",
);
pub const CLOCK_LOST: Row = finding(
    "W-CLOCK",
    Without,
    "the clock could not be measured after the last round",
    "a clock change would go unnoticed",
    "allow this user more memory and processes",
);
pub const SLOWCLOCK: Row = finding(
    "W-SLOWCLOCK",
    Without,
    "reading the clock takes as long as a system call{}",
    "{short operations} are timed in batches",
    "use a clock source that is read without the kernel: tsc, if the CPU has a constant one",
);
pub const FEWROUNDS: Row = finding(
    "W-FEWROUNDS",
    Fewer(6, "round"),
    "the run has {value}",
    "intervals and an order need 6",
    "use a larger --budget, or more --rounds",
);
pub const FAULT: Row = finding(
    "W-FAULT",
    More(16, "page fault"),
    "{value} occurred in one timed region{}",
    "its tail includes first touches of memory",
    "free memory; mechanisms that allocate for each message always show this",
);
pub const DEBUGBUILD: Row = finding(
    "W-DEBUGBUILD",
    Without,
    "this is a debug build",
    "debug builds are slow, so the numbers are not meaningful",
    "build with cargo build --release",
);
pub const PORTS: Row = finding(
    "I-PORTS",
    Without,
    "a round made more connections than there are ephemeral ports{}",
    "each port was reused while its last connection was in TIME_WAIT at the server, which closes first",
    "use shorter slices, or a wider net.ipv4.ip_local_port_range",
);
pub const CLIENT_PORTS: Row = finding(
    "I-PORTS",
    Without,
    "a round made more connections than there are ephemeral ports{}",
    "each port waited in TIME_WAIT at the client, which closes first, before it was used again",
    "use shorter slices, a wider net.ipv4.ip_local_port_range, or --closes server",
);
pub const REFUSED_BEFORE: Row = finding(
    "I-REFUSED",
    More(0, "connection"),
    "{connections} to a server of serve were refused{}",
    "each was made again before anything was timed",
    "find what connects to every port of this machine, or measure in a separate network namespace",
);
pub const FRESH: Row = finding(
    "I-FRESH",
    Above(1.0),
    "{a channel} carries {value} times as much per second after a warm-up as while it is new{}",
    "over TCP the receive window grows with the bytes that arrive, and any new channel touches its buffers for the first time",
    "use the figure of --fresh if your program opens a connection for each transfer",
);
pub const UNCONTESTED: Row = finding(
    "I-UNCONTESTED",
    Without,
    "an end that was scheduled by --sched, --nice or --cgroup-weight was ready but not running for less than 1 % of the time{}",
    "either no other process wanted its CPU, so that class, nice value and weight change little, or the end always went first",
    "measure with the load that the program has next to it",
);
pub const GROUPED: Row = finding(
    "I-GROUPED",
    Without,
    "the nice value and the class idle count only within {a control group or session}{}",
    "outside of it only the weights of the groups count, so the nice value or class may have had no effect",
    "{--cgroup-weight, or another way out}",
);
pub const DOSE: Row = finding(
    "W-DOSE",
    Without,
    "a neighbour did less than 90 % of its work{}",
    "the figures are those of the smaller load (neighbour.per_second)",
    "ask for less, or for a place where it has a CPU of its own (@other)",
);
pub const POINTERS: Row = finding(
    "I-POINTERS",
    Without,
    "calls through pointers add {some ns} to each message of a plug-in",
    "its figures include that; measured once here with ipcperf's own pipe as a plug-in, on one CPU",
    "compare it with the difference to other mechanisms before you rely on one that is not much larger",
);
pub const REAPED: Row =
    finding("I-REAPED", Without, "removed what a killed run had left behind{}", "", "");

/// All of them: findings of a run, then what `ipcperf doctor` examines.
pub const ALL: &[Row] = &[
    IMPOSSIBLE,
    MOVED,
    TRACED,
    MIGRATE,
    THROTTLE,
    CLOCKJUMP,
    PAYLOAD,
    BACKWARDS,
    MULTIMODAL,
    OPMODES,
    UNSTABLE,
    DRIFT,
    LOAD,
    BUSY,
    LOSS,
    SHORT,
    QUOTA,
    STOPPED,
    PAUSED,
    SUSPENDED,
    STRANGERS,
    FEW_REFUSED,
    REFUSED,
    BACKLOG,
    SATURATED,
    GENLIMIT,
    NOBOUND,
    UNKNOWN_CPUS,
    STOLEN,
    SPEED,
    TOPOLOGY,
    KINDS,
    CLOCK,
    CLOCK_LOST,
    SLOWCLOCK,
    FEWROUNDS,
    FAULT,
    DEBUGBUILD,
    PORTS,
    CLIENT_PORTS,
    REFUSED_BEFORE,
    FRESH,
    UNCONTESTED,
    GROUPED,
    DOSE,
    POINTERS,
    REAPED,
    NEEDS,
    PINNING,
    DIRECTORY,
    LOOPBACK,
    VM,
    CONTAINER,
    ONE_CPU,
    CPUS,
    CORES,
    SMT,
    FREQUENCY,
    NO_FREQUENCY,
    TURBO,
    IDLE,
    ISOLATION,
    SCHEDULER,
    HUGEPAGES,
    MITIGATIONS,
    ASLR,
    CPULIMIT,
    SECCOMP,
    LIMITS,
    SYSCTL,
    URING,
    NO_SHM,
    SHM,
    FALLBACK,
    CALL,
    COPY,
    WAKEUP,
    WAKEUP_IDLE,
    WAKEUP_ROOT,
    NO_WAKEUP,
    PROGRAMS,
    STEAL,
    HIDDEN_STEAL,
    GAPS,
    IRQ,
    RETURN,
    NO_RETURN,
];
