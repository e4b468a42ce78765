//! A survey in stages: which cells are screened, which are confirmed, and with which reference.

use crate::common::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The stages of the slices under this key of a cell.
fn stages(cell: &Value, key: &str) -> BTreeSet<String> {
    let stages = list(&cell[key], "stage").iter();
    stages.map(|stage| stage.as_str().unwrap_or("none").to_owned()).collect()
}

fn rounds(cell: &Value, key: &str) -> BTreeSet<u64> {
    list(&cell[key], "round").iter().filter_map(Value::as_u64).collect()
}

/// What holds of every document in stages; how many questions were confirmed.
fn is_sound(document: &Value) -> usize {
    let cells = list(document, "cells");
    let by_id = |id: &Value| cells.iter().find(|cell| cell["id"] == *id).expect("a cell");
    let mut confirmed = 0;
    for question in list(document, "questions") {
        assert_eq!(question["rounds"].as_u64().expect("a number") % 2, 0, "{question}");
        if question["stage"] != "confirm" {
            assert!(question.get("reference").is_none(), "{question}");
            continue;
        }
        confirmed += 1;
        let of = list(question, "confirmed");
        assert!((1..=11).contains(&of.len()) && of.contains(&question["reference"]), "{question}");
        let measured = of.iter().map(by_id).filter(|cell| cell["status"] == "ok");
        for cell in measured {
            assert_eq!(stages(cell, "rounds"), BTreeSet::from(["confirm".to_owned()]));
            // What selected a cell is in no figure of it.
            assert!(rounds(cell, "rounds").is_disjoint(&rounds(cell, "selection")));
            assert!(!stages(cell, "selection").contains("confirm"));
            let is_reference = cell["id"] == question["reference"];
            if of.len() > 1 {
                assert_eq!(cell.get("is_reference").is_some(), is_reference, "{}", cell["id"]);
                assert_eq!(!rounds(cell, "control").is_empty(), is_reference, "{}", cell["id"]);
            }
        }
    }
    confirmed
}

#[test]
fn few_cells_are_all_confirmed_with_their_reference_twice() {
    let sandbox = Sandbox::new();
    let words = ["survey", "-m", "pipe,unix-stream,fifo", "--budget", "4s", "-o", "a.json"];
    let shown = sandbox.done(&words).stdout;
    let document = sandbox.result("a.json");
    assert!(is_sound(&document) > 0, "{document}");
    let first = &list(&document, "questions")[0];
    assert_eq!(first["stage"], "confirm");
    // The fittest, before anything was measured.
    assert!(first["reference"].as_str().expect("an id").starts_with("unix-stream "), "{first}");
    assert!(list(&document, "cells").iter().all(|cell| cell.get("selection").is_none()));
    assert!(!shown.contains(" = ") && !shown.contains("equally"), "{shown}");
}

#[test]
fn many_cells_are_screened_and_a_few_of_them_confirmed_in_fresh_rounds() {
    let sandbox = Sandbox::new();
    sandbox.done(&["survey", "--budget", "31s", "-o", "a.json"]);
    let document = sandbox.result("a.json");
    assert!(is_sound(&document) > 0, "the first question at least");
    let cells = list(&document, "cells");
    let measured = || cells.iter().filter(|cell| cell["status"] == "ok");
    let unconfirmed = measured().filter(|cell| !stages(cell, "rounds").contains("confirm"));
    let mut some = 0;
    for cell in unconfirmed {
        some += 1;
        let p50 = &cell["rtt_ns"]["p50"];
        assert!(p50.get("ci95").is_none_or(Value::is_null), "{}: {p50}", cell["id"]);
    }
    assert!(some > 0, "not everything is confirmed");
    // On a busy machine every slice of what was confirmed may be rejected; it was selected all the same.
    let screened = cells.iter().filter(|cell| stages(cell, "selection").contains("screen"));
    assert!(screened.count() > 0, "what was confirmed was selected");
    // Gates are about what has an interval.
    let report = sandbox.done(&["report", "a.json", "--rows", "cells", "--format", "csv"]).stdout;
    let head = report.lines().next().expect("a head");
    assert!(head.contains("stage") && head.contains("ratio_low"), "{head}");
}

#[test]
fn all_equal_measures_every_cell_in_every_round() {
    let sandbox = Sandbox::new();
    sandbox.done(&["survey", "--all-equal", "-m", "pipe,fifo", "--budget", "4s", "-o", "a.json"]);
    let document = sandbox.result("a.json");
    assert!(list(&document, "questions").is_empty());
    let measured = list(&document, "cells").iter().filter(|cell| cell["status"] == "ok");
    let counts: BTreeSet<usize> = measured.map(|cell| rounds(cell, "rounds").len()).collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
}

#[test]
fn a_tail_that_decides_has_its_operations_in_every_round() {
    let sandbox = Sandbox::new();
    let words = ["choose", "-m", "pipe,unix-stream", "--place", "same-cpu", "--by", "p99"];
    // A machine that is busy has fewer rounds in that time, and may find that nothing meets all.
    let ended = sandbox.run(&[&words[..], &["--budget", "30s", "-o", "a.json"]].concat());
    let shown = ended.stdout;
    let document = sandbox.result("a.json");
    let cells = list(&document, "cells").iter().filter(|cell| cell["pattern"] == "ping-pong");
    let lengths = |cell: &Value, key: &str| -> Vec<f64> {
        list(&cell[key], "planned_ns").iter().filter_map(Value::as_f64).collect()
    };
    let mut confirmed = 0;
    for cell in cells.filter(|cell| stages(cell, "rounds").contains("confirm")) {
        confirmed += 1;
        // The screen says how long an operation takes; 2,000 of them have room in each slice that counts.
        let medians = list(&cell["selection"], "p50_ns").iter().filter_map(Value::as_f64);
        let operation = medians.reduce(f64::min).expect("it was screened");
        let screened = lengths(cell, "selection");
        let short = screened.iter().copied().fold(0.0, f64::max);
        for length in lengths(cell, "rounds") {
            assert!(length > 2.0 * short && length > 2000.0 * operation, "{length} {short}");
        }
    }
    assert!(confirmed > 0, "{document}");
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(" of 3.00 to "), "{shown}");
}
