//! `bisect-step` ends with the codes that `git bisect run` knows, whatever happens.

use crate::common::{Ended, Sandbox, valid};
use serde_json::{Value, json};
use std::fs;

const CELL: &str = "pipe 64 same-cpu";

/// A comparison of a control and the cell, believed and with this ratio.
fn recording(sandbox: &Sandbox, name: &str, ratio: f64, change: impl Fn(&mut Value)) {
    let words =
        ["compare", "--live", "unix-stream 64 same-cpu", CELL, "--rounds", "8", "--slice", "2ms"];
    if sandbox.read("recorded.json").is_err() {
        sandbox.done(&[&words[..], &["-q", "-o", "recorded.json"]].concat());
    }
    let recorded = sandbox.read("recorded.json").expect("written");
    let mut document = valid("comparison", &recorded);
    let one = &mut document["comparisons"][0];
    one["doubted"] = json!(false);
    one["ratio"] = json!({"value": ratio, "ci95": [ratio * 0.99, ratio * 1.01]});
    change(&mut document);
    valid("comparison", &document.to_string());
    fs::write(sandbox.home().join(name), document.to_string()).expect("writable");
}

fn step(sandbox: &Sandbox, good: &str, bad: &str, more: &[&str]) -> Ended {
    let words = [
        "bisect-step",
        "--cell",
        CELL,
        "--good",
        good,
        "--bad",
        bad,
        "--time",
        "3s",
        "--no-progress",
    ];
    sandbox.run(&[&words[..], more].concat())
}

#[test]
fn a_kernel_is_like_the_side_whose_ratio_it_has() {
    let sandbox = Sandbox::new();
    // A pipe is neither a thousand times as slow as a socket, nor a million times.
    for (name, ratio) in [("near.json", 1.0), ("far.json", 1e3), ("farther.json", 1e6)] {
        recording(&sandbox, name, ratio, |_| ());
    }
    for (good, bad, code, word) in
        [("near.json", "far.json", 0, "like good: "), ("far.json", "near.json", 1, "like bad: ")]
    {
        let ended = step(&sandbox, good, bad, &[]);
        let said = (ended.status.code(), ended.stdout.as_str());
        // Where other work takes all CPUs, no figure is believed.
        if said.0 == Some(125) {
            assert!(ended.stderr.contains("ipcperf: cannot tell: "), "{}", ended.stderr);
            continue;
        }
        assert_eq!(said.0, Some(code), "{said:?} {}", ended.stderr);
        assert!(said.1.starts_with(word) && said.1.contains("one file a side"), "{said:?}");
    }
    let ended =
        step(&sandbox, "near.json", "far.json", &["--good", "near.json", "--bad", "farther.json"]);
    assert_ne!(ended.status.code(), Some(1), "{}", ended.stdout);
}

#[test]
fn whatever_is_wrong_stops_the_bisection() {
    let sandbox = Sandbox::new();
    recording(&sandbox, "good.json", 1.0, |_| ());
    recording(&sandbox, "same.json", 1.0, |_| ());
    recording(&sandbox, "bad.json", 2.0, |_| ());
    recording(&sandbox, "cut.json", 2.0, |document| document["interrupted"] = json!(true));
    recording(&sandbox, "other.json", 2.0, |document| {
        document["comparisons"][0]["b"] = json!("fifo ping-pong 64B same-cpu");
    });
    for (good, bad, more, expected) in [
        (
            "absent.json",
            "bad.json",
            &[][..],
            "cannot read 'absent.json': No such file or directory",
        ),
        ("good.json", "same.json", &[], "good and bad cannot be told apart"),
        ("good.json", "cut.json", &[], "'cut.json': it was interrupted"),
        ("good.json", "other.json", &[], "'other.json' compares '"),
        ("good.json", "bad.json", &["--strange"], "unexpected argument '--strange'"),
    ] {
        let ended = step(&sandbox, good, bad, more);
        assert_eq!(ended.status.code(), Some(128), "{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("ipcperf: {expected}")), "{}", ended.stderr);
    }
    for words in [
        &["bisect-step"][..],
        &["bisect-step", "--cell", CELL, "--good", "good.json"],
        &["bisect-step", "--cell", "fifo", "--good", "good.json", "--bad", "bad.json"],
        &["bisect-step", "--cell", "pip", "--good", "good.json", "--bad", "bad.json"],
    ] {
        let ended = sandbox.run(words);
        assert_eq!(ended.status.code(), Some(128), "{words:?}: {}", ended.stderr);
    }
}
