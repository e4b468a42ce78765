//! What `ipcperf audit` can find in somebody's benchmark.

use crate::profile::DelayedWrites;
use ipcperf_core::findings::{Row, of_benchmark};
use ipcperf_core::result::Finding;
use ipcperf_core::units::{counted, format_nanos};

pub(crate) const OWN_BYTES: Row = of_benchmark(
    "E-OWN-BYTES",
    "{a thread reads back what it has written itself}",
    "no other process takes part, and the figure measures only a write and a read",
    "let each process use its own end of the pair",
);
pub(crate) const SETUP_TIMED: Row = of_benchmark(
    "E-SETUP-TIMED",
    "{processes are started or connected after the clock was read}",
    "the figure includes the set-up",
    "read the clock when both ends are connected and have exchanged a first message",
);
pub(crate) const LATE_START: Row = of_benchmark(
    "W-LATE-START",
    "{a process that takes part is not yet running when the clock is read}",
    "the figure includes its start",
    "exchange a first message before the clock is read",
);
pub(crate) const TEARDOWN_TIMED: Row = of_benchmark(
    "E-TEARDOWN-TIMED",
    "{ends are closed or waited for before the clock is read again}",
    "the figure includes closing and process exit",
    "read the clock when the last answer has arrived",
);
pub(crate) const LATE_WAIT: Row = of_benchmark(
    "E-LATE-WAIT",
    "{an end waits for a timeout after its last byte, inside the timed span}",
    "the figure includes that time",
    "stop at the end of the data, or shorten the timeout (socat -t)",
);
pub(crate) const UNTIMED_WAIT: Row = of_benchmark(
    "W-LATE-WAIT",
    "{an end waits for a timeout after its last byte, and no clock reading was seen}",
    "a clock around the whole program includes that time",
    "stop at the end of the data, or shorten the timeout (socat -t)",
);
pub(crate) const SLEEP_TIMED: Row = of_benchmark(
    "E-SLEEP-TIMED",
    "{an end sleeps inside the timed span}",
    "the figure includes that time",
    "remove the sleep, or time each message separately and sleep in between",
);
pub(crate) const PRINT_TIMED: Row = of_benchmark(
    "E-PRINT-TIMED",
    "{an end writes to its standard output, its standard error or a file with each message that is timed}",
    "the figure includes these writes",
    "collect the output, and print it after the clock has been read again",
);
pub(crate) const CPU_CLOCK: Row = of_benchmark(
    "E-CPU-CLOCK",
    "{the only clock that is read around messages counts CPU time}",
    "its figure leaves out all time that the process waits",
    "read CLOCK_MONOTONIC (clock_gettime) instead of clock(), getrusage or times",
);
pub(crate) const COARSE_CLOCK: Row = of_benchmark(
    "W-COARSE-CLOCK",
    "{the only clock that is read around messages advances in coarse steps}",
    "the figure is a multiple of such a step",
    "read CLOCK_MONOTONIC (clock_gettime) instead of time() or a coarse clock",
);
pub(crate) const FIRST_MESSAGE: Row = of_benchmark(
    "W-FIRST-MESSAGE",
    "{the first message takes much longer than the others}",
    "the figure includes work that is done only once",
    "exchange a few messages before the clock is read",
);
pub(crate) const LARGE_GAP: Row = of_benchmark(
    "W-LARGE-GAP",
    "{one gap between messages is much longer than usual}",
    "the figure spreads this gap over all messages",
    "find out what the ends wait for, or repeat the benchmark and use the median",
);
pub(crate) const OMISSION: Row = of_benchmark(
    "W-OMISSION",
    "{messages are due at fixed times, and each is timed from when it is sent}",
    "messages that a slow answer delays are sent late and count as fast (coordinated omission)",
    "time each message from the moment when it was due",
);
pub(crate) const NAGLE: Row = of_benchmark(
    "W-NAGLE",
    "{small writes over TCP wait for the acknowledgement of the previous write}",
    "Nagle's algorithm holds back a second small write, and the other end delays its acknowledgement by 40 ms or more",
    "set TCP_NODELAY at the end that writes, or write each message in one call",
);
pub(crate) const NOT_AWAITED: Row = of_benchmark(
    "E-NOT-AWAITED",
    "{the clock is read right after a write}",
    "data that is still in buffers counts as delivered",
    "wait for an answer to the last message, or read the clock at the receiver",
);
pub(crate) const UNREAD: Row = of_benchmark(
    "E-UNREAD",
    "{part of the written data was never read}",
    "lost and unread messages count as delivered",
    "read all that was sent, and count it at the receiver",
);
pub(crate) const OTHER_SIZE: Row = of_benchmark(
    "E-OTHER-SIZE",
    "{messages do not have the expected size}",
    "the figure holds for another size",
    "write whole messages without a buffer in between, and write the rest after a short write",
);
pub(crate) const ONE_PROCESS: Row = of_benchmark(
    "W-ONE-PROCESS",
    "{both ends are in one process}",
    "no message goes from one process to another",
    "use two processes if the figure is meant for two processes",
);
pub(crate) const UNEQUAL_CALLS: Row = of_benchmark(
    "W-UNEQUAL-CALLS",
    "{the compared channels make different calls for each message}",
    "the difference between them includes these calls",
    "make the same calls around each message on both channels",
);
pub(crate) const SHARED_CPU: Row = of_benchmark(
    "W-SHARED-CPU",
    "{both ends may run only on the same CPU}",
    "they take turns, and the figure measures the switches between them",
    "report this with the figure, or pin the ends to two CPUs (taskset -c 0 and taskset -c 1)",
);
pub(crate) const NOT_PINNED: Row = of_benchmark(
    "W-NOT-PINNED",
    "{an end may run on several CPUs}",
    "the scheduler decides whether both ends share a CPU, which changes figures by a factor from run to run",
    "pin each end to one CPU, by taskset or sched_setaffinity",
);
pub(crate) const NOT_TOUCHED: Row = of_benchmark(
    "W-NOT-TOUCHED",
    "{bytes are passed on by splice, tee, vmsplice or sendfile}",
    "the program does not read or write them itself",
    "read the payload at the receiver if the programs that the benchmark represents read it",
);

/// Writes of a channel that were held back.
pub(crate) fn nagle(kind: &str, delayed: &DelayedWrites) -> Finding {
    let words = format!(
        "{} over {kind} that follow another write arrive {} late on average",
        counted(delayed.writes, "write"),
        format_nanos(delayed.mean_ns as f64),
    );
    NAGLE.found(&[&words])
}

/// All of them.
pub(crate) const ALL: &[Row] = &[
    OWN_BYTES,
    SETUP_TIMED,
    LATE_START,
    TEARDOWN_TIMED,
    LATE_WAIT,
    UNTIMED_WAIT,
    SLEEP_TIMED,
    PRINT_TIMED,
    CPU_CLOCK,
    COARSE_CLOCK,
    FIRST_MESSAGE,
    LARGE_GAP,
    OMISSION,
    NAGLE,
    NOT_AWAITED,
    UNREAD,
    OTHER_SIZE,
    ONE_PROCESS,
    UNEQUAL_CALLS,
    SHARED_CPU,
    NOT_PINNED,
    NOT_TOUCHED,
];
