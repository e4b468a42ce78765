//! `bisect-step` ends with the codes that `git bisect run` knows, whatever happens.

use crate::common::{Ended, Sandbox, valid, wait_for};
use crate::watch::{signal, workers};
use serde_json::{Value, json};
use std::fs::{self, File};

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

/// The words of a step that takes so long.
fn words<'a>(good: &'a str, bad: &'a str, time: &'a str) -> Vec<&'a str> {
    let words = ["bisect-step", "--cell", CELL, "--good", good, "--bad", bad, "--time", time];
    [&words[..], &["--no-progress"]].concat()
}

/// A step, with more time as long as nothing can be told: where other work takes all CPUs, few rounds count.
fn step(sandbox: &Sandbox, good: &str, bad: &str, more: &[&str]) -> Ended {
    let of = |time| sandbox.run(&[&words(good, bad, time)[..], more].concat());
    let undecided = |ended: &Ended| {
        let is_undecided = ended.status.code() == Some(125);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!is_undecided || said.contains("cannot tell"), "{said}");
        is_undecided
    };
    ["3s", "10s"].into_iter().map(of).find(|ended| !undecided(ended)).unwrap_or_else(|| of("25s"))
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
        assert_eq!(said.0, Some(code), "{said:?} {}", ended.stderr);
        assert!(said.1.starts_with(word) && said.1.contains("one file a side"), "{said:?}");
    }
    // Whose boots differ so much, the others may be like either.
    let more = ["--good", "near.json", "--bad", "farther.json"];
    let ended = step(&sandbox, "near.json", "far.json", &more);
    assert!(!ended.stdout.contains("one file a side"), "{}", ended.stdout);
    assert_ne!(ended.status.code(), Some(1), "{}", ended.stdout);
    sandbox.leaves_nothing();
}

#[test]
fn an_interruption_stops_the_bisection() {
    let sandbox = Sandbox::new();
    recording(&sandbox, "good.json", 1.0, |_| ());
    recording(&sandbox, "bad.json", 2.0, |_| ());
    let running = sandbox.start(&words("good.json", "bad.json", "25s"));
    wait_for("ends", || (!workers(&sandbox).is_empty()).then_some(()));
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(128), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("ipcperf: interrupted"), "{}", ended.stderr);
    sandbox.leaves_nothing();
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
        ("good.json", "same.json", &[], "good and bad cannot be distinguished"),
        ("good.json", "cut.json", &[], "'cut.json': it was interrupted"),
        ("good.json", "other.json", &[], "'other.json' compares '"),
        ("good.json", "bad.json", &["--strange"], "unexpected argument '--strange'"),
    ] {
        let ended = sandbox.run(&[&words(good, bad, "3s")[..], more].concat());
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
    let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
    let status = sandbox.command(&words("good.json", "bad.json", "3s")).stdout(full).status();
    // A busy machine may have too few rounds, and then there is no line to write.
    let code = status.expect("it starts").code();
    assert!(matches!(code, Some(125 | 128)), "{code:?}");
}
