//! Benchmarks of others that are audited: each planted fault is found by its evidence, and clean twins have none.

use crate::common::{Ended, Sandbox, can_run, list, skipped, text, tries_all, valid};
use crate::watch::processes;
use ipcperf_sys::affinity::allowed_cpus;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The same benchmark in several languages.
const BENCHMARKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/audit");

/// A sandbox with a benchmark, built if it has to be; `None` without its tools or without two CPUs.
fn with(tool: &str, trial: &str, file: &str, build: &[&str]) -> Option<Sandbox> {
    if !can_run(tool, &[trial]) {
        return None;
    }
    if allowed_cpus().expect("they are readable").len() < 2 {
        skipped("two CPUs", "this process may use one");
        return None;
    }
    let sandbox = Sandbox::new();
    let name = Path::new(file).file_name().expect("a file");
    fs::copy(Path::new(BENCHMARKS).join(file), sandbox.home().join(name)).expect("a benchmark");
    if !build.is_empty() {
        sandbox.builds(tool, build);
    }
    Some(sandbox)
}

fn in_c() -> Option<Sandbox> {
    let build = ["-O1", "-Wall", "-Werror", "-pthread", "-o", "benchmark", "benchmark.c"];
    with("cc", "--version", "benchmark.c", &build)
}

/// Audits a benchmark that may use two CPUs.
fn audit(sandbox: &Sandbox, words: &[&str]) -> Ended {
    let cpus = allowed_cpus().expect("they are readable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipcperf"));
    command.env("CPUS", format!("{},{}", cpus[0], cpus[1]));
    let words = [&["audit", "-o", "a.json"], words].concat();
    let ended = sandbox.spawn(sandbox.surround(command, &words)).end();
    assert!(processes(sandbox).is_empty(), "{words:?}: {:?}", processes(sandbox));
    ended
}

fn codes(audit: &Value, of: &str) -> BTreeSet<String> {
    let named = |one: &Value| one.as_str().unwrap_or_else(|| text(one, "code")).to_owned();
    list(audit, of).iter().map(named).collect()
}

/// What a busy machine can add to any benchmark.
const BY_CHANCE: [&str; 2] = ["W-FIRST-MESSAGE", "W-LARGE-GAP"];

/// Codes of faults and doubts, without those that come by chance.
fn judged(audit: &Value) -> BTreeSet<String> {
    let findings = list(audit, "findings").iter();
    let findings = findings.filter(|finding| text(finding, "severity") != "info");
    let codes = findings.map(|finding| text(finding, "code").to_owned());
    codes.filter(|code| !BY_CHANCE.contains(&code.as_str())).collect()
}

/// The audit that was written, and the codes of what was found.
fn found(sandbox: &Sandbox) -> (Value, BTreeSet<String>) {
    let profile = valid("profile", &sandbox.read("a.json").expect("written"));
    let audit = profile["audit"].clone();
    let codes = judged(&audit);
    (audit, codes)
}

/// What is found of each fault over each channel, in the languages that have it.
fn check(sandbox: &Sandbox, program: &[&str], cases: &[(&str, &str, &[&str])]) {
    for (fault, channel, expected) in cases {
        let ended = audit(sandbox, &[&["--"], program, &[fault, channel]].concat());
        let (audit, codes) = found(sandbox);
        let expected: BTreeSet<String> = expected.iter().map(|&code| code.to_owned()).collect();
        assert_eq!(codes, expected, "{program:?} {fault} {channel}: {audit:#}");
        let has_fault = expected.iter().any(|code| code.starts_with('E'));
        let code = if has_fault { 5 } else { 0 };
        assert_eq!(ended.status.code(), Some(code), "{fault} {channel}: {}", ended.stderr);
        // A runtime with several threads may read clocks for their sake, as that of Python does.
        if *fault != "one-process" {
            let timed = list(&audit, "timed").first().expect("it reads a clock");
            let spans = if *channel == "in-turns" { 3 } else { 1 };
            assert_eq!(timed["spans"], spans, "{program:?} {fault} {channel}: {audit:#}");
        }
    }
    sandbox.leaves_nothing();
}

const CLEAN: [(&str, &str, &[&str]); 3] =
    [("none", "pipe", &[]), ("none", "socket", &[]), ("none", "both", &[])];

/// Over what can be seen in every language.
const FAULTS: [(&str, &str, &[&str]); 6] = [
    ("own-bytes", "socket", &["E-OWN-BYTES"]),
    ("set-up", "socket", &["E-SETUP-TIMED"]),
    ("tear-down", "pipe", &["E-TEARDOWN-TIMED"]),
    ("unequal", "both", &["W-UNEQUAL-CALLS"]),
    ("shared-cpu", "socket", &["W-SHARED-CPU"]),
    ("not-pinned", "pipe", &["W-NOT-PINNED"]),
];

/// Where the runtime has no say in who reads a clock and which thread does what.
const MORE: [(&str, &str, &[&str]); 5] = [
    ("none", "one-way", &[]),
    ("one-process", "pipe", &["W-ONE-PROCESS", "W-NOT-PINNED"]),
    ("late-wait", "one-way", &["E-LATE-WAIT", "E-TEARDOWN-TIMED"]),
    ("not-awaited", "one-way", &["E-NOT-AWAITED"]),
    ("unread", "one-way", &["E-UNREAD"]),
];

#[test]
fn faults_in_c_are_found_and_a_clean_benchmark_has_none() {
    let Some(sandbox) = in_c() else { return };
    for cases in [&CLEAN[..], &FAULTS, &MORE] {
        check(&sandbox, &["./benchmark"], cases);
    }
    let only_here: [(&str, &str, &[&str]); 6] = [
        ("none", "connections", &[]),
        ("unequal", "connections", &["W-UNEQUAL-CALLS"]),
        ("unequal", "in-turns", &["W-UNEQUAL-CALLS"]),
        ("none", "in-turns", &[]),
        ("short-writes", "one-way", &["E-OTHER-SIZE"]),
        ("not-touched", "one-way", &["W-NOT-TOUCHED"]),
    ];
    check(&sandbox, &["./benchmark"], &only_here);
}

#[test]
fn faults_in_python_are_found_and_a_clean_benchmark_has_none() {
    let Some(sandbox) = with("python3", "--version", "benchmark.py", &[]) else { return };
    // What is found by calls alone is found in C.
    let faults = if tries_all() { &FAULTS[..] } else { &FAULTS[..2] };
    for cases in [&CLEAN[2..], faults, &MORE] {
        check(&sandbox, &["python3", "benchmark.py"], cases);
    }
}

#[test]
fn faults_in_go_are_found_and_a_clean_benchmark_has_none() {
    let build = ["build", "-o", "benchmark", "benchmark.go"];
    let Some(sandbox) = with("go", "version", "benchmark.go", &build) else { return };
    let faults = if tries_all() { &FAULTS[..] } else { &FAULTS[..2] };
    for cases in [&CLEAN[2..], faults] {
        check(&sandbox, &["./benchmark"], cases);
    }
}

fn planted() -> Option<Sandbox> {
    let build = ["-O1", "-Wall", "-Werror", "-o", "planted", "planted.c"];
    with("cc", "--version", "planted.c", &build)
}

/// What is found of small benchmarks with one fault each, or with something alike that is none.
fn check_planted(cases: &[(&str, &[&str])]) {
    let Some(sandbox) = planted() else { return };
    for (what, expected) in cases {
        let ended = audit(&sandbox, &["--", "./planted", what]);
        let (audit, codes) = found(&sandbox);
        let expected: BTreeSet<String> = expected.iter().map(|&code| code.to_owned()).collect();
        assert_eq!(codes, expected, "{what}: {audit:#}");
        let has_fault = expected.iter().any(|code| code.starts_with('E'));
        let code = if has_fault { 5 } else { 0 };
        assert_eq!(ended.status.code(), Some(code), "{what}: {}", ended.stderr);
    }
    sandbox.leaves_nothing();
}

/// Of the benchmarks of `.ci/audit.py` those that run in seconds, without faults that planted.c or benchmark.py has as well.
fn check_campaign(sandbox: &Sandbox, program: &[&str], cases: &[(&str, &str)]) {
    for (kind, code) in cases {
        for (how, is_faulty) in [("fault", true), ("clean", false)] {
            let ended = audit(sandbox, &[&["--"], program, &[kind, how]].concat());
            let (audit, codes) = found(sandbox);
            assert_eq!(codes.contains(*code), is_faulty, "{program:?} {kind} {how}: {audit:#}");
            let faults = codes.iter().filter(|one| one.starts_with('E') && one != code);
            assert_eq!(faults.count(), 0, "{program:?} {kind} {how}: {audit:#}");
            let status = if is_faulty && code.starts_with('E') { 5 } else { 0 };
            assert_eq!(ended.status.code(), Some(status), "{kind} {how}: {}", ended.stderr);
        }
    }
    sandbox.leaves_nothing();
}

#[test]
fn faults_of_the_campaign_in_c_and_python_are_found_and_their_twins_have_none() {
    let build = ["-O2", "-Wall", "-Werror", "-o", "bench", "bench.c"];
    if let Some(sandbox) = with("cc", "--version", "campaign/bench.c", &build) {
        let cases = [
            ("server-sleep", "E-SLEEP-TIMED"),
            ("log", "E-PRINT-TIMED"),
            ("connects", "W-UNEQUAL-CALLS"),
        ];
        check_campaign(&sandbox, &["./bench"], &cases);
    }
    if let Some(sandbox) = with("python3", "--version", "campaign/bench.py", &[]) {
        let cases = [("set-up", "E-SETUP-TIMED"), ("sleep", "E-SLEEP-TIMED"), ("nagle", "W-NAGLE")];
        check_campaign(&sandbox, &["python3", "bench.py"], &cases);
    }
}

#[test]
fn whatever_an_acknowledgement_comes_by_it_is_one() {
    check_planted(&[
        ("memory", &[]),
        ("semaphore", &[]),
        ("sigwait", &[]),
        ("handler", &[]),
        ("not-awaited", &["E-NOT-AWAITED"]),
    ]);
}

/// Looks that a receiver compares with its own, and an end that outlives the program that was started.
#[test]
fn what_comes_later_is_waited_for_and_stamps_are_no_times() {
    check_planted(&[("stamps", &[]), ("orphan", &[])]);
}

#[test]
fn a_clock_that_does_not_count_the_time_that_passes_is_found() {
    check_planted(&[
        ("clock", &["E-CPU-CLOCK"]),
        ("getrusage", &["E-CPU-CLOCK"]),
        ("times", &["E-CPU-CLOCK"]),
        ("coarse", &["W-COARSE-CLOCK"]),
        ("both-clocks", &[]),
    ]);
}

#[test]
fn what_ends_do_beside_the_messages_that_they_time_is_found() {
    check_planted(&[
        ("sleeps", &["E-SLEEP-TIMED"]),
        ("server-sleeps", &["E-SLEEP-TIMED"]),
        ("prints", &["E-PRINT-TIMED"]),
        ("sleeps-between", &[]),
    ]);
}

#[test]
fn each_of_several_rounds_is_looked_at_and_pauses_between_them_are_none_of_it() {
    check_planted(&[("rounds", &["E-SETUP-TIMED"]), ("pauses", &[])]);
}

#[test]
fn a_slow_first_message_is_found() {
    let Some(sandbox) = planted() else { return };
    audit(&sandbox, &["--", "./planted", "first"]);
    let (audit, _) = found(&sandbox);
    assert!(codes(&audit, "findings").contains("W-FIRST-MESSAGE"), "{audit:#}");
    let shares = &list(&audit, "timed")[0]["shares"];
    for share in ["waiting", "sending", "sleeping", "first_message", "largest_gap"] {
        assert!(shares[share].as_f64().is_some_and(|share| share > 0.0), "{share}: {audit:#}");
    }
    let shown = sandbox.run(&["report", "a.json"]).stdout;
    assert!(shown.contains("waiting for the peer") && shown.contains("first message"), "{shown}");
}

/// `kill(0, ...)` is for the group of the program, in which ipcperf is not.
#[test]
fn a_benchmark_may_send_signals_to_its_own_group() {
    let Some(sandbox) = planted() else { return };
    let ended = audit(&sandbox, &["--", "./planted", "group"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let ended = audit(&sandbox, &["--", "sh", "-c", "trap : USR1; kill -USR1 0"]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
}

#[test]
fn clocks_around_a_benchmark_that_times_itself_are_not_its_own() {
    let Some(sandbox) = planted() else { return };
    for script in [
        "date +%s%N; ./planted clean; date +%s%N; echo",
        "start=$(date +%s%N); ./planted clean; echo $start $(date +%s%N)",
    ] {
        let ended = audit(&sandbox, &["--", "sh", "-c", script]);
        let (audit, codes) = found(&sandbox);
        assert_eq!(codes, BTreeSet::new(), "{script}: {audit:#}");
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert_eq!(list(&audit, "timed")[0]["program"], "planted");
    }
}

/// A client that reads no clock: those that its interpreter reads are no measurement.
const CLOCKLESS: &str = "
import os, socket
listener = socket.create_server(('127.0.0.1', 0))
if os.fork() == 0:
    end = listener.accept()[0]
    while data := end.recv(100):
        end.sendall(data)
    os._exit(0)
end = socket.create_connection(('localhost', listener.getsockname()[1]))
for i in range(40):
    end.sendall(b'0123456789')
    end.recv(100)
end.close()
print('ok', flush=True)
";

#[test]
fn clocks_that_an_interpreter_reads_are_no_measurement() {
    if !can_run("python3", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    // As a version manager starts it: the launcher says more to its helpers than the benchmark to its peer.
    let launcher =
        "for i in 1 2 3; do echo $i | cat | cat | cat >/dev/null; done; exec python3 -c \"$0\"";
    for words in [&["python3", "-c", CLOCKLESS][..], &["sh", "-c", launcher, CLOCKLESS]] {
        let ended = audit(&sandbox, &[&["--"], words].concat());
        let (audit, codes) = found(&sandbox);
        assert!(codes.iter().all(|code| !code.starts_with('E')), "{audit:#}");
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert_eq!(list(&audit, "timed").len(), 0, "{audit:#}");
    }
}

/// Datagrams are joined by the addresses that go along, semaphores by their number, and descriptors alone are a message.
#[test]
fn datagrams_semaphores_and_messages_without_bytes_are_examined() {
    check_planted(&[
        ("datagrams", &[]),
        ("datagrams-sleep", &["E-SLEEP-TIMED"]),
        ("descriptors", &[]),
    ]);
    let Some(sandbox) = planted() else { return };
    for (what, kind, messages) in [
        ("datagrams", "udp", 202),
        ("descriptors", "unix-seqpacket", 202),
        ("semaphores", "sysv-sem", 202),
    ] {
        audit(&sandbox, &["--", "./planted", what]);
        let (audit, codes) = found(&sandbox);
        assert_eq!(codes, BTreeSet::new(), "{what}: {audit:#}");
        assert_eq!(audit["messages"], messages, "{what}: {audit:#}");
        assert!(text(&list(&audit, "timed")[0], "channel").contains(kind), "{what}: {audit:#}");
    }
    sandbox.leaves_nothing();
}

#[test]
fn writes_that_wait_for_a_delayed_acknowledgement_are_found() {
    check_planted(&[("nagle", &["W-NAGLE"]), ("no-delay", &[])]);
    let sandbox = Sandbox::new();
    let said = sandbox.run(&["explain", "W-NAGLE"]).stdout;
    assert!(said.contains("TCP_NODELAY"), "{said}");
}

#[test]
fn what_is_set_up_is_not_looked_for_where_each_message_is_timed_by_itself() {
    let Some(sandbox) = in_c() else { return };
    let ended = audit(&sandbox, &["--", "./benchmark", "each", "pipe"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let (audit, codes) = found(&sandbox);
    assert_eq!(codes, BTreeSet::new(), "{audit:#}");
    assert_eq!(list(&audit, "timed")[0]["spans"], 201, "{audit:#}");
    for code in ["E-SETUP-TIMED", "E-TEARDOWN-TIMED"] {
        assert!(text(&audit["unchecked"], code).contains("between single messages"), "{audit:#}");
    }
    assert!(ended.stdout.contains("reads a clock between 402 of 402 messages"), "{}", ended.stdout);
}

/// As in a published study: the clock is read by `date`, so that both programs start and end in between.
#[test]
fn a_script_that_reads_the_clock_times_all_that_its_programs_need() {
    let Some(sandbox) = in_c() else { return };
    let script = "start=$(date +%s%N); ./benchmark $0 send | ./benchmark $0 receive; end=$(date +%s%N); echo $start $end";
    for (fault, more) in [("none", None), ("late-wait", Some("E-LATE-WAIT"))] {
        let ended = audit(&sandbox, &["--", "sh", "-c", script, fault]);
        let expected = ["E-SETUP-TIMED", "E-TEARDOWN-TIMED"].into_iter().chain(more);
        let (audit, codes) = found(&sandbox);
        assert_eq!(codes, expected.map(str::to_owned).collect(), "{fault}: {audit:#}");
        assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
        assert_eq!(list(&audit, "timed")[0]["program"], "sh");
    }
    let ended = sandbox.run(&["report", "a.json"]);
    for part in ["benchmark waits ", " in poll after its last byte", "execve 2"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

#[test]
fn sizes_are_those_that_were_asked_for_and_bad_requests_are_refused() {
    let Some(sandbox) = in_c() else { return };
    let clean = ["--", "./benchmark", "none", "pipe"];
    let ended = audit(&sandbox, &[&["--size", "64"], &clean[..]].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(codes(&found(&sandbox).0, "passed").contains("E-OTHER-SIZE"));
    assert!(ended.stdout.contains("No fault found in 402 messages"), "{}", ended.stdout);
    let ended = audit(&sandbox, &[&["--size", "1K"], &clean[..]].concat());
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
    let said = "402 of 402 writes over pipe had 64 B, and 0 had the 1,024 B of --size";
    assert!(text(&list(&found(&sandbox).0, "findings")[0], "text").contains(said));
    for (words, code, part) in [
        (&["--", "sh", "-c", "echo nothing"][..], 3, "Nothing to audit"),
        (&["--", "sh", "-c", "exit 9"], 9, "Nothing to audit"),
        (&["--", "no-such-benchmark"], 2, "no program 'no-such-benchmark' in PATH"),
        (&["--size", "many", "--", "true"], 2, "--size: 'many' is not a size"),
        (&["--client", "true"], 2, "<PROGRAM>"),
        (&[], 2, "<PROGRAM>"),
    ] {
        let ended = audit(&sandbox, words);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
    }
    sandbox.leaves_nothing();
}
