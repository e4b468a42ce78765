//! Pipelines of socat as a study runs them: a run counts only if every byte arrives, runs whose ends miss each other are
//! repeated, and nothing is left behind.

use crate::common::{Sandbox, skipped, wait_for};
use crate::watch::{processes, signal};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

const METHODS: [&str; 4] = ["anonymous-pipe", "named-pipe", "unix-stream", "tcp"];

/// A study whose arms are named by variant and method.
fn study(arms: &[(&str, &str)], rounds: u64) -> String {
    let mut text = String::from("name = 'small'\ntitle = 'small'\n");
    for scale in ["smoke", "quick", "full"] {
        text += &format!("[scale.{scale}]\nrounds = {rounds}\n");
    }
    for (variant, method) in arms {
        text += &format!(
            "[[arm]]\nid = '{variant} {method}'\nwork = 'pipeline'\nvariant = '{variant}'\n\
             method = '{method}'\nbytes = 2_000_000_000\nmost_bytes = 1_000_000\nblock = 9_999\n"
        );
    }
    text
}

/// Makes a program of a shell script, and gives the path of programs on which it comes first.
fn with_script(sandbox: &Sandbox, name: &str, script: &str) -> OsString {
    let folder = sandbox.home().join("bin");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).expect("our own file");
    let path = own_path();
    let all = std::iter::once(folder).chain(std::env::split_paths(&path));
    std::env::join_paths(all).expect("no colons")
}

/// Replicates it with `program` as socat, and shows all arms.
fn with_program(sandbox: &Sandbox, text: &str, program: &str) -> Vec<Value> {
    replicate(sandbox, text, with_script(sandbox, "socat", program))
}

fn own_path() -> OsString {
    std::env::var_os("PATH").expect("it is set")
}

/// Replicates it with the programs of these folders, and shows all arms.
fn replicate(sandbox: &Sandbox, text: &str, path: OsString) -> Vec<Value> {
    fs::write(sandbox.home().join("small.toml"), text).expect("a file");
    let mut command = sandbox.command(&WORDS);
    command.env("PATH", path);
    let ended = sandbox.spawn(command).end();
    let text = sandbox.read("small.json").expect("it was written");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let arms = document["studies"][0]["arms"].as_array().expect("a list").clone();
    let with = |status: &str| arms.iter().any(|arm| arm["status"] == status);
    let code = match (with("failed") || with("deadline"), with("ok")) {
        (true, _) => 1,
        (false, true) => 0,
        (false, false) => 3,
    };
    assert_eq!(ended.status.code(), Some(code), "{}", ended.stderr);
    arms
}

const WORDS: [&str; 7] =
    ["replicate", "./small.toml", "--scale", "smoke", "--quiet", "-o", "small.json"];

fn value(arm: &Value, round: usize, name: &str) -> Option<f64> {
    arm["rounds"][round]["values"][name].as_f64()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

/// Whether the real socat can be run and its bytes counted.
pub(crate) fn has_socat() -> bool {
    let is_there = std::env::split_paths(&own_path()).any(|folder| folder.join("socat").is_file());
    if !is_there {
        skipped("socat", "it is not installed");
    }
    is_there && counts_bytes()
}

#[test]
fn socat_brings_all_bytes_by_every_method() {
    if !has_socat() {
        return;
    }
    let sandbox = Sandbox::new();
    let arms: Vec<_> =
        METHODS.iter().flat_map(|way| [("as-published", *way), ("one-way", *way)]).collect();
    let found = replicate(&sandbox, &study(&arms, 2), own_path());
    assert_eq!(found.len(), 8);
    for arm in &found {
        assert_eq!(arm["status"], "ok", "{arm}");
        for round in 0..2 {
            for name in ["bits_per_second", "cpu_s", "startup_ms"] {
                assert!(value(arm, round, name).is_some_and(|value| value > 0.0), "{name}: {arm}");
            }
        }
    }
    sandbox.leaves_nothing();
}

#[test]
fn without_socat_its_arms_say_how_to_install_it_and_the_direct_ones_run() {
    let sandbox = Sandbox::new();
    let direct = "[[arm]]\nid = 'direct'\nwork = 'cell'\nmechanism = 'pipe'\npattern = 'stream'\n\
                  placement = 'free'\nsize = 9_999\nslice = '5ms'\n\
                  [[claim]]\nid = 'c'\ntext = 'c'\n\
                  test = 'mbits(as-published tcp) / mbits(one-way tcp)'\n";
    let text = study(&[("as-published", "tcp"), ("one-way", "tcp"), ("together", "tcp")], 2);
    let found = replicate(&sandbox, &(text + direct), sandbox.home().as_os_str().to_owned());
    let (direct, by_socat) = found.split_last().expect("four arms");
    for arm in by_socat {
        let reason = arm["reason"].as_str().expect("a reason");
        assert!(reason.contains("apt-get install socat"), "{arm}");
        assert_eq!(arm["status"], "unavailable", "{arm}");
    }
    assert_eq!(direct["status"], "ok", "{direct}");
    let document = sandbox.read("small.json").expect("it was written");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["studies"][0]["claims"][0]["verdict"], "UNTESTABLE");
    sandbox.leaves_nothing();
}

/// A program in the place of socat: it prints a version, and runs `source` or `sink`.
fn fake(source: &str, sink: &str) -> String {
    format!(
        "case \"$*\" in -V) echo 'socat version 9.8.7 on a day' ;; *readbytes*) {source} ;; *) {sink} ;; esac"
    )
}

/// Whether the kernel counts what a program of this user has written; no run of socat counts without it.
pub(crate) fn counts_bytes() -> bool {
    let counts = ipcperf_sys::program::counts_bytes();
    if !counts {
        skipped("/proc/PID/io", "no bytes of programs that have ended");
    }
    counts
}

#[test]
fn a_run_that_lost_bytes_is_no_figure_and_one_whose_ends_missed_is_tried_again() {
    if !counts_bytes() {
        return;
    }
    let sandbox = Sandbox::new();
    let text = study(&[("as-published", "unix-stream"), ("one-way", "tcp")], 1);
    // Both ends end well, and too few bytes arrive.
    let short = fake("exit 0", "exec head -c 999999 /dev/zero");
    for arm in with_program(&sandbox, &text, &short) {
        assert_eq!((&arm["status"], &arm["rounds"]), (&"failed".into(), &Value::Array(vec![])));
        let reason = arm["reason"].as_str().expect("a reason");
        assert!(reason.contains("999999 of 1000000 bytes"), "{reason}");
    }
    // The source finds nobody twice, and then loses its sink. The fourth attempt works.
    let missed = "echo x >> ../../missed; n=${*#*readbytes=}; \
                  case $(wc -l < ../../missed) in \
                      1|2) echo 'socat[1] E connect: Connection refused' ;; \
                      3) echo 'socat[1] E write(6, 0x1, 1000): Broken pipe' ;; \
                      *) echo ${n%% *} > ../../new; mv ../../new ../../bytes; exit 0 ;; \
                  esac >&2; exit 1";
    // What the sink itself writes counts as received, so that it must not try to move a file that is not there.
    let sink = "until [ -e ../../bytes ]; do sleep 0.1; done; mv ../../bytes ../../taken; \
                read -r n < ../../taken; exec head -c $n /dev/zero";
    let found =
        with_program(&sandbox, &study(&[("as-published", "unix-stream")], 1), &fake(missed, sink));
    let arm = &found[0];
    assert_eq!((&arm["status"], value(arm, 0, "races_lost")), (&"ok".into(), Some(3.0)), "{arm}");
    // It sleeps as long for a single block, so all of a run looks like start-up.
    let [least_ms, share, wall_s] =
        ["startup_ms", "startup_share", "wall_s"].map(|name| value(arm, 0, name).expect("told"));
    // The clock of a run begins a little after its sink.
    assert!(least_ms >= 50.0 && (share - least_ms / 1e3 / wall_s).abs() < 1e-9, "{arm}");
    assert_eq!(arm["facts"]["variant"], "two processes of socat 9.8.7");
    // Any other error is reported as it is.
    let broken = fake("echo 'E cannot' >&2; exit 3", "sleep 600");
    let found = with_program(&sandbox, &text, &broken);
    assert!(found.iter().all(|arm| arm["reason"] == "socat: exit code 3: E cannot"), "{found:?}");
    assert!(is_empty(&sandbox.run_directories()));
}

/// The published scripts hang there: one end has gone, and the other waits for it.
#[test]
fn ends_that_start_at_once_and_miss_each_other_are_told_and_ended() {
    if !counts_bytes() {
        return;
    }
    let sandbox = Sandbox::new();
    let exists = fake("echo 'E mkfifo(namedpipe, 438): File exists' >&2; exit 1", "sleep 600");
    let found = with_program(&sandbox, &study(&[("together", "named-pipe")], 2), &exists);
    assert_eq!(found[0]["status"], "ok", "{}", found[0]);
    assert_eq!([0, 1].map(|round| value(&found[0], round, "missed")), [Some(1.0); 2]);
    let words = &found[0]["facts"]["an end that missed the other"];
    assert_eq!(words, "E mkfifo(namedpipe, 438): File exists");
    let meet = fake("exit 0", "exec head -c 1000000 /dev/zero");
    let found = with_program(&sandbox, &study(&[("together", "tcp")], 1), &meet);
    assert_eq!(value(&found[0], 0, "missed"), Some(0.0), "{}", found[0]);
    sandbox.leaves_nothing();
}

/// The head start of a sink is the time of `date`, during which an interrupt was lost.
#[test]
fn an_interrupt_while_a_sink_has_its_head_start_ends_the_study() {
    if !has_socat() {
        return;
    }
    let sandbox = Sandbox::new();
    let text = study(&[("as-published", "tcp")], 10_000);
    fs::write(sandbox.home().join("small.toml"), text).expect("a file");
    let begun = sandbox.home().join("begun");
    let date = format!(": > '{}'\nexec sleep 60", begun.display());
    let mut command = sandbox.command(&WORDS);
    command.env("PATH", with_script(&sandbox, "date", &date));
    let running = sandbox.spawn(command);
    wait_for("date", || begun.exists().then_some(()));
    signal("INT", running.child.id());
    assert_eq!(running.end().status.code(), Some(130));
}

#[test]
fn a_pipeline_that_is_killed_leaves_nothing() {
    if !has_socat() {
        return;
    }
    let sandbox = Sandbox::new();
    let arms: Vec<_> = METHODS.iter().map(|way| ("as-published", *way)).collect();
    fs::write(sandbox.home().join("small.toml"), study(&arms, 10_000)).expect("a file");
    for (name, after_ms) in [("KILL", 17), ("KILL", 190), ("KILL", 333), ("INT", 250)] {
        let running = sandbox.start(&WORDS);
        wait_for("workers", || (processes(&sandbox).len() > 2).then_some(()));
        sleep(Duration::from_millis(after_ms));
        signal(name, running.child.id());
        let ended = running.end();
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        wait_for("the end of every worker", || (processes(&sandbox).is_empty()).then_some(()));
        wait_for("an empty folder", || {
            assert_eq!(sandbox.run(&["clean"]).status.code(), Some(0));
            is_empty(&sandbox.run_directories()).then_some(())
        });
        assert!(is_empty(&sandbox.temporary()));
    }
}
