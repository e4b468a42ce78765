//! Which document is which, and what its user says of it.

use crate::common::Sandbox;
use serde_json::{Value, json};

/// What a command prints as JSON, with these labels in its environment. Whether its figures hold is not asked here.
fn document(sandbox: &Sandbox, words: &[&str], around: &str) -> Value {
    let mut command = sandbox.command(words);
    command.env("IPCPERF_LABELS", around);
    let ended = sandbox.spawn(command).end();
    let read = serde_json::from_str(&ended.stdout);
    read.unwrap_or_else(|why| panic!("{words:?}: {why}: {}", ended.stderr))
}

const SHORT: [&str; 8] =
    ["pipe", "-s", "64", "--place", "same-cpu", "--rounds", "1", "--slice=2ms"];

#[test]
fn every_kind_of_document_has_its_labels_and_an_identity_of_its_own() {
    let sandbox = Sandbox::new();
    let run = [&["run", "-m"][..], &SHORT, &["--seed", "7", "-q", "-o", "-"]].concat();
    let live = ["compare", "--live", "pipe 64 same-cpu", "fifo 64 same-cpu"];
    let live = [&live[..], &["--rounds", "2", "--slice", "2ms", "-q", "-o", "-"]].concat();
    let study = ["replicate", "qiita", "--rounds", "1", "--only", "s1.c1", "-q", "-o", "-"];
    let mut identities = Vec::new();
    for words in [
        &run[..],
        &run,
        &live,
        &study,
        &["list", "--no-probe", "--json"],
        &["describe", "pipe", "--format", "json"],
        &["doctor", "--format", "json"],
        &["selftest", "--only", "clock", "--format", "json"],
    ] {
        let has_flag = words[0] != "describe";
        let typed: &[&str] = if has_flag { &["--label", "host=n1"] } else { &[] };
        let words = [words, typed].concat();
        let found = document(&sandbox, &words, "host=n0,job=17");
        let host = if has_flag { "n1" } else { "n0" };
        assert_eq!(found["labels"], json!({"host": host, "job": "17"}), "{words:?}");
        let identity = found["run_id"].as_str().unwrap_or_default().to_owned();
        assert!(identity.len() == 32 && u128::from_str_radix(&identity, 16).is_ok(), "{words:?}");
        identities.push(identity);
    }
    let count = identities.len();
    identities.sort();
    identities.dedup();
    assert_eq!(identities.len(), count, "the same seed is no identity");
    let bare = document(&sandbox, &run, "");
    assert_eq!(bare.get("labels"), None);
}

#[test]
fn what_is_no_label_is_refused_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    for (label, told) in [
        ("host", "--label: 'host' is not a label"),
        ("Host=n1", "--label: 'Host' is not a key"),
        ("host=\u{1b}[2J", "--label: the value of label 'host'"),
        ("host=", "--label: label 'host' has no value"),
    ] {
        let words = [&["run", "-m"][..], &SHORT, &["--label", label]].concat();
        sandbox.refuses(&words, told);
        for planned in ["run pipe", "run --exec true", "survey", "choose", "replicate inferno"] {
            let planned: Vec<&str> = planned.split(' ').collect();
            sandbox.refuses(&[&planned[..], &["--dry-run", "--label", label]].concat(), told);
        }
    }
    let mut command = sandbox.command(&["list", "--no-probe"]);
    command.env("IPCPERF_LABELS", "host=n1,job");
    let ended = sandbox.spawn(command).end();
    assert_eq!(ended.status.code(), Some(2));
    assert!(ended.stderr.contains("IPCPERF_LABELS: 'job' is not a label"), "{}", ended.stderr);
}

#[test]
fn another_host_is_another_machine() {
    let sandbox = Sandbox::new();
    for (host, file) in [("host=n1", "a.json"), ("host=n2", "b.json"), ("host=n2", "c.json")] {
        sandbox.done(&[&["run", "-m"], &SHORT[..], &["-q", "--label", host, "-o", file]].concat());
    }
    let ask = |words: &[&str]| {
        let mut command = sandbox.command(words);
        command.env("COLUMNS", "200");
        sandbox.spawn(command).end()
    };
    let trend = ask(&["trend", "a.json", "b.json", "c.json", "--cell", "pipe 64 same-cpu"]).stdout;
    assert!(trend.contains("a.json: another machine (host: n1 -> n2)"), "{trend}");
    assert!(!trend.contains("b.json: another"), "{trend}");
    let compared = ask(&["compare", "a.json", "c.json", "--format", "json"]);
    let found: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    assert_eq!(found["factors"]["host"], json!(["n1", "n2"]), "{}", compared.stderr);
    assert!(found["confounded_by"].as_array().is_some_and(|all| all.contains(&json!("host"))));
    let same = ask(&["compare", "b.json", "c.json", "--format", "json"]);
    let found: Value = serde_json::from_str(&same.stdout).expect("JSON");
    assert_eq!(found["factors"].get("host"), None);
}

#[test]
fn what_is_done_is_not_measured_again() {
    let sandbox = Sandbox::new();
    let pipe = ["run", "-m", "pipe", "--place", "same-cpu", "--rounds", "3", "-o", "a.json"];
    let skip = [&pipe[..], &["--label", "host=n1", "--if-done", "skip"]].concat();
    let measured = |words: &[&str], code: i32| {
        let ended = sandbox.run(words);
        assert_eq!(ended.status.code(), Some(code), "{words:?} {ended:?}");
        let told = ended.stdout + &ended.stderr;
        let is_told = told.contains("'a.json' is done: nothing is measured");
        (is_told, sandbox.result("a.json")["run_id"].to_string())
    };
    let (is_told, first) = measured(&skip, 0);
    assert!(!is_told, "there is none yet");
    assert_eq!(measured(&skip, 0), (true, first.clone()));
    assert_eq!(measured(&[&skip[..], &["--dry-run"]].concat(), 0), (true, first.clone()));
    // The result of before does not pass a gate because it is there.
    let gate = [&skip[..], &["--fail-if", "p50 > 1ns"]].concat();
    let ended = sandbox.run(&gate);
    assert!(matches!(ended.status.code(), Some(7 | 9)), "{ended:?}");
    for (other, why) in [
        (&["survey", "-o", "a.json", "--if-done", "skip"][..], "of 'run', not of 'survey'"),
        (
            &["survey", "-o", "a.json", "--if-done", "skip", "--dry-run"],
            "of 'run', not of 'survey'",
        ),
        (
            &["replicate", "qiita", "-o", "a.json", "--if-done", "skip"],
            "of 'run', not of 'replicate'",
        ),
        (&[&pipe[..], &["--label", "host=n2", "--if-done", "skip"]].concat(), "of host 'n1'"),
        (&["run", "-m", "pipe", "--if-done", "skip"], "name the file with -o"),
        (&["run", "-m", "pipe", "-o", "-", "--if-done", "skip"], "name the file with -o"),
    ] {
        let ended = sandbox.run(other);
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
    let (is_told, second) = measured(&pipe, 0);
    assert!(!is_told && second != first, "nobody asked to skip");
    let interrupted = sandbox.read("a.json").expect("written");
    let interrupted = interrupted.replace("\"interrupted\": false", "\"interrupted\": true");
    for unfinished in [interrupted.as_str(), "{\"schema\": \"ipcperf.result/2\", \"cells\": ["] {
        std::fs::write(sandbox.home().join("a.json"), unfinished).expect("ours");
        let (is_told, again) = measured(&skip, 0);
        assert!(!is_told && again != second);
    }
}

#[test]
fn an_empty_folder_among_others_is_named_and_standard_input_is_read_once() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.home().join("empty")).expect("ours");
    let measured =
        sandbox.run(&["run", "-m", "pipe", "--place=same-cpu", "--rounds=3", "-o", "a.json"]);
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    for (words, code, why) in [
        (
            &["report", "empty", "a.json", "--rows", "runs", "--format", "csv"][..],
            4,
            "no .json file in 'empty'",
        ),
        (&["report", "empty"], 2, "no .json file in 'empty'"),
        (&["report", "-", "-"], 2, "standard input is read once"),
        (&["report", "-", "--files-from", "-"], 2, "standard input is read once"),
    ] {
        let ended = sandbox.run(words);
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
}
