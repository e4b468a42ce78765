//! The program tests itself: its detectors find what goes wrong on purpose, and a self-test in which something goes wrong
//! does not pass.

use crate::common::{Sandbox, at_once, valid, wait_for};
use crate::watch::{signal, workers};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The exit code and the checks by name, with outcome and what was found.
fn checks(words: &[&str]) -> (Option<i32>, BTreeMap<String, (String, String)>) {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&[&["selftest", "--format", "json"], words].concat());
    let document = valid("selftest", &ended.stdout);
    for folder in [sandbox.run_directories(), sandbox.temporary(), sandbox.home()] {
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "{}", folder.display());
    }
    let check = |check: &Value| {
        let text = |key: &str| check[key].as_str().expect("a text").to_owned();
        (text("name"), (text("outcome"), text("found")))
    };
    (
        ended.status.code(),
        document["checks"].as_array().expect("a list").iter().map(check).collect(),
    )
}

fn outcomes(words: &[&str], outcome: &str) -> usize {
    let (_, checks) = checks(words);
    for (name, (got, found)) in &checks {
        // What cannot be had here says why.
        assert!(
            got == outcome || got == "cannot-tell" && !found.is_empty(),
            "{name}: {got}: {found}"
        );
    }
    checks.values().filter(|(got, _)| got == outcome).count()
}

#[test]
fn every_detector_finds_its_fault_and_without_it_nothing_does() {
    at_once([(&[][..], "passed"), (&["--blind"], "failed")], |(more, outcome)| {
        let found = outcomes(&[&["--only", "finds-"], more].concat(), outcome);
        assert!(found >= 15, "{outcome}: {found}");
    });
}

#[test]
fn what_is_exact_is_exact_on_any_machine() {
    let (code, checks) = checks(&["--only", "calls,cpu-time,sound"]);
    assert_eq!(checks.len(), 3);
    assert_eq!(code, Some(0), "{checks:?}");
    assert!(checks["cpu-time"].0 == "passed" && checks["sound"].0 == "passed", "{checks:?}");
    let (outcome, found) = &checks["calls"];
    let is_refused = outcome == "cannot-tell" && found.contains("seccomp");
    assert!(is_refused || found.starts_with("4.00 calls a round trip"), "{found}");
}

/// An operation takes as long as it takes, and as long in a batch; an end that is read too late is seen. Other work between
/// two readings is no fault of the timer: it may try again.
#[test]
fn times_are_right_and_a_timer_that_is_late_is_told() {
    let told = || {
        let (_, checks) = checks(&["--only", "timer-,planted"]);
        assert_eq!(checks.len(), 4);
        let is_right = checks.iter().all(|(name, (outcome, _))| {
            outcome == "passed" || name == "planted" && outcome == "cannot-tell"
        });
        (is_right, checks)
    };
    let mut last = told();
    for _ in 0..5 {
        if last.0 {
            break;
        }
        last = told();
    }
    assert!(last.0, "{:?}", last.1);
    for check in ["timer-empty", "timer-batch"] {
        let (code, checks) = checks(&["--only", check, "--inject", "late"]);
        assert_eq!((code, checks[check].0.as_str()), (Some(5), "failed"), "{checks:?}");
    }
}

/// A fault, and a check that it makes fail and that passes without it.
const FAULTS: &[(&str, &str)] = &[
    ("corrupt", "sound"),
    ("corrupt-byte", "sound"),
    ("drop", "sound"),
    ("duplicate", "sound"),
    ("reorder", "sound"),
    ("stale", "sound"),
    ("truncate", "sound"),
    ("stall", "sound"),
    ("die", "sound"),
    ("lose", "sound"),
    ("unpin", "sound"),
    ("pretend", "calls"),
    ("allocate", "calls"),
    ("call", "calls"),
    ("clock-jump", "clock"),
    ("clock-drift", "clock"),
    ("clock-back", "clock"),
    ("hog", "noise"),
];

#[test]
fn a_self_test_fails_with_any_fault_in_it() {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // What spins needs two CPUs, and only what spins cannot be moved out of the way of other work; nor is there any other
    // CPU to be moved to.
    let faults = FAULTS.iter().filter(|(fault, _)| !["hog", "unpin"].contains(fault) || cpus > 1);
    at_once(faults, |(fault, check)| {
        let attempt = || checks(&["--only", check, "--inject", fault]);
        let (mut code, mut found) = attempt();
        // What strikes beside the workers is a thread, which may get no CPU while they have theirs.
        for _ in 0..3 {
            if code != Some(0) || !["unpin", "hog"].contains(fault) {
                break;
            }
            (code, found) = attempt();
        }
        let (outcome, found) = &found[*check];
        if outcome == "cannot-tell" {
            assert!(found.contains("seccomp"), "{fault}: {found}");
            return;
        }
        assert_eq!((code, outcome.as_str()), (Some(5), "failed"), "{fault}: {found}");
    });
}

/// Times that are wrong are found by as much as they are wrong, at least: nothing but work can make them longer.
#[test]
fn round_trips_that_take_longer_are_told_by_how_much() {
    // By half of each.
    let (code, checks) = checks(&["--only", "recover-p50", "--inject", "slower"]);
    let (outcome, found) = &checks["recover-p50"];
    assert_eq!((code, outcome.as_str()), (Some(5), "failed"), "{found}");
    let percent = found.split("to ").nth(1).and_then(|rest| rest.split(' ').next());
    let percent: f64 = percent.and_then(|text| text.parse().ok()).expect("a share");
    assert!(percent >= 45.0, "{found}");
}

#[test]
fn it_says_how_long_it_takes_and_begins_with_one_sentence() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["selftest", "--only", "finds-corrupt,timer-empty"]);
    assert!(ended.stderr.starts_with("3 checks, about 1 s"), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines.iter().all(|line| line.len() <= 80), "{}", ended.stdout);
    let conclusion: Vec<&str> =
        lines.iter().copied().take_while(|line| !line.starts_with(' ')).collect();
    let conclusion = conclusion.join(" ");
    assert!(conclusion.contains("of this machine") && conclusion.ends_with('.'), "{conclusion}");
    sandbox.refuses(&["selftest", "--only", "nonsense"], "unknown check 'nonsense'");
}

#[test]
fn a_self_test_that_is_interrupted_says_how_far_it_came() {
    let sandbox = Sandbox::new();
    let running = sandbox.start(&["selftest", "--no-progress"]);
    wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(130), ""), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("ipcperf: interrupted after "), "{}", ended.stderr);
    sandbox.leaves_nothing();
}
