//! Comparisons in real processes, for structure, never for figures; and the gates, with their exit codes.

use crate::common::{Ended, Sandbox, cells, list, text, valid, wait_for, words};
use crate::watch::signal;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Short rounds of a cell that runs everywhere.
const LIVE: [&str; 7] = ["--rounds", "8", "--slice", "2ms", "--seed", "3", "--no-progress"];

fn live<'a>(cells: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["compare", "--live"], cells, &LIVE, more].concat()
}

/// A result of twelve rounds of two mechanisms, in this file.
fn recorded(sandbox: &Sandbox, name: &str, mechanisms: &str) {
    let words =
        ["run", "-m", mechanisms, "--place", "same-cpu", "--slice", "2ms", "--warmup", "1ms"];
    sandbox.done(&[&words[..], &["-q", "-o", name]].concat());
}

/// Changes a document in place.
fn change(sandbox: &Sandbox, name: &str, with: impl Fn(&mut Value)) {
    let mut document = sandbox.result(name);
    with(&mut document);
    valid("result", &document.to_string());
    fs::write(sandbox.home().join(name), document.to_string()).expect("writable");
}

/// Makes the figures of all rounds this many times as large, and the run a quiet one.
fn scale(document: &mut Value, factor: f64) {
    document["noise"] = json!({"grade": "B", "findings": []});
    for cell in document["cells"].as_array_mut().expect("a list") {
        for p50 in cell["rounds"]["p50_ns"].as_array_mut().expect("a column") {
            *p50 = json!(p50.as_f64().expect("a time") * factor);
        }
    }
}

fn said(ended: &Ended) -> (Option<i32>, &str) {
    (ended.status.code(), ended.stderr.as_str())
}

/// `ipcperf run pipe` looked for a job file, and `ipcperf compare pipe unix` for two results.
#[test]
fn mechanisms_need_no_flag_and_a_file_of_their_name_is_named_with_a_slash() {
    let sandbox = Sandbox::new();
    let short = ["--slice", "2ms", "-q"];
    let job = "mechanism = 'fifo'\nplace = 'same-cpu'\nrounds = 2\nslice = '2ms'\n";
    fs::write(sandbox.home().join("pipe"), job).expect("writable");
    let words = [
        "run",
        "pipe",
        "unix,pipe/epoll",
        "--place",
        "same-cpu",
        "--rounds",
        "2",
        "-o",
        "run.json",
    ];
    sandbox.done(&[&words[..], &short].concat());
    let of = |name: &str| {
        let document = sandbox.result(name);
        let names = cells(&document).iter().map(|cell| text(cell, "mechanism").to_owned());
        names.collect::<Vec<String>>()
    };
    assert_eq!(of("run.json"), ["pipe", "unix-stream", "pipe/epoll"]);
    sandbox.done(&["run", "./pipe", "-q", "-o", "job.json"]);
    assert_eq!(of("job.json"), ["fifo"]);
    let arms = ["compare", "pipe same-cpu", "unix same-cpu", "--rounds", "8", "-o", "found.json"];
    sandbox.done(&[&arms[..], &short].concat());
    let found = valid("comparison", &sandbox.read("found.json").expect("written"));
    let one = &found["comparisons"][0];
    assert_eq!(
        (&found["design"], &one["b"]),
        (&json!("live"), &json!("unix-stream ping-pong 64B same-cpu"))
    );
    sandbox.done(&["compare", "run.json", "./run.json"]);
}

#[test]
fn two_cells_are_compared_by_a_plan_that_is_told_before() {
    let sandbox = Sandbox::new();
    let cells = ["pipe 64 same-cpu", "unix-stream 64 same-cpu"];
    let ended = sandbox.done(&live(&cells, &["-o", "found.json"]));
    assert!(
        ended.stderr.starts_with("Plan: 8 rounds of A, A again and B, about "),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.starts_with("B vs A: 1 "), "{}", ended.stdout);
    let mut lines = ended.stdout.lines().chain(ended.stderr.lines());
    assert!(lines.all(|line| line.chars().count() <= 80), "{ended:?}");
    let found = valid("comparison", &sandbox.read("found.json").expect("written"));
    assert_eq!((&found["design"], &found["plan"]["rounds"]), (&json!("live"), &json!(8)));
    let one = &found["comparisons"][0];
    assert_eq!(one["a"], "pipe ping-pong 64B same-cpu");
    assert_eq!(one["b"], "unix-stream ping-pong 64B same-cpu");
    let again = sandbox.run(&["report", "found.json"]);
    assert_eq!((again.status.code(), again.stdout), (Some(0), ended.stdout));
    assert!(found["attempt"].is_null(), "{found}");
    let metrics: Vec<&Value> =
        one["secondary"].as_array().expect("a list").iter().map(|one| &one["metric"]).collect();
    assert_eq!(metrics.last(), Some(&&json!("cpu_ns_per_message")), "{metrics:?}");
    // The same question for the same file is another attempt; another question is not.
    let ended = sandbox.run(&live(&cells, &["-q", "-o", "found.json"]));
    assert!(ended.stdout.contains("Attempt 2 of this comparison in this file"), "{}", ended.stdout);
    let cells = ["pipe 64 same-cpu", "fifo 64 same-cpu"];
    let ended = sandbox.run(&live(&cells, &["-q", "-o", "found.json"]));
    assert!(!ended.stdout.contains("Attempt"), "{}", ended.stdout);
    // A round counts for all arms or for none.
    let rounds = |name: &str| one[name].as_array().expect("a list").len();
    assert!(rounds("a_rounds") >= 1, "{one}");
    assert_eq!(rounds("a_rounds"), rounds("control_rounds"));
    assert_eq!(rounds("a_rounds"), rounds("b_rounds"));
}

/// A program that looks there for an earlier comparison waits for ever, and no signal ends it.
#[test]
fn a_comparison_goes_through_a_fifo_that_is_not_read_before() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.home().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let reader = std::thread::spawn(move || fs::read_to_string(fifo).expect("text"));
    let cells = ["pipe 64 same-cpu", "fifo 64 same-cpu"];
    sandbox.done(&live(&cells, &["-q", "-o", "fifo"]));
    let found = valid("comparison", &reader.join().expect("it ends"));
    assert!(found["attempt"].is_null(), "{found}");
}

#[test]
fn lists_of_sizes_are_compared_pair_by_pair_as_one_family() {
    let sandbox = Sandbox::new();
    let cells = ["pipe 64,4K same-cpu", "fifo 64,4K same-cpu"];
    let ended = sandbox.run(&live(&cells, &["-q", "--format", "json"]));
    assert_eq!(said(&ended), (Some(0), ""));
    let found = valid("comparison", &ended.stdout);
    assert_eq!(found["family"], 2);
    let pairs: Vec<[&Value; 2]> = found["comparisons"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| [&one["a"], &one["b"]])
        .collect();
    assert_eq!(pairs[0], ["pipe ping-pong 64B same-cpu", "fifo ping-pong 64B same-cpu"]);
    assert_eq!(pairs[1], ["pipe ping-pong 4K same-cpu", "fifo ping-pong 4K same-cpu"]);
}

#[test]
fn another_build_measures_b_in_processes_of_its_own() {
    let sandbox = Sandbox::new();
    let other = sandbox.home().join("other");
    fs::copy(env!("CARGO_BIN_EXE_ipcperf"), &other).expect("a copy");
    // Slices of 50 ms need a pilot of 8 rounds, shorter ones of 20, and a round starts three programs.
    let live = |cell, binary| {
        let words =
            ["compare", "--live", cell, "--rounds", "8", "--slice", "50ms", "-q", "-o", "-"];
        sandbox.run(&[&words[..], &["--live-binary", binary]].concat())
    };
    let ended = live("pipe 64 same-cpu size=64K", "./other");
    // Where other work interrupts nearly all slices, each is rejected by what was counted during it.
    let busy = "ipcperf: the pilot found nothing to compare: too few rounds: ";
    let (code, words) = said(&ended);
    if code != Some(9) || !words.starts_with(busy) {
        assert_eq!(said(&ended), (Some(0), ""));
        let found = valid("comparison", &ended.stdout);
        assert_eq!(found["design"], "live-binary");
        assert_eq!((&found["factors"], &found["confounded_by"]), (&json!({}), &json!([])));
        assert_eq!(found["comparisons"][0]["b"], "pipe ping-pong 64B same-cpu pipe.size=64K");
    }
    let ended = live("pipe 64 same-cpu", "/bin/true");
    let expected =
        "ipcperf: --live-binary: '/bin/true' wrote no result: is it a build of ipcperf?\n";
    assert_eq!(said(&ended), (Some(2), expected));
    let left = fs::read_dir(sandbox.run_directories()).expect("a folder").count();
    assert_eq!(left, 0, "nothing is left behind");
}

/// Documents that were written before it was left out have it.
#[test]
fn the_home_directory_in_recorded_results_is_not_told() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "old.json", "pipe");
    let home = sandbox.home().display().to_string();
    change(&sandbox, "old.json", |document| {
        document["cells"][0]["id"] = json!(format!("pipe in {home}/x"));
    });
    let ended = sandbox.run(&["compare", &format!("{home}/old.json"), "old.json", "-o", "-"]);
    let told = "'~/old.json' and 'old.json' are the same result: nothing can differ\n";
    assert_eq!(said(&ended), (Some(0), told));
    let found = valid("comparison", &ended.stdout);
    assert!(!ended.stdout.contains(&home), "{}", ended.stdout);
    assert_eq!(found["comparisons"][0]["a"], "pipe in ~/x");
    assert_eq!(found["a"]["names"], json!(["~/old.json"]));
}

#[test]
fn recorded_results_are_compared_and_gated() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "old.json", "pipe,fifo");
    change(&sandbox, "old.json", |document| scale(document, 1.0));
    fs::copy(sandbox.home().join("old.json"), sandbox.home().join("new.json")).expect("a copy");
    let files = ["compare", "old.json", "new.json"];
    let gated = |limit: &str| {
        let gate = format!("slower:{limit}");
        let ended = sandbox.run(&[&files[..], &["--fail-on", &gate]].concat());
        (ended.status.code(), ended.stderr, ended.stdout)
    };
    // The same figures: nothing can be claimed of one session a side.
    let (code, told, shown) = gated("5%");
    assert_eq!(code, Some(9), "{told}");
    let why = "the same result: nothing can differ\n--fail-on cannot tell: pipe ping-pong 64B same-cpu: between ";
    assert!(told.contains(why), "{told}");
    assert!(shown.contains("one session a side, which in"), "{shown}");
    change(&sandbox, "new.json", |document| scale(document, 10.0));
    let (code, told, shown) = gated("100%");
    assert_eq!(code, Some(6), "{told}");
    assert!(
        told.starts_with("--fail-on failed: pipe ping-pong 64B same-cpu: slower by at least "),
        "{told}"
    );
    assert!(shown.starts_with("B vs A: 2 SLOWER"), "{shown}");
    let ended = sandbox.run(&["compare", "new.json", "old.json", "--fail-on", "slower:5%"]);
    assert_eq!(said(&ended), (Some(0), ""));
    change(&sandbox, "new.json", |document| document["host"]["arch"] = json!("other"));
    let ended = sandbox.run(&files);
    let (code, told) = said(&ended);
    assert_eq!(code, Some(4));
    assert!(
        told.starts_with("ipcperf: these results cannot be compared: they differ in architecture"),
        "{told}"
    );
    let forced = sandbox.run(&[&files[..], &["--force", "--fail-on", "slower:5%"]].concat());
    assert_eq!(forced.status.code(), Some(9), "{}", forced.stderr);
    assert!(forced.stdout.starts_with("B vs A: 2 CAN'T TELL"), "{}", forced.stdout);
    // Nothing is decided by what is claimed to find out where to look.
    let explored = sandbox.run(&[&files[..], &["--explore", "--fail-on", "slower:5%"]].concat());
    assert_eq!(explored.status.code(), Some(2), "{}", explored.stderr);
}

#[test]
fn several_files_make_a_side_and_a_missing_cell_is_named() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "one.json", "pipe,fifo");
    recorded(&sandbox, "two.json", "pipe");
    let words = ["compare", "--old", "one.json", "--old", "two.json", "--new", "two.json"];
    let ended = sandbox.run(&[&words[..], &["--format", "json"]].concat());
    let told = "'two.json' and 'two.json' are the same result: nothing can differ\n";
    assert_eq!(said(&ended), (Some(0), told));
    let found = valid("comparison", &ended.stdout);
    assert_eq!(found["a"]["names"], json!(["one.json", "two.json"]));
    assert_eq!(found["comparisons"].as_array().expect("a list").len(), 1);
    assert_eq!(found["only_a"], json!(["fifo ping-pong 64B same-cpu"]));
}

#[test]
fn a_run_ends_in_the_code_of_its_gate() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| {
        let words =
            ["run", "-m", "pipe", "--place", "same-cpu", "--slice", "2ms", "--warmup", "1ms"];
        let ended = sandbox.run(&[&words[..], &["-q", "-o", "x.json"], more].concat());
        (ended.status.code(), ended.stderr)
    };
    // On a disturbed machine no figure decides anything: then the gate cannot tell.
    let (code, told) = run(&["--fail-if", "p50 > 1ns"]);
    assert!(matches!(code, Some(7 | 9)), "{code:?} {told}");
    assert!(
        told.starts_with("--fail-if failed: p50 > 1ns: p50 of pipe") || code == Some(9),
        "{told}"
    );
    let (code, told) = run(&["--fail-if", "p50 > 1h"]);
    assert!(matches!(code, Some(0 | 9)), "{code:?} {told}");
    let (code, told) = run(&["--fail-if", "p99.999 > 1h"]);
    assert_eq!(code, Some(9), "{told}");
    let (code, told) = run(&["--rounds", "1", "--fail-if", "throughput < 1GB/s"]);
    assert_eq!(code, Some(9), "{told}");
    let grade = |document: &str| document.contains("\"grade\": \"A\"");
    let (code, told) = run(&["--max-noise", "A"]);
    let is_quiet = grade(&sandbox.read("x.json").expect("written"));
    assert_eq!(code, Some(if is_quiet { 0 } else { 8 }), "{told}");
    assert_eq!(told.starts_with("--max-noise A: the noise grade is "), !is_quiet, "{told}");
}

/// How busy the CPUs were is read in a run of any length, and a run of one round has no grade but F.
#[test]
fn a_short_run_beside_other_work_is_never_a_quiet_one() {
    let sandbox = Sandbox::new();
    let words = ["run", "-m", "pipe", "--place", "same-cpu", "--slice", "2ms", "--warmup", "1ms"];
    for rounds in ["1", "2"] {
        let more = ["--rounds", rounds, "--max-noise", "D", "-q", "-o", "x.json"];
        let ended = sandbox.run(&[&words[..], &more].concat());
        let document = sandbox.result("x.json");
        let noise = &document["noise"];
        let busy = noise["idle_busy_cpus"].as_f64().expect("it was read");
        let cpus = document["host"]["cpus_online"].as_array().expect("a list").len() as f64;
        let grade = noise["grade"].as_str().expect("a grade");
        let (code, told) = (ended.status.code(), ended.stderr.as_str());
        match grade {
            "F" => assert_eq!(code, Some(8), "{told}"),
            "none" => {
                assert_eq!((code, rounds), (Some(9), "1"), "{told}");
                let why = "--max-noise D is undecided, because there is no noise grade: the spread of the rounds";
                assert!(told.starts_with(why), "{told}");
                assert!(!noise["causes"].as_array().expect("a list").is_empty());
            }
            // A twentieth of all CPUs is a B at the best.
            _ => assert!(code == Some(0) && rounds == "2" && (grade > "A" || busy <= 0.1 * cpus)),
        }
    }
}

#[test]
fn a_job_file_has_gates_too() {
    let sandbox = Sandbox::new();
    let job = "mechanism = \"pipe\"\nplace = \"same-cpu\"\nslice = \"2ms\"\nwarmup = \"1ms\"\nrounds = 1\n\
               fail-if = [\"p50 > 1h\", \"rate < 1k\"]\n";
    fs::write(sandbox.home().join("job.toml"), job).expect("writable");
    let ended = sandbox.run(&["run", "job.toml", "-q"]);
    assert_eq!(ended.status.code(), Some(9), "{}", ended.stderr);
    for condition in ["p50 > 1h", "rate < 1k"] {
        assert!(
            ended.stderr.contains(&format!("--fail-if cannot tell: {condition}: ")),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn an_interrupted_comparison_tells_what_it_has() {
    let sandbox = Sandbox::new();
    let words = ["compare", "--live", "pipe 64 same-cpu", "fifo 64 same-cpu"];
    let running = sandbox
        .start(&[&words[..], &["--rounds", "9999", "--slice", "2ms", "-o", "x.json"]].concat());
    wait_for("the plan", || running.told().contains("Plan: ").then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("x.json").expect("written"));
    assert_eq!(found["interrupted"], true);
}

/// Forty copies of one result made a certain verdict of what one of them left open.
#[test]
fn a_result_that_is_given_many_times_counts_once() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "old.json", "pipe");
    recorded(&sandbox, "new.json", "pipe");
    let copies: Vec<String> = (1..=9).map(|at| format!("copy{at}.json")).collect();
    let mut words = vec!["compare", "--new", "new.json", "--old", "old.json"];
    for copy in &copies {
        fs::copy(sandbox.home().join("old.json"), sandbox.home().join(copy)).expect("a copy");
        words.extend(["--old", copy]);
    }
    let once = sandbox.run(&["compare", "old.json", "new.json"]);
    let many = sandbox.run(&words);
    assert_eq!((many.stdout, many.status.code()), (once.stdout, once.status.code()));
    let told = "Left out: 'copy1.json', 'copy2.json', 'copy3.json' and 6 more are the same result as 'old.json', or a part of it\n";
    assert_eq!((once.stderr.as_str(), many.stderr.as_str()), ("", told));
}

/// Two mechanisms without a command were refused with two commands to choose from.
#[test]
fn two_mechanisms_without_a_command_are_compared_and_one_is_measured() {
    let sandbox = Sandbox::new();
    let line = "pipe unix-stream --rounds 8 --slice 5ms -o c.json";
    let ended = sandbox.run(&words(line));
    assert!([0, 5].contains(&ended.status.code().unwrap_or(-1)), "{}", ended.stderr);
    let document = valid("comparison", &sandbox.read("c.json").expect("written"));
    let [one] = list(&document, "comparisons") else { panic!("one pair") };
    assert_eq!(one["margin"], 0.1, "what matters in practice");
    let line = "pipe --place same-cpu --rounds 2 --slice 5ms -o r.json";
    sandbox.done(&words(line));
    assert_eq!(cells(&sandbox.result("r.json")).len(), 1);
    fs::write(sandbox.home().join("echo.py"), "").expect("a file");
    sandbox.refuses(
        &words("run pipe --follow python3 echo.py"),
        "in quotes: --follow 'python3 echo.py'",
    );
}
