//! Recorded requests that are replayed over other mechanisms, by ends of ours.

use crate::common::{Sandbox, cells, text, valid};
use crate::schemas::PROFILE_SCHEMA;
use serde_json::{Value, json};
use std::fs;

/// Writes a profile as `record` does, of two clients with two connections each to a server, after this change.
fn written(sandbox: &Sandbox, change: impl FnOnce(&mut Value)) {
    let ended = sandbox.run(&["record", "-q", "-o", "p.json", "--with", "ptrace", "--", "true"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let mut profile = valid(PROFILE_SCHEMA, &sandbox.read("p.json").expect("written"));
    for (key, value) in [("by", json!("bpf")), ("price_ns", json!(500.0))] {
        profile[key] = value;
    }
    profile["programs"] = json!([
        {"name": "client", "processes": 2, "threads": 2, "cpu_ns": 500_000_000, "calls": {}},
        {"name": "server", "processes": 1, "threads": 1, "cpu_ns": 900_000_000, "calls": {}},
    ]);
    profile["channels"] = json!([{
        "kind": "tcp", "name": "6379", "asks": "client", "answers": "server", "connections": 4,
        "exchange": "closed", "requests": 400, "unanswered": 0, "bytes_asked": 14_400,
        "bytes_answered": 2_000, "sizes": [{"question": 36, "answer": 5, "count": 400}], "other_sizes": 0,
        "in_flight": 3.5, "most_in_flight": 4, "span_ns": 1_000_000_000,
        "asker_calls": {"write": 1.0}, "answerer_calls": {"read": 1.0, "write": 1.0}, "needs": [],
    }]);
    change(&mut profile);
    fs::write(sandbox.home().join("p.json"), profile.to_string()).expect("a file");
}

#[test]
fn recorded_requests_are_made_over_other_mechanisms() {
    let sandbox = Sandbox::new();
    written(&sandbox, |_| ());
    let names = "unix-stream,pipe,shm-ring/futex";
    let words = ["replay", "p.json", "-m", names, "--rounds", "2", "-o", "r.json"];
    let ended = sandbox.run(&words);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let why = "shm-ring/futex is left out: one process cannot wait for several of its channels";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    let result = sandbox.result("r.json");
    let names = ["tcp", "unix-stream", "pipe"];
    assert_eq!(cells(&result).len(), names.len());
    for (cell, name) in cells(&result).iter().zip(names) {
        assert_eq!((text(cell, "mechanism"), &cell["status"]), (name, &"ok".into()), "{cell}");
        let load = &cell["load"];
        assert_eq!([&load["conns"], &load["clients"]], [4, 2], "{load}");
        assert_eq!((text(load, "mix"), text(cell, "placement")), ("36:5@100%", "free"));
        assert_eq!(cell["serve"]["style"], "epoll", "{cell}");
        let service =
            text(load, "service").strip_suffix("ns").and_then(|ns| ns.parse::<u64>().ok());
        // Of 2.25 ms of CPU time for each request two calls were dearer by 500 ns, and a server of ours takes some itself.
        assert!(service.is_some_and(|ns| (1_000_000..2_249_000).contains(&ns)), "{load}");
    }
    // 400 requests in a second with 2.25 ms each leave a server of ours little choice, but a busy machine does.
    let findings = result["noise"]["findings"].as_array().expect("a list");
    let ours = findings.iter().filter(|finding| text(finding, "code").ends_with("REPLAYED"));
    let [finding] = &ours.collect::<Vec<_>>()[..] else { panic!("{findings:#?}") };
    assert!(text(finding, "text").contains("of the recorded 400 /s"), "{finding}");
    sandbox.leaves_nothing();
}

#[test]
fn what_was_not_seen_well_enough_claims_nothing() {
    let sandbox = Sandbox::new();
    for (key, value, part) in [
        ("by", json!("ptrace"), "since it was recorded by ptrace"),
        ("lost", json!(3), "since events were lost"),
        ("programs", json!([]), "since one of the ends was not recorded"),
    ] {
        written(&sandbox, |profile| profile[key] = value);
        let ended = sandbox.run(&["predict", "p.json", "--rounds", "2", "-o", "r.json"]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        let result = sandbox.result("r.json");
        let findings = result["noise"]["findings"].as_array().expect("a list");
        let ours = findings.iter().find(|finding| text(finding, "code") == "W-NOT-REPLAYED");
        assert!(text(ours.expect("it is said"), "text").contains(part), "{key}: {findings:#?}");
        assert_eq!(text(&cells(&result)[1], "mechanism"), "unix-stream", "the default of --to");
    }
    sandbox.leaves_nothing();
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let sandbox = Sandbox::new();
    let channel = |key: &'static str, value: Value| {
        move |profile: &mut Value| profile["channels"][0][key] = value
    };
    for (change, words, code, part) in [
        (channel("exchange", json!("one-way")), &["-m", "pipe"][..], 2, "has no answers"),
        (channel("exchange", json!("pipelined")), &["-m", "pipe"], 2, "sent ahead of answers"),
        (channel("connections", json!(400)), &["-m", "pipe"], 2, "a connection of its own"),
        (channel("kind", json!("eventfd")), &["-m", "tcp"], 3, "eventfd cannot be replayed here"),
        (channel("sizes", json!([])), &["-m", "tcp"], 2, "mix"),
        (
            channel("name", json!("1")),
            &["-m", "pipe", "--channel", "tcp 2"],
            2,
            "did you mean 'tcp 1'?",
        ),
        (channel("name", json!("1")), &["-m", "pype"], 2, "did you mean 'pipe'?"),
        (channel("name", json!("1")), &[], 2, "--mechanism <NAMES>"),
    ] {
        written(&sandbox, change);
        let ended = sandbox.run(&[&["replay", "p.json"], words].concat());
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
    }
    fs::write(sandbox.home().join("p.json"), "{\"schema\": \"ipcperf.result/2\"}").expect("a file");
    for words in [&["replay", "p.json", "-m", "pipe"][..], &["predict", "p.json"]] {
        assert_eq!(sandbox.run(words).status.code(), Some(4), "{words:?}");
    }
    let placed = ["predict", "--server", "true", "--client", "true", "--place", "free"];
    let ended = sandbox.run(&placed);
    assert_eq!(ended.status.code(), Some(2), "programs run where they are: {}", ended.stderr);
    assert!(ended.stderr.contains("--place"), "{}", ended.stderr);
    // At one channel a thread can wait as well, and at several where the recorded server did so.
    for (key, number, style) in
        [("connections", 1, "style=threads"), ("connections", 4, "style=process")]
    {
        written(&sandbox, |profile| {
            profile["programs"][1]["processes"] = number.into();
            for key in [key, "most_in_flight"] {
                profile["channels"][0][key] = number.into();
            }
        });
        let ended = sandbox.run(&["replay", "p.json", "-m", "shm-ring/futex", "--dry-run"]);
        assert!(ended.stdout.contains(style), "{}{}", ended.stdout, ended.stderr);
    }
    // Few mechanisms have what these need.
    for (need, why) in [
        ("half-close", "sysv-mq is left out: it does not tell a peer that nothing more comes"),
        ("credentials", "sysv-mq is left out: it does not say who the peer is"),
        ("descriptors", "sysv-mq is left out: it cannot pass descriptors"),
    ] {
        written(&sandbox, channel("needs", json!([need])));
        let ended = sandbox.run(&["replay", "p.json", "-m", "unix-stream,sysv-mq", "--dry-run"]);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
    let ended = sandbox.run(&["replay", "p.json", "-m", "unix-stream,tcp6", "--dry-run"]);
    assert!(ended.stderr.contains("tcp6 is left out"), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("  unix-stream serve 36B free conns=4 clients=2"),
        "{}",
        ended.stdout
    );
    sandbox.leaves_nothing();
}
