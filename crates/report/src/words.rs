//! Every mark, finding, grade, verdict and status, every head of a column and word of a row, with what it means and what to
//! do about it: the one table behind `ipcperf explain` and docs/WORDS.md. Legends of tables have the marks `~`, `*` and `^`
//! from here.

mod columns;
mod shown;
mod word;

pub(crate) use word::{Kind, Word};

use word::word;

/// The mark of what spins before it sleeps.
pub(crate) const BRIEFLY: &str = "~";
/// The mark of rounds in two modes.
pub(crate) const TWO_MODES: &str = "*";
/// What that mark means where there is room for one figure.
pub(crate) const ONE_OF_TWO: &str = "* two modes, the one of more rounds is shown";
/// The mark of what is timed in batches.
pub(crate) const BATCH: &str = "^";

/// Codes, marks and verdicts, by kind.
const WORDS: &[Word] = &[
    word(
        BRIEFLY,
        Kind::Mark,
        "spins briefly before it sleeps: as fast as spinning where the peer is quick, and not after a pause",
        "measure it with the pauses of your program: ipcperf run --think 200us",
    ),
    word(
        TWO_MODES,
        Kind::Mark,
        "The rounds fall into two modes: both figures are shown where there is room, the one of more rounds first, never an average",
        "look for what switches: CPUs that a host moves, idle states (--idle poll); more rounds do not help",
    ),
    word(
        BATCH,
        Kind::Mark,
        "is the median of batch means: one round trip is too short to be timed alone, or --batch asked for it. A few slow ones do not show in it",
        "read the mean beside it; single operations have no quantiles here, however long the run is",
    ),
    word(
        "=",
        Kind::Mark,
        "stands after a place that is a tie: one joint test of all pairs within rounds cannot tell it from some other row",
        "choose by another column, or take more rounds; compare --live settles two of them",
    ),
    word(
        "#",
        Kind::Mark,
        "heads the column of places: 1 and the number of rows that are certainly better",
        "treat rows of one place as equals; a dash is a row that has no place, and a line below says why",
    ),
    word(
        "+/-",
        Kind::Mark,
        "is half of the 95 % interval over rounds, as a share of the figure; above half of it, the interval itself",
        "believe no digit that it covers; more rounds make it smaller, a quieter machine even more",
    ),
    word(
        "-",
        Kind::Mark,
        "stands for a figure that does not exist or that the sample is too small to support",
        "read the line below the table, which says what would give it, such as a longer --slice",
    ),
    word(
        "E-IMPOSSIBLE",
        Kind::Finding,
        "slices were better than the machine's own limit, so that they cannot be true, and were rejected",
        "repeat the run, since clock or machine changed under it; if it stays, report it as a mistake of ipcperf",
    ),
    word(
        "E-TOPOLOGY",
        Kind::Finding,
        "slices were rejected because their CPUs were not where they usually are, by the cache line measured beside them",
        "pin the CPUs of the virtual machine on its host",
    ),
    word(
        "E-MIGRATE",
        Kind::Finding,
        "slices were rejected because an end was not on the CPU to which it was pinned",
        "look for what moves processes: cpuset managers, taskset, CPU hotplug",
    ),
    word(
        "E-THROTTLE",
        Kind::Finding,
        "slices were rejected because the CPU limit of a control group stopped them",
        "run with a higher limit (docker run without --cpus), or with a shorter --slice",
    ),
    word(
        "E-CLOCKJUMP",
        Kind::Finding,
        "slices were rejected because the clock left its line: the machine was paused, suspended or moved",
        "repeat the run; the figures of the other slices are good",
    ),
    word(
        "E-PAYLOAD",
        Kind::Finding,
        "a message was not the expected one, and its cell has no figure",
        "believe nothing measured over this mechanism, and report it",
    ),
    word(
        "E-CLOCK",
        Kind::Finding,
        "the clock ran backwards, so that no figure of the run can be trusted",
        "choose another clock source for the kernel, and repeat the run",
    ),
    word(
        "W-MULTIMODAL",
        Kind::Finding,
        "the rounds of a cell fall into two modes; its figure is that of the mode with more rounds",
        "look at cacheline_rtt_ns of the rounds, pin the CPUs of a virtual machine, or try --idle poll",
    ),
    word(
        "W-OPMODES",
        Kind::Finding,
        "the single operations of cells fall into modes within their rounds, so that the median hides some of the time",
        "read the mean beside the median, and measure with the pauses of your program (--think)",
    ),
    word(
        "W-UNSTABLE",
        Kind::Finding,
        "the rounds of some cells differ by more than 5 %",
        "trust their intervals and not their digits; a quieter machine, more rounds or longer slices help",
    ),
    word(
        "W-DRIFT",
        Kind::Finding,
        "more cells than chance allows moved in one direction over the rounds (Theil-Sen above 2 %, Mann-Kendall below 1 in 100)",
        "let the machine warm up or cool down, and repeat the run",
    ),
    word(
        "W-LOAD",
        Kind::Finding,
        "other work ran: spinning ends were ready but not running for more than 5 % of the time, or others used more than 10 % of all CPUs in the pauses",
        "stop other work, or take CPUs that it does not use (taskset)",
    ),
    word(
        "W-LOSS",
        Kind::Finding,
        "messages were lost; rates are of those that arrived, quantiles count them as infinite",
        "enlarge the receive buffer (--set udp.rcvbuf=4M), or take a mechanism that makes the sender wait",
    ),
    word(
        "W-SHORT",
        Kind::Finding,
        "slices ended before half of their planned time, so that few operations speak for them",
        "take longer slices and warm-ups (--slice, --warmup) on a quieter machine",
    ),
    word(
        "W-QUOTA",
        Kind::Finding,
        "the kernel granted less than usual (small pipes), since a quota of this user is used up",
        "raise the quota that the finding names, or close what uses it up",
    ),
    word(
        "W-STOPPED",
        Kind::Finding,
        "an end stood still while it was timed, ipcperf itself did not run, or the machine was suspended: by a signal (SIGSTOP, Ctrl-Z), a debugger, a frozen control group or a paused virtual machine; means, rates and tails of that slice contain it",
        "find who stops processes, and repeat the run; --stall stops an end on purpose",
    ),
    word(
        "W-STRANGERS",
        Kind::Finding,
        "connections of others came to the server of a connect cell and were answered beside those measured",
        "find who connects to every port of this machine, or measure in a network namespace of its own",
    ),
    word(
        "W-REFUSED",
        Kind::Finding,
        "up to 1 % of the requests of connect failed; rates are of those answered, quantiles count them as infinite",
        "do what the finding says of the error: open files, ports, backlog or clients",
    ),
    word(
        "E-REFUSED",
        Kind::Finding,
        "more than 1 % of the requests of connect failed; the program ends with exit code 1",
        "do what the finding says of the error: open files, ports, backlog or clients",
    ),
    word(
        "W-BACKLOG",
        Kind::Finding,
        "connections found no room at the server of a connect cell over TCP, which sends them again only after a second; what nobody answers for 1.5 s is asked again",
        "take a larger backlog (--set tcp.backlog=64) or fewer clients",
    ),
    word(
        "W-SATURATED",
        Kind::Finding,
        "messages of an open loop came faster than they were answered; it has no response times",
        "ask for a smaller --rate; the service times still hold",
    ),
    word(
        "W-GENLIMIT",
        Kind::Finding,
        "the sender of an open loop was late by itself, by more than a tenth of the median response (p99)",
        "ask for a smaller --rate, or give the sender a CPU of its own",
    ),
    word(
        "W-NOBOUND",
        Kind::Finding,
        "a bound could not be measured, so results that are too good to be true cannot be told",
        "mend what refused it, which the finding names",
    ),
    word(
        "W-UNKNOWN-CPUS",
        Kind::Finding,
        "the kernel does not say which CPUs share a cache, so names of placements are a guess",
        "mount /sys, or name the CPUs (--place 0,1)",
    ),
    word(
        "W-STEAL",
        Kind::Finding,
        "the hypervisor took more than 1 % of the CPU time, so that tails measure the host",
        "find a quieter host, or take more rounds and believe medians only",
    ),
    word(
        "W-SPEED",
        Kind::Finding,
        "what a CPU takes for the same calculation differs by more than 2 % from slice to slice: its frequency changes, or its core is shared",
        "fix the frequency (governor performance, no turbo), and leave the other thread of the core idle",
    ),
    word(
        "W-TOPOLOGY",
        Kind::Finding,
        "the cache-line round trip of a CPU pair was seen in two modes: the CPUs were moved",
        "pin the CPUs of the virtual machine on its host",
    ),
    word(
        "W-CLOCK",
        Kind::Finding,
        "reading the clock cost more than 20 % and more than 3 ns more or less after the run than before, or could not be tried again",
        "repeat the run, since the frequency or a neighbour changed",
    ),
    word(
        "W-SLOWCLOCK",
        Kind::Finding,
        "a reading of the clock costs as much as a system call: the clock source enters the kernel",
        "take a clock source that is read without the kernel: tsc, where the CPU has a constant one",
    ),
    word(
        "W-FEWROUNDS",
        Kind::Finding,
        "fewer than 6 rounds, so no interval and no order",
        "take a larger --budget, or more --rounds",
    ),
    word(
        "W-FAULT",
        Kind::Finding,
        "more than 16 page faults inside a timed region, so that first touches of memory are in its tail",
        "free memory; a mechanism that makes memory for each message shows this by nature",
    ),
    word(
        "W-DEBUGBUILD",
        Kind::Finding,
        "a debug build measured: its figures are those of slow code",
        "build with cargo build --release",
    ),
    word(
        "I-PORTS",
        Kind::Finding,
        "more connections in one round than there are ephemeral ports: each was used again in TIME_WAIT",
        "take shorter slices, or a wider net.ipv4.ip_local_port_range",
    ),
    word(
        "I-REAPED",
        Kind::Finding,
        "what a killed run had left was removed",
        "do nothing: it is gone",
    ),
    word(
        "VM",
        Kind::Machine,
        "a virtual machine measures: its host can take the CPUs away and move them, and times of its own are in every figure",
        "trust ratios of one run; measure on the hardware for absolute times",
    ),
    word(
        "CONTAINER",
        Kind::Machine,
        "a container measures: its limits and filters decide which mechanisms run",
        "look at 'ipcperf list', which says what is missing and how to get it",
    ),
    word(
        "NEEDS",
        Kind::Machine,
        "what every measurement takes is missing: descriptors, memory, a page that processes share, or two more processes",
        "the check has the limit and the command",
    ),
    word(
        "PINNING",
        Kind::Machine,
        "no process can be pinned to a CPU: every placement but free is missing, and so are the bounds",
        "a sandbox that allows sched_setaffinity, or --place free",
    ),
    word(
        "DIRECTORY",
        Kind::Machine,
        "no directory can be made for a run: what has a path (FIFOs, sockets with a name, queues, files) is missing",
        "TMPDIR=DIRECTORY, one that this user may write to",
    ),
    word(
        "CPUS",
        Kind::Machine,
        "how many CPUs may be used: with one, nothing can be measured on two; with a part of them, the placements are those among these",
        "allow a wider cpuset or affinity: taskset -c 0,1 ipcperf",
    ),
    word(
        "SMT",
        Kind::Machine,
        "cores have several hardware threads: whatever runs on the other thread of a core slows the one that measures",
        "switch it off to measure: echo off > /sys/devices/system/cpu/smt/control",
    ),
    word(
        "FREQUENCY",
        Kind::Machine,
        "the governor of the CPU frequency, or that none is visible: after a pause a CPU may run slowly at first",
        "set it, where there is one: cpupower frequency-set -g performance",
    ),
    word(
        "TURBO",
        Kind::Machine,
        "turbo is on: the frequency depends on how many cores are busy and how warm they are",
        "switch it off to compare; the remedy in the finding has the file",
    ),
    word(
        "IDLE",
        Kind::Machine,
        "idle CPUs sleep deeply or go back to the host: each wake-up on two CPUs pays for the way back",
        "see what it costs: ipcperf run -m pipe --idle as-is,poll",
    ),
    word(
        "ISOLATION",
        Kind::Machine,
        "no CPU is isolated: ticks, interrupts and other programs reach those that measure, and tails show them",
        "isolate some: isolcpus= and nohz_full= on the kernel's command line, then taskset",
    ),
    word(
        "HUGEPAGES",
        Kind::Machine,
        "transparent huge pages are always on: large buffers get them in some slices and not in others",
        "let programs ask for them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    ),
    word(
        "MITIGATIONS",
        Kind::Machine,
        "mitigations of CPU vulnerabilities are on: system calls and switches cost more than without",
        "compare only machines with the same ones; they are in the document",
    ),
    word(
        "ASLR",
        Kind::Machine,
        "address layout is fixed: every slice has the same memory layout, good or bad",
        "set it: sysctl kernel.randomize_va_space=2",
    ),
    word(
        "CPULIMIT",
        Kind::Machine,
        "a control group limits CPU time: when the quota is used up everything stops until the period ends",
        "run outside of the limited control group, or docker run without --cpus",
    ),
    word(
        "SECCOMP",
        Kind::Machine,
        "a filter looks at every system call, which costs time, and refuses some, which keeps mechanisms from running",
        "allow all calls, where that may be: docker run --security-opt seccomp=unconfined",
    ),
    word(
        "LIMITS",
        Kind::Machine,
        "a limit of this process or of its control group is so tight that it may keep something from running",
        "raise it: the finding has the command for each that is tight",
    ),
    word(
        "SYSCTL",
        Kind::Machine,
        "a limit of the kernel is below its default: large messages or many channels are refused",
        "set the default: the finding has the command",
    ),
    word(
        "URING",
        Kind::Machine,
        "the kernel, a filter of system calls or the limit of locked memory refuses io_uring: its mechanisms are missing",
        "do what the finding says: sysctl kernel.io_uring_disabled=0, another seccomp profile, or a higher ulimit -l",
    ),
    word(
        "SHM",
        Kind::Machine,
        "/dev/shm is missing or nearly full: POSIX shared memory is missing, or refused where it is large",
        "make it larger: docker run --shm-size 1g, or mount -o remount,size=1g /dev/shm",
    ),
    word(
        "CLOCK",
        Kind::Machine,
        "which clock is read: without the CPU's own counter, short operations are timed in batches and have no quantiles",
        "take the clock source tsc, where the CPU has a constant one",
    ),
    word(
        "CALL",
        Kind::Machine,
        "how long a system call takes that does nothing: no mechanism that enters the kernel is faster",
        "compare it with another machine before you compare mechanisms",
    ),
    word(
        "COPY",
        Kind::Machine,
        "how long copying 512 KiB in and out takes, by where their buffer begins in its page: a part of what a mechanism takes that copies",
        "where it differs, compare programs whose buffers begin alike: --align page,malloc",
    ),
    word(
        "WAKEUP",
        Kind::Machine,
        "how long a wake-up across two CPUs takes, as the machine is and with idle CPUs polling: nothing that blocks is faster there",
        "where they differ much, measure with --idle as-is,poll: the difference is leaving idle",
    ),
    word(
        "LOAD",
        Kind::Machine,
        "other programs use the CPUs: they take time and caches from what is measured",
        "stop them; top shows which they are",
    ),
    word(
        "STEAL",
        Kind::Machine,
        "the host takes CPU time from this machine, or does not say how much",
        "find a quieter host, or take more rounds",
    ),
    word(
        "GAPS",
        Kind::Machine,
        "something interrupts a CPU that only spins: tails contain it",
        "isolate CPUs, or find a quieter host",
    ),
    word(
        "IRQ",
        Kind::Machine,
        "how many interrupts the CPUs that measure get in a second",
        "move them away: /proc/irq/*/smp_affinity, or irqbalance with a ban",
    ),
    word(
        "grade",
        Kind::Grade,
        "says how disturbed a run was, from A to F by the worst of six figures: spread of rounds, stolen time, other work on the CPUs of spinning ends (load) and between the rounds, the speed of a CPU, rejected slices; steal, load and speed may be missing, which is said",
        "read its causes beside it, and 'ipcperf explain A' to F for what each lets one claim",
    ),
    word(
        "A",
        Kind::Grade,
        "a quiet run: rounds differ by up to 1 %, and next to nothing was stolen or rejected",
        "claim differences of a few percent where the intervals show them",
    ),
    word(
        "B",
        Kind::Grade,
        "a usual quiet run: rounds differ by up to 3 %",
        "claim what the intervals show",
    ),
    word(
        "C",
        Kind::Grade,
        "a noisy run: rounds differ by up to 10 %, or up to 5 % of the time was stolen",
        "trust gaps and not digits; more rounds or a quieter machine give smaller intervals",
    ),
    word(
        "D",
        Kind::Grade,
        "a very noisy run: only large differences are certain",
        "claim factors and nothing finer, or repeat the run on a quieter machine",
    ),
    word(
        "F",
        Kind::Grade,
        "too noisy: there are no places, no advice, and no verdicts on claims",
        "stop other work ('ipcperf doctor' looks for it), and repeat the run",
    ),
    word(
        "none",
        Kind::Grade,
        "no cell was measured; or it is not known how far the rounds differ (a run of one round) or how busy the CPUs were",
        "read the reason beside it; take two rounds or more",
    ),
    word(
        "FASTER",
        Kind::Difference,
        "the whole 95 % interval of the ratio lies beyond the margin, on the better side, and the control agrees",
        "take B, if this figure is what you need",
    ),
    word(
        "SLOWER",
        Kind::Difference,
        "the whole 95 % interval of the ratio lies beyond the margin, on the worse side, and the control agrees",
        "keep A; --fail-on slower:5% makes a gate of it",
    ),
    word(
        "NO DIFFERENCE",
        Kind::Difference,
        "the 90 % interval of the ratio lies within the margin: a difference that matters is excluded",
        "choose by something else; a smaller --margin asks a finer question",
    ),
    word(
        "CAN'T TELL",
        Kind::Difference,
        "the interval decides neither way, or the figures may not be believed",
        "take as many rounds as the line below says would settle it, or remove what confounds the two",
    ),
    word(
        "REPRODUCED",
        Kind::Claim,
        "the whole interval lies within a factor of 1.5 of what was published, of a ratio also by its logarithm, and on its side; or what was stated holds",
        "quote it with this machine's name",
    ),
    word(
        "DIRECTION",
        Kind::Claim,
        "the direction holds; that the size does is not shown",
        "quote the direction alone; more rounds may show the size",
    ),
    word(
        "NOT REPRODUCED",
        Kind::Claim,
        "the interval excludes what would have been accepted, corrected for the number of tests",
        "look at its tests (-v): machine, kernel and method differ from the original's",
    ),
    word(
        "INCONCLUSIVE",
        Kind::Claim,
        "the interval does not decide, or the machine was too noisy for a verdict",
        "take a larger --scale or more --rounds on a quieter machine",
    ),
    word(
        "UNTESTABLE",
        Kind::Claim,
        "it cannot be measured here, or not at all",
        "read its reason, which says what is missing",
    ),
    word(
        "MEASURED",
        Kind::Claim,
        "nothing was published that the figure could be held against",
        "take it as a figure of this machine",
    ),
    word("HOLDS", Kind::Claim, "a self-check holds in every round", "do nothing"),
    word(
        "FAILS",
        Kind::Claim,
        "a self-check fails in some round, so that the study may not measure what it says",
        "believe no claim beside it before you know why",
    ),
    word("ok", Kind::Status, "it was measured and proved", "read its figures"),
    word(
        "unavailable",
        Kind::Status,
        "this host cannot run it",
        "read its reason, which says what is missing and how to get it",
    ),
    word(
        "failed",
        Kind::Status,
        "it ran and went wrong, so that it has no figure",
        "read its reason; where a message was wrong, report it",
    ),
    word(
        "deadline",
        Kind::Status,
        "it did not end in time and was killed",
        "repeat it alone; if it hangs again, report it",
    ),
    word(
        "rejected",
        Kind::Status,
        "it ran, but no slice can be accepted",
        "look at the findings that begin with E-",
    ),
    word(
        "skipped",
        Kind::Status,
        "the run ended before its turn came",
        "take a larger --budget, or let the run end",
    ),
];

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Word> + Clone {
    WORDS.iter().chain(columns::COLUMNS).chain(shown::SHOWN)
}

/// The words of this name, in its case or else in any; findings about the machine with and without what says how bad they
/// are. One name may be several things: A is a grade, and a side of a comparison.
pub(crate) fn find(given: &str) -> Vec<&'static Word> {
    let given = if matches!(given, "+-" | "\u{b1}") { "+/-" } else { given };
    let exactly: Vec<&Word> = all().filter(|word| word.name == given).collect();
    if !exactly.is_empty() {
        return exactly;
    }
    let named = |name: &str| all().filter(|word| word.name.eq_ignore_ascii_case(name)).collect();
    let found: Vec<&Word> = named(given);
    let Some((severity, code)) = given.split_once('-').filter(|_| found.is_empty()) else {
        return found;
    };
    let mut found: Vec<&Word> = named(code);
    let is_severity = ["W", "I"].iter().any(|one| severity.eq_ignore_ascii_case(one));
    found.retain(|word| is_severity && word.kind == Kind::Machine);
    found
}

/// A mark with its meaning, as it stands in a legend.
pub(crate) fn legend(mark: &str) -> Option<String> {
    find(mark).first().map(|word| format!("{} {}.", word.name, word.meaning))
}

/// Whether a word can be explained.
#[must_use]
pub fn is_word(given: &str) -> bool {
    !find(given).is_empty()
}

/// All words that can be explained.
pub fn words() -> impl Iterator<Item = &'static str> {
    all().map(|word| word.name)
}

#[cfg(test)]
mod tests;
