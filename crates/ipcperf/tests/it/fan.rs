//! Several producers or consumers at one object.

use crate::common::{Sandbox, at_once, cells, rounds, valid, wait_for};
use crate::watch::{holds_pipes, signal, workers};
use ipcperf_report::RESULT_SCHEMA;
use serde_json::Value;
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

fn measured(words: &[&str]) -> (Value, String) {
    let sandbox = Sandbox::new();
    let brief = ["--rounds", "2", "--slice", "10ms", "--warmup", "2ms", "-o", "fan.json"];
    let ended = sandbox.run(&[&["run"], words, &brief].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    (valid(RESULT_SCHEMA, &sandbox.read("fan.json").expect("it was written")), ended.stdout)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// What must hold of every cell that was measured.
fn check(cell: &Value) {
    let peers = number(&cell["load"]["peers"]);
    assert_eq!(cell["verified"], true, "{cell}");
    assert!(number(&cell["messages_per_second"]["value"]) > 0.0);
    assert!(number(&cell["cpu_ns_per_message"]["lead"]) > 0.0);
    let fan = &cell["fan"];
    assert_eq!(number(&fan["peers"]), peers);
    for round in &rounds(cell) {
        let served = round["fan"]["served"].as_array().map(Vec::len);
        assert!([Some(0), Some(peers as usize)].contains(&served), "{round}");
        let proof = &round["proof"];
        let pids: BTreeSet<_> = round["fan"]["pids"]
            .as_array()
            .expect("a list")
            .iter()
            .chain([&proof["lead_pid"], &proof["follow_pid"]])
            .map(|pid| pid.as_u64().expect("a number"))
            .collect();
        assert_eq!(pids.len(), peers as usize + 1, "a process for each end: {round}");
        let arrived = number(&proof["follow"][1]) + number(&round["lost"]);
        assert_eq!(number(&proof["lead"][0]), arrived);
    }
    // Very few messages fit the buffers: then the shares are unknown, and it says so.
    if fan["jain"]["value"].is_null() {
        assert!(fan["jain"]["reason"].is_string(), "{fan}");
        return;
    }
    let jain = number(&fan["jain"]["value"]);
    assert!((1.0 / peers - 1e-9..=1.0 + 1e-9).contains(&jain), "{fan}");
    let [least, most] = ["least_share", "most_share"].map(|name| number(&fan[name]["value"]));
    assert!((0.0..=1.0 / peers + 1e-9).contains(&least), "{fan}");
    assert!((1.0 / peers - 1e-9..=1.0).contains(&most), "{fan}");
    // Of a slow mechanism there may be too few calls for any quantile, but never none.
    assert!(number(&fan["call_ns"]["max"]["value"]) > 0.0);
}

#[test]
fn every_fan_is_measured_and_proved_or_explained() {
    let mechanisms = ["-m", "pipe,unix-dgram,posix-mq,udp", "-s", "64", "--peers", "1,2,8"];
    let (document, shown) = measured(&[&["-p", "fan-in,fan-out"], &mechanisms[..]].concat());
    for cell in cells(&document) {
        let reason = cell["reason"].as_str().unwrap_or_default();
        match cell["status"].as_str() {
            Some("ok") => check(cell),
            // Sockets have one receiver; a sandbox may have no queues.
            Some("unavailable") if reason.contains("takes one consumer only") => {
                assert_eq!(cell["pattern"], "fan-out");
                assert!(["udp", "unix-dgram"].contains(&cell["mechanism"].as_str().expect("text")));
            }
            Some("unavailable") => assert!(!reason.is_empty(), "{cell}"),
            _ => panic!("{cell}"),
        }
    }
    let ok = |pattern: &str| {
        cells(&document).iter().any(|cell| cell["pattern"] == pattern && cell["status"] == "ok")
    };
    assert!(ok("fan-in") && ok("fan-out"));
    for word in ["peers", "Jain", "least", "p99 send", "p99 recv", "CPU/msg"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn every_touch_policy_proves_where_a_message_came_from() {
    for touch in ["none", "header", "full"] {
        let words = ["-p", "fan-in,fan-out", "-m", "pipe", "-s", "8,100,4096", "--touch", touch];
        let (document, _) = measured(&[&words[..], &["--place", "free", "--peers", "3"]].concat());
        for cell in cells(&document) {
            assert_eq!(cell["status"], "ok", "{cell}");
            check(cell);
        }
    }
}

#[test]
fn what_cannot_fan_is_explained() {
    let sandbox = Sandbox::new();
    let mechanisms = "tcp,shm-ring/futex,eventfd,pipe,pipe/spin,udp/mmsg";
    let words = ["run", "-p", "fan-in", "-m", mechanisms, "-s", "4,4097", "--dry-run"];
    let plan = sandbox.run(&words);
    for part in [
        "tcp fan-in 4B same-cpu peers=4: unavailable: one object takes one producer only",
        "several producers could use this object, but its end here serves only one",
        "a wake-up carries no bytes",
        "pipe fan-in 4B same-cpu peers=4: unavailable: the number that proves",
        "pipe fan-in 4097 same-cpu peers=4: unavailable: above PIPE_BUF (4096 bytes)",
    ] {
        assert!(plan.stdout.contains(part), "{part}: {}", plan.stdout);
    }
    assert!(!plan.stdout.lines().skip(1).any(|line| !line.contains("unavailable")));
    let spinning = ["run", "-p", "fan-in", "-m", "pipe/spin", "--peers", "2", "--dry-run"];
    let plan = sandbox.run(&spinning);
    for line in plan.stdout.lines().skip(1) {
        assert!(line.contains("time slice") || line.contains("CPU is allowed"), "{line}");
    }
    for (wrong, part) in [
        (["fan-in", "--peers", "0"], "between 1 and 64"),
        (["fan-out", "--peers", "65"], "between 1 and 64"),
        (["stream", "--peers", "2"], "fan-in or fan-out"),
    ] {
        let ended = sandbox.run(&[&["run", "-m", "pipe", "-p"], &wrong[..]].concat());
        assert_eq!(ended.status.code(), Some(2));
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
}

#[test]
fn a_killed_peer_costs_its_cell_and_not_the_run() {
    at_once([("fan-in", 0), ("fan-in", 3), ("fan-out", 1)], |(pattern, which)| {
        let sandbox = Sandbox::new();
        let words =
            ["run", "-p", pattern, "-m", "pipe,posix-mq", "--peers", "3", "-o", "rest.json"];
        // Many slices, so that one of them is seen however busy the machine is.
        let brief = ["--place", "free", "--rounds", "12", "--slice", "300ms", "--warmup", "5ms"];
        let running = sandbox.start(&[&words[..], &brief].concat());
        let crowd = wait_for("four workers with pipes", || {
            let crowd = workers(&sandbox);
            if crowd.len() != 4 || !crowd.iter().all(|pid| holds_pipes(*pid)) {
                return None;
            }
            // On a busy machine the slice may be over by now. Then its coordinator ends whom this stops; else it waits.
            signal("STOP", crowd[which]);
            sleep(Duration::from_millis(500));
            (workers(&sandbox) == crowd).then_some(crowd)
        });
        signal("KILL", crowd[which]);
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        let document = valid(RESULT_SCHEMA, &sandbox.read("rest.json").expect("it was written"));
        let [pipe, queue] = cells(&document) else { panic!("two cells were asked for") };
        assert_eq!(pipe["status"], "failed", "{pipe}");
        let reason = pipe["reason"].as_str().expect("a reason");
        assert!(reason.contains("killed by signal 9"), "{reason}");
        assert!(pipe.get("messages_per_second").is_none());
        assert!(["ok", "unavailable"].contains(&queue["status"].as_str().expect("text")));
        wait_for("the end of every worker", || workers(&sandbox).is_empty().then_some(()));
    });
}
