//! Neighbours: a load of a known dose runs next to the ends while they are timed, is proved to have run, and ends with the run.

use crate::common::{Ended, Sandbox, cells, list, rounds, text, wait_for};
use crate::interruption::nothing_is_left;
use crate::watch::{Objects, processes, signal, workers};
use ipcperf_sys::affinity;
use serde_json::Value;
use std::fs;

const FILE: &str = "neighbour.json";

/// A slice in which each load has a turn on a busy machine, too.
const SLICE: &str = "150ms";

/// A run of a pipe on one CPU.
fn run(sandbox: &Sandbox, rounds: &str, neighbours: &str) -> Ended {
    let words = ["run", "-q", "-m", "pipe", "--place", "same-cpu", "--slice", SLICE, "-o", FILE];
    sandbox.done(&[&words[..], &["--rounds", rounds, "--neighbour", neighbours]].concat())
}

fn has_two_cpus() -> bool {
    affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() > 1)
}

/// The neighbour of a cell, as its load has it.
fn neighbour(cell: &Value) -> Option<&str> {
    cell["load"]["neighbour"].as_str()
}

/// What every cell with a neighbour has: in each round the counter moved, and rate and CPU time were recorded.
fn is_proved(cell: &Value) {
    assert_eq!((text(cell, "status"), &cell["verified"]), ("ok", &true.into()), "{cell}");
    for round in rounds(cell) {
        let did = |name: &str| round["neighbour"][name].as_u64().unwrap_or_default();
        assert!(did("units") > 0 && did("window_ns") > 0, "{round}");
    }
    let load = &cell["neighbour"];
    assert!(load["per_second"]["value"].as_f64().is_some_and(|rate| rate > 0.0), "{load}");
    assert!(load["cpus"]["value"].as_f64().is_some_and(|cpus| cpus >= 0.0), "{load}");
}

#[test]
fn every_kind_of_load_is_part_of_the_identity_and_proved_in_each_round() {
    let sandbox = Sandbox::new();
    let place = if has_two_cpus() { "other" } else { "free" };
    let asked = [
        ("none".to_owned(), ""),
        (format!("cpu:2@{place}"), "steps"),
        ("memory:50MB/s@lead".to_owned(), "bytes"),
        ("fork:100/s@follow".to_owned(), "processes"),
        ("timer:200/s@free".to_owned(), "wake-ups"),
    ];
    let list: Vec<&str> = asked.iter().map(|(neighbour, _)| neighbour.as_str()).collect();
    run(&sandbox, "2", &list.join(","));
    let document = sandbox.result(FILE);
    let cells = cells(&document);
    assert_eq!(cells.len(), asked.len());
    for (asked, unit) in &asked {
        let own = (asked != "none").then_some(asked.as_str());
        let cell = cells.iter().find(|cell| neighbour(cell) == own).expect("a cell of each");
        if own.is_none() {
            assert_eq!(text(cell, "id"), "pipe ping-pong 64B same-cpu");
            assert!(cell["neighbour"].is_null() && cell["of_alone"].is_null(), "{cell}");
            continue;
        }
        assert_eq!(text(cell, "id"), format!("pipe ping-pong 64B same-cpu neighbour={asked}"));
        is_proved(cell);
        assert_eq!(text(&cell["neighbour"], "unit"), *unit);
        for figure in ["p50", "rate"] {
            let ratio = cell["of_alone"][figure]["ratio"].as_f64();
            assert!(ratio.is_some_and(|ratio| ratio > 0.0), "{figure}: {}", cell["of_alone"]);
        }
    }
    sandbox.leaves_nothing();
}

#[test]
fn ratios_to_the_cell_alone_are_within_rounds_and_shown() {
    let sandbox = Sandbox::new();
    let ended = run(&sandbox, "6", "none,cpu:1@lead");
    let document = sandbox.result(FILE);
    let [alone, near] = cells(&document) else { panic!("two cells") };
    let orders = |cell: &Value| -> Vec<Value> {
        rounds(cell).iter().map(|round| round["round"].clone()).collect()
    };
    assert_eq!(orders(alone), orders(near));
    let ratio = &near["of_alone"]["p50"];
    let rejected = |cell: &Value| rounds(cell).iter().any(|round| !round["rejected"].is_null());
    // Of fewer rounds there is no interval.
    assert!(rejected(alone) || rejected(near) || list(ratio, "ci95").len() == 2, "{near}");
    assert!(ended.stdout.contains("of alone"), "{}", ended.stdout);
    let ended = sandbox.done(&["report", FILE, "--format", "csv"]);
    for column in ["p50_of_alone", "rate_of_alone_low", "neighbour_per_second", "neighbour_cpus"] {
        assert!(ended.stdout.lines().next().is_some_and(|head| head.contains(column)), "{column}");
    }
}

#[test]
fn a_program_runs_next_to_the_ends_with_all_that_it_starts() {
    let sandbox = Sandbox::new();
    let busy = "while :; do :; done";
    let command = format!("exec=sh -c 'sh -c \"{busy}\" & {busy}'");
    run(&sandbox, "1", &command);
    let document = sandbox.result(FILE);
    let cell = &cells(&document)[0];
    assert_eq!(neighbour(cell), Some(format!("{command}@free").as_str()));
    is_proved(cell);
    assert_eq!(text(&cell["neighbour"], "unit"), "CPU ns");
    wait_for("the end of the program", || processes(&sandbox).is_empty().then_some(()));
    sandbox.leaves_nothing();
}

#[test]
fn a_program_that_ends_early_or_uses_no_cpu_fails_its_cell() {
    let sandbox = Sandbox::new();
    let words = ["run", "-q", "-m", "pipe", "--place", "same-cpu", "--rounds", "1", "-o", FILE];
    let longest = ["--slice", SLICE, "--neighbour", "exec=sleep 100,exec=true"];
    let ended = sandbox.run(&[&words[..], &longest].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let document = sandbox.result(FILE);
    let [asleep, ended] = cells(&document) else { panic!("two cells") };
    for (cell, why) in [
        (asleep, "it did nothing while the slice was timed"),
        (ended, "'true' ended before the slice did (exit code 0)"),
    ] {
        assert_eq!(text(cell, "status"), "failed", "{cell}");
        assert!(text(cell, "reason").contains(why), "{cell}");
    }
    assert!(processes(&sandbox).is_empty());
}

/// The load has a process in addition to those of the ends.
fn killed(neighbour: &str) {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words = ["run", "-q", "-m", "pipe", "--place", "same-cpu", "--rounds", "1"];
    let running =
        sandbox.start(&[&words[..], &["--slice", "30s", "--neighbour", neighbour]].concat());
    wait_for("two ends and a neighbour", || (workers(&sandbox).len() == 3).then_some(()));
    signal("KILL", running.child.id());
    running.end();
    wait_for("the end of all", || processes(&sandbox).is_empty().then_some(()));
    nothing_is_left(&sandbox, &before);
}

#[test]
fn a_killed_coordinator_leaves_no_load() {
    killed("cpu:3");
    killed("timer:1/s");
    killed("exec=sh -c 'sh -c \"while :; do :; done\" & while :; do :; done'");
}

#[test]
fn a_neighbour_that_dies_fails_its_cell() {
    let sandbox = Sandbox::new();
    let words = ["run", "-q", "-m", "pipe", "--place", "same-cpu", "--rounds", "1", "-o", FILE];
    let running = sandbox.start(&[&words[..], &["--slice", "3s", "--neighbour", "cpu:3"]].concat());
    let threads =
        |pid: &u32| fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |threads| threads.count());
    let worker = wait_for("a neighbour next to two ends", || {
        let workers = Some(workers(&sandbox)).filter(|workers| workers.len() == 3)?;
        workers.into_iter().find(|pid| threads(pid) == 4)
    });
    signal("KILL", worker);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let document = sandbox.result(FILE);
    let cell = &cells(&document)[0];
    let why = "neighbour cpu:3@free: the worker ended: killed by signal 9";
    assert!(text(cell, "reason").contains(why), "{cell}");
}

#[test]
fn a_program_that_a_file_names_runs_only_if_allowed() {
    let sandbox = Sandbox::new();
    let busy = "sh -c 'while :; do :; done'";
    let job = format!(
        "mechanism = 'pipe'\nplace = 'same-cpu'\nrounds = 1\nslice = '{SLICE}'\n\
         neighbour = ['none', \"exec={busy}\"]\n"
    );
    fs::write(sandbox.home().join("job.toml"), job).expect("a file");
    let told = |file: &str| format!("{file} runs programs: {busy}; --allow-exec lets it");
    sandbox.refuses(&["run", "job.toml"], &told("job file 'job.toml'"));
    sandbox.done(&["run", "job.toml", "--allow-exec", "-o", FILE]);
    sandbox.refuses(&["repeat", FILE, "-o", "again.json"], &told(&format!("'{FILE}'")));
    sandbox.done(&["repeat", FILE, "--allow-exec", "-o", "again.json"]);
    let ids = |file: &str| -> Vec<Value> {
        cells(&sandbox.result(file)).iter().map(|cell| cell["id"].clone()).collect()
    };
    assert_eq!(ids(FILE), ids("again.json"));
    // A load that is no program needs no permission.
    let job = "mechanism = 'pipe'\nplace = 'same-cpu'\nrounds = 1\nneighbour = 'cpu:1'\n";
    fs::write(sandbox.home().join("plain.toml"), job).expect("a file");
    sandbox.done(&["run", "plain.toml", "-o", "plain.json"]);
}

#[test]
fn a_choice_is_made_next_to_a_load() {
    let sandbox = Sandbox::new();
    let words = ["choose", "-m", "pipe,unix-stream", "--place", "same-cpu", "--budget", "8s"];
    let near = ["--neighbour", "cpu:1", "--by", "p99", "-o", FILE];
    let ended = sandbox.run(&[&words[..], &near].concat());
    let document = sandbox.result(FILE);
    let wanted = &document["invocation"]["plan"]["requirements"];
    assert_eq!(wanted["neighbour"], "cpu:1@free", "{}", ended.stderr);
    let timed: Vec<&Value> =
        cells(&document).iter().filter(|cell| cell["pattern"] == "ping-pong").collect();
    assert!(timed.len() >= 2 && timed.iter().all(|cell| neighbour(cell) == Some("cpu:1@free")));
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("next to cpu:1@free"), "{}", ended.stdout);
    sandbox.leaves_nothing();
}

#[test]
fn what_cannot_be_is_refused_with_the_nearest_right_word() {
    let sandbox = Sandbox::new();
    for (words, told) in [
        ("--neighbour cpv:2", "did you mean 'cpu:2'?"),
        ("--neighbour cpu:2@others", "unknown place 'others'"),
        ("--neighbour memory:2GB", "like memory:2GB/s"),
        ("--neighbour exec=no-such-program-anywhere", "no-such-program-anywhere"),
        ("--neighbour cpu:1 -p fan-in", "--neighbour needs the pattern"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        sandbox.refuses(&[&["run", "-q", "-m", "pipe"], &words[..]].concat(), told);
    }
}
