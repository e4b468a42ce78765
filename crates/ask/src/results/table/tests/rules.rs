//! Rules every table keeps, whatever it shows.

use super::{run, wide, written};
use crate::testing::sample::{Build, ONE, TWO, cell, set};
use crate::testing::{rendered, sample};
use ipcperf_core::result::{Finding, ResultSet, Severity, Shortage, Status};
use ipcperf_core::{Idle, PatternKind, Placement, Seat, Touch, Wait};
use ipcperf_render::{Format, Style, text};

#[test]
fn quantiles_the_sample_does_not_support_are_dashes_and_explained() {
    let mut cell = cell("pipe", 64, TWO).rtt(71_000.0, 500.0);
    let missing = ipcperf_core::result::Metric::missing("needs 2000 samples, has 100");
    cell.rtt_ns.as_mut().unwrap().insert("p99".to_owned(), missing);
    let other = sample::cell("tcp", 64, TWO).rtt(95_000.0, 500.0);
    let text = written(&run(set(vec![cell, other])), &wide(80));
    let row = text.lines().find(|line| line.contains("64 B  pipe")).unwrap();
    assert!(row.split_whitespace().any(|word| word == "-"), "{text}");
    assert!(text.contains("- in a quantile: too few samples"), "{text}");
}

#[test]
fn every_table_of_a_fan_tells_how_many_peers() {
    let fan = |mechanism, peers| {
        let mut cell = cell(mechanism, 64, TWO).rate(1e9 / peers as f64, 1e6);
        (cell.key.pattern, cell.key.load.peers) = (PatternKind::FanIn, peers);
        cell
    };
    let cells = vec![fan("pipe", 2), fan("fifo", 2), fan("pipe", 8), fan("fifo", 8)];
    let text = written(&run(set(cells)), &wide(80));
    assert!(text.contains("CPU per message of several producers"), "{text}");
    let heads: Vec<&str> = text.lines().filter(|line| line.contains("mechanism  ")).collect();
    assert!(heads.len() == 2 && heads.iter().all(|head| head.contains("peers")), "{text}");
}

#[test]
fn batch_means_are_marked() {
    let mut cell = cell("shm-ring/spin", 64, TWO).rtt(80.0, 1.0);
    cell.timing = Some(ipcperf_core::result::Timing { mode: "batch".to_owned(), batch: 32 });
    let text = written(&run(set(vec![cell])), &wide(80));
    assert!(text.contains("80.0 ns^") && text.contains("^ is the median of batch means"), "{text}");
}

#[test]
fn an_open_loop_reads_as_a_curve_of_one_mechanism() {
    let mut full = cell("pipe", 64, TWO).rtt(90_000.0, 500.0).open_loop(20_000.0);
    let saturated = || ipcperf_core::result::Metric::missing("saturated");
    full.rtt_ns.as_mut().unwrap().values_mut().for_each(|metric| *metric = saturated());
    let mut leaky = cell("udp", 64, TWO).rtt(80_000.0, 500.0).open_loop(1_000.0);
    let lost = ipcperf_core::result::Metric::missing("lost");
    leaky.rtt_ns.as_mut().unwrap().insert("p99".to_owned(), lost);
    let cells = vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0).open_loop(1_000.0), leaky, full];
    let text = written(&run(set(cells)), &wide(120));
    assert!(text.contains("Response time in an open loop, blocking mechanisms"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("k/s ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows[0].contains("pipe  ") && rows[0].contains("71.0 us"), "{text}");
    assert!(!rows[1].contains("pipe") && rows[1].contains("saturated"), "{text}");
    assert!(rows[2].contains("udp") && rows[2].contains("lost"), "{text}");
    assert!(
        text.contains("service p50") && text.contains("counts from when it was sent"),
        "{text}"
    );
}

#[test]
fn other_loads_are_named_and_ranked_apart() {
    let think = |mechanism: &str, p50: f64, think_ns: u64| {
        let mut cell = cell(mechanism, 64, TWO).rtt(p50, 50.0);
        cell.key.load.think_ns = think_ns;
        cell
    };
    let cells = vec![
        think("pipe", 9_000.0, 0),
        think("tcp", 12_000.0, 0),
        think("pipe", 50_000.0, 1_000_000),
        think("tcp", 55_000.0, 1_000_000),
    ];
    let text = written(&run(set(cells)), &wide(100));
    assert!(text.contains("Round trip in a closed loop"), "{text}");
    let (text, _) = text.split_once("CPU per message").expect("two chapters");
    let ratios: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" us "))
        .map(|line| line.split_whitespace().find(|word| ["reference", "slower"].contains(word)))
        .map(|word| word.expect("each row has its ratio"))
        .collect();
    assert_eq!(ratios, ["reference", "slower", "reference", "slower"], "{text}");
    assert!(text.contains("pipe think=1ms") && text.contains("vs reference"), "{text}");
}

#[test]
fn the_uncertainty_stands_beside_every_figure_however_long_the_names_are() {
    let long = |size: u64| {
        let cell = cell("unix-stream", 64, TWO).rtt(70_000.0, 910.0);
        ["sndbuf", "rcvbuf", "bind.directory"]
            .into_iter()
            .fold(cell, |cell, knob| cell.knob(&format!("unix-stream.{knob}"), Some(size), size))
    };
    let set = run(set(vec![long(1_048_576), long(2_097_152)]));
    for width in [60, 80, 100] {
        let shown = written(&set, &wide(width));
        assert!(shown.lines().any(|line| line.contains("p50") && line.contains("+/-")), "{shown}");
        assert_eq!(shown.lines().filter(|line| line.contains("1.3%")).count(), 2, "{shown}");
    }
}

#[test]
fn a_bound_is_shown_as_a_multiple_also_at_80_columns() {
    let text = written(&sample::survey(), &Style { versus_bound: true, ..wide(80) });
    assert!(text.contains("x bound") && text.contains("1.62x"), "{text}");
    assert!(text.contains("Bounds of this machine: a futex wake-up round trip"), "{text}");
}

#[test]
fn two_modes_are_both_named_and_marked() {
    let set = run(set(vec![cell("pipe", 64, TWO).modes([(71_000.0, 3), (4_200.0, 2)])]));
    let text = written(&set, &wide(80));
    assert!(text.contains("71.0 us*") && text.contains("4.20 us*"), "{text}");
    assert!(text.contains("in 2 of 5 rounds"), "{text}");
    assert!(text.contains("two modes"), "{text}");
    assert!(!text.contains("37.6"), "the average of the modes: {text}");
}

#[test]
fn no_line_is_ever_wider_than_asked() {
    let mut sets = vec![sample::survey(), sample::small(), set(Vec::new()), hostile()];
    sets[0].noise.findings = (0..9)
        .map(|at| {
            sample::finding(
                &format!("W-{at}"),
                Severity::Warning,
                "A long finding. ".repeat(9).trim(),
            )
        })
        .collect();
    for set in &sets {
        for width in [1, 10, 20, 40, 79, 80, 81, 120, 200, usize::MAX] {
            for (unicode, verbose) in [(false, false), (true, true)] {
                let style = Style { unicode, verbose, versus_bound: verbose, ..wide(width) };
                for line in written(set, &style).lines() {
                    assert!(text::width(line) <= width, "{width}: {line}");
                }
            }
        }
    }
}

/// A result file by somebody who wants to break the terminal.
fn hostile() -> ResultSet {
    let mut first = cell("pipe", u64::MAX, Placement::CrossNode).rtt(1e308, 1e308);
    first.key.mechanism = "\u{1b}[2J\u{202e}日本語".repeat(9000);
    first.key.cpus = vec![usize::MAX; 1000];
    let mut second = cell("x|y\nz", 0, TWO).rtt(f64::MIN_POSITIVE, 0.0);
    second.id = String::new();
    let mut third = cell("pipe", 64, TWO).rtt(-1.0, f64::MAX);
    third.rtt_ns.as_mut().unwrap().clear();
    let mut set = set(vec![first, second, third]);
    set.tool.version = "9".repeat(1000);
    set.host.cpu_model = "\u{9b}31mcpu".to_owned();
    set.started_utc = "\n\n".to_owned();
    set.noise.grade = "\u{1b}".repeat(100);
    set
}

#[test]
fn nothing_a_terminal_obeys_is_passed_on_in_any_format() {
    let mut set = hostile();
    let nasty = "\u{1b}]52;c;QQ==\u{7}\u{9b}2J\u{85}\u{202e}\u{2066}\u{7f}\u{e0041}\r\t";
    set.invocation.argv = vec![nasty.to_owned()];
    set.cells.push(cell(nasty, 64, TWO).rtt(1.0, 2.0).knob(nasty, None, 1));
    for cell in &mut set.cells {
        (cell.status, cell.reason) = (Status::Failed, Some(nasty.to_owned()));
    }
    set.noise.findings.push(Finding {
        code: nasty.to_owned(),
        severity: Severity::Error,
        text: nasty.to_owned(),
        value: None,
        limit: None,
        cells: vec![nasty.to_owned()],
        remedy: nasty.to_owned(),
    });
    for format in [Format::Table, Format::Markdown, Format::Csv, Format::Json, Format::Ndjson] {
        let style = Style { unicode: true, verbose: true, ..wide(80) };
        let text = rendered(&set, format, &style);
        let obeyed = |sign: char| sign != '\n' && text::is_unprinted(sign);
        assert_eq!(text.chars().find(|sign| obeyed(*sign)), None, "{format:?}");
        if format == Format::Json {
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["invocation"]["argv"][0], nasty, "the document says what it said");
        }
    }
}

#[test]
fn colour_only_repeats_what_the_text_says() {
    let set = sample::survey();
    let colored = written(&set, &Style { color: true, ..wide(80) });
    assert!(colored.contains("\u{1b}["));
    assert_eq!(sample::without_colour(&colored), written(&set, &wide(80)));
}

#[test]
fn spinning_and_blocking_never_share_a_table() {
    let cells = vec![
        cell("pipe", 64, TWO).rtt(71_000.0, 500.0),
        cell("pipe/spin", 64, TWO).rtt(2_000.0, 20.0),
    ];
    let text = written(&run(set(cells)), &wide(80));
    let (blocking, spinning) = text.split_once("busy-waiting").expect("two chapters");
    assert!(blocking.contains("64 B  pipe ") && !blocking.contains("pipe/spin"), "{text}");
    assert!(spinning.contains("64 B  pipe/spin"), "{text}");
}

#[test]
fn idle_policies_and_placements_have_their_own_headings_and_rankings() {
    let cells = vec![
        cell("pipe", 64, TWO).rtt(71_000.0, 500.0),
        cell("pipe", 64, TWO).rtt(4_000.0, 20.0).idle(Idle::Poll),
        cell("pipe", 64, ONE).rtt(6_000.0, 20.0),
        cell("pipe", 64, Placement::Free).rtt(9_000.0, 20.0),
        cell("pipe", 64, Placement::Cpus { lead: 1, follow: 0 }).rtt(5_000.0, 20.0),
        cell("pipe", 64, Placement::OneEnd { seat: Seat::Lead, cpu: 0 }).rtt(7_000.0, 20.0),
        cell("pipe", 64, Placement::OneEnd { seat: Seat::Follow, cpu: 1 }).rtt(8_000.0, 20.0),
    ];
    let text = written(&run(set(cells)), &wide(80));
    for heading in [
        "CPUs 0 and 1 (same-llc), idle as-is, touch cacheline",
        "CPUs 0 and 1 (same-llc), idle poll, touch cacheline",
        "both ends on CPU 0 (same-cpu), idle as-is, touch cacheline",
        "not pinned (free), idle as-is, touch cacheline",
        "lead on CPU 1, follow on CPU 0, idle as-is, touch cacheline",
        "lead on CPU 0, follow not pinned, idle as-is, touch cacheline",
        "follow on CPU 1, lead not pinned, idle as-is, touch cacheline",
    ] {
        assert!(text.lines().any(|line| line.trim() == heading), "{heading} in {text}");
    }
    assert_eq!(text.matches("64 B  pipe ").count(), 7, "{text}");
}

#[test]
fn many_named_cpus_are_a_column_and_no_list_of_headings() {
    let on = |lead, follow| Placement::Cpus { lead, follow };
    let row = |place, nanos: f64| cell("pipe", 64, place).rtt(nanos, 20.0);
    let two = vec![row(on(0, 1), 5_000.0), row(on(1, 0), 6_000.0), row(ONE, 3_000.0)];
    let text = written(&run(set(two.clone())), &wide(80));
    assert!(text.contains("lead on CPU 1, follow on CPU 0, idle") && !text.contains("CPUs  size"));

    let many = [two, vec![row(on(0, 2), 7_000.0), row(on(1, 2), 8_000.0)]].concat();
    let text = written(&run(set(many)), &wide(80));
    let heading = "lead and follow on these CPUs, idle as-is, touch cacheline";
    assert_eq!(text.matches(heading).count(), 1, "{text}");
    for row in ["0,1  64 B  pipe       5.00 us", "0,2  64 B  pipe       7.00 us"] {
        assert!(text.contains(row), "{row} in {text}");
    }
    assert!(text.contains("both ends on CPU 0 (same-cpu), idle"), "{text}");
    assert_eq!(text.matches("  CPUs  size  mechanism").count(), 1, "{text}");
}

#[test]
fn a_knob_that_the_kernel_changed_shows_both_values() {
    let cells =
        vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0).knob("pipe.size", Some(5000), 8192)];
    let text = written(&run(set(cells)), &wide(80));
    assert!(text.contains("pipe size=5000 (got 8K)"), "{text}");
    // Of what nobody asked for it shows them where it granted less than usual.
    let mut cell = cell("pipe", 64, TWO).rtt(71_000.0, 500.0).knob("pipe.size", None, 8192);
    assert!(!written(&run(set(vec![cell.clone()])), &wide(80)).contains("got"));
    let shortage = Shortage { usual: 65_536, ..Shortage::default() };
    cell.knobs.get_mut("pipe.size").expect("a knob").shortage = Some(shortage);
    let text = written(&run(set(vec![cell])), &wide(80));
    assert!(text.contains("pipe size=64K (got 8K)"), "{text}");
}

#[test]
fn findings_come_worst_first_at_most_five_and_equal_codes_once() {
    let mut set = run(set(Vec::new()));
    let info = sample::finding("I-TICKS", Severity::Info, "Ticks.");
    set.noise.findings = vec![info];
    for at in 0..6 {
        set.noise.findings.push(sample::finding(&format!("W-{at}"), Severity::Warning, "Warned."));
        set.noise.findings.push(sample::finding("E-PROOF", Severity::Error, "No proof."));
    }
    let text = written(&set, &wide(80));
    let items: Vec<&str> = text.lines().filter(|line| line.starts_with("  - ")).collect();
    assert_eq!(items.len(), 5, "{text}");
    assert!(items[0].starts_with("  - error E-PROOF: No proof (5 more like it)."), "{text}");
    assert!(text.contains("All 13 findings with their cells: --format json."), "{text}");
    let all = written(&set, &Style { verbose: true, ..wide(80) });
    assert!(all.contains("note I-TICKS"), "{all}");
    // Those of the machine are shown among them, and counted.
    set.noise.machine = vec![sample::finding("W-SHM", Severity::Warning, "Nearly full.")];
    let text = written(&set, &wide(80));
    assert!(text.contains("All 14 findings with their cells: --format json."), "{text}");
}

#[test]
fn every_finding_stands_by_itself_where_all_are_asked_for() {
    let mut set = run(set(Vec::new()));
    set.noise.findings = (0..7)
        .map(|at| sample::finding("W-MULTIMODAL", Severity::Warning, &format!("Cell {at}.")))
        .collect();
    let items = |style: &Style| {
        let text = written(&set, style);
        text.lines().filter(|line| line.starts_with("  - ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(items(&wide(80)).len(), 1);
    let all = items(&Style { verbose: true, ..wide(80) });
    assert_eq!(all.len(), 7, "{all:?}");
    for (at, item) in all.iter().enumerate() {
        assert!(
            item.starts_with(&format!("  - warning W-MULTIMODAL: Cell {at}. Remedy")),
            "{item}"
        );
    }
}

#[test]
fn a_payload_that_nobody_touches_has_no_ratio() {
    for touch in [Touch::None, Touch::Header] {
        let mut cells = vec![
            cell("tcp", 64, TWO).rtt(95_000.0, 500.0),
            cell("pipe", 64, TWO).rtt(71_000.0, 500.0),
        ];
        cells.iter_mut().for_each(|cell| cell.key.touch = touch);
        let text = written(&set(cells), &wide(80));
        assert!(!text.contains("slower") && !text.contains("vs "), "{text}");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains(
                "not compared: a payload that is not touched costs nothing to move by reference"
            ),
            "{text}"
        );
        assert!(!text.contains("The same in sentences"), "{text}");
    }
    let touched = written(&sample::small(), &wide(80));
    assert!(!touched.contains("not compared"), "{touched}");
}

#[test]
fn an_interval_that_is_wide_is_shown_itself() {
    let mut wide_one = cell("pipe", 64, TWO).rtt(20_000.0, 500.0);
    wide_one.rtt_ns.as_mut().unwrap().get_mut("p50").unwrap().ci95 = Some([170.0, 43_000.0]);
    let text =
        written(&run(set(vec![wide_one, cell("tcp", 64, TWO).rtt(95_000.0, 500.0)])), &wide(80));
    assert!(text.contains("  0.17-43us  ") && text.contains("above 50 % is the"), "{text}");
    assert!(!text.contains("108%") && !text.contains("107%"), "{text}");
}

#[test]
fn a_count_that_hardly_ever_happens_is_no_row_of_zeros() {
    let mut rare = cell("pipe", 64, TWO).rtt(71_000.0, 500.0);
    rare.context_switches_per_message = Some(0.000_021);
    rare.ipis_per_message = Some(0.0);
    let text = written(&run(set(vec![rare])), &wide(200));
    let row = text.lines().find(|line| line.contains("pipe")).unwrap();
    let counts: Vec<&str> = row.split_whitespace().rev().take(3).collect();
    assert_eq!(counts, ["2", "0", "<0.001"], "{text}");
}

#[test]
fn one_of_a_thing_is_no_plural() {
    let mut set = run(set(vec![cell("pipe", 64, ONE).rtt(6_000.0, 9.0)]));
    set.host.cpus_allowed = vec![0];
    set.cells[0].rounds.truncate(1);
    let text = written(&set, &wide(200));
    for words in ["1 of 1 cell measured, 1 round of 100 ms", ", 1 CPU, Linux"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

fn in_markdown(set: &ResultSet) -> String {
    rendered(set, Format::Markdown, &wide(80))
}

/// The text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_of_few_rounds_gives_no_ratio_and_says_so() {
    let caution = "Too few rounds: with fewer than 6 nothing is said of what is faster.";
    let legend = "No ratio with fewer than 6 rounds of both.";
    let mut set = run(sample::small());
    for text in [written(&set, &wide(80)), in_markdown(&set)] {
        assert!(!flat(&text).contains(caution) && !flat(&text).contains(legend), "{text}");
    }
    set.cells.iter_mut().for_each(|cell| cell.rounds.truncate(5));
    let text = written(&set, &wide(80));
    assert!(text.contains(&format!("\n{caution}\n")), "{text}");
    assert!(text.contains(legend), "{text}");
    assert_eq!(text.matches("undecided: 5 pairs").count(), 4, "two rows, two of costs: {text}");
    assert!(!text.contains("as fast (") && !text.contains("slower ["), "{text}");
    let text = in_markdown(&set);
    assert!(text.contains(&format!("\n{caution}\n")), "{text}");
    // Rounds that were saturated have no figures, and there were enough of them.
    let mut set = run(sample::small());
    for round in set.cells.iter_mut().flat_map(|cell| &mut cell.rounds) {
        (round.p50_ns, round.saturated) = (None, true);
    }
    assert!(!flat(&written(&set, &wide(80))).contains(caution));
}

#[test]
fn at_grade_f_differences_stay_and_neither_equality_nor_advice_is_given() {
    let mut set = sample::small();
    set.noise.grade = "F".to_owned();
    set.noise.findings = vec![sample::finding("W-FAULT", Severity::Warning, "17 page faults.")];
    set.noise.causes = vec!["steal 20 %".to_owned(), "spread 30 %".to_owned()];
    let why = "At noise grade F ratios with an interval hold; absolute figures, tails and equality do not (steal 20 %; \
               spread 30 %).";
    let mut set = run(set);
    let text = written(&set, &wide(80));
    assert!(text.contains("64 B  pipe       71.5 us  1.7%  undecided: grade F"), "{text}");
    assert!(text.contains("1.3x slower [1.3, 1.4]") && text.contains("CPU per message"), "{text}");
    assert!(!text.contains("as fast (") && !text.contains("runner-up"), "{text}");
    let told = flat(&text);
    assert!(told.contains(why), "{text}");
    let text = in_markdown(&set);
    assert!(text.contains("| 64 B | pipe | 71.5 us | 1.7% | undecided: grade F |"), "{text}");
    assert!(text.contains(why), "{text}");
    set.noise.causes.clear();
    let told = flat(&written(&set, &wide(80)));
    assert!(told.contains("do not (17 page faults)."), "{told}");
    set.noise.findings.clear();
    let text = flat(&written(&set, &wide(80)));
    assert!(text.contains("absolute figures, tails and equality do not."), "{text}");
    assert!(text.contains("tcp is 1.3x slower [1.3, 1.4] than fifo"), "{text}");
}

#[test]
fn what_had_too_many_rounds_rejected_has_no_ratio_and_says_why() {
    let mut set = sample::small();
    let cell = set.cells.iter_mut().find(|cell| cell.key.mechanism == "pipe").unwrap();
    assert!(cell.rounds.len() > 6, "a place is to be lost");
    cell.rounds
        .iter_mut()
        .skip(5)
        .for_each(|round| round.rejected = Some("moved".to_owned().into()));
    for text in [written(&run(set.clone()), &wide(80)), in_markdown(&set)] {
        assert!(flat(&text).contains("pipe had too many rounds rejected to compare"), "{text}");
        // It stands behind what has a ratio.
        let (_, text) = text.split_once("Round trip, blocking").unwrap();
        assert!(text.contains("undecided: 5 pairs"), "{text}");
        assert!(
            text.find("fifo ") < text.find("tcp ") && text.find("tcp ") < text.find("pipe "),
            "{text}"
        );
    }
}

#[test]
fn at_grade_d_advice_is_said_to_be_weak_and_below_it_is_not() {
    let weak = "At noise grade D ratios with an interval hold; absolute figures and tails are rough (steal 0.4 %).";
    let mut set = run(sample::small());
    for grade in ["A", "B", "C", "D", ""] {
        set.noise.grade = grade.to_owned();
        for text in [written(&set, &wide(80)), in_markdown(&set)] {
            assert_eq!(flat(&text).contains(weak), grade == "D", "{grade}: {text}");
            assert!(text.contains("as fast (within 10 %)"), "{grade}: {text}");
        }
    }
}

#[test]
fn what_the_clock_is_in_a_figure_is_said_where_rows_differ_in_it() {
    let timed = |mechanism: &str, p50: f64, mode: &str| {
        let mut cell = cell(mechanism, 64, TWO).rtt(p50, 1.0);
        cell.timing = Some(ipcperf_core::result::Timing { mode: mode.to_owned(), batch: 8 });
        cell
    };
    let told = |mode: &str| {
        let cells = vec![timed("shm-ring/spin", 580.0, "batch"), timed("pipe/spin", 620.0, mode)];
        let mut set = run(set(cells));
        set.clock.before[0].p50_ns = 30.0;
        flat(&written(&set, &wide(80)))
    };
    let legend = "Figures without ^ include up to 30.0 ns of reading the clock,";
    let (mixed, alike) = (told("per-op"), told("batch"));
    // The 30 ns may be all that the slower one takes longer.
    assert!(mixed.contains(legend) && mixed.contains("1.07x slower [1.02, 1.07]"), "{mixed}");
    assert!(!alike.contains(legend) && alike.contains("1.07x slower [1.07, 1.07]"), "{alike}");
}

#[test]
fn what_a_mechanism_counted_is_named_and_sleeps_only_for_a_verbose_reader() {
    let mut latest = cell("seqlock", 64, TWO).rtt(300.0, 10.0);
    latest.events = [("torn reads".to_owned(), 1234), ("zebras".to_owned(), 0)].into();
    let mut ring = cell("shm-ring/futex", 64, TWO).rtt(900.0, 10.0);
    (ring.key.wait, ring.events) = (Wait::SpinThenBlock, [("sleeps".to_owned(), 9)].into());
    let set = run(set(vec![latest, ring]));
    let text = written(&set, &wide(80));
    assert!(text.contains("  seqlock counted 1,234 torn reads\n"), "{text}");
    assert!(!text.contains("zebras") && !text.contains("counted 9"), "{text}");
    let text = written(&set, &Style { verbose: true, ..wide(80) });
    assert!(text.contains("shm-ring/futex counted 9 sleeps\n"), "{text}");
}

#[test]
fn messages_that_never_arrived_are_named_under_their_row() {
    let mut lossy = cell("udp", 64, TWO).rtt(80_000.0, 500.0);
    (lossy.messages, lossy.lost) = (29_988, 12);
    let set = run(set(vec![lossy, cell("tcp", 64, TWO).rtt(95_000.0, 500.0)]));
    let text = written(&set, &wide(80));
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("B  udp ")).unwrap();
    assert_eq!(lines[at + 1].trim(), "udp lost 12 of 30,000 messages", "{text}");
    assert_eq!(text.matches(" lost ").count(), 1, "{text}");
    for width in [1, 10, 20, 40] {
        let text = written(&set, &wide(width));
        assert!(text.lines().all(|line| text::width(line) <= width), "{width}: {text}");
    }
    let text = in_markdown(&set);
    assert!(text.contains("| udp lost 12 of 30,000 messages |\n"), "{text}");
}

#[test]
fn requests_are_ranked_by_rate_among_as_many_clients_and_failures_are_told() {
    let text = written(&sample::connections(), &wide(80));
    assert!(text.contains("A connection for each request"), "{text}");
    let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in\n{text}"));
    // Five come before ten, and each number of clients has a first place.
    assert!(at("conns=5") < at("conns=10"));
    let (rates, costs) = text.split_once("CPU per request").expect("a ranking by cost");
    for ranking in [rates, costs] {
        let firsts = ranking.lines().filter(|line| line.contains("64 B  unix-stream"));
        assert_eq!(firsts.filter(|line| line.contains("reference")).count(), 2, "{text}");
    }
    let head = text.lines().find(|line| line.contains("mechanism  ")).expect("a heading");
    for word in ["rate", "vs unix-stream", "p50", "errors"] {
        assert!(head.contains(word), "{word} in {head}");
    }
    let hidden = text.split_once("hidden at 80 columns: ").expect("what is hidden is said").1;
    assert!(hidden.contains("CPU/req") && hidden.contains("switches"), "{text}");
    assert!(text.contains("tcp failed 12 of 20,000 requests: 12 ECONNREFUSED"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_server_is_ranked_among_as_many_connections_with_what_limits_it() {
    let text = written(&sample::served(), &wide(160));
    let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in\n{text}"));
    assert!(at("One server, connected clients") < at("CPU per request"), "{text}");
    let row = |word: &str| text.lines().find(|line| line.contains(word)).expect(word);
    // One connection comes before 16, and each number has a first place.
    assert!(at("      1  unix-stream") < at("     16  unix-stream"), "{text}");
    let head = row("mechanism  ");
    for word in ["conns", "rate", "p50", "p99", "limit", "Jain", "errors"] {
        assert!(head.contains(word), "{word} in {head}");
    }
    assert!(row("16  unix-stream").contains("server"), "{text}");
    assert!(text.contains("tcp failed 3 of 20,000 requests: 3 ECONNRESET"), "{text}");
    // What was asked for too much has no response time, and no ratio to those that ask on their own.
    assert!(text.contains("rate=90000/s") && text.contains("saturated"), "{text}");
    // Requests have one way of counting, and the one who asks for too much does not lack samples.
    let (mut flooded, mut alone) = (sample::served(), sample::served());
    (flooded.cells, alone.cells) = (flooded.cells.split_off(4), vec![alone.cells.remove(0)]);
    for text in [written(&flooded, &wide(80)), written(&alone, &wide(80))] {
        let said = ["CPU/msg", "never halved", "too few samples"];
        assert_eq!(said.into_iter().find(|said| text.contains(said)), None, "{text}");
    }
}

/// A survey named an option that it does not have.
#[test]
fn what_gives_a_missing_quantile_is_an_option_of_the_command() {
    for (command, remedy) in
        [("run", "(had 1,500): use --slice"), ("survey", "(had 1,500): use --budget 2m")]
    {
        let mut cell = sample::cell("pipe", 64, sample::TWO).rtt(9_000.0, 90.0);
        let reason = Some("needs 2000 samples, has 1500".to_owned());
        let missing = ipcperf_core::result::Metric { reason, ..Default::default() };
        cell.rtt_ns.as_mut().expect("quantiles").insert("p99".to_owned(), missing);
        let mut set = sample::set(vec![cell]);
        set.invocation.plan.command = command.to_owned();
        let text = written(&set, &Style { full: true, ..wide(200) });
        assert!(text.contains(remedy), "{command}: {text}");
    }
}

/// The mean of a table without one was explained, and the dash in place of an interval was not.
#[test]
fn a_legend_explains_the_columns_that_there_are_and_no_other() {
    let pair =
        || vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0), cell("tcp", 64, TWO).rtt(9e4, 500.0)];
    for width in [200, 50] {
        let text = written(&run(set(pair())), &wide(width));
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in ["mean far from p50", "CPU/msg is the CPU time"] {
            assert!(flat.contains(said), "{said}: {text}");
        }
        assert!(!flat.contains("- in +/-"), "{text}");
    }
    let mut few = pair();
    for cell in &mut few {
        cell.rounds.truncate(3);
        cell.rtt_ns.as_mut().unwrap().get_mut("p50").unwrap().ci95 = None;
        cell.rtt_ns.as_mut().unwrap().remove("p99");
        cell.rtt_ns.as_mut().unwrap().remove("p90");
    }
    let text = written(&run(set(few)), &wide(80));
    assert!(text.contains("- in +/-: an interval takes 6 rounds."), "{text}");
    // A column without any figure is not shown; that there is none is said all the same.
    assert!(text.contains("No p90 and no p99: too few samples"), "{text}");
}

#[test]
fn the_grade_names_its_cause_and_no_measurement_is_no_grade() {
    let words = |grade: &str, causes: &[&str]| {
        let mut set = sample::set(Vec::new());
        set.noise.grade = grade.to_owned();
        set.noise.causes = causes.iter().map(|cause| (*cause).to_owned()).collect();
        crate::results::table::grade_words(&set.noise)
    };
    assert_eq!(words("A", &[]), "Noise grade A (A is quiet, at F only ratios hold).");
    assert_eq!(
        words("D", &["steal 9.1 %", "12 % of the slices rejected"]),
        "Noise grade D: steal 9.1 % and 12 % of the slices rejected (A is quiet, at F only ratios hold)."
    );
    assert_eq!(words("none", &[]), "No noise grade: no cell was measured.");
}

#[test]
fn the_mean_stands_beside_the_median_in_every_format() {
    for format in [Format::Table, Format::Markdown, Format::Csv, Format::Json] {
        let text = rendered(&sample::small(), format, &wide(100));
        assert!(text.contains("mean"), "{format}");
        // 1.05 times the median of pipe.
        assert!(
            text.contains(if format == Format::Json || format == Format::Csv {
                "75054"
            } else {
                "75.1 us"
            }),
            "{format}: {text}"
        );
    }
}

#[test]
fn cpu_time_of_an_older_document_has_no_interval_of_another_figure() {
    let mut old = sample::cell("pipe", 64, TWO).rtt(71_000.0, 10.0).cpu(1000.0);
    let cost = old.cpu_ns_per_message.as_mut().unwrap();
    (cost.total, cost.lead, cost.ci95) = (None, 9000.0, Some([990.0, 1010.0]));
    let figure = old.cpu_ns_per_message.unwrap().figure();
    assert_eq!((figure.value, figure.ci95), (Some(9500.0), None));
}

#[test]
fn every_value_of_the_sample_documents_lies_in_its_own_interval() {
    fn check(value: &serde_json::Value, seen: &mut usize) {
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        if let Some(ends) = value.get("ci95").and_then(serde_json::Value::as_array) {
            let figure = number(value.get("total").unwrap_or(&value["value"]));
            assert!(number(&ends[0]) <= figure && figure <= number(&ends[1]), "{value}");
            *seen += 1;
        }
        match value {
            serde_json::Value::Object(keys) => keys.values().for_each(|value| check(value, seen)),
            serde_json::Value::Array(items) => items.iter().for_each(|value| check(value, seen)),
            _ => {}
        }
    }
    let mut seen = 0;
    for set in [sample::survey(), sample::small()] {
        check(&serde_json::to_value(&set).unwrap(), &mut seen);
    }
    assert!(seen > 60, "{seen} intervals");
}

#[test]
fn a_name_cannot_leave_its_cell_of_markdown() {
    let cell = sample::cell("a|b</td>*c*`\nd", 64, TWO).rtt(1000.0, 10.0);
    let text = in_markdown(&set(vec![cell]));
    assert!(text.contains(r"| a\|b&lt;/td>\*c\*\` d |"), "{text}");
}

#[test]
fn markdown_begins_with_the_first_screen_and_every_line_of_a_table_is_as_long_as_its_head() {
    let text = in_markdown(&sample::survey());
    assert!(text.starts_with("# USE fifo: 72.1 us round trip"), "{text}");
    let mut heads = 0;
    for line in text.lines() {
        let cells = line.replace(r"\|", "").matches('|').count();
        match (heads, cells) {
            (_, 0) => heads = 0,
            (0, _) => heads = cells,
            _ => assert_eq!(cells, heads, "{line}"),
        }
    }
    assert!(text.contains("## What was measured") && text.contains("## The same in sentences"));
}
