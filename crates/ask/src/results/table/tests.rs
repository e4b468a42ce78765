//! What a user sees, edge by edge.

use crate::testing::sample::{Build, ONE, TWO, cell, set};
use crate::testing::{rendered, sample};
use ipcperf_core::result::{Cell, ResultSet, Status, TransformCost};
use ipcperf_render::{Format, Style};

mod programs;
mod ratios;
mod rules;

fn written(set: &ResultSet, style: &Style) -> String {
    rendered(set, Format::Table, style)
}

fn wide(width: usize) -> Style {
    Style { width, full: true, ..Style::default() }
}

/// Without the sentences of a survey.
fn run(mut set: ResultSet) -> ResultSet {
    set.invocation.plan.command = "run".to_owned();
    set
}

#[test]
fn a_survey_at_80_columns() {
    let text = written(&sample::survey(), &wide(80));
    let (screen, below) = text.split_once("The same in sentences\n").unwrap();
    assert!(screen.starts_with("USE fifo: 72.1 us round trip"), "{screen}");
    insta::assert_snapshot!(below, @r"
      - Small messages, blocking: fifo, 72.1 us for a round trip of 64 B on two CPUs
        (same-llc); as fast (within 10 %) is pipe, 71.5 us; runner-up unix-stream,
        75.9 us, 1.05x slower [1.03, 1.07] (within 10 %). With both ends on one CPU
        fifo takes 6.35 us: as fast (within 10 %) as pipe (6.31 us).
      - If busy-waiting briefly is fine: shm-ring/futex (spins briefly, then
        sleeps), 58.0 us (two modes: 1.90 us in 2 of 9 rounds) for a round trip of
        64 B on two CPUs (same-llc), mean 60.9 us; nothing else of its kind was
        measured. That holds back to back; after a pause, in which the ends fall
        asleep, nothing was measured (--think).
      - Large messages, blocking: tcp, 2.81 GB/s with messages of 1 MiB on two CPUs
        (same-llc); runner-up unix-stream, 2.60 GB/s, 1.09x slower [1.04, 1.11]
        (within 10 %).
      - If busy-waiting is fine: shm-ring/spin, 210 ns for a round trip of 64 B on
        two CPUs (same-llc); runner-up pipe/spin, 2.11 us, 10x slower [10, 10].
      - Cheapest in CPU: fifo, 18.0 us of CPU time for a message of 64 B (both ends
        together, blocking) on two CPUs (same-llc); as cheap (within 10 %) is pipe,
        17.9 us; runner-up unix-stream, 19.0 us, 1.05x more [1.05, 1.05] (within 10
        %).
      - A socket that unrelated processes can connect to: unix-stream bind=path,
        79.0 us for a round trip of 64 B on two CPUs (same-llc), 1.10x slower [1.07,
        1.12] than the best of any kind (fifo, 72.1 us); runner-up tcp, 95.0 us,
        1.20x slower [1.19, 1.21]. Without a socket, by name: fifo, 72.1 us.
      - Signalling without data: futex, 66.0 us for a round trip on two CPUs
        (same-llc); runner-up eventfd, 70.0 us, 1.06x slower [1.04, 1.08] (within 10
        %).
      - With --idle poll, a round trip of 64 B over pipe on two CPUs (same-llc)
        takes 4.20 us instead of 71.5 us: idle CPUs then poll instead of sleeping.

    What was measured

    Round trip, blocking mechanisms
         size  mechanism                       p50   +/-  vs reference
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
         wake  futex                       66.0 us  0.5%  reference
               eventfd                     70.0 us  1.3%  1.06x slower [1.04, 1.08]
                                                          (within 10 %)
               null (floor)                21.0 ns  0.5%  -
         64 B  shm-ring/futex ~           58.0 us*  1.0%  1.3x faster [1.3, 40.1]
                 in 2 of 9 rounds         1.90 us*
               pipe                        71.5 us  1.7%  1.06x faster [1.04, 1.08]
                                                          (within 10 %)
               fifo                        72.1 us  2.1%  1.05x faster [1.03, 1.07]
                                                          (within 10 %)
               unix-stream                 75.9 us  0.5%  reference
               unix-stream bind=path       79.0 us  0.5%  1.04x slower [1.04, 1.04]
                                                          (within 10 %)
               tcp                         95.0 us  0.9%  1.3x slower [1.2, 1.3]
        4 KiB  pipe                        73.0 us  1.2%  reference
               tcp sndbuf=64K (got 128K)   99.0 us  0.9%  1.4x slower [1.3, 1.4]
      CPUs 0 and 1 (same-llc), idle poll, touch cacheline
         64 B  pipe                        4.20 us  1.4%  -
      both ends on CPU 0 (same-cpu), idle as-is, touch cacheline
         64 B  pipe                        6.31 us  0.6%  reference
               fifo                        6.35 us  0.6%  as fast (within 10 %)
               tcp                         16.9 us  0.9%  2.7x slower [2.6, 2.7]
      hidden at 80 columns: mean, p90, p99, max, CPU/msg, switches, syscalls
      The reference was chosen by the same rounds as the ratios, which may favour
      it.
      A ratio is the median of the ratios within rounds: where rounds fall into two
      modes, it may differ from the ratio of the figures shown.

    Round trip, busy-waiting mechanisms (a CPU for each end)
        size  mechanism          p50   +/-  vs shm-ring/spin         p99  CPU/msg
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        64 B  shm-ring/spin   210 ns  1.4%  reference             315 ns  52.5 ns
              pipe/spin      2.11 us  1.4%  10x slower [10, 10]  3.17 us   528 ns
      hidden at 80 columns: mean, p90, max, switches, syscalls
      The reference was chosen by the same rounds as the ratios, which may favour
      it.

    Throughput, blocking mechanisms
         size  mechanism         rate   +/-  vs tcp                     CPU/msg
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        1 MiB  tcp          2.81 GB/s  1.4%  reference                   746 us
               unix-stream  2.60 GB/s  1.5%  1.09x slower [1.04, 1.11]   807 us
                                             (within 10 %)
               pipe         1.39 GB/s  1.4%  2.0x slower [2.0, 2.1]     1.51 ms
      hidden at 80 columns: messages, switches, syscalls
      The reference was chosen by the same rounds as the ratios, which may favour
      it.

    Throughput, busy-waiting mechanisms (a CPU for each end)
         size  mechanism           rate   +/-  messages  CPU/msg  switches  syscalls
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        1 MiB  shm-ring/spin  7.90 GB/s  1.3%  7.53 k/s   265 us         1         2

    CPU per message of a round trip, blocking mechanisms
         size  mechanism                  CPU/msg   +/-  vs reference
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
         wake  futex                      16.5 us  1.0%  reference
               eventfd                    17.5 us  1.0%  1.06x slower [1.05, 1.08]
                                                         (within 10 %)
               null (floor)               5.25 ns  1.0%  -
         64 B  shm-ring/futex ~           14.5 us  1.0%  reference
               pipe                       17.9 us  1.0%  1.23x slower [1.23, 1.23]
               fifo                       18.0 us  1.0%  1.2x slower [1.2, 1.3]
               unix-stream                19.0 us  1.0%  1.31x slower [1.29, 1.33]
               unix-stream bind=path      19.8 us  1.0%  1.4x slower [1.3, 1.4]
               tcp                        23.8 us  1.0%  1.6x slower [1.6, 1.7]
        4 KiB  pipe                       18.2 us  1.0%  reference
               tcp sndbuf=64K (got 128K)  24.8 us  1.0%  1.4x slower [1.3, 1.4]
      hidden at 80 columns: user, system, machine, switches, preempted, faults,
      syscalls, p50
      The reference was chosen by the same rounds as the ratios, which may favour
      it.

    CPU per message of a round trip, busy-waiting mechanisms (a CPU for each end)
        size  mechanism      CPU/msg   +/-  vs shm-ring/spin        user   system
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        64 B  shm-ring/spin  52.5 ns  1.0%  reference            10.5 ns  42.0 ns
              pipe/spin       528 ns  1.0%  10x slower [10, 10]   106 ns   422 ns
      hidden at 80 columns: machine, switches, preempted, faults, syscalls, p50
      The reference was chosen by the same rounds as the ratios, which may favour
      it.

    CPU per message of a stream, blocking mechanisms
         size  mechanism    CPU/msg   +/-  vs tcp                       user
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        1 MiB  tcp           746 us  1.0%  reference                  149 us
               unix-stream   807 us  1.0%  1.08x slower [1.06, 1.11]  161 us
                                           (within 10 %)
               pipe         1.51 ms  1.0%  2.0x slower [2.0, 2.1]     302 us
      hidden at 80 columns: system, machine, switches, preempted, faults, syscalls,
      rate
      The reference was chosen by the same rounds as the ratios, which may favour
      it.

    How to read the columns
      A round trip is there and back, never halved. +/- is half of the 95 % interval
      over rounds. CPU/msg is the CPU time of both ends for one message in one
      direction.
      mean far from p50 means two kinds of round trips: see the findings.
      user and system are the parts of CPU/msg (an estimate: this kernel divides CPU
      time by ticks). machine is the busy time of all CPUs for one message, less
      what they are busy anyway; it needs longer slices than the rest. Hypervisor
      CPU time is not included.
      ~ spins briefly before it sleeps: fast if the peer answers at once, slow after
      a pause.
      A ratio is the median over rounds of how many times slower or faster a row is
      than the reference in the same round; for rates, slower means a lower rate.
      The 95 % intervals of the rows of one size and place hold together; 'as fast'
      rests on the 90 % interval of the row alone.
      * The rounds fall into two modes: both values are shown if there is room, the
      larger mode first, never an average.

    Not measured
      - unavailable: posix-mq on same-llc: no POSIX message queues in this kernel
      - rejected: pipe/spin and shm-ring/spin on same-cpu: a spinning pair on one
        CPU waits for the scheduler and measures its time slice

    Findings
      Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
      - warning W-STEAL: 0.4 % of the time was stolen. Remedy: use a quiet machine.
    ");
}

#[test]
fn a_survey_at_200_columns_shows_more_statistics() {
    let style = Style { unicode: true, versus_bound: true, ..wide(200) };
    insta::assert_snapshot!(written(&run(sample::survey()), &style), @r"
    ipcperf 0.1.0 run, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm

    What was measured

    Round trip, blocking mechanisms
         size  mechanism                       p50     ±  vs reference                  mean  x bound      p90      p99      max  CPU/msg  switches  syscalls
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
         wake  futex                       66.0 us  0.5%  reference                  69.3 us        -  72.6 us  99.0 us  1.32 ms  16.5 us         1         2
               eventfd                     70.0 us  1.3%  1.06x slower [1.04, 1.08]  73.5 us        -  77.0 us   105 us  1.40 ms  17.5 us         1         2
                                                          (within 10 %)
               null (floor)                21.0 ns  0.5%  -                          22.1 ns        -  23.1 ns  31.5 ns   420 ns  5.25 ns         1         2
         64 B  shm-ring/futex ~           58.0 us*  1.0%  1.3x faster [1.3, 40.1]    60.9 us        -  63.8 us  87.0 us  1.16 ms  14.5 us         1         2
                 in 2 of 9 rounds         1.90 us*
               pipe                        71.5 us  1.7%  1.06x faster [1.04, 1.08]  75.1 us    1.19x  78.6 us   107 us  1.43 ms  17.9 us         1         2
                                                          (within 10 %)
               fifo                        72.1 us  2.1%  1.05x faster [1.03, 1.07]  75.7 us        -  79.3 us   108 us  1.44 ms  18.0 us         1         2
                                                          (within 10 %)
               unix-stream                 75.9 us  0.5%  reference                  79.7 us        -  83.5 us   114 us  1.52 ms  19.0 us         1         2
               unix-stream bind=path       79.0 us  0.5%  1.04x slower [1.04, 1.04]  83.0 us        -  86.9 us   118 us  1.58 ms  19.8 us         1         2
                                                          (within 10 %)
               tcp                         95.0 us  0.9%  1.3x slower [1.2, 1.3]      100 us        -   105 us   142 us  1.90 ms  23.8 us         1         2
        4 KiB  pipe                        73.0 us  1.2%  reference                  76.7 us        -  80.3 us   110 us  1.46 ms  18.2 us         1         2
               tcp sndbuf=64K (got 128K)   99.0 us  0.9%  1.4x slower [1.3, 1.4]      104 us        -   109 us   148 us  1.98 ms  24.8 us         1         2
      CPUs 0 and 1 (same-llc), idle poll, touch cacheline
         64 B  pipe                        4.20 us  1.4%  -                          4.41 us        -  4.62 us  6.30 us  84.0 us  1.05 us         1         2
      both ends on CPU 0 (same-cpu), idle as-is, touch cacheline
         64 B  pipe                        6.31 us  0.6%  reference                  6.63 us        -  6.94 us  9.46 us   126 us  1.58 us         1         2
               fifo                        6.35 us  0.6%  as fast (within 10 %)      6.67 us        -  6.99 us  9.53 us   127 us  1.59 us         1         2
               tcp                         16.9 us  0.9%  2.7x slower [2.6, 2.7]     17.7 us        -  18.6 us  25.4 us   338 us  4.22 us         1         2
      The reference was chosen by the same rounds as the ratios, which may favour it.
      A ratio is the median of the ratios within rounds: where rounds fall into two modes, it may differ from the ratio of the figures shown.

    Round trip, busy-waiting mechanisms (a CPU for each end)
        size  mechanism          p50     ±  vs shm-ring/spin        mean  x bound      p90      p99      max  CPU/msg  switches  syscalls
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        64 B  shm-ring/spin   210 ns  1.4%  reference             220 ns    1.62x   231 ns   315 ns  4.20 us  52.5 ns         1         2
              pipe/spin      2.11 us  1.4%  10x slower [10, 10]  2.22 us    16.2x  2.32 us  3.17 us  42.2 us   528 ns         1         2
      The reference was chosen by the same rounds as the ratios, which may favour it.

    Throughput, blocking mechanisms
         size  mechanism         rate     ±  vs tcp                     of bound  messages  CPU/msg  switches  syscalls
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        1 MiB  tcp          2.81 GB/s  1.4%  reference                         -  2.68 k/s   746 us         1         2
               unix-stream  2.60 GB/s  1.5%  1.09x slower [1.04, 1.11]         -  2.48 k/s   807 us         1         2
                                             (within 10 %)
               pipe         1.39 GB/s  1.4%  2.0x slower [2.0, 2.1]       0.165x  1.33 k/s  1.51 ms         1         2
      The reference was chosen by the same rounds as the ratios, which may favour it.

    Throughput, busy-waiting mechanisms (a CPU for each end)
         size  mechanism           rate     ±  messages  CPU/msg  switches  syscalls
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        1 MiB  shm-ring/spin  7.90 GB/s  1.3%  7.53 k/s   265 us         1         2

    CPU per message of a round trip, blocking mechanisms
         size  mechanism                  CPU/msg     ±  vs reference                  user   system  machine  switches  preempted  faults  syscalls       p50
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
         wake  futex                      16.5 us  1.0%  reference                  3.30 us  13.2 us  19.8 us         1          0       0         2   66.0 us
               eventfd                    17.5 us  1.0%  1.06x slower [1.05, 1.08]  3.50 us  14.0 us  21.0 us         1          0       0         2   70.0 us
                                                         (within 10 %)
               null (floor)               5.25 ns  1.0%  -                          1.05 ns  4.20 ns  6.30 ns         1          0       0         2   21.0 ns
         64 B  shm-ring/futex ~           14.5 us  1.0%  reference                  2.90 us  11.6 us  17.4 us         1          0       0         2  58.0 us*
               pipe                       17.9 us  1.0%  1.23x slower [1.23, 1.23]  3.57 us  14.3 us  21.4 us         1          0       0         2   71.5 us
               fifo                       18.0 us  1.0%  1.2x slower [1.2, 1.3]     3.60 us  14.4 us  21.6 us         1          0       0         2   72.1 us
               unix-stream                19.0 us  1.0%  1.31x slower [1.29, 1.33]  3.79 us  15.2 us  22.8 us         1          0       0         2   75.9 us
               unix-stream bind=path      19.8 us  1.0%  1.4x slower [1.3, 1.4]     3.95 us  15.8 us  23.7 us         1          0       0         2   79.0 us
               tcp                        23.8 us  1.0%  1.6x slower [1.6, 1.7]     4.75 us  19.0 us  28.5 us         1          0       0         2   95.0 us
        4 KiB  pipe                       18.2 us  1.0%  reference                  3.65 us  14.6 us  21.9 us         1          0       0         2   73.0 us
               tcp sndbuf=64K (got 128K)  24.8 us  1.0%  1.4x slower [1.3, 1.4]     4.95 us  19.8 us  29.7 us         1          0       0         2   99.0 us
      both ends on CPU 0 (same-cpu), idle as-is, touch cacheline
         64 B  pipe                       1.58 us  1.0%  as fast (within 10 %)       316 ns  1.26 us  1.89 us         1          0       0         2   6.31 us
               fifo                       1.59 us  1.0%  reference                   318 ns  1.27 us  1.91 us         1          0       0         2   6.35 us
               tcp                        4.22 us  1.0%  2.7x slower [2.6, 2.7]      845 ns  3.38 us  5.07 us         1          0       0         2   16.9 us
      The reference was chosen by the same rounds as the ratios, which may favour it.

    CPU per message of a round trip, busy-waiting mechanisms (a CPU for each end)
        size  mechanism      CPU/msg     ±  vs shm-ring/spin        user   system  machine  switches  preempted  faults  syscalls      p50
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        64 B  shm-ring/spin  52.5 ns  1.0%  reference            10.5 ns  42.0 ns  63.0 ns         1          0       0         2   210 ns
              pipe/spin       528 ns  1.0%  10x slower [10, 10]   106 ns   422 ns   633 ns         1          0       0         2  2.11 us
      The reference was chosen by the same rounds as the ratios, which may favour it.

    CPU per message of a stream, blocking mechanisms
         size  mechanism    CPU/msg     ±  vs tcp                       user   system  machine  switches  preempted  faults  syscalls       rate
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        1 MiB  tcp           746 us  1.0%  reference                  149 us   597 us   896 us         1          0       0         2  2.81 GB/s
               unix-stream   807 us  1.0%  1.08x slower [1.06, 1.11]  161 us   645 us   968 us         1          0       0         2  2.60 GB/s
                                           (within 10 %)
               pipe         1.51 ms  1.0%  2.0x slower [2.0, 2.1]     302 us  1.21 ms  1.81 ms         1          0       0         2  1.39 GB/s
      The reference was chosen by the same rounds as the ratios, which may favour it.

    How to read the columns
      A round trip is there and back, never halved. ± is half of the 95 % interval over rounds. CPU/msg is the CPU time of both ends for one message in one direction.
      mean far from p50 means two kinds of round trips: see the findings.
      user and system are the parts of CPU/msg (an estimate: this kernel divides CPU time by ticks). machine is the busy time of all CPUs for one message, less what they are busy anyway; it needs longer
      slices than the rest. Hypervisor CPU time is not included.
      ~ spins briefly before it sleeps: fast if the peer answers at once, slow after a pause.
      A ratio is the median over rounds of how many times slower or faster a row is than the reference in the same round; for rates, slower means a lower rate. The 95 % intervals of the rows of one size
      and place hold together; 'as fast' rests on the 90 % interval of the row alone.
      * The rounds fall into two modes: both values are shown if there is room, the larger mode first, never an average.
      Bounds of this machine: a futex wake-up round trip on same-llc 60.0 us, a cache-line round trip on same-llc 130 ns, memcpy 8.40 GB/s.

    Not measured
      - unavailable: posix-mq on same-llc: no POSIX message queues in this kernel
      - rejected: pipe/spin and shm-ring/spin on same-cpu: a spinning pair on one CPU waits for the scheduler and measures its time slice

    Findings
      Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
      - warning W-STEAL: 0.4 % of the time was stolen. Remedy: use a quiet machine.

    6 groups of cells were compared, too many for sentences; of one: ipcperf report FILE -p ping-pong -s 64 --place same-llc
    ");
}

#[test]
fn a_small_set_at_40_columns_drops_columns() {
    insta::assert_snapshot!(written(&run(sample::small()), &wide(40)), @r"
    ipcperf 0.1.0 run, 2026-08-21T10:00:00Z:
    3 of 4 cells measured, 9 rounds of 100
    ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux
    6.18.5, hypervisor kvm

    What was measured

    Round trip, blocking mechanisms
        size  mechanism      p50   +/-
      CPUs 0 and 1 (same-llc), idle as-is,
      touch cacheline
        64 B  pipe       71.5 us  1.7%
              fifo       72.1 us  2.1%
              tcp        95.0 us  0.9%
      hidden at 40 columns: vs fifo, mean,
      p90, p99, max, CPU/msg, switches,
      syscalls
      The reference was chosen by the same
      rounds as the ratios, which may favour
      it.

    CPU per message of a round trip,
    blocking mechanisms
        size  mechanism  CPU/msg   +/-
      CPUs 0 and 1 (same-llc), idle as-is,
      touch cacheline
        64 B  pipe       17.9 us  1.0%
              fifo       18.0 us  1.0%
              tcp        23.8 us  1.0%
      hidden at 40 columns: vs pipe, user,
      system, machine, switches, preempted,
      faults, syscalls, p50
      The reference was chosen by the same
      rounds as the ratios, which may favour
      it.

    How to read the columns
      A round trip is there and back, never
      halved. +/- is half of the 95 %
      interval over rounds. CPU/msg is the
      CPU time of both ends for one message
      in one direction.
      mean far from p50 means two kinds of
      round trips: see the findings.
      user and system are the parts of
      CPU/msg (an estimate: this kernel
      divides CPU time by ticks). machine is
      the busy time of all CPUs for one
      message, less what they are busy
      anyway; it needs longer slices than
      the rest. Hypervisor CPU time is not
      included.
      A ratio is the median over rounds of
      how many times slower or faster a row
      is than the reference in the same
      round; for rates, slower means a lower
      rate. The 95 % intervals of the rows
      of one size and place hold together;
      'as fast' rests on the 90 % interval
      of the row alone.

    Distribution, over powers of ten
              10.0 us ..
              10.0 ms
      pipe ping-pong 64B same-llc
      min     ##                     57.2 us
      p50     ##                     71.5 us
      p90     ##                     78.6 us
      p99     ###                     107 us
      max     ######                 1.43 ms
      rounds  ._*#,-_+#   69.9 us to 73.0 us
      fifo ping-pong 64B same-llc
      min     ##                     57.7 us
      p50     ##                     72.1 us
      p90     ##                     79.3 us
      p99     ###                     108 us
      max     ######                 1.44 ms
      rounds  *,_#_#-+.   70.2 us to 74.0 us
      tcp ping-pong 64B same-llc
      min     ##                     76.0 us
      p50     ###                    95.0 us
      p90     ###                     105 us
      p99     ###                     142 us
      max     ######                 1.90 ms
      rounds  -_+#._*#,   93.8 us to 96.2 us

    Not measured
      - unavailable: posix-mq: no POSIX
        message queues in this kernel

    Findings
      Noise grade B: steal 0.4 % (A is
      quiet, at F only ratios hold).
      - warning W-STEAL: 0.4 % of the time
        was stolen. Remedy: use a quiet
        machine.

    tcp is 1.3x slower [1.3, 1.4] than fifo
    (64 B, two CPUs); pipe is as fast
    (within 10 %).
    ");
}

#[test]
fn one_cell() {
    let set = run(set(vec![cell("pipe", 64, ONE).rtt(5_000_000.0, 100.0)]));
    insta::assert_snapshot!(written(&set, &wide(80)), @r"
    ipcperf 0.1.0 run, 2026-08-21T10:00:00Z: 1 of 1 cell measured, 9 rounds of 100
    ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm

    What was measured

    Round trip, blocking mechanisms
        size  mechanism      p50    +/-     mean      p99  CPU/msg  switches
      both ends on CPU 0 (same-cpu), idle as-is, touch cacheline
        64 B  pipe       5.00 ms  <0.1%  5.25 ms  7.50 ms  1.25 ms         1
      hidden at 80 columns: p90, max, syscalls

    How to read the columns
      A round trip is there and back, never halved. +/- is half of the 95 % interval
      over rounds. CPU/msg is the CPU time of both ends for one message in one
      direction.
      mean far from p50 means two kinds of round trips: see the findings.

    Distribution, over powers of ten
                1.00 ms             ..              100 ms
      pipe ping-pong 64B same-cpu
        min     #############                                          4.00 ms
        p50     ###############                                        5.00 ms
        p90     ################                                       5.50 ms
        p99     ##################                                     7.50 ms
        max     ##########################################              100 ms
        rounds  ._*#,-_+#                                   5.00 ms to 5.00 ms

    Findings
      Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
      - warning W-STEAL: 0.4 % of the time was stolen. Remedy: use a quiet machine.

    pipe: 5.00 ms (64 B, one CPU).
    ");
}

#[test]
fn no_cells() {
    insta::assert_snapshot!(written(&set(Vec::new()), &wide(80)), @r"
    No round trip of a message was measured.

    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 0 of 0 cells measured
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).

    What was measured
      No cell was measured.

    Findings
      Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
      - warning W-STEAL: 0.4 % of the time was stolen. Remedy: use a quiet machine.
    ");
}

#[test]
fn an_interrupted_run_with_cells_of_every_status() {
    let cells = vec![
        cell("pipe", 64, TWO).rtt(71_000.0, 500.0),
        cell("posix-mq", 64, TWO).not_ok(Status::Unavailable, "no POSIX message queues"),
        cell("tcp", 64, TWO).not_ok(Status::Failed, "a message arrived with the wrong stamp"),
        cell("fifo", 64, TWO).not_ok(Status::Deadline, "no end after 10 s"),
        cell("pipe/spin", 64, ONE).not_ok(Status::Rejected, "a spinning pair on one CPU"),
        cell("shm-ring/spin", 64, ONE).not_ok(Status::Rejected, "a spinning pair on one CPU"),
        cell("futex", 0, TWO).not_ok(Status::Skipped, "the run was interrupted"),
    ];
    let mut set = run(set(cells));
    set.interrupted = true;
    insta::assert_snapshot!(written(&set, &wide(80)), @r"
    INTERRUPTED before the plan was done: what follows was measured until then.
    ipcperf 0.1.0 run, 2026-08-21T10:00:00Z: 1 of 7 cells measured, 9 rounds of 100
    ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm

    What was measured

    Round trip, blocking mechanisms
        size  mechanism      p50   +/-     mean      p90     p99  CPU/msg  switches
      CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
        64 B  pipe       71.0 us  0.7%  74.5 us  78.1 us  106 us  17.8 us         1
      hidden at 80 columns: max, syscalls

    How to read the columns
      A round trip is there and back, never halved. +/- is half of the 95 % interval
      over rounds. CPU/msg is the CPU time of both ends for one message in one
      direction.
      mean far from p50 means two kinds of round trips: see the findings.

    Distribution, over powers of ten
                10.0 us             ..             10.0 ms
      pipe ping-pong 64B same-llc
        min     ###########                                            56.8 us
        p50     ############                                           71.0 us
        p90     #############                                          78.1 us
        p99     ##############                                          106 us
        max     ##############################                         1.42 ms
        rounds  ._*#,-_+#                                   70.3 us to 71.7 us

    Not measured
      - unavailable: posix-mq on same-llc: no POSIX message queues
      - failed: tcp on same-llc: a message arrived with the wrong stamp
      - deadline: fifo on same-llc: no end after 10 s
      - rejected: pipe/spin and shm-ring/spin on same-cpu: a spinning pair on one
        CPU
      - skipped: futex on same-llc: the run was interrupted

    Findings
      Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
      - warning W-STEAL: 0.4 % of the time was stolen. Remedy: use a quiet machine.
    ");
}

#[test]
fn what_a_checksum_adds_is_not_called_shorter() {
    let words = |name: &str, ratio: f64| {
        let cost = TransformCost {
            name: name.parse().unwrap(),
            library: "a library".to_owned(),
            ratio,
            wire_bytes: 68,
            compress_ns: 10.0,
            decompress_ns: 10.0,
        };
        let cell = cell("pipe", 64, ONE).rtt(9_000.0, 90.0);
        let set = set(vec![Cell { transform: Some(cost), ..cell }]);
        written(&set, &wide(200)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let added = words("crc32", 64.0 / 68.0);
    assert!(added.contains("makes messages 1.06 times longer"), "{added}");
    let changed = words("gzip", 1.5);
    assert!(changed.contains("makes messages 1.50 times shorter"), "{changed}");
}

#[test]
fn nothing_is_said_of_the_rounds_of_cells_that_there_are_not() {
    assert_eq!(crate::results::advice::limits(&set(Vec::new())), None);
}
