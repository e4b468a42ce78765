//! The column of ratios: what it states, and what it leaves unsaid.

use super::{run, wide, written};
use crate::testing::sample;
use crate::testing::sample::{Build, TWO, cell, set};
use ipcperf_core::result::Stage;

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nine rounds in which one took 1.13 to 1.99 times as long were printed as "as fast" and "=".
#[test]
fn what_takes_1_7_times_as_long_in_all_nine_rounds_is_never_as_fast() {
    let names = (0..30).map(|at| format!("m{at}"));
    let rounds = |value: f64, turn: usize| {
        let at = |at: usize| value * (1.0 + 0.02 * ((at * 7 + turn) % 9) as f64);
        std::array::from_fn::<f64, 9, _>(at)
    };
    let one = |name: &str, value: f64, turn| {
        cell(name, 64, TWO).rtt(value, value / 50.0).of_rounds(&rounds(value, turn))
    };
    let mut cells = vec![one("unix-stream", 50_000.0, 0), one("tcp", 85_000.0, 3)];
    for few in [true, false] {
        if !few {
            cells.extend(names.clone().enumerate().map(|(at, name)| one(&name, 60_000.0, at)));
        }
        let text = written(&run(set(cells.clone())), &wide(200));
        let mut rows = text.lines().filter(|line| line.contains("  tcp "));
        let row = rows.next().expect("a row of TCP");
        assert!(!row.contains("as fast") && !row.contains('='), "{row}");
        // Of two rows nine rounds are enough; of 32 they are too few for an interval.
        let said = if few { "x slower [1.5, 1.8]" } else { "undecided: 9 pairs" };
        assert!(row.contains(said), "{row}");
        let sentence = text.lines().last().unwrap_or_default();
        assert_eq!(sentence.contains("tcp is 1.8x slower ["), few, "{sentence}");
        assert!(!sentence.contains("as fast"), "{sentence}");
    }
}

#[test]
fn what_was_only_screened_has_a_value_without_an_interval_and_stands_last() {
    let mut set = run(sample::small());
    for cell in &mut set.cells {
        let is_screened = cell.key.mechanism == "pipe";
        cell.is_reference = cell.key.mechanism == "fifo";
        let stage = if is_screened { Stage::Screen } else { Stage::Confirm };
        cell.rounds.iter_mut().for_each(|round| round.stage = Some(stage));
    }
    let text = written(&set, &wide(80));
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" us ")).take(3).collect();
    assert!(rows[0].contains("  fifo ") && rows[0].contains("reference"), "{text}");
    assert!(rows[1].contains("  tcp ") && rows[1].contains("x slower ["), "{text}");
    assert!(rows[2].contains("  pipe       71.5 us     -  screen only"), "{text}");
    assert!(!text.contains("chosen by the same rounds"), "it was chosen before: {text}");
    let last = flat(&text);
    assert!(last.ends_with("than fifo (64 B, two CPUs); 1 more was only in the screen."), "{last}");
    set.cells.iter_mut().for_each(|cell| cell.is_reference = false);
    assert!(written(&set, &wide(80)).contains("chosen by the same rounds"));
}

#[test]
fn a_row_in_two_modes_has_a_ratio_and_a_note_why_it_differs_from_the_figures() {
    let mut split = cell("tcp", 64, TWO).modes([(71_000.0, 5), (4_200.0, 4)]);
    split.key.mechanism = "tcp".to_owned();
    let set = run(set(vec![split, cell("pipe", 64, TWO).rtt(60_000.0, 500.0)]));
    let text = written(&set, &wide(100));
    assert!(text.contains("71.0 us*") && text.contains("in 4 of 9 rounds"), "{text}");
    assert!(flat(&text).contains("where rounds fall into two modes, it may differ"), "{text}");
}

#[test]
fn a_mechanism_that_loses_its_messages_has_no_ratio_and_the_reason() {
    let mut lossy = cell("udp", 64, TWO).rate(9e8, 1e6);
    (lossy.messages, lossy.lost) = (30_000, 70_000);
    let set = run(set(vec![
        lossy,
        cell("tcp", 64, TWO).rate(2e8, 1e6),
        cell("pipe", 64, TWO).rate(1e8, 1e6),
    ]));
    let text = written(&set, &wide(80));
    let ratio = |name: &str, words: &str| {
        text.lines().any(|line| line.contains(name) && line.contains(words))
    };
    assert!(ratio("  tcp ", "reference") && ratio("  pipe ", "x slower ["), "{text}");
    assert!(ratio("  udp ", "  -  ") && text.contains("900 MB/s"), "{text}");
    assert!(
        flat(&text).contains("udp lost 70,000 of 100,000 messages (too many to compare)"),
        "{text}"
    );
}
