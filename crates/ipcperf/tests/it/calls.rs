//! System calls that are timed, through the program as it is built: every knob of messages by reference makes the calls
//! that it stands for, and no others.

use crate::common::{Sandbox, is_here, rounds, skipped};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Knobs and, for each message, the calls of the sender and of the receiver.
const CASES: &[(&str, &[&str], &str, &str)] = &[
    ("fd-pass", &["sndbuf=64K"], "sendmsg", "recvmsg close"),
    (
        "fd-pass",
        &["fds=3", "wait=select", "sndbuf=64K"],
        "pselect6 sendmsg",
        "pselect6 recvmsg close close.2 close.3",
    ),
    (
        "temp-file",
        &["fds=3", "wait=select", "sndbuf=32K"],
        "openat unlinkat write pselect6 sendmsg close",
        "pselect6 recvmsg lseek read close close.2 close.3 close.4",
    ),
    (
        "temp-file",
        &["create=o_tmpfile", "sndbuf=32K"],
        "openat write sendmsg close",
        "recvmsg lseek read close",
    ),
    (
        "memfd",
        &["access=write", "sndbuf=32K"],
        "memfd_create write fcntl sendmsg close",
        "recvmsg lseek read close",
    ),
    (
        "memfd",
        &["access=write", "seal=off", "fds=1", "sndbuf=32K"],
        "memfd_create write sendmsg close",
        "recvmsg lseek read close close.2",
    ),
    (
        "memfd",
        &["wait=select", "seal=off", "sndbuf=32K"],
        "memfd_create ftruncate mmap munmap pselect6 sendmsg close",
        "pselect6 recvmsg mmap munmap close",
    ),
];

/// The calls of one end with how many there are for each message, each of which took its time.
fn counts(calls: &Value) -> BTreeMap<&str, f64> {
    let calls = calls.as_object().expect("a table").iter();
    let count = |(name, call): (&'_ String, &Value)| {
        let [times, median, mean] = ["per_message", "median_ns", "mean_ns"]
            .map(|key| call[key].as_f64().unwrap_or_else(|| panic!("{name}: {key}")));
        assert!(median > 0.0 && mean > 0.0, "{name}: {call}");
        times
    };
    calls.map(|(name, call)| (name.as_str(), count((name, call)))).collect()
}

fn once(names: &str) -> BTreeMap<&str, f64> {
    names.split(' ').map(|name| (name, 1.0)).collect()
}

#[test]
fn every_knob_makes_the_calls_that_it_stands_for() {
    let sandbox = Sandbox::new();
    for (mechanism, knobs, send, receive) in CASES {
        let set: Vec<String> = knobs.iter().map(|knob| format!("{mechanism}.{knob}")).collect();
        let mut words =
            vec!["run", "-m", mechanism, "-p", "stream", "-s", "5000", "--place", "free"];
        words.extend(["--rounds", "1", "--slice", "2ms", "--warmup", "1ms", "--time-calls"]);
        words.extend(set.iter().flat_map(|setting| ["--set", setting]));
        words.extend(["-o", "calls.json"]);
        let ended = sandbox.run(&words);
        let document = sandbox.result("calls.json");
        let cell = &document["cells"][0];
        if !is_here(cell) {
            continue;
        }
        assert_eq!((ended.status.code(), &cell["status"]), (Some(0), &"ok".into()), "{cell}");
        let calls = &cell["calls"];
        if let Some(reason) = calls["reason"].as_str().filter(|reason| reason.contains("seccomp")) {
            return skipped("seccomp", reason);
        }
        assert!(calls["empty_call_ns"].as_f64().is_some_and(|time| time > 0.0), "{calls}");
        assert_eq!(counts(&calls["lead"]), once(send), "{mechanism} {knobs:?}");
        assert_eq!(counts(&calls["follow"]), once(receive), "{mechanism} {knobs:?}");
        assert!(ended.stdout.contains("System calls, each timed by itself"), "{}", ended.stdout);
        // They are of a slice of their own.
        assert_eq!(rounds(cell).len(), 1, "{cell}");
    }
    sandbox.leaves_nothing();
}

/// What is counted is no matter of time: it differs by no more than 1 % between two runs, and of a pipe it is four calls for
/// each round trip.
#[test]
fn two_runs_count_the_same_calls() {
    let sandbox = Sandbox::new();
    let counted = || -> Option<Vec<[BTreeMap<String, f64>; 2]>> {
        let words = ["run", "-m", "pipe,unix-stream,unix-dgram", "-s", "64", "--place", "same-cpu"];
        let more = ["--rounds", "1", "--slice", "2ms", "--warmup", "1ms", "--time-calls"];
        sandbox.done(&[&words[..], &more, &["-o", "calls.json"]].concat());
        let document = sandbox.result("calls.json");
        let of = |cell: &Value| {
            let calls = &cell["calls"];
            if let Some(reason) = calls["reason"].as_str() {
                skipped("seccomp", reason);
                return None;
            }
            let end = |end: &str| -> BTreeMap<String, f64> {
                let all = counts(&calls[end]).into_iter();
                all.map(|(name, times)| (name.to_owned(), times)).collect()
            };
            Some(["lead", "follow"].map(end))
        };
        document["cells"].as_array().expect("a list").iter().map(of).collect()
    };
    let Some((one, other)) = counted().zip(counted()) else { return };
    assert_eq!((one.len(), other.len()), (3, 3));
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        assert!(!one.is_empty() && one.keys().eq(other.keys()), "{one:?}, {other:?}");
        for (a, b) in one.values().zip(other.values()) {
            assert!((a - b).abs() <= 0.01 * a.max(*b), "{one:?}, {other:?}");
        }
    }
    for pipe in [&one[0], &other[0]] {
        let all: f64 = pipe.iter().flat_map(BTreeMap::values).sum();
        assert!((all - 4.0).abs() <= 0.04, "{pipe:?}");
    }
}

#[test]
fn a_study_counts_messages_and_calls_as_an_arm_is_told() {
    let sandbox = Sandbox::new();
    let arm = |id: &str, more: &str| {
        format!(
            "[[arm]]\nid = '{id}'\nwork = 'cell'\nmechanism = 'pipe'\npattern = 'stream'\n\
             placement = 'free'\nsize = 64\nwarmup = '1ms'\n{more}\n"
        )
    };
    let scale = "rounds = 1\ncell = { samples = 70 }\nmany = { samples = 700 }\n";
    let text = format!(
        "name = 'mine'\ntitle = 'mine'\n[scale.smoke]\n{scale}[scale.quick]\n{scale}\
         [scale.full]\n{scale}{}{}{}",
        arm("few", ""),
        arm("many", ""),
        arm("timed", "time-calls = true"),
    );
    fs::write(sandbox.home().join("mine.toml"), text).expect("a file");
    let ended = sandbox.run(&["replicate", "./mine.toml", "-o", "out.json", "-q"]);
    assert!(ended.status.success(), "{}", ended.stderr);
    let document: Value =
        serde_json::from_str(&sandbox.read("out.json").expect("written")).expect("JSON");
    let values = |at: usize| &document["studies"][0]["arms"][at]["rounds"][0]["values"];
    // Beside the messages that count: those that lead in, and the first, which starts the clock.
    assert_eq!([&values(0)["messages"], &values(1)["messages"]], [75.0, 705.0]);
    let arm = &document["studies"][0]["arms"][2];
    if let Some(reason) = arm["reason"].as_str().filter(|reason| reason.contains("seccomp")) {
        return skipped("seccomp", reason);
    }
    for name in ["calls.send", "call.send.write_times", "calls.recv", "call.recv.read_times"] {
        assert_eq!(values(2)[name], 1.0, "{name}: {arm}");
    }
    assert!(values(2)["call.recv.read_mean_us"].as_f64().is_some_and(|time| time > 0.0), "{arm}");
    assert!(values(2)["cpu_ns"].is_null(), "{arm}");
}
