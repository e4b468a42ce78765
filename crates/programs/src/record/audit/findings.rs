//! What `ipcperf audit` can find in somebody's benchmark.

use ipcperf_core::findings::{Row, of_benchmark};

pub(crate) const OWN_BYTES: Row = of_benchmark(
    "E-OWN-BYTES",
    "{a thread reads back what it has written itself}",
    "no other process takes part, and the figure is that of a write and a read",
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
    "{a process that takes part has not begun when the clock is read}",
    "the figure includes how it starts",
    "exchange a first message before the clock is read",
);
pub(crate) const TEARDOWN_TIMED: Row = of_benchmark(
    "E-TEARDOWN-TIMED",
    "{ends are closed or waited for before the clock is read again}",
    "the figure includes how they end",
    "read the clock when the last answer is there",
);
pub(crate) const LATE_WAIT: Row = of_benchmark(
    "E-LATE-WAIT",
    "{an end waits for a timeout after its last byte, in what is timed}",
    "the figure includes that time",
    "stop at the end of the data, or shorten the timeout (socat -t)",
);
pub(crate) const UNTIMED_WAIT: Row = of_benchmark(
    "W-LATE-WAIT",
    "{an end waits for a timeout after its last byte, and no look at a clock was seen}",
    "a clock around the whole program includes that time",
    "stop at the end of the data, or shorten the timeout (socat -t)",
);
pub(crate) const SLEEP_TIMED: Row = of_benchmark(
    "E-SLEEP-TIMED",
    "{an end sleeps in what is timed}",
    "the figure includes that time",
    "leave out the sleep, or time each message by itself and sleep in between",
);
pub(crate) const PRINT_TIMED: Row = of_benchmark(
    "E-PRINT-TIMED",
    "{an end writes to its standard output, its standard error or a file with each message that is timed}",
    "the figure includes these writes",
    "keep what is to be shown, and print it when the clock has been read again",
);
pub(crate) const CPU_CLOCK: Row = of_benchmark(
    "E-CPU-CLOCK",
    "{the only clock that is read around messages counts CPU time}",
    "a figure from it leaves out all time in which the process waits",
    "read CLOCK_MONOTONIC (clock_gettime) instead of clock(), getrusage or times",
);
pub(crate) const COARSE_CLOCK: Row = of_benchmark(
    "W-COARSE-CLOCK",
    "{the only clock that is read around messages goes on in coarse steps}",
    "the figure is a multiple of such a step",
    "read CLOCK_MONOTONIC (clock_gettime) instead of time() or a coarse clock",
);
pub(crate) const FIRST_MESSAGE: Row = of_benchmark(
    "W-FIRST-MESSAGE",
    "{the first message takes much longer than the others}",
    "the figure includes what is done once",
    "exchange a few messages before the clock is read",
);
pub(crate) const LARGE_GAP: Row = of_benchmark(
    "W-LARGE-GAP",
    "{in one gap nothing moves for much longer than usual}",
    "the figure includes it as if it were a part of each message",
    "find out what the ends wait for, or repeat the benchmark and use the median",
);
pub(crate) const OMISSION: Row = of_benchmark(
    "W-OMISSION",
    "{messages are due at fixed times, and each is timed from when it is sent}",
    "what a slow answer keeps back is sent late and counts as fast (coordinated omission)",
    "take the time at which a message was due as its begin",
);
pub(crate) const NAGLE: Row = of_benchmark(
    "W-NAGLE",
    "{small writes over TCP wait for the acknowledgement of the one before}",
    "Nagle's algorithm keeps a second small write back, and the other end delays its acknowledgement by 40 ms and more",
    "set TCP_NODELAY at the end that writes, or write each message at once",
);
pub(crate) const NOT_AWAITED: Row = of_benchmark(
    "E-NOT-AWAITED",
    "{the clock is read right after a write}",
    "what is still in buffers counts as delivered",
    "wait for an answer to the last message, or read the clock at the receiver",
);
pub(crate) const UNREAD: Row = of_benchmark(
    "E-UNREAD",
    "{part of what was written was never read}",
    "messages that were lost or left count as delivered",
    "read all that was sent, and count it at the receiver",
);
pub(crate) const OTHER_SIZE: Row = of_benchmark(
    "E-OTHER-SIZE",
    "{messages do not have the size that was asked for}",
    "the figure is that of another size",
    "write whole messages without a buffer in between, and write the rest after a short write",
);
pub(crate) const ONE_PROCESS: Row = of_benchmark(
    "W-ONE-PROCESS",
    "{both ends are in one process}",
    "no message goes from one process to another",
    "use two processes if the figure is to hold for them",
);
pub(crate) const UNEQUAL_CALLS: Row = of_benchmark(
    "W-UNEQUAL-CALLS",
    "{channels that are compared take different calls for each message}",
    "the difference between them includes these calls",
    "do the same around each message on both sides",
);
pub(crate) const SHARED_CPU: Row = of_benchmark(
    "W-SHARED-CPU",
    "{both ends may use one and the same CPU}",
    "they take turns, and the figure is that of switching between them",
    "say so beside the figure, or pin the ends to two CPUs (taskset -c 0 and taskset -c 1)",
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
    "read the payload at the receiver if the programs that this stands for do",
);

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
