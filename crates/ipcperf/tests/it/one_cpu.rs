//! The whole program where it may use one CPU: what takes two says so, nothing hangs, and all else is measured.

use crate::common::{Ended, Sandbox, at_once, kind_of, tries_all, valid};
use ipcperf_core::PatternKind;
use ipcperf_sys::affinity;
use serde_json::Value;
use std::thread;

/// Does something in a thread that may use one CPU; so may all that it starts.
fn on_one_cpu<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let pinned = || {
        let cpus = affinity::allowed_cpus().expect("an affinity");
        affinity::pin(cpus[0]).expect("a CPU of its own");
        assert_eq!(affinity::allowed_cpus().expect("an affinity").len(), 1);
        work()
    };
    thread::scope(|scope| {
        let done = scope.spawn(pinned).join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The program on one CPU. Where it ends in a code other than this one, its document must say that a slice did not end in
/// time, which a CPU that has much else to do explains.
fn run(line: &str, code: i32) -> (Sandbox, Ended) {
    let sandbox = Sandbox::new();
    let words: Vec<String> = shell_words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = on_one_cpu(|| sandbox.run(&words));
    let is_late = || {
        let document = document(&sandbox);
        ended.status.code() == Some(1)
            && document.is_some_and(|document| document.to_string().contains("\"deadline\""))
    };
    assert!(ended.status.code() == Some(code) || is_late(), "{line}: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    sandbox.leaves_nothing();
    (sandbox, ended)
}

/// Words, of which those in single quotes may have spaces.
fn shell_words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

fn document(sandbox: &Sandbox) -> Option<Value> {
    let text = sandbox.read("x.json").ok()?;
    Some(valid(&kind_of(&text).expect("a document of ours"), &text))
}

const NO_SPIN: &str = "two busy-waiting processes";
const SHORT: &str = "--rounds 2 --slice 5ms --warmup 1ms -o x.json";

/// What is typed, how it ends, and what it says on standard output or standard error.
const COMMANDS: [(&str, i32, &str); 17] = [
    ("list", 0, "pipe"),
    ("doctor", 0, "Nothing can be measured on two CPUs"),
    ("survey --all-equal --budget 2s -o x.json", 0, "shm-ring/spin"),
    ("run -m pipe,shm-ring/spin SHORT", 0, NO_SPIN),
    ("run -m shm-ring/spin SHORT", 3, NO_SPIN),
    ("run -m pipe --place same-llc SHORT", 3, "only 1 CPU is allowed here"),
    ("run -m pipe --one-way SHORT", 0, "pipe"),
    ("run -m pipe --stall 5ms --rounds 1 --slice 200ms -o x.json", 0, "pipe"),
    ("run -m pipe --time-calls SHORT", 0, "pipe"),
    ("exec 'head -c 1M /dev/zero' 'wc -c' --rounds 2 -o x.json", 0, "wc -c"),
    (
        "crossover pipe fifo --over size -s 64,4K --rounds 10 --slice 1ms --warmup 1ms -o x.json",
        0,
        "fifo",
    ),
    ("compare --live pipe fifo --rounds 8 --slice 2ms -o x.json", 0, "B vs A"),
    ("compare --live pipe shm-ring/spin --rounds 8 --slice 2ms", 3, NO_SPIN),
    ("choose -m pipe,unix-stream --budget 2s -o x.json", 0, "pipe"),
    ("choose -m shm-ring/spin --budget 2s", 3, NO_SPIN),
    ("explain pipe --budget 5s -o x.json", 0, "of two ends on one CPU one always runs"),
    ("explain shm-ring/spin --budget 5s", 3, NO_SPIN),
];

#[test]
fn every_command_ends_well_or_says_that_it_takes_two_cpus() {
    at_once(COMMANDS, |(line, code, told)| {
        let line = line.replace("SHORT", SHORT);
        let (_, ended) = run(&line, code);
        let said = [ended.stdout.as_str(), &ended.stderr].join(" ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(told), "{line}: {said}");
    });
}

#[test]
fn every_pattern_is_measured_and_what_spins_says_why_it_is_not() {
    at_once(PatternKind::ALL, |pattern| {
        let mechanisms = "pipe,unix-stream,unix-dgram,shm-ring/spin,shm-ring/futex";
        // A feed alone has no rate unless one is given.
        let rate = if *pattern == PatternKind::Feed { "--rate 1k" } else { "" };
        let (sandbox, _) = run(&format!("run -p {pattern} -m {mechanisms} {rate} {SHORT}"), 0);
        let document = document(&sandbox).expect("it was written");
        let cells = document["cells"].as_array().expect("a list");
        assert!(cells.iter().any(|cell| cell["status"] == "ok"), "{pattern}: {document}");
        for cell in cells.iter().filter(|cell| cell["status"] != "ok") {
            let reason = cell["reason"].as_str().unwrap_or_default();
            assert!(!reason.is_empty(), "{}", cell["id"]);
            // Which patterns a ring has at all is no matter of CPUs.
            assert!(cell["wait"] != "spin" || cell["status"] == "unavailable", "{}", cell["id"]);
        }
    });
}

/// A check that takes two CPUs is not decided on one, and none fails for that.
#[test]
fn checks_of_the_self_test_that_take_two_cpus_are_not_decided() {
    let (_, ended) = run("selftest --only finds-,sound,clock --format json", 0);
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let mut open = Vec::new();
    for check in document["checks"].as_array().expect("a list") {
        assert_ne!(check["outcome"], "failed", "{check}");
        let found = check["found"].as_str().expect("a text");
        if found.ends_with(": it takes two CPUs, and there is one") {
            assert_eq!(check["outcome"], "cannot-tell");
            open.push(check["name"].as_str().expect("a name"));
        }
    }
    assert_eq!(open, ["finds-unpin", "finds-far", "finds-hog"]);
}

#[test]
fn every_study_is_measured_and_each_arm_is_a_number_or_explained() {
    // Most cells of the last are those of the others.
    let studies = ["qiita", "wisconsin", "baeldung", "marhubi", "inferno"];
    at_once(studies.into_iter().take(if tries_all() { 5 } else { 4 }), |name| {
        let (sandbox, _) =
            run(&format!("replicate {name} --scale smoke --rounds 1 -q -o x.json"), 0);
        let document = document(&sandbox).expect("it was written");
        for arm in document["studies"][0]["arms"].as_array().expect("a list") {
            let reason = arm["reason"].as_str().unwrap_or_default();
            assert!(arm["status"] == "ok" || !reason.is_empty(), "{name}: {arm}");
        }
    });
}
