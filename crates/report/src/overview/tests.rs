//! What stands on the one screen, and that it is one.

use super::*;
use crate::testing::sample::{self, Build, ONE, TWO, cell, set};
use crate::testing::{rendered, to_text};
use crate::{Format, render};

const SCREEN: usize = 40;

fn written(set: &ResultSet, style: &Style) -> String {
    rendered(set, Format::Table, style)
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
    ipcperf 0.1.0 survey, 2026-08-21T10:00:00Z: 21 of 24 cells measured, 10 rounds
    of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, F supports no claim).

    WHAT TO USE: 64 B there and back on two CPUs (same-llc), unless said
      found by name     fifo             72.1 us  told of death
      parent and child  fifo             72.1 us  told of death; ties with pipe
      large messages    tcp            2.81 GB/s  1 MiB; told of death
      ends may spin     shm-ring/spin     210 ns  burns both CPUs; not told of death
      wake-ups only     futex            66.0 us  told of death

    BLOCKING MECHANISMS, CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
      #   mechanism              64 B p50      p99  one CPU  1 MiB rate  CPU/msg
      1   shm-ring/futex ~       58.0 us*  87.0 us        -           -  14.5 us
      2=  pipe                    71.5 us   107 us  6.31 us   1.39 GB/s  17.9 us
      2=  fifo                    72.1 us   108 us  6.35 us           -  18.0 us
      4   unix-stream             75.9 us   114 us        -   2.60 GB/s  19.0 us
      5   unix-stream bind=path   79.0 us   118 us        -           -  19.8 us
      6   tcp                     95.0 us   142 us  16.9 us   2.81 GB/s  23.8 us
      # is 1 and the number of those that are certainly better; = ties with another;
      ~ spins before it sleeps; * two modes, the larger one is shown; no room here
      for death, 4 KiB p50

    2 cells failed or gave no accepted figure.
    Not here: posix-mq.
    4 more mechanisms, all figures, 1 finding: ipcperf report FILE --full
    Next, at a size of your own: ipcperf run -m fifo -s 4K
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
    ipcperf 0.1.0 survey, 2026-11-23T08:14:20Z: 15 of 16 cells measured, 6 rounds of
    10.4 ms, 17.2 s
    AMD EPYC, 2 CPUs, Linux 6.18.44-fc-v445, hypervisor KVM, container docker

    WHAT TO USE: 64 B there and back on two CPUs (same-llc), unless said
      This advice is weak: at noise grade D only large differences are certain (13 %
      of the slices rejected).
      found by name     unix-stream bind=path  50.9 us  told of death; ties with
                                            posix-mq
      parent and child  unix-stream bind=path  50.9 us  told of death; ties with
                                            posix-mq
      ends may spin     shm-ring/spin           118 ns  burns both CPUs; not told of
                                            death
      wake-ups only     eventfd                51.5 us  told of death

    BLOCKING MECHANISMS, CPUs 0 and 1 (same-llc), idle as-is, touch cacheline
      #   mechanism              64 B p50      p99  one CPU  64 KiB rate  CPU/msg
      -   unix-stream             47.0 us        -  10.7 us    4.47 GB/s  18.4 us
      1=  shm-ring/adaptive ~     49.9 us  90.3 us  10.8 us    19.6 GB/s  16.4 us
      1=  unix-stream bind=path   50.9 us        -        -            -  18.4 us
      -   pipe                    52.3 us        -  6.96 us     814 MB/s  16.4 us
      1=  posix-mq                53.9 us        -        -            -  16.4 us
      # is 1 and the number of those that are certainly better; = ties with another;
      - in #: too many messages lost or rounds rejected for a place; ~ spins before
      it sleeps; no room here for death
      No p99 for 4 of 5: it needs 2,000 samples, a typical one of these had 1,099;
      --budget 1m

    Not here: vsock.
    1 more mechanism, all figures, 9 findings: ipcperf report FILE --full
    Next, at a size of your own: ipcperf run -m unix-stream -s 4K
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
    let text = |set: &ResultSet| written(set, &Style::default());
    assert!(text(&set).contains(&format!("Not here: {name}.")));
    let skipped = Cell { status: Status::Skipped, ..missing.clone() };
    set.cells.push(skipped);
    assert!(!text(&set).contains("Not here"), "{}", text(&set));
}

#[test]
fn at_grade_f_there_is_no_advice_and_no_place() {
    let mut set = sample::survey();
    set.noise.grade = "F".to_owned();
    let text = written(&set, &Style::default());
    assert!(text.contains("No advice"), "{text}");
    assert!(!text.contains("parent and child") && !text.contains("Next, at"), "{text}");
    assert!(text.contains("pipe"), "the figures stay: {text}");
    assert!(text.contains("Next, what disturbs this machine: ipcperf doctor"), "{text}");
}

#[test]
fn the_caveats_of_the_best_stand_beside_it() {
    let text = written(&sample::survey(), &Style { width: 120, ..Style::default() });
    let line = |purpose: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(purpose));
        found.unwrap_or_else(|| panic!("{purpose}: {text}")).to_owned()
    };
    assert!(line("ends may spin").contains("burns both CPUs; not told of death"), "{text}");
    assert!(line("parent and child").contains("told of death; ties with pipe"));
    assert!(line("large messages").contains("1 MiB"));
}

#[test]
fn what_was_measured_elsewhere_than_the_heading_says_says_so() {
    let mut set = set(vec![
        cell("pipe", 64, TWO).rtt(71_000.0, 500.0),
        cell("tcp", 1 << 20, ONE).rate(2.8e9, 1e7),
    ]);
    set.invocation.plan.command = "survey".to_owned();
    let text = written(&set, &Style { width: 120, ..Style::default() });
    assert!(text.contains("WHAT TO USE: 64 B there and back on two CPUs (same-llc)"), "{text}");
    assert!(text.contains("1 MiB; with both ends on one CPU; told of death"), "{text}");
}

#[test]
fn all_tables_are_an_option_away_and_other_commands_have_nothing_else() {
    let set = sample::survey();
    let full = written(&set, &Style { full: true, ..Style::default() });
    let verbose = written(&set, &Style { verbose: true, ..Style::default() });
    let mut run = set;
    run.invocation.plan.command = "run".to_owned();
    for text in [full, verbose, written(&run, &Style::default())] {
        assert!(text.contains("ROUND TRIP, BLOCKING MECHANISMS"), "{text}");
    }
}

#[test]
fn a_mark_is_explained_where_it_is_shown() {
    let pipe = || cell("pipe", 64, TWO).rtt(71_000.0, 500.0);
    let mut plain = set(vec![pipe()]);
    plain.invocation.plan.command = "survey".to_owned();
    let text = written(&plain, &Style::default());
    assert!(!text.contains("two modes") && !text.contains("spins before"), "{text}");
    let mut modes = set(vec![cell("pipe", 64, TWO).modes([(71_000.0, 6), (9_000.0, 3)])]);
    modes.invocation.plan.command = "survey".to_owned();
    let text = written(&modes, &Style::default());
    assert!(text.contains("* two modes") && text.contains("or 9.00 us in 3 of 9"), "{text}");
}

#[test]
fn what_this_build_does_not_know_is_shown_without_its_facts() {
    let (set, style) = (sample::survey(), Style::default());
    let text = to_text(|out| render(&set, &|_: &str| None, Format::Table, &style, out));
    assert!(text.contains("pipe") && !text.contains("told of death"), "{text}");
}

/// The column of p99 was not there, and nobody said so.
#[test]
fn a_tail_that_nothing_has_is_said_with_what_would_give_it() {
    let mut set = sample::survey();
    for cell in &mut set.cells {
        if let Some(times) = &mut cell.rtt_ns {
            let missing = ipcperf_core::result::Metric::missing("needs 2000 samples, has 700");
            times.insert("p99".to_owned(), missing);
        }
    }
    let flat = |set: &ResultSet| {
        let text = written(set, &Style::default());
        assert!(text.lines().count() <= SCREEN, "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = flat(&set);
    let said = "No p99: it needs 2,000 samples, a typical one of these had 700; --budget 3m";
    assert!(text.contains(said), "{text}");
    // Where some have one it is the column that is explained.
    set.cells.extend([cell("pipe", 64, TWO).rtt(71_500.0, 900.0)]);
    set.duration_s = f64::NAN;
    let text = flat(&set);
    assert!(text.contains("No p99 for 6 of 7:") && text.contains("a longer --budget"), "{text}");
    assert!(!flat(&sample::survey()).contains("No p99"));
}
