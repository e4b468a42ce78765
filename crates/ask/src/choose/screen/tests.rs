//! Who is chosen, why not others, and that it is one screen.

mod attempts;
mod rule;

use super::*;
use crate::testing::sample::{Build, ONE, TWO, cell, set};
use crate::testing::{rendered, sample, to_text};
use ipcperf_core::Capability::{self, *};
use ipcperf_core::result::{Metric, SideCpu};
use ipcperf_render::Format;
use ipcperf_stats::Rng;

const SCREEN: usize = 40;

fn wanted(sizes: &[u64], can: &[Capability]) -> Requirements {
    Requirements { sizes: sizes.to_vec(), can: can.to_vec(), ..Requirements::default() }
}

fn written(set: &ResultSet, wanted: &Requirements, style: &Style) -> String {
    rendered(&chosen_in(set, wanted), Format::Table, style)
}

/// The document of a choice.
fn chosen_in(set: &ResultSet, wanted: &Requirements) -> ResultSet {
    let mut set = set.clone();
    set.invocation.plan.command = "choose".to_owned();
    set.invocation.plan.requirements = Some(wanted.clone());
    set
}

/// Everybody in the order of the choice.
fn order(set: &ResultSet, wanted: &Requirements) -> Vec<String> {
    let field = Field::of(set, wanted, &sample::spec);
    field.standings.iter().map(|one| field.entrants[one.at].name.to_owned()).collect()
}

#[test]
fn a_choice_on_one_screen() {
    let mut set = sample::survey();
    set.cells.extend([
        cell("fifo", 64, TWO).rate(0.4e9, 1e6),
        cell("tcp", 64, TWO).rate(0.6e9, 1e6),
        cell("tcp", 64, TWO).rtt(61_000.0, 900.0).knob("tcp.sndbuf", Some(1 << 20), 1 << 20),
        cell("tcp", 64, TWO).rate(0.7e9, 1e6).knob("tcp.sndbuf", Some(1 << 20), 1 << 20),
        cell("fifo", 64, TWO).rtt(72_000.0, 900.0).knob("fifo.size", Some(1 << 20), 1 << 20),
        cell("fifo", 64, TWO).rate(0.9e9, 1e6).knob("fifo.size", Some(1 << 20), 1 << 20),
    ]);
    let wanted = Requirements {
        no_spin: true,
        p99_ns: Some(120_000.0),
        left_out: vec!["shm-ring/spin".to_owned()],
        ..wanted(&[64], &[Unrelated, NoticesDeath])
    };
    insta::assert_snapshot!(written(&set, &wanted, &Style::default()), @r"
    USE fifo: 72.1 us for 64 B on two CPUs (same-llc)
    notices a dead peer
    Needed: unrelated, notices-death, --no-spin, p99 of at most 120 us. Ranked by
    the median time (--by has p99, p99.9, cpu and throughput, too).
    ipcperf 0.1.0 choose, 2026-08-21T10:00:00Z: 27 of 30 cells measured, 10 rounds
    of 100 ms, 58.1 s
    Example CPU @ 2.10GHz, 2 CPUs, Linux 6.18.5, hypervisor kvm
    Noise grade B: steal 0.4 % (A is quiet, at F only ratios hold).

    64 B: the choice and what nothing is proved to beat in p99, CPU time and rate
      mechanism      p50     p99  CPU/msg      rate  idle CPU  vs fifo
      fifo       72.1 us  108 us  18.0 us  400 MB/s  none      reference
      idle CPU: from how the ends wait, not measured (none = they sleep).

    Left out
      not unrelated: unix-stream, pipe, eventfd and 4 more
      p99 above 120 us: tcp 142 us
      no POSIX message queues in this kernel: posix-mq

    What would change it
      Nothing that was measured: no other size, goal or requirement makes another
      certainly better.

    Knobs of fifo
      size=1M: 2.3x faster [2.2, 2.3], 900 MB/s and not 400 MB/s (streams of 64 B)

    All figures, and all that is left out: ipcperf report FILE --full
    Next: ipcperf describe fifo
    ");
}

/// As on a machine that is so noisy that only ratios with an interval hold.
fn at_grade_f(set: ResultSet) -> ResultSet {
    let noise = ipcperf_core::result::Noise { grade: "F".to_owned(), ..set.noise };
    ResultSet { noise, ..set }
}

/// The page of it.
fn page(set: &ResultSet, wanted: &Requirements) -> String {
    in_format(Format::Html, set, wanted)
}

fn in_format(format: Format, set: &ResultSet, wanted: &Requirements) -> String {
    rendered(&chosen_in(set, wanted), format, &Style::default())
}

#[test]
fn markdown_has_the_choice_as_headings_and_tables() {
    let wanted = wanted(&[64, 65_536], &[Unrelated]);
    let text = in_format(Format::Markdown, &crossing(), &wanted);
    let headline = "# USE tcp: 13.0 us (64 B) for 64 B and 64 KiB on two CPUs (same-llc)\n\n";
    assert!(text.starts_with(headline), "{text}");
    let table = "## 64 B: the choice and what nothing is proved to beat in p99, CPU time and rate\n\n| mechanism | p50 | p99 | CPU/msg | rate | idle CPU | vs tcp |\n| --- | ---: | ---: | ---: | ---: | --- | --- |\n| tcp | 13.0 us |";
    assert!(text.contains(table), "{text}");
    assert!(text.contains("## Left out\n\nnot unrelated: pipe\n"), "{text}");
}

#[test]
fn a_page_says_the_choice_first_and_has_what_the_screen_has() {
    let wanted = wanted(&[64, 65_536], &[Unrelated]);
    let text = page(&crossing(), &wanted);
    let parts = text.split("<span class=\"w\">").enumerate();
    let parts = parts.map(|(at, part)| part.replacen("</span>", "", usize::from(at > 0)));
    let text = parts.collect::<String>();
    let found = text.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0;
    assert_eq!(found, "Use tcp: 13.0 us (64 B) for 64 B and 64 KiB on two CPUs (same-llc)");
    assert!(text.contains("tcp (reference)"), "the picture has the choice: {text}");
    let screen = written(&crossing(), &wanted, &Style { width: 200, ..Style::default() });
    let (mut rows, mut lines) = (0, 0);
    for line in screen.lines().skip(1).map(str::trim) {
        let cells: Vec<&str> =
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let is_row = cells.len() > 3;
        let is_line = !is_row
            && line.contains(": ")
            && !line.contains("nothing is proved to beat")
            && !line.contains("ipcperf");
        if is_row {
            rows += 1;
            assert!(
                cells.iter().all(|cell| text.contains(&format!(">{cell}</t"))),
                "{line}: {text}"
            );
        } else if is_line {
            lines += 1;
            assert!(text.contains(&format!(">{line}</")), "{line}: {text}");
        }
    }
    assert!(rows >= 4 && lines >= 3, "{rows} {lines} {screen}");
    for heading in
        ["64 B: the choice and what nothing is proved to beat", "Left out", "What would change it"]
    {
        assert!(text.contains(&format!(">{heading}")), "{heading}");
    }
    let strict = Requirements { p99_ns: Some(1.0), ..wanted.clone() };
    assert!(page(&crossing(), &strict).contains("<h1>No mechanism meets all of this for 64 B"));
    let text = page(&at_grade_f(crossing()), &wanted);
    assert!(text.contains("<h1>Use tcp for 64 B and 64 KiB"), "{text}");
    assert!(text.contains("<p class=\"alarm\">Noise grade F"), "{text}");
}

/// All who can be chosen, those that spin beside others as well.
fn everybody(set: &ResultSet, wanted: &Requirements) -> Vec<String> {
    let field = Field::of(set, wanted, &sample::spec);
    let spinning = field.spinning.iter().flat_map(|field| &field.entrants);
    field.entrants.iter().chain(spinning).map(|one| one.name.to_owned()).collect()
}

#[test]
fn who_lacks_a_need_never_wins_and_a_need_never_adds_anybody() {
    let mut rng = Rng::from_seed(7);
    let mut set = sample::survey();
    // Everybody has every figure, so that needs alone decide.
    let names: Vec<String> = set.cells.iter().map(|cell| cell.key.mechanism.clone()).collect();
    set.cells.extend(names.iter().map(|name| cell(name, 64, TWO).rtt(70_000.0, 300.0)));
    let (mut chosen, mut nobody) = (0, 0);
    for _ in 0..400 {
        let mut can: Vec<Capability> =
            Capability::ALL.iter().copied().filter(|_| rng.below(5) == 0).collect();
        let more = Requirements {
            no_spin: rng.below(2) == 0,
            p99_ns: (rng.below(3) == 0).then_some(100_000.0),
            ..wanted(&[64], &can)
        };
        let all = order(&set, &more);
        match all.first() {
            Some(winner) => {
                let spec = sample::spec(winner).unwrap();
                assert!(more.can.iter().all(|one| spec.can(*one)), "{winner}: {:?}", more.can);
                assert!(!more.no_spin || !spec.wait.burns_cpu());
                assert!(spec.wake_word().is_none() && !spec.is_floor());
                chosen += 1;
            }
            None => nobody += 1,
        }
        for need in more.needs() {
            let fewer = everybody(&set, &more.without(need));
            assert!(all.iter().all(|name| fewer.contains(name)), "{need:?} added somebody");
        }
        let any_tail = Requirements { p99_ns: None, ..more.clone() };
        let fewer = everybody(&set, &any_tail);
        assert!(all.iter().all(|name| fewer.contains(name)));
        can.reverse();
        can.extend(can.clone());
        let again = Requirements { can, ..more.clone() };
        let style = Style::default();
        assert_eq!(written(&set, &again, &style), written(&set, &more, &style));
    }
    assert!(chosen > 50 && nobody > 50, "{chosen} {nobody}");
}

/// Four mechanisms that cross between two sizes.
fn crossing() -> ResultSet {
    set(vec![
        cell("fifo", 64, TWO).rtt(10_000.0, 50.0),
        cell("fifo", 65_536, TWO).rtt(60_000.0, 300.0),
        cell("tcp", 64, TWO).rtt(13_000.0, 60.0),
        cell("tcp", 65_536, TWO).rtt(20_000.0, 100.0),
        cell("pipe", 64, TWO).rtt(5_000.0, 20.0),
        cell("pipe", 65_536, TWO).rtt(9_000.0, 20.0),
    ])
}

#[test]
fn of_several_sizes_the_one_wins_that_is_nowhere_far_behind_and_the_turn_is_told() {
    let wanted = wanted(&[64, 65_536], &[Unrelated]);
    assert_eq!(order(&crossing(), &wanted), ["tcp", "fifo"]);
    let text = written(&crossing(), &wanted, &Style { width: 200, ..Style::default() });
    let worst = "at the worst, for 64 B, this is 1.30x slower [1.29, 1.30] than fifo";
    assert!(text.contains(worst), "{text}");
    let change = "64 B: fifo, 1.30x faster [1.29, 1.30], 10.0 us and not 13.0 us";
    assert!(text.contains(change), "{text}");
    assert!(!text.contains("64 KiB: fifo"), "{text}");
    assert!(
        text.contains("without unrelated: pipe, 2.60x faster [2.58, 2.62], 5.00 us and not"),
        "{text}"
    );
    assert_eq!(order(&crossing(), &Requirements { sizes: vec![64], ..wanted.clone() })[0], "fifo");
    // A size at which nothing is proved adds nothing, however far its figures are apart.
    let mut noisy = crossing();
    noisy.cells.extend([
        cell("fifo", 4096, TWO).rtt(10_000.0, 6_000.0),
        cell("tcp", 4096, TWO).rtt(14_000.0, 8_400.0),
    ]);
    let wanted = Requirements { sizes: vec![64, 4096, 65_536], ..wanted };
    assert_eq!(order(&noisy, &wanted), ["tcp", "fifo"]);
    let text = written(&noisy, &wanted, &Style { width: 200, ..Style::default() });
    assert!(text.contains(worst), "{text}");
}

#[test]
fn a_knob_that_matters_is_not_said_to_matter_nowhere_where_there_is_no_room_for_it() {
    let sizes = [64, 4096, 65_536];
    let turned = |cell: Cell, knob: &str| cell.knob(knob, Some(2), 2);
    let trip = |size, nanos| cell("fifo", size, TWO).rtt(nanos, 50.0);
    let stream = |size, rate| cell("fifo", size, TWO).rate(rate, 1e6);
    let mut cells: Vec<Cell> =
        sizes.into_iter().flat_map(|size| [trip(size, 10_000.0), stream(size, 1e9)]).collect();
    // Four lines are shown; the fifth is of the other knob, which does nothing to the last stream.
    for size in [64, 4096] {
        cells.push(turned(trip(size, 20_000.0), "fifo.one"));
        cells.push(turned(stream(size, 2e9), "fifo.one"));
    }
    cells.push(turned(trip(65_536, 20_000.0), "fifo.other"));
    cells.push(turned(stream(65_536, 1e9), "fifo.other"));
    let style = Style { width: 200, ..Style::default() };
    let text = written(&set(cells), &wanted(&sizes, &[]), &style);
    assert_eq!(text.matches("  one=2: ").count(), 4, "{text}");
    assert!(!text.contains("within 10 %): other"), "{text}");
}

#[test]
fn what_lost_its_rounds_is_left_out_with_that_reason() {
    let mut set = crossing();
    for round in &mut set.cells[0].rounds[..4] {
        round.rejected = Some("E-TOPOLOGY: elsewhere".to_owned().into());
    }
    let wanted = wanted(&[64], &[Unrelated]);
    assert_eq!(order(&crossing(), &wanted), ["fifo", "tcp"]);
    assert_eq!(order(&set, &wanted), ["tcp"]);
    let text = written(&set, &wanted, &Style { width: 200, ..Style::default() });
    assert!(text.contains("too many rounds rejected to compare it: fifo"), "{text}");
    // Who was measured in a few rounds only lost none of them, and nothing may be said of it.
    set.cells[0].rounds.iter_mut().for_each(|round| round.rejected = None);
    set.cells[0].rounds.truncate(5);
    let text = written(&set, &wanted, &Style { width: 200, ..Style::default() });
    assert!(text.starts_with("UNDECIDED between tcp and fifo for 64 B "), "{text}");
}

#[test]
fn a_limit_of_the_tail_excludes_and_what_it_excluded_is_told() {
    // The p99 of the sample is 1.5 times its median.
    let limited = |p99_ns| Requirements { p99_ns, ..wanted(&[65_536], &[]) };
    assert_eq!(order(&crossing(), &limited(Some(35_000.0))), ["pipe", "tcp"]);
    let text = written(&crossing(), &limited(Some(35_000.0)), &Style::default());
    assert!(text.contains("p99 above 35.0 us: fifo 90.0 us"), "{text}");
    let text = written(&crossing(), &limited(Some(1_000.0)), &Style::default());
    assert!(text.contains("No mechanism meets all of this"), "{text}");
    assert!(!text.contains("Next:"), "{text}");
    assert!(text.contains("without --p99: pipe, 9.00 us"), "{text}");
    // Neither of two alone would do.
    let both = Requirements { can: vec![FdPassing], ..limited(Some(1_000.0)) };
    let text = written(&crossing(), &both, &Style::default());
    assert!(text.contains("To drop any one requirement is not enough"), "{text}");
}

#[test]
fn each_goal_has_an_order_of_its_own() {
    let set = set(vec![
        cell("pipe", 64, TWO).rtt(10_000.0, 50.0).cpu(9_000.0),
        cell("fifo", 64, TWO).rtt(14_000.0, 50.0).cpu(4_000.0),
        cell("pipe", 64, TWO).rate(1e8, 1e5),
        cell("fifo", 64, TWO).rate(1e8, 1e5),
        cell("tcp", 64, TWO).rtt(90_000.0, 50.0).cpu(50_000.0),
        cell("tcp", 64, TWO).rate(9e8, 1e5),
    ]);
    let by = |by| order(&set, &Requirements { by, ..wanted(&[64], &[]) })[0].clone();
    assert_eq!([Goal::P50, Goal::Cpu, Goal::Throughput].map(by), ["pipe", "fifo", "tcp"]);
    let text = written(&set, &wanted(&[64], &[]), &Style::default());
    assert!(text.contains("with --by throughput: tcp, 9.00x faster [8.99, 9.01]"), "{text}");
    assert!(text.contains("with --by cpu: fifo, 2.3x faster ["), "{text}");
}

#[test]
fn rates_and_pauses_are_those_that_were_asked_for() {
    let paused = |name: &str, value: f64| {
        let mut cell = cell(name, 64, TWO).rtt(value, 90.0);
        cell.key.load.think_ns = 100_000;
        cell
    };
    let open = |name: &str, value: f64| cell(name, 64, TWO).rtt(value, 90.0).open_loop(20_000.0);
    let set = set(vec![
        cell("pipe", 64, TWO).rtt(5_000.0, 50.0),
        cell("fifo", 64, TWO).rtt(6_000.0, 50.0),
        paused("pipe", 50_000.0),
        paused("fifo", 30_000.0),
        open("pipe", 9_000.0),
        open("fifo", 12_000.0),
    ]);
    let plain = wanted(&[64], &[]);
    let think = Requirements { think_ns: 100_000, ..plain.clone() };
    let rate = Requirements { rate_per_second: Some(20_000.0), ..plain.clone() };
    assert_eq!(order(&set, &plain)[0], "pipe");
    assert_eq!(order(&set, &think)[0], "fifo");
    assert_eq!(order(&set, &rate)[0], "pipe");
    assert_eq!(lacking(&set, &rate), None);
    let other = Requirements { rate_per_second: Some(30_000.0), ..plain.clone() };
    let told = lacking(&set, &other).unwrap();
    assert!(
        told.ends_with("rate was not measured for 64 B at 30.0 k/s, nor for any other size"),
        "{told}"
    );
    let told = lacking(&set, &Requirements { sizes: vec![64, 4096], ..think }).unwrap();
    assert!(told.ends_with("4 KiB after pauses of 100us, only for 64 B"), "{told}");
}

#[test]
fn a_choice_for_a_rate_has_the_cpus_that_it_takes_and_p999_where_somebody_has_one() {
    let open = |name| cell(name, 64, TWO).rtt(9_000.0, 90.0).open_loop(20_000.0).cpu(90_000.0);
    let closed = cell("pipe", 64, TWO).rtt(5_000.0, 50.0).cpu(10_250.0);
    let mut set = set(vec![open("pipe"), open("shm-ring/adaptive"), closed]);
    let wanted = Requirements { rate_per_second: Some(20_000.0), ..wanted(&[64], &[]) };
    let style = Style { width: 200, ..Style::default() };
    let text = written(&set, &wanted, &style);
    // Each request and its answer cost 10.25 us of CPU time.
    assert!(text.contains("0.41 CPU at 20.0 k/s") && text.contains("none = they sleep"), "{text}");
    let row = text.lines().find(|line| line.trim_start().starts_with("pipe ")).unwrap();
    assert!(row.contains(" 0.41 ") && row.contains("  none  "), "{text}");
    let has_column = |text: &str| {
        text.lines()
            .any(|line| line.trim_start().starts_with("mechanism ") && line.contains(" p99.9 "))
    };
    assert!(!has_column(&text), "{text}");
    let times = set.cells[0].rtt_ns.as_mut().unwrap();
    let p999 = times.get("p99").cloned().unwrap();
    times.insert("p99.9".to_owned(), p999);
    assert!(has_column(&written(&set, &wanted, &style)));
}

#[test]
fn a_pair_stands_for_its_socket_until_one_that_is_found_by_name_was_measured() {
    let pair = || cell("unix-stream", 64, TWO).rtt(10_000.0, 50.0);
    let path = cell("unix-stream", 64, TWO).rtt(11_000.0, 50.0).word("unix-stream.bind", "path");
    let label_of = |cells: Vec<Cell>, can: &[Capability]| {
        let set = set(cells);
        let field = Field::of(&set, &wanted(&[64], can), &specs);
        let trial = field.contests[0].trial;
        field.entrants[0].cell(&field.wanted, trial).map(crate::results::chapters::name).unwrap()
    };
    assert_eq!(label_of(vec![pair()], &[Unrelated]), "unix-stream");
    assert_eq!(label_of(vec![pair(), path.clone()], &[Unrelated]), "unix-stream bind=path");
    assert_eq!(label_of(vec![path.clone(), pair()], &[Reconnect]), "unix-stream bind=path");
    assert_eq!(label_of(vec![path, pair()], &[]), "unix-stream");
    let told = |can: &[Capability]| {
        let set = set(vec![pair().word("unix-stream.bind", "socketpair")]);
        let (wanted, style) = (wanted(&[64], can), Style::default());
        let text =
            to_text(|out| doc(&set, &wanted, &specs, &style).write(Format::Table, &style, out));
        text.contains("measured as a socket pair")
    };
    assert!(told(&[Unrelated]) && !told(&[]));
}

#[test]
fn each_size_shows_the_knobs_that_it_was_measured_with() {
    let path = cell("unix-stream", 64, TWO).rtt(11_000.0, 50.0).word("unix-stream.bind", "path");
    let set = set(vec![path, cell("unix-stream", 4096, TWO).rtt(10_000.0, 50.0)]);
    let (wanted, style) = (wanted(&[64, 4096], &[Unrelated]), Style::default());
    let text = to_text(|out| doc(&set, &wanted, &specs, &style).write(Format::Table, &style, out));
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("CPU/msg") || line.starts_with("  unix-stream"))
        .collect();
    assert!(rows[1].contains("unix-stream bind=path  11.0 us"), "{text}");
    assert!(rows[3].contains("unix-stream  10.0 us"), "{text}");
}

/// As the sample, but sockets have names.
fn specs(name: &str) -> Option<&'static ipcperf_core::Spec> {
    sample::spec(if name == "unix-stream" { "tcp" } else { name })
}

#[test]
fn whatever_was_measured_fits_on_one_screen() {
    let mut crowded = sample::survey();
    for at in 0..60 {
        let name = format!("mechanism-with-a-rather-long-name-{at}");
        crowded.cells.push(cell(&name, 64, TWO).rtt(60_000.0 + 900.0 * f64::from(at), 500.0));
    }
    for (name, size) in [("pipe", 4096), ("fifo", 4096), ("tcp", 4096)] {
        crowded.cells.push(cell(name, size, TWO).rtt(90_000.0, 500.0));
        crowded.cells.push(cell(name, size, TWO).rate(1e9, 1e6));
    }
    let graded = |grade: &str| {
        let mut set = crowded.clone();
        set.noise.grade = grade.to_owned();
        set.noise.causes = vec!["steal 31 % of the time of CPU 0".to_owned()];
        set
    };
    let interrupted = ResultSet { interrupted: true, ..crowded.clone() };
    let mut one_cpu = crowded.clone();
    one_cpu.cells.retain(|cell| cell.key.placement == ONE);
    let empty = ResultSet { cells: Vec::new(), ..sample::survey() };
    let strict = Requirements {
        no_spin: true,
        p99_ns: Some(140_000.0),
        ..wanted(&[64, 4096], &[Unrelated, NoticesDeath, BackPressure])
    };
    for (what, set) in [
        ("crowded", crowded.clone()),
        ("D", graded("D")),
        ("F", graded("F")),
        ("interrupted", interrupted),
        ("one CPU", one_cpu),
        ("empty", empty),
    ] {
        for wanted in [wanted(&[64], &[]), strict.clone()] {
            for width in [40, 80, 200] {
                let style = Style { width, ..Style::default() };
                let text = written(&set, &wanted, &style);
                let widest = text.lines().map(text::width).max().unwrap_or(0);
                assert!(widest <= width, "{what} at {width}: {widest}\n{text}");
                let lines = text.lines().count();
                assert!(width < 80 || lines <= SCREEN, "{what} at {width}: {lines}\n{text}");
                let is_none = text.contains("No mechanism meets all of this") && what != "empty";
                let changes = text.contains("What would change it");
                let is_open = what == "F" && wanted.p99_ns.is_some();
                assert!(text.contains("Next: ") == changes || is_none || is_open, "{what}: {text}");
                assert_eq!(text.contains("Noise grade F ("), what == "F", "{text}");
                let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert_eq!(flat.contains("at noise grade F no p99"), is_open, "{text}");
            }
        }
    }
}

/// Beyond three names of a reason a screen counts; nowhere were all of them.
#[test]
fn all_shows_every_mechanism_that_is_left_out() {
    let set = sample::survey();
    let wanted = Requirements { no_spin: true, ..wanted(&[64], &[Unrelated]) };
    let screen = written(&set, &wanted, &Style::default());
    assert!(screen.contains("not unrelated: unix-stream, pipe, eventfd and 4 more"), "{screen}");
    let full = written(&set, &wanted, &Style { full: true, ..Style::default() });
    let flat = full.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, listed) =
        flat.split_once("Left out not unrelated: ").unwrap_or_else(|| panic!("{full}"));
    let listed = listed.split(" no ").next().unwrap_or_default();
    assert_eq!(listed.split(", ").count(), 7, "{listed}");
    assert!(!flat.contains(" more more") && !listed.contains("more"), "{listed}");
}

#[test]
fn what_is_as_fast_is_named_and_so_is_a_tail_that_is_not_there() {
    let missing = || ipcperf_core::result::Metric::missing("needs 2000 samples, has 400");
    let mut cells = ["pipe", "fifo"].map(|name| cell(name, 64, TWO).rtt(70_000.0, 300.0)).to_vec();
    for cell in &mut cells {
        cell.rtt_ns.as_mut().unwrap().insert("p99".to_owned(), missing());
    }
    let text = written(&set(cells), &wanted(&[64], &[]), &Style::default());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("As fast (within 10 %): pipe.")
            && flat.contains("Chosen for what it can do (notices-death, reconnect)."),
        "{text}"
    );
    assert!(flat.contains("p99 needs 2,000 samples (had 400): use "), "{text}");
    let apart = [cell("pipe", 64, TWO).rtt(70_000.0, 300.0), cell("tcp", 64, TWO).rtt(9e5, 300.0)];
    let text = written(&set(apart.to_vec()), &wanted(&[64], &[]), &Style::default());
    assert!(!text.contains("s fast (") && !text.contains("p99 needs"), "{text}");
}

#[test]
fn what_did_not_keep_up_is_left_out_for_that_and_not_for_rejected_rounds() {
    let wanted = Requirements { rate_per_second: Some(20_000.0), ..wanted(&[64], &[]) };
    let steady = |name: &str, nanos: f64| cell(name, 64, TWO).rtt(nanos, 90.0).open_loop(20_000.0);
    let mut late = steady("tcp", 61_000.0);
    let figures = late.rtt_ns.as_mut().unwrap();
    figures.values_mut().for_each(|figure| *figure = Metric::missing("saturated"));
    for round in &mut late.rounds {
        (round.saturated, round.p50_ns) = (true, None);
    }
    let set = set(vec![steady("pipe", 30_000.0), steady("fifo", 31_000.0), late]);
    let text = written(&set, &wanted, &Style { full: true, ..Style::default() });
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("does not keep up with the rate"), "{text}");
    assert!(!text.contains("too many rounds rejected"), "{text}");
}

#[test]
fn what_another_goal_would_change_is_asked_of_all_and_not_of_the_best_figure_alone() {
    let timed = |name: &str, nanos: f64, cpu: f64| cell(name, 64, TWO).rtt(nanos, 90.0).cpu(cpu);
    // Its median is the least, and its rounds differ so much that nothing is proved of it.
    let mut wild = timed("fifo", 31_000.0, 2_000.0);
    for (at, round) in wild.rounds.iter_mut().enumerate() {
        let each = if at % 2 == 0 { 1_000 } else { 60_000 };
        round.cpu_ns = SideCpu { lead: each * round.messages, ..SideCpu::default() };
    }
    let set = set(vec![timed("pipe", 30_000.0, 10_000.0), wild, timed("tcp", 60_000.0, 5_000.0)]);
    let text = written(&set, &wanted(&[64], &[]), &Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("with --by cpu: tcp"), "{text}");
}

#[test]
fn of_those_that_are_as_fast_the_fittest_is_chosen_and_all_others_are_named() {
    let timed = |name: &str, nanos: f64| cell(name, 64, TWO).rtt(nanos, 900.0);
    let names = ["posix-mq", "fifo", "pipe", "tcp"];
    let mut set = set(names.map(|name| timed(name, 70_000.0)).to_vec());
    // The least figure is no reason.
    set.cells[0] = timed("posix-mq", 69_900.0);
    let plain = wanted(&[64], &[]);
    assert_eq!(order(&set, &plain)[0], "tcp");
    let text = written(&set, &plain, &Style { width: 400, ..Style::default() });
    let line = text.lines().find(|line| line.starts_with("As fast (within 10 %): ")).unwrap();
    assert!(["fifo", "posix-mq", "pipe"].iter().all(|name| line.contains(name)), "{text}");
    assert!(
        text.contains("Chosen for what it can do (two-way, notices-death, reconnect, examples in C and Python)"),
        "{text}"
    );
    // It is no better than what is certainly faster.
    set.cells.push(timed("unix-stream", 50_000.0));
    assert_eq!(order(&set, &plain)[0], "unix-stream");
}

#[test]
fn one_that_blocks_is_chosen_and_the_best_that_spins_has_a_line_of_its_own() {
    let timed = |name: &str, nanos: f64| cell(name, 64, TWO).rtt(nanos, nanos / 100.0);
    let all = set(vec![
        timed("pipe/spin", 900.0),
        timed("shm-ring/spin", 210.0),
        timed("tcp", 61_000.0),
        timed("pipe", 70_000.0),
    ]);
    let style = Style { width: 200, ..Style::default() };
    let plain = wanted(&[64], &[]);
    assert_eq!(order(&all, &plain), ["tcp", "pipe"]);
    let text = written(&all, &plain, &style);
    let line = "If ends may spin: shm-ring/spin, 210 ns; 100 % of both CPUs; peer death goes unnoticed (-m shm-ring/spin)";
    assert!(text.contains(line), "{text}");
    // They stand in no table and no list of those that block.
    assert_eq!(text.matches("/spin").count(), 2, "{text}");
    let needed = Requirements { no_spin: true, ..plain.clone() };
    let text = written(&all, &needed, &style);
    assert!(!text.contains("If ends may spin"), "{text}");
    assert!(text.contains("without --no-spin: shm-ring/spin, 210 ns"), "{text}");
    // Where nobody else is left, one of them is chosen, and what would bring the others back is told.
    let quick = Requirements { p99_ns: Some(2_000.0), ..plain };
    assert_eq!(order(&all, &quick), ["shm-ring/spin", "pipe/spin"]);
    let text = written(&all, &quick, &style);
    assert!(text.contains("without --p99: tcp, 61.0 us, which does not spin"), "{text}");
}

#[test]
fn those_that_were_asked_about_are_shown_with_what_they_are_behind() {
    let cells = vec![
        cell("fifo", 64, TWO).rtt(10_000.0, 50.0),
        cell("tcp", 64, TWO).rtt(13_000.0, 60.0),
        cell("posix-mq", 64, TWO).rtt(10_050.0, 60.0),
        cell("pipe", 64, TWO).rtt(5_000.0, 20.0),
        cell("shm-ring/spin", 64, TWO).rtt(210.0, 2.0),
    ];
    let among = |names: &[&str]| Requirements {
        among: names.iter().map(|name| (*name).to_owned()).collect(),
        ..wanted(&[64], &[])
    };
    let style = Style { width: 200, ..Style::default() };
    let all = set(cells);
    // The fastest of all is none of them.
    let three = among(&["tcp", "fifo", "posix-mq", "shm-ring/spin"]);
    assert_eq!(order(&all, &three), ["fifo", "posix-mq", "tcp"]);
    let text = written(&all, &three, &style);
    assert!(text.contains("Not chosen, next to fifo"), "{text}");
    assert!(text.contains("  tcp, 13.0 us: 1.30x slower [1.28, 1.31]\n"), "{text}");
    assert!(text.contains("  posix-mq, 10.1 us: as fast (within 10 %)\n"), "{text}");
    assert!(text.contains("shm-ring/spin, 210 ns: spins"), "{text}");
    assert!(!text.contains("pipe"), "{text}");
    // Who meets too little is named with the reason, and who was not measured as well.
    let wanted = Requirements { can: vec![Unrelated], ..among(&["tcp", "pipe", "eventfd"]) };
    let text = written(&all, &wanted, &style);
    assert!(text.contains("not unrelated: pipe"), "{text}");
    assert!(!written(&all, &super::tests::wanted(&[64], &[]), &style).contains("Not chosen"));
}

#[test]
fn a_rate_that_nobody_keeps_up_with_is_told_with_what_was_achieved_and_what_would_meet_it() {
    let saturated = |name: &str, size, achieved: f64, cpu: f64| {
        let mut cell = cell(name, size, TWO).rtt(1e9 / achieved, 90.0).open_loop(20_000.0).cpu(cpu);
        let figures = cell.rtt_ns.as_mut().unwrap();
        figures.values_mut().for_each(|figure| *figure = Metric::missing("saturated"));
        cell.achieved_per_second = Some(sample::metric(achieved, 1.0));
        cell
    };
    let both = |cpu| {
        set(vec![
            saturated("fifo", 1024, 5_000.0, cpu),
            saturated("fifo", 8192, 4_000.0, cpu),
            saturated("tcp", 1024, 9_000.0, cpu),
            saturated("tcp", 8192, 3_000.0, cpu),
            cell("fifo", 1024, TWO).rtt(200_000.0, 90.0),
            cell("fifo", 8192, TWO).rtt(250_000.0, 90.0),
            cell("tcp", 1024, TWO).rtt(100_000.0, 90.0),
            cell("tcp", 8192, TWO).rtt(300_000.0, 90.0),
        ])
    };
    let wanted = Requirements { rate_per_second: Some(20_000.0), ..wanted(&[1024, 8192], &[]) };
    let style = Style { width: 300, ..Style::default() };
    let text = written(&both(20_000.0), &wanted, &style);
    assert!(!is_met(&chosen_in(&both(20_000.0), &wanted), &sample::spec));
    for words in [
        "No mechanism meets all of this for ",
        "None keeps up with 20.0 k/s: fifo comes nearest, and answers 5.00 k/s of 1 KiB and 4.00 k/s of 8 KiB.",
        "The limit is that a connection has one request in flight, which takes it 250 us here.",
        "does not keep up with the rate: tcp 9.00 k/s, fifo 5.00 k/s",
        "  7 connections over fifo, with 2.86 k/s each (about 0.8 of 2 CPUs busy)",
        "  a lower rate: --rate 3200",
        "'ipcperf run -m fifo -p request --inflight 8'",
        "  without --rate: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Connections are no remedy where the CPUs are too few.
    let text = written(&both(90_000.0), &wanted, &style);
    assert!(!text.contains("connections over"), "{text}");
    assert!(
        text.contains("more CPUs: over fifo this rate takes 3.6 CPUs, and there are 2 CPUs"),
        "{text}"
    );
    // Where one keeps up, nothing of it is said.
    let mut one = both(20_000.0);
    one.cells.extend(
        [1024, 8192].map(|size| cell("tcp", size, TWO).rtt(9_000.0, 90.0).open_loop(20_000.0)),
    );
    one.cells.drain(2..4);
    assert!(is_met(&chosen_in(&one, &wanted), &sample::spec));
    assert!(!written(&one, &wanted, &style).contains("None keeps up"));
}
