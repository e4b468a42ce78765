//! What stands on the one screen, and that it is one.

use super::*;
use crate::testing::sample::{self, Build, ONE, TWO, cell, set};
use crate::testing::{rendered, to_text};
use crate::{Format, Style, render};

const SCREEN: usize = 40;

fn written(set: &ResultSet, style: &Style) -> String {
    rendered(set, Format::Table, style)
}

/// The screen in one line, with single spaces.
fn flat(set: &ResultSet) -> String {
    let text = written(set, &Style::default());
    assert!(text.lines().count() <= SCREEN, "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A survey with many mechanisms, some of which this build does not know.
fn crowded() -> ResultSet {
    let mut set = sample::survey();
    for at in 0..60 {
        let name = format!("mechanism-with-a-rather-long-name-{at}");
        set.cells.push(cell(&name, 64, TWO).rtt(60_000.0 + 900.0 * f64::from(at), 500.0));
        set.cells.push(cell(&name, 64, ONE).rtt(6_000.0 + 90.0 * f64::from(at), 50.0));
    }
    set
}

#[test]
fn a_survey_on_one_screen() {
    insta::assert_snapshot!(written(&sample::survey(), &Style::default()), @r"
    USE fifo: 72.1 us round trip, 18.0 us CPU per message
        pipe is as fast here; fifo reconnects after a restart.

    TCP instead           1.3x slower  [1.3, 1.4]; to reach another host
    UNIX socket instead  1.05x slower  [1.03, 1.08]
    busy-wait, 2 CPUs          210 ns  shm-ring/spin, 100 % of both CPUs, peer
                                       death goes unnoticed
    big messages            2.81 GB/s  tcp (1 MiB, 1.08x a UNIX socket)
    signal, no data           66.0 us  futex

    64-byte round trip       p50      p99  one CPU      1 MiB  CPU/msg  dead peer
    fifo                 72.1 us   108 us  6.35 us          -  18.0 us  noticed
    pipe                 71.5 us   107 us  6.31 us  1.39 GB/s  17.9 us  noticed    =
    unix-stream          75.9 us   114 us        -  2.60 GB/s  19.0 us  noticed
    tcp                  95.0 us   142 us  16.9 us  2.81 GB/s  23.8 us  noticed
    shm-ring/futex ~     58.0 us  87.0 us        -          -  14.5 us  noticed
    or in 2 of 9 rounds  1.90 us
    hidden at 80 columns: times slower, 4 KiB p50, can
    = as fast as the first row, as far as this run can tell; ~ spins before it
    sleeps: fast only if the peer answers at once; or in: the other of two modes
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 4K --rate 20k
    A or B      ipcperf compare fifo tcp
    Everything  ipcperf report FILE --full (3 more mechanisms, 1 finding)
    Failed      2 cells gave no accepted figure
    Missing     posix-mq

    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds
    of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, F is too noisy to compare).
    ");
}

#[test]
fn wide_screens_have_more_columns() {
    let style = Style { width: 200, ..Style::default() };
    insta::assert_snapshot!(written(&sample::survey(), &style), @r"
    USE fifo: 72.1 us round trip, 18.0 us CPU per message
        pipe is as fast here; fifo reconnects after a restart.

    TCP instead           1.3x slower  [1.3, 1.4]; to reach another host
    UNIX socket instead  1.05x slower  [1.03, 1.08]
    busy-wait, 2 CPUs          210 ns  shm-ring/spin, 100 % of both CPUs, peer death goes unnoticed
    big messages            2.81 GB/s  tcp (1 MiB, 1.08x a UNIX socket)
    signal, no data           66.0 us  futex

    64-byte round trip       p50      p99  one CPU      1 MiB  CPU/msg  dead peer        times slower  4 KiB p50  can
    fifo                 72.1 us   108 us  6.35 us          -  18.0 us  noticed                     -          -  reconnect
    pipe                 71.5 us   107 us  6.31 us  1.39 GB/s  17.9 us  noticed                     -    73.0 us  -                   =
    unix-stream          75.9 us   114 us        -  2.60 GB/s  19.0 us  noticed    1.05x [1.03, 1.08]          -  two-way
    tcp                  95.0 us   142 us  16.9 us  2.81 GB/s  23.8 us  noticed       1.3x [1.3, 1.4]          -  two-way, reconnect
    shm-ring/futex ~     58.0 us  87.0 us        -          -  14.5 us  noticed                     -          -  -
    or in 2 of 9 rounds  1.90 us
    = as fast as the first row, as far as this run can tell; ~ spins before it sleeps: fast only if the peer answers at once; or in: the other of two modes
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 4K --rate 20k
    A or B      ipcperf compare fifo tcp
    Everything  ipcperf report FILE --full (3 more mechanisms, 1 finding)
    Failed      2 cells gave no accepted figure
    Missing     posix-mq

    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, F is too noisy to compare).
    ");
}

#[test]
fn narrow_screens_say_what_they_hide() {
    let style = Style { width: 40, ..Style::default() };
    insta::assert_snapshot!(written(&sample::survey(), &style), @r"
    USE fifo: 72.1 us round trip, 18.0 us
    CPU per message
        pipe is as fast here; fifo
        reconnects after a restart.

    TCP instead; 1.3x slower; [1.3, 1.4]; to
    reach another host
    UNIX socket instead; 1.05x slower;
    [1.03, 1.08]
    busy-wait, 2 CPUs; 210 ns;
    shm-ring/spin, 100 % of both CPUs, peer
    death goes unnoticed
    big messages; 2.81 GB/s; tcp (1 MiB,
    1.08x a UNIX socket)
    signal, no data; 66.0 us; futex

    64-byte round trip       p50      p99
    fifo                 72.1 us   108 us
    pipe                 71.5 us   107 us  =
    unix-stream          75.9 us   114 us
    tcp                  95.0 us   142 us
    shm-ring/futex ~     58.0 us  87.0 us
    or in 2 of 9 rounds  1.90 us
    hidden at 40 columns: one CPU, 1 MiB,
    CPU/msg, dead peer, times slower, 4 KiB
    p50, can
    = as fast as the first row, as far as
    this run can tell; ~ spins before it
    sleeps: fast only if the peer answers at
    once; or in: the other of two modes
    CPUs 0 and 1 (same-llc), idle as-is,
    touch cacheline

    Your case   ipcperf choose -s 4K --rate
                20k
    A or B      ipcperf compare fifo tcp
    Everything  ipcperf report FILE --full
                (3 more mechanisms, 1
                finding)
    Failed      2 cells gave no accepted
                figure
    Missing     posix-mq

    ipcperf 0.1.0 survey,
    2026-08-21T10:00:00Z: 21 of 24 cells
    measured, 10 rounds of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux
    6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet,
    F is too noisy to compare).
    ");
}

/// Of a survey of 20 s on a busy virtual machine with two CPUs: some of its cells, with fewer digits and without the
/// histograms of their rounds.
#[test]
fn a_real_survey_on_one_screen() {
    let set = crate::load(include_str!("fixtures/survey.json")).unwrap();
    let text = written(&set, &Style::default());
    assert!(text.lines().count() <= SCREEN && text.lines().all(|line| text::width(line) <= 80));
    insta::assert_snapshot!(text, @r"
    USE unix-stream bind=path (a UNIX socket): 50.9 us round trip, 18.4 us CPU per
    message
        posix-mq is as fast here; unix-stream is two-way.
    At noise grade D only large differences are certain (13 % of the slices
    rejected).

    TCP instead              -  not part of this run
    busy-wait, 2 CPUs   118 ns  shm-ring/spin, 100 % of both CPUs, peer death
                                goes unnoticed
    signal, no data    51.5 us  eventfd

    64-byte round trip         p50      p99  one CPU     64 KiB  CPU/msg
    unix-stream bind=path  50.9 us        -        -          -  18.4 us
    posix-mq               53.9 us        -        -          -  16.4 us  =
    pipe                   52.3 us        -  6.96 us   814 MB/s  16.4 us
    shm-ring/adaptive ~    49.9 us  90.3 us  10.8 us  19.6 GB/s  16.4 us
    tcp                          -        -        -          -        -
    hidden at 80 columns: dead peer, can
    = as fast as the first row, as far as this run can tell; ~ spins before it
    sleeps: fast only if the peer answers at once
    tcp: not part of this run
    pipe: too many rounds rejected to rank it
    p99 of 3 of 4 needs 2,000 samples (had 1,099): use --budget 1m
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 4K --rate 20k
    A or B      ipcperf compare unix-stream posix-mq
    Everything  ipcperf report FILE --full (1 more mechanism, 9 findings)
    Missing     vsock

    ipcperf 0.1.0 survey, 2026-11-23T08:14:20Z: 15 of 16 cells measured, 6 rounds of
    10.4 ms, 17.2 s
    AMD EPYC, 2 CPUs, Linux 6.18.44-fc-v445, hypervisor KVM, container docker
    ");
}

#[test]
fn at_grade_f_rows_stand_by_family_and_nothing_is_ranked() {
    let mut set = sample::survey();
    set.noise.grade = "F".to_owned();
    insta::assert_snapshot!(written(&set, &Style::default()), @r"
    Too noisy to rank: noise grade F (steal 0.4 %).

      64-byte round trip       p50      p99  one CPU      1 MiB  can
    shared-memory
      shm-ring/futex ~     58.0 us  87.0 us        -          -  -
      or in 2 of 9 rounds  1.90 us
    stream
      unix-stream          75.9 us   114 us        -  2.60 GB/s  two-way
      pipe                 71.5 us   107 us  6.31 us  1.39 GB/s  -
      tcp                  95.0 us   142 us  16.9 us  2.81 GB/s  two-way, reconnect
      fifo                 72.1 us   108 us  6.35 us          -  reconnect
    hidden at 80 columns: CPU/msg, dead peer, 4 KiB p50
    ~ spins before it sleeps: fast only if the peer answers at once; or in: the
    other of two modes
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Fix first   ipcperf doctor
    Everything  ipcperf report FILE --full (3 more mechanisms, 1 finding)
    Failed      2 cells gave no accepted figure
    Missing     posix-mq

    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds
    of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    ");
}

#[test]
fn whatever_was_surveyed_fits_on_one_screen() {
    let graded = |grade: &str| {
        let mut set = crowded();
        set.noise.grade = grade.to_owned();
        set.noise.causes = vec!["steal 31 % of the time of CPU 0".to_owned()];
        set
    };
    let mut interrupted = crowded();
    interrupted.interrupted = true;
    let mut one_cpu = crowded();
    one_cpu.cells.retain(|cell| cell.key.placement == ONE);
    let empty = ResultSet { cells: Vec::new(), ..sample::survey() };
    for (what, set) in [
        ("sample", sample::survey()),
        ("crowded", crowded()),
        ("D", graded("D")),
        ("F", graded("F")),
        ("interrupted", interrupted),
        ("one CPU", one_cpu),
        ("empty", empty),
    ] {
        for width in [40, 80, 200] {
            let text = written(&set, &Style { width, ..Style::default() });
            let widest = text.lines().map(text::width).max().unwrap_or(0);
            assert!(widest <= width, "{what} at {width}: {widest}\n{text}");
            if width >= 80 {
                let lines = text.lines().count();
                assert!(lines <= SCREEN, "{what} at {width}: {lines} lines\n{text}");
            }
        }
    }
}

/// A survey that was interrupted called them missing.
#[test]
fn what_was_only_not_reached_is_not_called_missing() {
    let mut set = sample::survey();
    let missing = set.cells.iter().find(|cell| cell.status == Status::Unavailable).unwrap();
    let name = missing.key.mechanism.clone();
    assert!(flat(&set).contains(&format!("Missing {name}")));
    let skipped = Cell { status: Status::Skipped, ..missing.clone() };
    set.cells.push(skipped);
    assert!(!flat(&set).contains("Missing"), "{}", flat(&set));
}

/// Of these round trips, all in microseconds.
fn of(cells: &[(&str, f64)]) -> ResultSet {
    set(cells.iter().map(|(name, us)| cell(name, 64, TWO).rtt(us * 1e3, us * 5.0)).collect())
}

#[test]
fn the_first_line_says_what_to_use_and_the_second_why() {
    let said = |cells: &[(&str, f64)]| flat(&of(cells));
    let alone = said(&[("pipe", 71.0)]);
    assert!(alone.starts_with("USE pipe: 71.0 us round trip, 17.8 us CPU per message Nothing else of its kind was measured."), "{alone}");
    let ahead = said(&[("pipe", 71.0), ("tcp", 142.0)]);
    assert!(
        ahead.contains("Certainly faster than all others here: tcp is 2.00x [1.99, 2.01] slower."),
        "{ahead}"
    );
    let tied = said(&[("pipe", 71.0), ("fifo", 71.1), ("tcp", 71.2)]);
    assert!(
        tied.contains("USE tcp: ")
            && tied.contains(
                "pipe and fifo are as fast here; tcp is two-way and reconnects after a restart."
            ),
        "{tied}"
    );
}

#[test]
fn tcp_and_the_unix_socket_have_a_row_and_a_line_even_where_they_were_not_measured() {
    let mut set = of(&[("pipe", 71.0)]);
    set.cells.push(cell("tcp", 64, TWO).not_ok(Status::Unavailable, "no loopback device"));
    let text = flat(&set);
    assert!(text.contains("TCP instead - no loopback device"), "{text}");
    assert!(text.contains("UNIX socket instead - not part of this run"), "{text}");
    assert!(text.contains("tcp - ") && text.contains("unix-stream - "), "{text}");
}

#[test]
fn a_factor_takes_six_common_rounds_and_one_mode() {
    let with = |tcp: Cell, rounds: usize| {
        let mut set = set(vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0), tcp]);
        set.cells.iter_mut().for_each(|cell| cell.rounds.truncate(rounds));
        flat(&set)
    };
    let tcp = || cell("tcp", 64, TWO).rtt(142_000.0, 500.0);
    let six = with(tcp(), 6);
    assert!(six.contains("x slower [1.9") && six.contains("]; to reach another host"), "{six}");
    let few = with(tcp(), 5);
    assert!(few.contains("USE tcp") && few.contains("Too few rounds to rank"), "{few}");
    let modes = with(cell("tcp", 64, TWO).modes([(142_000.0, 6), (900_000.0, 3)]), 9);
    assert!(modes.contains("TCP instead 142 us or 900 us slower; no factor: two modes"), "{modes}");
}

#[test]
fn what_was_measured_elsewhere_than_the_table_says_so() {
    let mut set = of(&[("pipe", 71.0)]);
    set.cells.push(cell("tcp", 1 << 20, ONE).rate(2.8e9, 1e7));
    let text = flat(&set);
    assert!(
        text.contains("big messages 2.80 GB/s tcp, with both ends on one CPU (1 MiB)"),
        "{text}"
    );
}

#[test]
fn all_tables_are_an_option_away_and_other_commands_have_nothing_else() {
    let set = sample::survey();
    let full = written(&set, &Style { full: true, ..Style::default() });
    let verbose = written(&set, &Style { verbose: true, ..Style::default() });
    let mut run = set;
    run.invocation.plan.command = "run".to_owned();
    for text in [full, verbose, written(&run, &Style::default())] {
        assert!(text.contains("Round trip, blocking mechanisms"), "{text}");
    }
}

#[test]
fn what_this_build_does_not_know_is_shown_without_its_facts() {
    let (set, style) = (sample::survey(), Style::default());
    let text = to_text(|out| render(&set, &|_: &str| None, Format::Table, &style, out));
    assert!(text.contains("pipe") && !text.contains("noticed"), "{text}");
}

#[test]
fn a_tail_that_nothing_has_is_said_with_what_would_give_it() {
    let mut set = sample::survey();
    for cell in &mut set.cells {
        if let Some(times) = &mut cell.rtt_ns {
            let missing = ipcperf_core::result::Metric::missing("needs 2000 samples, has 700");
            times.insert("p99".to_owned(), missing);
        }
    }
    let text = flat(&set);
    assert!(text.contains("p99 needs 2,000 samples (had 700): use --budget 3m"), "{text}");
    assert!(text.contains("p50 4 KiB p50 one CPU"), "the larger size stands in its place: {text}");
    assert!(!flat(&sample::survey()).contains("p99 needs"));
}
