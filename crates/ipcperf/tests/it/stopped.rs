//! Processes that stand still while they should measure: an end, in every pattern, and the coordinator. Whatever they
//! measured contains it, so it is told.

use crate::common::{
    Ended, Running, Sandbox, at_once, cells, list, rounds, skipped, text, wait_for,
};
use crate::watch::{signal, workers};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// How long a worker stands still at once, and how long it is let run after that.
const STAND: Duration = Duration::from_millis(400);
const GO_ON: Duration = Duration::from_millis(300);

/// Each pattern, with and without times of its own.
const PATTERNS: [&str; 10] = [
    "-m pipe -p ping-pong",
    "-m pipe -p ping-pong --think 1ms",
    "-m pipe -p stream",
    "-m pipe -p rate --rate 500",
    "-m pipe -p burst --burst 4",
    "-m unix-stream -p request --reply 256 --inflight 2",
    "-m pipe -p fan-in --peers 2",
    "-m pipe -p fan-out --peers 2",
    "-m unix-stream -p connect --conns 2",
    "-m unix-stream -p serve --conns 2",
];

fn start(sandbox: &Sandbox, pattern: &str, more: &str) -> Running {
    let line = format!("run {pattern} --rounds 1 --place free {more} -v -o x.json --no-progress");
    sandbox.start(&line.split_whitespace().collect::<Vec<_>>())
}

/// What the document says of processes that stood still.
fn told(document: &Value) -> Vec<&Value> {
    let findings = list(&document["noise"], "findings").iter();
    findings.filter(|finding| finding["code"] == "W-STOPPED").collect()
}

fn ended_well(sandbox: &Sandbox, ended: &Ended) -> Value {
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    sandbox.leaves_nothing();
    sandbox.result("x.json")
}

#[test]
fn an_end_that_stands_still_is_told_in_every_pattern() {
    at_once(PATTERNS, |pattern| {
        let sandbox = Sandbox::new();
        let mut running = start(&sandbox, pattern, "--slice 1s");
        let mut stops = 0;
        // Again and again, the first and the last worker in turn: some of it falls into the slice and not into what comes
        // before it.
        while running.child.try_wait().expect("our own child").is_none() {
            let all = workers(&sandbox);
            let Some(pid) = (if stops % 2 == 0 { all.first() } else { all.last() }) else {
                sleep(Duration::from_millis(1));
                continue;
            };
            signal("STOP", *pid);
            sleep(STAND);
            signal("CONT", *pid);
            stops += 1;
            sleep(GO_ON);
        }
        let ended = running.end();
        let document = ended_well(&sandbox, &ended);
        let [cell] = cells(&document) else { panic!("{document}") };
        let found = told(&document);
        let [finding] = found.as_slice() else { panic!("{pattern}: {stops} stops, {document}") };
        assert_eq!(finding["cells"], serde_json::json!([cell["id"]]), "{pattern}");
        assert!(text(finding, "text").contains("a signal stopped "), "{pattern}: {finding}");
        assert!(ended.stdout.contains("W-STOPPED"), "{pattern}: {}", ended.stdout);
        let round = &rounds(cell)[0]["standstill"];
        assert!(round["ns"].is_number() && round["who"].is_string(), "{pattern}: {round}");
    });
}

/// What was asked for is no surprise.
#[test]
fn a_stop_on_purpose_is_not_told() {
    for pattern in ["-m pipe -p ping-pong", "-m pipe -p rate --rate 1k"] {
        let sandbox = Sandbox::new();
        let ended = start(&sandbox, pattern, "--slice 1s --stall 400ms").end();
        let document = ended_well(&sandbox, &ended);
        let found = told(&document);
        assert!(found.is_empty(), "{pattern}: {found:?}");
    }
}

#[test]
fn a_coordinator_that_stands_still_is_told() {
    // A process that is not told how long it waits for a CPU cannot know that it did not.
    if std::fs::read_to_string("/proc/self/schedstat").is_err() {
        return skipped("schedstat", "the kernel does not say how long a process waits for a CPU");
    }
    let sandbox = Sandbox::new();
    let running = start(&sandbox, "-m pipe -p ping-pong", "--slice 3s");
    let coordinator = running.child.id();
    wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
    signal("STOP", coordinator);
    sleep(Duration::from_secs(3));
    signal("CONT", coordinator);
    let ended = running.end();
    let document = ended_well(&sandbox, &ended);
    let own =
        |finding: &&&Value| text(finding, "text").starts_with("ipcperf itself was stopped for ");
    let found = told(&document);
    let finding = found.iter().find(own).unwrap_or_else(|| panic!("{found:?}"));
    assert!(finding["value"].as_f64().expect("a size") >= 5e8, "{finding}");
    assert!(ended.stdout.contains("ipcperf itself was stopped"), "{}", ended.stdout);
}
