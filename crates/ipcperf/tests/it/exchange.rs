//! Exchanges between two processes, as studies use them: every way in which an object can get across, through the
//! program as it is built.

use crate::common::Sandbox;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

const MODES: [&str; 11] = [
    "message",
    "message-gzip",
    "empty",
    "file",
    "o-tmpfile",
    "memfd",
    "sealed-memfd",
    "mapped-memfd",
    "reused-memfd",
    "queue",
    "queue-amortised",
];

/// A study with one arm for each line of `arms`: work, mode and further keys.
fn study(arms: &[(&str, &str, &str)]) -> String {
    let mut text = "name = 'mine'\ntitle = 'exchanges'\n".to_owned();
    for scale in ["smoke", "quick", "full"] {
        write!(text, "[scale.{scale}]\nrounds = 2\n").expect("memory");
    }
    for (work, mode, keys) in arms {
        write!(text, "[[arm]]\nid = '{work} {mode}'\nwork = '{work}'\nmode = '{mode}'\n{keys}\n")
            .expect("memory");
    }
    text
}

/// Runs a study and returns its arms.
fn replicate(sandbox: &Sandbox, text: &str) -> Vec<Value> {
    fs::write(sandbox.home().join("mine.toml"), text).expect("a file");
    let ended =
        sandbox.run(&["replicate", "./mine.toml", "--scale", "smoke", "-o", "out.json", "-q"]);
    assert!(ended.status.success(), "{}", ended.stderr);
    let document: Value =
        serde_json::from_str(&sandbox.read("out.json").expect("written")).expect("JSON");
    document["studies"][0]["arms"].as_array().expect("a list").clone()
}

/// The rounds of an arm that was measured; `None` where something is missing here.
fn rounds(arm: &Value) -> Option<&Vec<Value>> {
    let rounds = arm["rounds"].as_array().expect("a list");
    match arm["status"].as_str().expect("a status") {
        "ok" => {
            assert_eq!(rounds.len(), 2, "{arm}");
            Some(rounds)
        }
        status => {
            // Files without a name, memfds and tracing are not to be had everywhere.
            let reason = arm["reason"].as_str().expect("a reason");
            let is_known =
                ["O_TMPFILE", "memfd", "ptrace", "tmpfs"].iter().any(|why| reason.contains(why));
            assert!(is_known, "{} is {status}: {reason}", arm["id"]);
            None
        }
    }
}

#[test]
fn every_mode_brings_all_objects_across_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let lengths = "iterations = 50\nwarmup = 5";
    let all: Vec<_> = MODES.map(|mode| ("exchange", mode, lengths)).into();
    for arm in replicate(&sandbox, &study(&all)) {
        for round in rounds(&arm).into_iter().flatten() {
            for metric in ["cpu_us", "sender_cpu_us", "receiver_cpu_us", "wall_us", "rate"] {
                assert!(round["values"][metric].as_f64().is_some_and(|value| value > 0.0), "{arm}");
            }
            for metric in ["user_us", "system_us", "switches"] {
                assert!(round["values"][metric].is_f64(), "{metric}: {arm}");
            }
        }
        let facts = &arm["facts"];
        assert_eq!(facts["control data"], "32 B", "{arm}");
        assert!(facts["SO_SNDBUF"].is_string() && facts["SO_RCVBUF"].is_string(), "{arm}");
    }
    for folder in [sandbox.run_directories(), sandbox.temporary()] {
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "{}", folder.display());
    }
}

#[test]
fn no_mode_makes_a_system_call_that_is_not_on_its_list() {
    let sandbox = Sandbox::new();
    let fixed =
        MODES.into_iter().filter(|mode| !mode.ends_with("amortised") && !mode.ends_with("gzip"));
    let all: Vec<_> = fixed.map(|mode| ("exchange-count", mode, "iterations = 30")).collect();
    for arm in replicate(&sandbox, &study(&all)) {
        for round in rounds(&arm).into_iter().flatten() {
            assert_eq!(round["values"]["unexpected_calls"], 0.0, "{arm}");
        }
    }
}

#[test]
fn each_call_has_its_time_by_a_clock_and_by_strace() {
    let sandbox = Sandbox::new();
    let works = ["exchange-calls", "exchange-strace"];
    let arms = works.map(|work| (work, "file", "iterations = 20\nsize = 5000"));
    for arm in replicate(&sandbox, &study(&arms)) {
        let by_strace = arm["work"] == works[1];
        if by_strace && arm["status"] != "ok" {
            assert!(arm["reason"].as_str().is_some_and(|why| why.contains("strace")), "{arm}");
            continue;
        }
        for round in rounds(&arm).into_iter().flatten() {
            for (side, calls) in [
                ("send", &["open", "unlink", "write", "select", "sendmsg", "close"][..]),
                ("recv", &["select", "recvmsg", "lseek", "read", "close", "close_client"][..]),
            ] {
                for call in calls {
                    for statistic in ["median", "mean"] {
                        let metric = format!("call.{side}.{call}_{statistic}_us");
                        assert!(round["values"][&metric].is_f64(), "{metric}: {arm}");
                    }
                }
            }
            assert_eq!(round["values"]["call.recv.clock_us"].is_f64(), !by_strace, "{arm}");
        }
    }
}
