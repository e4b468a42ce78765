//! What is told of a search, by planted points.

use super::*;
use crate::testing::sample::Build;
use crate::testing::{rendered as text, sample};
use ipcperf_core::result::Crossover;
use ipcperf_render::{Format, Style};

fn sentences(set: &ResultSet) -> Vec<String> {
    SearchWords(Search::of(set).unwrap()).sentences()
}

/// A search in which the pipe takes 10 us at each size, and the other arm this many times as long; 12 rounds each.
pub(crate) fn search(points: &[(u64, f64)]) -> ResultSet {
    let mut cells = Vec::new();
    for (size, ratio) in points {
        for (name, p50) in [("pipe", 10_000.0), ("tcp", 10_000.0 * ratio)] {
            // The ratios scatter by 0.4 % to either side.
            let rounds: Vec<f64> = (0..12)
                .map(|at| match (name, at % 2) {
                    ("tcp", 0) => p50 * 1.004,
                    ("tcp", _) => p50 / 1.004,
                    _ => p50,
                })
                .collect();
            cells.push(sample::cell(name, *size, sample::TWO).rtt(p50, 100.0).of_rounds(&rounds));
        }
    }
    let mut set = sample::set(cells);
    set.noise.grade = "B".to_owned();
    set.noise.findings.clear();
    set.invocation.plan.command = "crossover".to_owned();
    set.invocation.plan.crossover = Some(Crossover {
        a: "pipe".to_owned(),
        b: "tcp".to_owned(),
        over: Axis::Size,
        most_points: 20,
    });
    set
}

fn told(points: &[(u64, f64)]) -> String {
    sentences(&search(points)).join(" ")
}

#[test]
fn every_answer_is_a_sentence() {
    for (points, expected) in [
        (
            &[(64, 1.5), (1024, 1.2), (4096, 1.0), (65_536, 0.8)][..],
            "tcp overtakes pipe between 1 KiB and 64 KiB: pipe is certainly better at the one, tcp at the other.",
        ),
        (
            &[(64, 0.5), (1024, 0.8), (4096, 2.0), (65_536, 1.0)],
            "pipe overtakes tcp between 1 KiB and 4 KiB: tcp is certainly better at the one, pipe at the other. It cannot \
             be told at 64 KiB.",
        ),
        (
            &[(64, 1.5), (1024, 3.0)],
            "No crossover: pipe is better than tcp at each of 2 sizes from 64 B to 1 KiB, by 1.50x to 3.00x.",
        ),
        // The curves touch, twice.
        (
            &[(64, 0.5), (1024, 1.0), (4096, 0.5), (65_536, 1.0), (1 << 20, 0.5)],
            "No crossover: tcp is better than pipe wherever it is certain at 5 sizes from 64 B to 1 MiB, by 2.00x. It \
             cannot be told at 1 KiB and 64 KiB.",
        ),
        (
            &[(64, 1.5), (1024, 0.8), (4096, 1.5)],
            "No single size divides pipe and tcp, which change places 2 times: tcp overtakes between 64 B and 1 KiB and \
             pipe overtakes between 1 KiB and 4 KiB.",
        ),
        (
            &[(64, 1.0), (1024, 1.0)],
            "Cannot tell where pipe or tcp is better at 2 sizes from 64 B to 1 KiB: no difference is certain; more \
             --rounds may show one.",
        ),
        (&[], "No size was measured for both pipe and tcp."),
    ] {
        assert_eq!(told(points), expected);
    }
}

#[test]
fn nothing_is_claimed_of_a_run_that_may_not_be_believed() {
    let mut set = search(&[(64, 2.0), (1024, 0.5)]);
    set.noise.grade = "F".to_owned();
    let told = sentences(&set).join(" ");
    assert_eq!(
        told,
        "Cannot tell where pipe or tcp is better at 2 sizes from 64 B to 1 KiB: this run has the noise grade F."
    );
}

#[test]
fn what_loses_its_messages_overtakes_nobody_and_more_rounds_do_not_help() {
    let mut set = search(&[(64, 2.0), (1024, 0.5)]);
    for cell in set.cells.iter_mut().filter(|cell| cell.key.mechanism == "tcp") {
        (cell.messages, cell.lost) = (30_000, 70_000);
    }
    let told = sentences(&set).join(" ");
    assert_eq!(
        told,
        "Cannot tell where pipe or tcp is better at 2 sizes from 64 B to 1 KiB: tcp: lost too many messages."
    );
}

#[test]
fn what_is_certain_is_adjusted_for_all_points_that_might_have_been_looked_at() {
    let mut set = search(&[(64, 2.0), (1024, 0.5)]);
    assert!(sentences(&set)[0].contains(" overtakes "));
    // 12 rounds come to 2 in 4096 at the best.
    set.invocation.plan.crossover.as_mut().unwrap().most_points = 1000;
    assert!(sentences(&set)[0].starts_with("Cannot tell"));
}

#[test]
fn a_search_is_a_table_of_its_points_in_order_and_its_answer() {
    let set = search(&[(64, 1.5), (65_536, 0.8), (4096, 1.0), (1024, 1.2)]);
    insta::assert_snapshot!(text(&set, Format::Table, &Style::default()));
    let narrow = text(&set, Format::Table, &Style { width: 40, ..Style::default() });
    assert!(narrow.lines().all(|line| line.len() <= 40), "{narrow}");
    let full = text(&set, Format::Table, &Style { full: true, ..Style::default() });
    assert!(full.contains("tcp overtakes pipe between 1 KiB and 64 KiB"), "{full}");
    assert!(text(&set, Format::Markdown, &Style::default()).contains("tcp overtakes pipe between"));
}

#[test]
fn arms_of_one_mechanism_are_told_apart_by_their_knobs() {
    let mut set = search(&[(64, 1.5), (1024, 0.8)]);
    for cell in set.cells.iter_mut().filter(|cell| cell.key.mechanism == "tcp") {
        cell.key.mechanism = "pipe".to_owned();
        *cell = cell.clone().knob("pipe.size", Some(1 << 20), 1 << 20);
    }
    set.invocation.plan.crossover.as_mut().unwrap().b = "pipe size=1M".to_owned();
    let told = sentences(&set).join(" ");
    assert!(told.starts_with("pipe size=1M overtakes pipe between 64 B and 1 KiB"), "{told}");
}
