//! Which document is which, and what its user says of it.

use crate::common::{Ended, Sandbox};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

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
        for planned in ["run pipe", "exec true", "survey", "choose", "replicate inferno"] {
            let planned: Vec<&str> = planned.split(' ').collect();
            sandbox.refuses(&[&planned[..], &["--dry-run", "--label", label]].concat(), told);
        }
    }
}

#[test]
fn a_wrong_label_of_the_environment_stops_only_what_writes_it() {
    let sandbox = Sandbox::new();
    let run = [&["run", "-m"][..], &SHORT, &["-q", "-o", "a.json"]].concat();
    sandbox.done(&run);
    let with_labels = |words: &[&str]| {
        let mut command = sandbox.command(words);
        command.env("IPCPERF_LABELS", "host=n1,job");
        sandbox.spawn(command).end()
    };
    for words in
        ["list --no-probe", "describe pipe", "doctor", "report a.json", "compare a.json a.json"]
    {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = with_labels(&words);
        assert!(!ended.stderr.contains("IPCPERF_LABELS"), "{words:?} {}", ended.stderr);
        assert_ne!(ended.stdout, "", "{words:?} {}", ended.stderr);
    }
    for words in [
        &run[..],
        &["list", "--no-probe", "--json"],
        &["describe", "pipe", "--format", "json"],
        &["doctor", "--format", "json"],
        &["compare", "a.json", "a.json", "-o", "b.json"],
    ] {
        let ended = with_labels(words);
        assert_eq!(ended.status.code(), Some(2), "{words:?} {ended:?}");
        let told = "IPCPERF_LABELS: 'job' is not a label";
        assert!(ended.stderr.contains(told), "{words:?} {}", ended.stderr);
    }
}

/// What a job of deploy/slurm says, where a cluster has no name and there is a label of the user.
fn slurm_job(sandbox: &Sandbox, around: &str) -> Ended {
    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/slurm/ipcperf.sbatch");
    let bin = sandbox.home().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let srun = bin.join("srun");
    std::fs::write(&srun, "#!/bin/sh\nshift\nexec \"$@\"\n").expect("a script");
    std::fs::set_permissions(&srun, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let _ = symlink(env!("CARGO_BIN_EXE_ipcperf"), bin.join("ipcperf"));
    let words = [&[SCRIPT, "run", "-m"][..], &SHORT].concat();
    let mut command = sandbox.surround(Command::new("bash"), &words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display())).env("SLURM_JOB_ID", "17");
    command.env("SLURMD_NODENAME", "n1").env("SLURM_JOB_PARTITION", "all");
    command.env("SLURM_CLUSTER_NAME", "").env("IPCPERF_LABELS", around);
    sandbox.spawn(command).end()
}

#[test]
fn a_job_of_slurm_leaves_out_labels_without_a_value_and_names_a_wrong_one() {
    let sandbox = Sandbox::new();
    let ended = slurm_job(&sandbox, "rack=7,host=other");
    let labels = sandbox.result("ipcperf-17.json")["labels"].clone();
    let known = json!({"host": "n1", "job": "17", "partition": "all", "rack": "7", "restart": "0"});
    assert_eq!(labels, known, "{ended:?}");
    std::fs::remove_file(sandbox.home().join("ipcperf-17.json")).expect("written");
    let ended = slurm_job(&sandbox, "rack");
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("IPCPERF_LABELS: 'rack' is not a label"), "{}", ended.stderr);
}

/// A name in an inventory may hold what a shell would carry out.
#[test]
fn what_ansible_puts_into_a_command_is_quoted() {
    let text = include_str!("../../../../deploy/ansible/ipcperf.yml");
    let (_, command) = text.split_once("cmd: >-").expect("a command");
    let (command, _) = command.split_once("chdir:").expect("its folder");
    let names: Vec<&str> =
        command.split("{{").skip(1).filter_map(|part| part.split("}}").next()).collect();
    assert!(names.iter().any(|name| name.contains("inventory_hostname")), "{command}");
    for name in names.iter().filter(|name| name.contains("inventory_hostname")) {
        assert!(name.trim_end().ends_with("| quote"), "{name}");
    }
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
        (&[&skip[..], &["-s", "128"]].concat(), "without 'pipe ping-pong 128B same-cpu'"),
        (&[&skip[..], &["-m", "fifo"]].concat(), "without 'fifo ping-pong 64B same-cpu'"),
        (
            &[&skip[..], &["--set", "pipe.size=1M"]].concat(),
            "without 'pipe ping-pong 64B same-cpu pipe.size=1M'",
        ),
        (
            &[&skip[..], &["--slice", "90ms"]].concat(),
            "of slices of 100 ms, not of slices of 90 ms",
        ),
        (
            &[
                "run",
                "-m",
                "pipe",
                "--place",
                "same-cpu",
                "--rounds",
                "4",
                "-o",
                "a.json",
                "--if-done",
                "skip",
            ],
            "of 3 rounds, not of 4 rounds",
        ),
        (
            &["exec", "true", "-o", "a.json", "--if-done", "skip"],
            "is a result of 'run', not of 'exec'",
        ),
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
