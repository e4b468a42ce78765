//! What stands on the one screen, and that it is one.

use super::*;
use crate::testing::render;
use crate::testing::sample::{Build, ONE, TWO, cell, set};
use crate::testing::{rendered, sample, to_text};
use ipcperf_core::result::{Question, Stage};
use ipcperf_render::{Format, Style};

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
        Of the others compared that sleep at once, none is more than 10 % faster;
        fifo reconnects after a restart.

    TCP instead           1.3x slower  [1.3, 1.4] to reach another host
    UNIX socket instead  1.05x slower  [1.03, 1.07] (within 10 %)
    busy-wait, 2 CPUs          210 ns  shm-ring/spin, 100 % of both CPUs, peer
                                       death goes unnoticed
    big messages            2.81 GB/s  tcp (1 MiB, 1.09x faster [1.04, 1.11] than
                                       a UNIX socket)
    signal, no data           66.0 us  futex

    64-byte round trip       p50  vs fifo                        p99  one CPU
    shm-ring/futex       58.0 us  1.3x faster [1.2, 38.3]    87.0 us        -
    or in 2 of 9 rounds  1.90 us
    pipe                 71.5 us  as fast (within 10 %)       107 us  6.31 us
    fifo                 72.1 us  reference                   108 us  6.35 us
    unix-stream          75.9 us  1.05x slower [1.03, 1.07]   114 us        -
    tcp                  95.0 us  1.3x slower [1.3, 1.4]      142 us  16.9 us
    hidden at 80 columns: 1 MiB, CPU/msg, dead peer, 4 KiB p50, within 10 %, can
    shm-ring spins before it sleeps: fast only if the peer answers at once; shm-ring
    in two modes: its ratio comes from the rounds, not from the figures; fifo was
    chosen as reference by the same rounds
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 4K --rate 5k
    A or B      ipcperf compare fifo tcp
    Everything  ipcperf report FILE --full (3 more mechanisms, 1 finding)
    Failed      2 cells gave no accepted figure
    Missing     posix-mq

    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds
    of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
    ");
}

#[test]
fn wide_screens_have_more_columns() {
    let style = Style { width: 200, ..Style::default() };
    insta::assert_snapshot!(written(&sample::survey(), &style), @r"
    USE fifo: 72.1 us round trip, 18.0 us CPU per message
        Of the others compared that sleep at once, none is more than 10 % faster; fifo reconnects after a restart.

    TCP instead           1.3x slower  [1.3, 1.4] to reach another host
    UNIX socket instead  1.05x slower  [1.03, 1.07] (within 10 %)
    busy-wait, 2 CPUs          210 ns  shm-ring/spin, 100 % of both CPUs, peer death goes unnoticed
    big messages            2.81 GB/s  tcp (1 MiB, 1.09x faster [1.04, 1.11] than a UNIX socket)
    signal, no data           66.0 us  futex

    64-byte round trip       p50  vs fifo                        p99  one CPU      1 MiB  CPU/msg  dead peer  4 KiB p50  within 10 %  can
    shm-ring/futex       58.0 us  1.3x faster [1.2, 38.3]    87.0 us        -          -  14.5 us  noticed            -  -            -
    or in 2 of 9 rounds  1.90 us
    pipe                 71.5 us  as fast (within 10 %)       107 us  6.31 us  1.39 GB/s  17.9 us  noticed      73.0 us  yes          -
    fifo                 72.1 us  reference                   108 us  6.35 us          -  18.0 us  noticed            -  -            reconnect
    unix-stream          75.9 us  1.05x slower [1.03, 1.07]   114 us        -  2.60 GB/s  19.0 us  noticed            -  yes          two-way
    tcp                  95.0 us  1.3x slower [1.3, 1.4]      142 us  16.9 us  2.81 GB/s  23.8 us  noticed            -  -            two-way, reconnect
    shm-ring spins before it sleeps: fast only if the peer answers at once; shm-ring in two modes: its ratio comes from the rounds, not from the figures; fifo was chosen as reference by the same rounds
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 4K --rate 5k
    A or B      ipcperf compare fifo tcp
    Everything  ipcperf report FILE --full (3 more mechanisms, 1 finding)
    Failed      2 cells gave no accepted figure
    Missing     posix-mq

    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).
    ");
}

#[test]
fn narrow_screens_say_what_they_hide() {
    let style = Style { width: 40, ..Style::default() };
    insta::assert_snapshot!(written(&sample::survey(), &style), @r"
    USE fifo: 72.1 us round trip, 18.0 us
    CPU per message
        Of the others compared that sleep at
        once, none is more than 10 % faster;
        fifo reconnects after a restart.

    TCP instead; 1.3x slower; [1.3, 1.4] to
    reach another host
    UNIX socket instead; 1.05x slower;
    [1.03, 1.07] (within 10 %)
    busy-wait, 2 CPUs; 210 ns;
    shm-ring/spin, 100 % of both CPUs, peer
    death goes unnoticed
    big messages; 2.81 GB/s; tcp (1 MiB,
    1.09x faster [1.04, 1.11] than a UNIX
    socket)
    signal, no data; 66.0 us; futex

    64-byte         p50  vs fifo
    round trip
    shm-ring/f  58.0 us  1.3x faster [1.2,
    utex        1.90 us  38.3]
    or in 2 of
    9 rounds
    pipe        71.5 us  as fast (within 10
                         %)
    fifo        72.1 us  reference
    unix-strea  75.9 us  1.05x slower [1.03,
    m                    1.07]
    tcp         95.0 us  1.3x slower [1.3,
                         1.4]
    hidden at 40 columns: p99, one CPU, 1
    MiB, CPU/msg, dead peer, 4 KiB p50,
    within 10 %, can
    shm-ring spins before it sleeps: fast
    only if the peer answers at once;
    shm-ring in two modes: its ratio comes
    from the rounds, not from the figures;
    fifo was chosen as reference by the same
    rounds
    CPUs 0 and 1 (same-llc), idle as-is,
    touch cacheline

    Your case   ipcperf choose -s 4K --rate
                5k
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
    at F only ratios hold).
    ");
}

/// Of a survey of 20 s on a busy virtual machine with two CPUs: some of its cells, with fewer digits and without the
/// histograms of their rounds.
#[test]
fn a_real_survey_on_one_screen() {
    let set = ipcperf_judge::load(include_str!("fixtures/survey.json")).unwrap();
    let text = written(&set, &Style::default());
    assert!(text.lines().count() <= SCREEN && text.lines().all(|line| text::width(line) <= 80));
    insta::assert_snapshot!(text, @r"
    USE unix-stream bind=path (a UNIX socket): 50.9 us round trip, 18.4 us CPU per
    message
        posix-mq may be more than 10 % faster: more rounds would tell.
    At noise grade D ratios with an interval hold; absolute figures and tails are
    rough (13 % of the slices rejected).

    TCP instead              -  not part of this run
    busy-wait, 2 CPUs   118 ns  shm-ring/spin, 100 % of both CPUs, peer death
                                goes unnoticed
    signal, no data    51.5 us  eventfd

    64-byte round trip         p50  vs unix-stream          p99  one CPU     64 KiB
    shm-ring/adaptive      49.9 us  undecided: 6 pairs  90.3 us  10.8 us  19.6 GB/s
    unix-stream bind=path  50.9 us  reference                 -        -          -
    posix-mq               53.9 us  undecided: 6 pairs        -        -          -
    pipe                   52.3 us  undecided: 5 pairs        -  6.96 us   814 MB/s
    tcp                          -  -                         -        -          -
    hidden at 80 columns: CPU/msg, dead peer, can
    shm-ring spins before it sleeps: fast only if the peer answers at once;
    unix-stream was chosen as reference by the same rounds
    tcp: not part of this run
    pipe: too many rounds rejected to compare it
    p99 of 3 of 4 needs 2,000 samples (had 1,099): use --budget 1m
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 64 --rate 5k
    A or B      ipcperf compare unix-stream posix-mq
    Everything  ipcperf report FILE --full (1 more mechanism, 9 findings)
    Missing     vsock

    ipcperf 0.1.0 survey, 2026-11-23T08:14:20Z: 15 of 16 cells measured, 6 rounds of
    10.4 ms, 17.2 s
    AMD EPYC, 2 CPUs, Linux 6.18.44-fc-v445, hypervisor KVM, container docker
    ");
}

#[test]
fn at_grade_f_ratios_hold_and_nothing_is_as_fast() {
    let mut set = sample::survey();
    set.noise.grade = "F".to_owned();
    insta::assert_snapshot!(written(&set, &Style::default()), @r"
    USE fifo: 72.1 us round trip, 18.0 us CPU per message
        Of the others compared that sleep at once, none is more than 10 % faster;
        fifo reconnects after a restart.
    At noise grade F ratios with an interval hold; absolute figures, tails and
    equality do not (steal 0.4 %).

    TCP instead           1.3x slower  [1.3, 1.4] to reach another host
    UNIX socket instead  1.05x slower  [1.03, 1.07]
    busy-wait, 2 CPUs          210 ns  shm-ring/spin, 100 % of both CPUs, peer
                                       death goes unnoticed
    big messages            2.81 GB/s  tcp (1 MiB, 1.09x faster [1.04, 1.11] than
                                       a UNIX socket)
    signal, no data           66.0 us  futex

    64-byte round trip       p50  vs fifo                        p99  one CPU
    shm-ring/futex       58.0 us  1.3x faster [1.2, 38.3]    87.0 us        -
    or in 2 of 9 rounds  1.90 us
    pipe                 71.5 us  undecided: grade F          107 us  6.31 us
    fifo                 72.1 us  reference                   108 us  6.35 us
    unix-stream          75.9 us  1.05x slower [1.03, 1.07]   114 us        -
    tcp                  95.0 us  1.3x slower [1.3, 1.4]      142 us  16.9 us
    hidden at 80 columns: 1 MiB, CPU/msg, dead peer, 4 KiB p50, can
    shm-ring spins before it sleeps: fast only if the peer answers at once; shm-ring
    in two modes: its ratio comes from the rounds, not from the figures; fifo was
    chosen as reference by the same rounds
    CPUs 0 and 1 (same-llc), idle as-is, touch cacheline

    Your case   ipcperf choose -s 4K --rate 5k
    A or B      ipcperf compare fifo tcp
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
        ahead.contains("All others compared are slower: tcp 2.00x slower [1.99, 2.01]."),
        "{ahead}"
    );
    let tied = said(&[("pipe", 71.0), ("fifo", 71.1), ("tcp", 71.2)]);
    assert!(
        tied.contains("USE tcp: ")
            && tied.contains(
                "Of the others compared, none is more than 10 % faster; tcp is two-way and reconnects after a restart."
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
fn a_ratio_takes_six_common_rounds() {
    let with = |tcp: Cell, rounds: usize| {
        let mut set = set(vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0), tcp]);
        set.cells.iter_mut().for_each(|cell| cell.rounds.truncate(rounds));
        flat(&set)
    };
    let tcp = || cell("tcp", 64, TWO).rtt(142_000.0, 500.0);
    let six = with(tcp(), 6);
    assert!(six.contains("x slower [1.9") && six.contains("] to reach another host"), "{six}");
    let few = with(tcp(), 5);
    assert!(
        few.starts_with(
            "UNDECIDED between pipe, tcp: 1 more round would tell \
             A ratio takes 6 rounds in which both have a figure. Too few rounds:"
        ) && few.contains("undecided: 5 pairs"),
        "{few}"
    );
    // Of two modes both are shown, and the ratio is the median over rounds.
    let modes = with(cell("tcp", 64, TWO).modes([(142_000.0, 6), (900_000.0, 3)]), 9);
    assert!(modes.contains("TCP instead 2.0x slower [2.0, 12.6]"), "{modes}");
    assert!(modes.contains("tcp in two modes: its ratio comes from the rounds"), "{modes}");
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
    assert!(
        text.contains("p50 vs fifo 4 KiB p50 one CPU"),
        "the larger size stands in its place: {text}"
    );
    assert!(!flat(&sample::survey()).contains("p99 needs"));
}

/// Ratios of TCP to the UNIX socket in nine rounds of a survey on a quiet machine: it was slower in all of them.
const TCP: [f64; 9] = [1.67, 1.13, 1.99, 1.52, 1.71, 1.88, 1.41, 1.60, 1.75];

/// A survey with 33 mechanisms and nine rounds, in which TCP is slower in every round.
fn of_33() -> ResultSet {
    let unix: Vec<f64> = (0..9).map(|at| 47_600.0 + 700.0 * f64::from(at * 5 % 9)).collect();
    let tcp: Vec<f64> = unix.iter().zip(TCP).map(|(unix, ratio)| unix * ratio).collect();
    let mut cells = vec![
        cell("unix-stream", 64, TWO).rtt(50_400.0, 500.0).of_rounds(&unix),
        cell("tcp", 64, TWO).rtt(85_100.0, 500.0).of_rounds(&tcp),
        cell("pipe", 64, TWO).rtt(51_000.0, 900.0),
    ];
    for at in 0..30 {
        let name = format!("other-{at}");
        cells.push(cell(&name, 64, TWO).rtt(52_000.0 + 500.0 * f64::from(at), 2_000.0));
    }
    set(cells)
}

#[test]
fn what_was_slower_in_every_one_of_nine_rounds_is_slower_among_33_mechanisms() {
    let set = of_33();
    let text = flat(&set);
    assert!(text.starts_with("USE unix-stream (a UNIX socket): 50.4 us"), "{text}");
    assert!(text.contains("TCP instead 1.7x slower [1.1, 2.0] to reach another host"), "{text}");
    assert!(text.contains("tcp 85.1 us 1.7x slower [1.1, 2.0]"), "{text}");
    assert!(text.contains("unix-stream was chosen as reference by the same rounds"), "{text}");
    // Of all 33 together nine rounds prove nothing, and nothing is called as fast for that.
    let full = written(&set, &Style { full: true, ..Style::default() });
    assert!(!full.contains("equally good") && !text.contains(" = "), "{full}");
    let noisy = ResultSet {
        noise: ipcperf_core::result::Noise { grade: "F".to_owned(), ..set.noise.clone() },
        ..set
    };
    assert!(flat(&noisy).contains("TCP instead 1.7x slower [1.1, 2.0]"), "{}", flat(&noisy));
}

#[test]
fn a_row_is_as_fast_only_where_its_own_interval_shows_it() {
    // The same rounds, but half of the rounds of TCP are shorter: this proves nothing, and nothing is as fast either.
    let mut set = of_33();
    set.cells[0].is_reference = true;
    let tcp = set.cells.iter_mut().find(|cell| cell.key.mechanism == "tcp").unwrap();
    for round in tcp.rounds.iter_mut().step_by(2) {
        round.p50_ns = round.p50_ns.map(|value| value / 2.0);
    }
    let text = flat(&set);
    assert!(text.contains("TCP instead undecided: 0.7x to 1.9x"), "{text}");
    assert!(text.contains("tcp may be more than 10 % faster"), "{text}");
}

/// Cells whose rounds belong to a stage.
fn staged(mut cell: Cell, stage: Stage) -> Cell {
    cell.rounds.iter_mut().for_each(|round| round.stage = Some(stage));
    cell
}

/// A survey with stages: sockets, pipe and fifo are confirmed by these rounds, the rest was screened.
fn confirmed(unix: &[f64], tcp: &[f64], pipe: &[f64]) -> ResultSet {
    let of = |name: &str, values: &[f64]| {
        let middle = values[values.len() / 2];
        staged(cell(name, 64, TWO).rtt(middle, 1.0).of_rounds(values), Stage::Confirm)
    };
    let unix = Cell { is_reference: true, ..of("unix-stream", unix) };
    let screened = staged(cell("posix-mq", 64, TWO).rtt(20_000.0, 9.0), Stage::Screen);
    let signal = staged(cell("futex", 0, TWO).rtt(66_000.0, 9.0), Stage::Screen);
    let mut set = set(vec![unix, of("tcp", tcp), of("pipe", pipe), screened, signal]);
    set.questions = vec![Question {
        name: "ping-pong 64B same-llc".to_owned(),
        stage: Some(Stage::Confirm),
        reference: Some(set.cells[0].id.clone()),
        confirmed: set.cells[..3].iter().map(|cell| cell.id.clone()).collect(),
        rounds: 60,
        seconds_per_round: 0.25,
    }];
    set
}

/// So many rounds around a level, which scatter by this share.
fn around(level: f64, share: f64, seed: u64, rounds: usize) -> Vec<f64> {
    let mut rng = ipcperf_stats::Rng::from_seed(seed);
    (0..rounds).map(|_| level * (share * rng.normal()).exp()).collect()
}

#[test]
fn confirmed_rows_are_compared_with_the_reference_of_the_document_and_screened_ones_are_not_chosen()
{
    let set = confirmed(
        &around(50e3, 0.02, 1, 60),
        &around(75e3, 0.02, 2, 60),
        &around(51e3, 0.02, 3, 60),
    );
    let text = flat(&set);
    assert!(text.starts_with("USE unix-stream (a UNIX socket): "), "{text}");
    assert!(text.contains("All others compared are slower: pipe 1.02x slower"), "{text}");
    assert!(text.contains("TCP instead 1.5"), "{text}");
    assert!(text.contains("posix-mq 20.0 us screen only"), "{text}");
    assert!(text.contains("signal, no data 66.0 us futex, not confirmed: no time left"), "{text}");
    assert!(!text.contains("chosen as reference"), "{text}");
}

#[test]
fn figures_of_other_columns_that_only_the_screen_measured_are_named() {
    let level = |seed| around(50e3, 0.02, seed, 60);
    let mut set = confirmed(&level(1), &level(2), &level(3));
    let one_cpu = |name, stage| staged(cell(name, 64, ONE).rtt(9_000.0, 9.0), stage);
    set.cells.push(one_cpu("unix-stream", Stage::Confirm));
    set.cells.push(one_cpu("tcp", Stage::Screen));
    let text = flat(&set);
    assert!(text.contains("measured only in the screen: one CPU of tcp"), "{text}");
    let tcp = set.cells.pop().unwrap();
    let text = flat(&set);
    assert!(!text.contains("measured only in the screen"), "{text}");
    set.cells.pop();
    set.cells.push(tcp);
    let text = flat(&set);
    assert!(
        text.contains("measured only in the screen: all one CPU CPUs"),
        "no name where all are: {text}"
    );
}

#[test]
fn an_arm_that_is_much_faster_than_the_reference_is_used_with_its_ratio() {
    let set = confirmed(
        &around(50e3, 0.02, 1, 60),
        &around(75e3, 0.02, 2, 60),
        &around(38e3, 0.02, 3, 60),
    );
    let text = flat(&set);
    assert!(text.starts_with("USE pipe: 38."), "{text}");
    let (_, faster) = text.split_once("round trip, ").unwrap();
    assert!(faster.starts_with("1.") && faster.contains("] than unix-stream, "), "{text}");
    assert!(text.contains("unix-stream is two-way, but is more than 10 % slower."), "{text}");
    assert!(text.contains("against unix-stream to reach another host"), "{text}");
    let socket = text.split("UNIX socket instead ").nth(1).unwrap();
    assert!(socket.starts_with("1.3") && socket.contains("x slower ["), "{text}");
}

#[test]
fn what_is_open_is_named_with_the_seconds_that_would_tell() {
    let set = confirmed(
        &around(50e3, 0.1, 1, 20),
        &around(75e3, 0.1, 2, 20),
        &around(46.5e3, 0.2, 3, 20),
    );
    let text = flat(&set);
    assert!(text.starts_with("USE unix-stream"), "{text}");
    let (_, open) = text.split_once("pipe may be more than 10 % faster: ").unwrap();
    let (seconds, rest) = open.split_once(' ').unwrap();
    let is_time =
        rest.starts_with("s more would tell.") || rest.starts_with("min more would tell.");
    assert!(is_time && seconds.parse::<f64>().is_ok(), "{text}");
}

#[test]
fn with_too_few_rounds_or_a_failed_control_it_is_undecided_and_the_table_stays() {
    let few =
        confirmed(&around(50e3, 0.02, 1, 4), &around(75e3, 0.02, 2, 4), &around(51e3, 0.02, 3, 4));
    let text = flat(&few);
    let begins =
        "UNDECIDED between unix-stream, pipe, tcp: 1 s more would tell A ratio takes 6 rounds";
    assert!(text.starts_with(begins), "{text}");
    assert!(text.contains("tcp 7") && text.contains("undecided: 4 pairs"), "{text}");
    assert!(text.contains("TCP instead undecided: 4 pairs"), "{text}");
    let mut differs = confirmed(
        &around(50e3, 0.02, 1, 60),
        &around(75e3, 0.02, 2, 60),
        &around(51e3, 0.02, 3, 60),
    );
    differs.cells[0].control = around_rounds(&differs.cells[0], 1.3);
    let text = flat(&differs);
    assert!(text.starts_with("UNDECIDED between "), "{text}");
    assert!(
        text.contains(": measure again unix-stream measured twice in the same rounds differs"),
        "{text}"
    );
    assert!(text.contains("TCP instead undecided: control"), "{text}");
}

/// The rounds of a cell with figures that are so many times as large.
fn around_rounds(cell: &Cell, times: f64) -> Vec<ipcperf_core::result::Round> {
    let mut rounds = cell.rounds.clone();
    for round in &mut rounds {
        round.p50_ns = round.p50_ns.map(|value| value * times);
    }
    rounds
}

#[test]
fn bars_stand_beside_the_figures_where_they_were_asked_for() {
    let set = of(&[("pipe", 50.0), ("tcp", 100.0)]);
    let style = Style { bars: true, unicode: true, ..Style::default() };
    let text = written(&set, &style);
    let bar = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.chars().filter(|sign| *sign == '\u{2588}').count()
    };
    assert_eq!(["pipe ", "tcp "].map(bar), [5, 10], "{text}");
    assert!(text.lines().all(|line| text::width(line) <= 80), "{text}");
    assert!(written(&set, &Style { bars: true, ..Style::default() }).contains("50.0 us #####  "));
    assert!(!written(&set, &Style::default()).contains('#'));
}

#[test]
fn the_page_begins_with_the_answer_and_a_chart_in_which_the_reference_is_marked() {
    let text = written_as(&sample::survey(), Format::Html);
    let (_, page) = text.split_once("<main").unwrap();
    let heading = page.find("Use fifo: a 64-byte round trip takes 72.1").unwrap();
    let chart = page.find("<svg").unwrap();
    let table = page.find("TCP instead").unwrap();
    assert!(heading < chart && chart < table);
    assert!(page[chart..table].contains("fifo (reference)"));
    assert!(page[chart..table].contains("one CPU") && page[chart..table].contains("two CPUs"));
}

fn written_as(set: &ResultSet, format: Format) -> String {
    rendered(set, format, &Style::default())
}

/// The size and the rate of the suggested command, where there is one.
fn suggested(set: &ResultSet) -> Option<(u64, f64)> {
    let shown = flat(set);
    let (_, words) = shown.split_once("ipcperf choose -s ")?;
    let mut words = words.split(' ');
    let size = *ipcperf_core::units::sizes(words.next()?).ok()?.first()?;
    let rate = words.nth(1)?;
    let rate = match rate.strip_suffix('k') {
        Some(thousands) => 1000.0 * thousands.parse::<f64>().ok()?,
        None => rate.parse().ok()?,
    };
    Some((size as u64, rate))
}

#[test]
fn the_suggested_command_has_a_rate_that_a_figure_of_the_survey_meets() {
    let mut without_larger = sample::survey();
    without_larger.cells.retain(|cell| cell.key.size_bytes != LARGER);
    let mut slow = sample::survey();
    for cell in &mut slow.cells {
        for time in cell.rtt_ns.iter_mut().flat_map(|times| times.values_mut()) {
            time.value = time.value.map(|nanos| 40.0 * nanos);
        }
    }
    let sets =
        [(sample::survey(), LARGER), (crowded(), LARGER), (slow, LARGER), (without_larger, 64)];
    for (set, size) in sets {
        let (suggested, rate) = suggested(&set).expect("a command");
        assert_eq!(suggested, size);
        let is_met = |cell: &Cell| {
            let is_alike = (cell.key.size_bytes, cell.key.pattern, cell.key.placement)
                == (size, PatternKind::PingPong, TWO);
            is_alike
                && !cell.key.wait.burns_cpu()
                && longest(cell).is_some_and(|time| rate * time <= 1e9)
        };
        assert!(set.cells.iter().any(is_met), "{rate} of {size} B");
    }
}
