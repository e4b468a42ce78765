//! The checks of `ipcperf doctor`.

#![expect(missing_docs, reason = "the sentence of a row says what it is")]

use super::{Row, check};

pub const NEEDS: Row = check(
    "W-NEEDS",
    "measuring",
    "descriptors, memory, a shared page, /proc, /dev/null or two more processes are missing",
    "nothing can be measured{}",
    "{raise the limit that the check names}",
);
pub const PINNING: Row = check(
    "W-PINNING",
    "pinning",
    "no process can be pinned to a CPU",
    "only --place free can be measured{}",
    "{allow sched_setaffinity in the sandbox, or use --place free}",
);
pub const DIRECTORY: Row = check(
    "W-DIRECTORY",
    "run directory",
    "no directory can be created for a run",
    "mechanisms with a path (FIFOs, named sockets, queues, files) cannot be measured{}",
    "{set TMPDIR to a directory that this user may write to}",
);
pub const LOOPBACK: Row = check(
    "W-LOOPBACK",
    "loopback",
    "packets on the loopback interface are queued, filtered or cut smaller",
    "TCP and UDP cost more here than with a plain one (MTU 65536, noqueue, no filter)",
    "compare with a new network namespace: unshare -n sh -c 'ip link set lo up; ipcperf run -m tcp'; to see what it is: tc qdisc show dev lo; nft list ruleset",
);
pub const VM: Row = check(
    "I-VM",
    "virtual machine",
    "this is a virtual machine",
    "the host can take its CPUs away and move them, and adds time to everything; trust ratios within one run, not absolute times",
    "measure on the hardware for absolute times",
);
pub const CONTAINER: Row = check(
    "I-CONTAINER",
    "container",
    "this is a container",
    "its limits and filters decide which mechanisms run",
    "run outside it, or with docker run --security-opt seccomp=unconfined --ulimit memlock=-1 --shm-size 1g; Kubernetes: seccompProfile Unconfined, and an emptyDir of medium Memory at /dev/shm",
);
pub const ONE_CPU: Row = check(
    "W-CPUS",
    "CPUs",
    "only one CPU may be used",
    "nothing can be measured on two CPUs",
    "allow more CPUs by cpuset or affinity: taskset -c 0,1 ipcperf",
);
pub const CPUS: Row = check(
    "I-CPUS",
    "CPUs",
    "only some CPUs may be used",
    "placements are chosen among these CPUs",
    "allow more CPUs by taskset or the cpuset of the container",
);
pub const CORES: Row = check(
    "I-CORES",
    "core kinds",
    "the cores are of several kinds",
    "a placement takes the fastest kind that has it, and with --place free the scheduler chooses",
    "choose a kind: --place p-cores, e-cores or cross-kind",
);
pub const SMT: Row = check(
    "I-SMT",
    "hardware threads",
    "each core has several hardware threads",
    "work on one thread of a core slows the other one down",
    "turn it off to measure: echo off > /sys/devices/system/cpu/smt/control",
);
pub const FREQUENCY: Row = check(
    "W-FREQUENCY",
    "CPU frequency",
    "the governor is not performance",
    "CPUs are slow at first after a pause, so blocking mechanisms look slower than they are",
    "set the governor: cpupower frequency-set -g performance",
);
pub const NO_FREQUENCY: Row = check(
    "I-FREQUENCY",
    "CPU frequency",
    "the governor cannot be seen",
    "only the cost of reading the clock shows whether the frequency changes",
    "look from the host: cpupower frequency-info",
);
pub const TURBO: Row = check(
    "I-TURBO",
    "turbo",
    "turbo is on",
    "the frequency depends on how many cores are busy and how warm they are",
    "turn it off to compare: {echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo}",
);
pub const IDLE: Row = check(
    "I-IDLE",
    "idle CPUs",
    "idle CPUs sleep deeply or return to the host",
    "each wake-up of an idle CPU pays for {the way back}",
    "see what it costs{}: ipcperf run -m pipe --idle as-is,poll",
);
pub const ISOLATION: Row = check(
    "I-ISOLATION",
    "isolated CPUs",
    "no CPU is isolated",
    "timer ticks, interrupts and other programs reach the CPUs that measure, and show in tails",
    "isolate some with isolcpus= and nohz_full= on the kernel's command line, then use taskset",
);
pub const SCHEDULER: Row = check(
    "I-SCHEDULER",
    "scheduler",
    "a scheduler that was loaded as programs (sched_ext) is in place of the kernel's own",
    "it decides where and when programs run, so what blocks measures this scheduler, too",
    "stop it to compare with machines without it: systemctl stop scx, or end its program",
);
pub const HUGEPAGES: Row = check(
    "I-HUGEPAGES",
    "huge pages",
    "transparent huge pages are always on",
    "large buffers get huge pages in some slices and not in others",
    "let programs ask for them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
);
pub const MITIGATIONS: Row = check(
    "I-MITIGATIONS",
    "mitigations",
    "mitigations of CPU vulnerabilities are on",
    "system calls and context switches cost more than without; compare only machines with the same mitigations",
    "see which ones: grep . /sys/devices/system/cpu/vulnerabilities/*",
);
pub const ASLR: Row = check(
    "W-ASLR",
    "address layout",
    "address layout is not randomised",
    "every slice has the same memory layout, good or bad",
    "randomise it: sysctl kernel.randomize_va_space=2",
);
pub const CPULIMIT: Row = check(
    "W-CPULIMIT",
    "CPU limit",
    "a control group limits CPU time",
    "once the quota is used up, everything stops until the period ends, in the middle of a slice",
    "run outside the limited control group: docker run without --cpus; Kubernetes: whole CPUs, requests equal to limits, on a node with the static CPU policy",
);
pub const SECCOMP: Row = check(
    "I-SECCOMP",
    "system-call filter",
    "a seccomp filter is active",
    "every system call pays for it, and mechanisms whose calls it refuses are missing",
    "allow all calls if you may: docker run --security-opt seccomp=unconfined; Kubernetes: seccompProfile Unconfined",
);
pub const LIMITS: Row = check(
    "W-LIMITS",
    "limits",
    "a limit of this process or its control group is tight",
    "{something may not run}",
    "{raise it with the command that the check names}",
);
pub const SYSCTL: Row = check(
    "W-SYSCTL",
    "largest",
    "a setting of the kernel is below its default",
    "large messages or many channels are refused{}",
    "{restore the default with the command that the check names}",
);
pub const URING: Row = check(
    "W-URING",
    "io_uring",
    "the kernel, a system-call filter or the limit of locked memory refuses io_uring",
    "its mechanisms are missing{}",
    "{allow it as the check says: sysctl kernel.io_uring_disabled=0, another seccomp profile, or a higher ulimit -l}",
);
pub const NO_SHM: Row = check(
    "W-SHM",
    "/dev/shm",
    "/dev/shm is missing",
    "POSIX shared memory and semaphores are missing",
    "mount it: mount -t tmpfs tmpfs /dev/shm",
);
pub const SHM: Row = check(
    "W-SHM",
    "/dev/shm",
    "/dev/shm is nearly full",
    "large shared memory is refused",
    "make it larger: docker run --shm-size 1g; Kubernetes: an emptyDir of medium Memory at /dev/shm; or mount -o remount,size=1g /dev/shm",
);
pub const FALLBACK: Row = check(
    "W-CLOCK",
    "clock",
    "the CPU's own counter cannot be used as the clock",
    "short operations are timed in batches and have no quantiles{}",
    "use the clock source tsc if the CPU has a constant one: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
);
pub const CALL: Row = check(
    "I-CALL",
    "system call",
    "the time of a system call that does nothing",
    "no mechanism that enters the kernel is faster",
    "compare this between machines before you compare mechanisms",
);
pub const COPY: Row = check(
    "I-COPY",
    "copying",
    "the time to copy 512 KiB in and out depends on where the buffer begins in its page",
    "mechanisms that copy depend on it too{}",
    "compare both: ipcperf run -m pipe -s 512K --align page,malloc",
);
pub const WAKEUP: Row = check(
    "I-WAKEUP",
    "wake-up",
    "the time of a wake-up round trip across two CPUs",
    "this is the floor for blocking IPC across two CPUs",
    "see where the time of a round trip goes: ipcperf explain pipe",
);
pub const WAKEUP_IDLE: Row = check(
    "I-WAKEUP",
    "wake-up",
    "a wake-up takes at least twice as long as with idle CPUs polling",
    "most of the time of blocking mechanisms across two CPUs goes into leaving idle, not into the mechanism",
    "compare both: ipcperf run -m pipe --idle as-is,poll",
);
pub const WAKEUP_ROOT: Row = check(
    "I-WAKEUP",
    "wake-up",
    "the time of a wake-up round trip across two CPUs, if idle CPUs may not poll",
    "this is the floor for blocking IPC across two CPUs",
    "see how much of it is leaving idle, as root: ipcperf doctor",
);
pub const NO_WAKEUP: Row = check(
    "I-WAKEUP",
    "wake-up",
    "wake-ups could not be measured",
    "the cost of blocking across two CPUs is unknown",
    "repeat ipcperf doctor",
);
pub const PROGRAMS: Row = check(
    "W-LOAD",
    "other programs",
    "other programs use the CPUs",
    "they take CPU time and caches from the measurements",
    "stop them; to see which: top -o %CPU",
);
pub const STEAL: Row = check(
    "W-STEAL",
    "stolen by the host",
    "the host takes CPU time from this machine",
    "tails measure the host, and medians may too",
    "use a quieter host, or more rounds",
);
pub const HIDDEN_STEAL: Row = check(
    "I-STEAL",
    "stolen by the host",
    "the host does not report how much CPU time it takes",
    "only the interruptions below show it",
    "look from the host: its top, or virt-top",
);
pub const GAPS: Row = check(
    "W-GAPS",
    "interruptions",
    "a busy-waiting CPU is interrupted",
    "an interrupted operation takes that much longer, which shows in quantiles above p99",
    "isolate CPUs, or use a quieter host",
);
pub const IRQ: Row = check(
    "I-IRQ",
    "interrupts per second",
    "the CPUs that measure handle many interrupts",
    "each takes microseconds from the measurement on that CPU, which shows in tails",
    "see which in /proc/interrupts, and move them: echo CPUS > /proc/irq/NUMBER/smp_affinity_list",
);
pub const RETURN: Row = check(
    "I-RETURN",
    "first return",
    "the first return of a program after a switch of tasks is dear",
    "every call that sleeps and wakes pays for it, in any program, so it is part of each round trip on one CPU",
    "compare it between machines and kernels before you compare mechanisms; mitigations may decide it: grep . /sys/devices/system/cpu/vulnerabilities/*",
);
pub const NO_RETURN: Row = check(
    "I-RETURN",
    "first return",
    "what the first return after a system call takes is not measured",
    "",
    "",
);
