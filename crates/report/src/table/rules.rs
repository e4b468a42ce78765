//! Rules every table keeps, whatever it shows.

use super::tests::{run, wide, written};
use crate::sample::{self, Build, ONE, TWO, cell, set};
use crate::{Style, text};
use ipcperf_core::result::{ResultSet, Severity};
use ipcperf_core::{Idle, Placement};

#[test]
fn quantiles_the_sample_does_not_support_are_dashes_and_explained() {
    let mut cell = cell("pipe", 64, TWO).rtt(71_000.0, 500.0);
    let missing = ipcperf_core::result::Metric::missing("needs 2000 samples, has 100");
    cell.rtt_ns.as_mut().unwrap().insert("p99".to_owned(), missing);
    let other = sample::cell("tcp", 64, TWO).rtt(95_000.0, 500.0);
    let text = written(&run(set(vec![cell, other])), &wide(80));
    let row = text.lines().find(|line| line.contains("pipe")).unwrap();
    assert!(row.split_whitespace().any(|word| word == "-"), "{text}");
    assert!(text.contains("- in a quantile: the sample is too small"), "{text}");
}

#[test]
fn batch_means_are_marked() {
    let mut cell = cell("shm-ring/spin", 64, TWO).rtt(80.0, 1.0);
    cell.timing = Some(ipcperf_core::result::Timing { mode: "batch".to_owned(), batch: 32 });
    let text = written(&run(set(vec![cell])), &wide(80));
    assert!(text.contains("80.0 ns^") && text.contains("^ is the mean of batches"), "{text}");
}

#[test]
fn a_bound_is_shown_as_a_multiple_also_at_80_columns() {
    let text = written(&sample::survey(), &Style { versus_bound: true, ..wide(80) });
    assert!(text.contains("x bound") && text.contains("1.62x"), "{text}");
    assert!(text.contains("Bounds of this machine: a futex wake there and"), "{text}");
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
    first.mechanism = "\u{1b}[2J\u{202e}日本語".repeat(9000);
    first.cpus = vec![usize::MAX; 1000];
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
fn nothing_a_terminal_obeys_is_passed_on() {
    let text = written(&hostile(), &Style { unicode: true, ..wide(80) });
    assert!(text.chars().all(|sign| sign == '\n' || !sign.is_control()), "{text:?}");
    assert!(!text.contains('\u{202e}'));
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
    let (blocking, spinning) = text.split_once("SPINNING").expect("two chapters");
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
    ];
    let text = written(&run(set(cells)), &wide(80));
    for heading in [
        "CPUs 0 and 1 (same-llc), idle as-is, touch cacheline",
        "CPUs 0 and 1 (same-llc), idle poll, touch cacheline",
        "both ends on CPU 0 (same-cpu), idle as-is, touch cacheline",
        "not pinned (free), idle as-is, touch cacheline",
    ] {
        assert!(text.lines().any(|line| line == heading), "{heading} in {text}");
    }
    assert_eq!(text.matches("64 B  pipe ").count(), 4, "{text}");
}

#[test]
fn a_knob_that_the_kernel_changed_shows_both_values() {
    let cells =
        vec![cell("pipe", 64, TWO).rtt(71_000.0, 500.0).knob("pipe.size", Some(5000), 8192)];
    let text = written(&run(set(cells)), &wide(80));
    assert!(text.contains("pipe size=5000 (got 8K)"), "{text}");
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
    let items: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(items.len(), 5, "{text}");
    assert!(items[0].starts_with("- error E-PROOF: No proof (5 more like it)."), "{text}");
    assert!(text.contains("All 13 findings with their cells: --format json."), "{text}");
    let all = written(&set, &Style { verbose: true, ..wide(80) });
    assert!(all.contains("note I-TICKS"), "{all}");
}
