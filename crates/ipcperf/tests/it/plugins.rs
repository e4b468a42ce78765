//! Plug-ins: measured like any other mechanism, and each fault of theirs by its name.

use crate::common::{Sandbox, can_run, cells, list, rounds, text, wait_for, words};
use crate::watch::{processes, workers};
use ipcperf_core::digest::{hex, sha256};
use std::fs;

const INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include");
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/faulty.c");

const THROWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/throws.cpp");

/// How long a case of the suite waits for an end that has hung.
const HANGS: &str = "--deadline=20s";
/// The same for others, which only a busy machine delays.
const ENDS: &str = "--deadline=300s";

/// A folder in which plug-ins are built; `None` without a compiler.
fn with_compiler() -> Option<Sandbox> {
    let has_both = can_run("cc", &["--version"]) && can_run("c++", &["--version"]);
    has_both.then(Sandbox::new)
}

/// Builds the plug-in with this fault as `./NAME.so`.
fn build(sandbox: &Sandbox, fault: &str) -> String {
    let file = format!("./{}.so", fault.to_lowercase());
    let (fault, name) = match fault {
        "HAS_NO_SYMBOL" => ("-DFAULT=SOUND", "-DNO_SYMBOL"),
        _ => (&*format!("-DFAULT={fault}"), "-DSYMBOL"),
    };
    if fault == "-DFAULT=THROWS" {
        let parts = ["-x", "c", FIXTURE, "-x", "c++", THROWS, "-o", &file];
        let flags = ["-shared", "-fPIC", "-w", INCLUDE, "-DWITH_EXCEPTIONS", fault];
        sandbox.builds("c++", &[&flags[..], &parts].concat());
        return file;
    }
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", INCLUDE];
    sandbox.builds("cc", &[&flags[..], &[fault, name, FIXTURE, "-o", &file]].concat());
    file
}

fn nothing_is_left(sandbox: &Sandbox) {
    assert!(processes(sandbox).is_empty(), "{:?}", processes(sandbox));
    sandbox.leaves_nothing();
}

#[test]
fn a_sound_plugin_keeps_every_promise() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "SOUND");
    let ended = sandbox.done(&["conformance", &file]);
    assert!(ended.stdout.contains("C25 returned memory: passed"), "{}", ended.stdout);
    assert!(ended.stdout.contains(" 0 failed"), "{}", ended.stdout);
    nothing_is_left(&sandbox);
}

#[test]
fn a_table_of_an_older_header_is_measured() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "IS_OLDER");
    let line = "-s 64 --place same-cpu --rounds 1 --slice 2ms --warmup 1ms -o it.json";
    sandbox.done(&[&["run", "-m", &file], &words(line)[..]].concat());
    assert_eq!(text(&cells(&sandbox.result("it.json"))[0], "status"), "ok");
    nothing_is_left(&sandbox);
}

#[test]
fn what_a_plugin_says_does_not_steer_the_terminal() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "WRITES_TO_THE_TERMINAL");
    let ended = sandbox.run(&["conformance", &file, "C01"]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stdout.contains("(?[2J?it has no device)"), "{:?}", ended.stdout);
    nothing_is_left(&sandbox);
}

#[test]
fn a_plugin_is_measured_and_proved_and_named_in_the_document() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "SOUND");
    let line = "-s 64 --place same-cpu --rounds 6 --slice 2ms --warmup 1ms -o it.json";
    let mechanisms = format!("{file},unix-seqpacket");
    sandbox.done(&[&["run", "-m", &mechanisms], &words(line)[..]].concat());
    let document = sandbox.result("it.json");
    for cell in cells(&document) {
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        for round in rounds(cell) {
            assert_eq!(round["proof"]["lead"][0], round["proof"]["follow"][1]);
        }
    }
    let plugins = list(&document, "plugins");
    assert_eq!((plugins.len(), text(&plugins[0], "name")), (1, "faulty"));
    assert_eq!(text(&plugins[0], "file"), "sound.so");
    let bytes = fs::read(sandbox.home().join(&file)).expect("it was built");
    assert_eq!(text(&plugins[0], "sha256"), hex(&sha256(&bytes)));
    sandbox.refuses(&["repeat", "it.json"], "a result does not lead to the plug-in faulty");
    fs::copy(sandbox.home().join(&file), sandbox.home().join("copy.so")).expect("it was built");
    sandbox.refuses(&["run", "-m", "./sound.so,./copy.so"], "which is the name of sound.so");
    nothing_is_left(&sandbox);
}

#[test]
fn what_calls_through_pointers_add_is_measured_once_and_kept() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "SOUND");
    let line = "-s 64 --place same-cpu --rounds 1 --slice 2ms --warmup 1ms -o it.json";
    let measured = |mechanism: &str| {
        sandbox.done(&[&["run", "-m", mechanism], &words(line)[..]].concat());
        let document = sandbox.result("it.json");
        let findings = list(&document["noise"], "findings").iter();
        let is_said = findings.clone().any(|finding| finding["code"] == "I-POINTERS");
        (document["bounds"]["plugin_call_ns"].clone(), is_said)
    };
    let (first, is_said) = measured(&file);
    assert!(first["value"].is_number() && is_said, "{first}");
    let at = sandbox.home().join(".cache/ipcperf/plugin-calls.json");
    let text = fs::read_to_string(&at).expect("it is kept");
    let mut kept: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let known = serde_json::json!({ "value": 60.0, "ci95": [50.0, 70.0] });
    kept["added_ns"] = known.clone();
    fs::write(&at, kept.to_string()).expect("a file");
    assert_eq!(measured(&file), (known.clone(), true));
    kept["of"] = "another program".into();
    fs::write(&at, kept.to_string()).expect("a file");
    assert_ne!(measured(&file).0, known);
    assert_eq!(measured("pipe"), (serde_json::Value::Null, false));
    let both = format!("{file},pipe-as-plug-in");
    sandbox.refuses(&["run", "-m", &both], "unknown mechanism 'pipe-as-plug-in'");
    nothing_is_left(&sandbox);
}

/// Faults, the case that finds each, and what it says of it.
const REFUTED: &[(&str, &str, &str)] = &[
    ("ANSWERS_EARLY", "C03", "message 0 of 8 bytes is wrong from byte 0 on"),
    ("LOSES_THE_1000TH", "C03", "message 1000 arrived in place of message 999"),
    ("DOUBLES_THE_1000TH", "C03", "message 999 arrived in place of message 1000"),
    ("SWAPS_TWO", "C03", "message 1000 arrived in place of message 999"),
    ("TRUNCATES", "C02", "a message arrived shortened"),
    ("DAMAGES_A_BYTE", "C02", "wrong from byte 2000 on"),
    ("KEEPS_THE_BUFFER", "C25", "Bad address"),
    ("BLOCKS_IN_CLOSE", "C01", "close has not returned after 1 s"),
    ("BLOCKS_IN_DETACH", "C01", "in detach"),
    ("BLOCKS_IN_RECV", "C01", "in recv"),
    ("BLOCKS_IN_OPEN", "C01", "open has not returned after 10 s"),
    ("CLOSES_ALL_IN_OPEN", "C01", "closed its channel to ipcperf in open, and has not ended"),
    ("LEAKS_A_DESCRIPTOR", "C13", "channels left 50 descriptors open"),
    ("FORKS", "C01", "processes left after detach: 1"),
    ("FORKS_IN_OPEN", "C01", "processes left by it: 1"),
    ("GIVES_ONE_TWICE", "C01", "is given twice; use dup; it wrote: closed"),
    ("GIVES_STANDARD_ERROR", "C01", "the descriptor 2, a standard stream"),
    ("GIVES_THE_CONTROL_SOCKET", "C01", "which belongs to ipcperf"),
    ("CRASHES_IN_WINDOW", "C01", "its process ended in window: killed by signal 11"),
    ("CRASHES", "C01", "Lead: ended: killed by signal 11"),
    ("CRASHES", "C01", "Lead: in send"),
    ("ABORTS", "C01", "killed by signal 6"),
    ("ABORTS", "C01", "wrote: transport.c:17: slot < slots failed"),
    ("THROWS", "C01", "Lead: ended: killed by signal 6"),
    ("EXITS", "C01", "Lead: in attach"),
    ("WRITES_BEHIND_THE_BUFFER", "C01", "more bytes arrived than were asked for"),
    ("SAYS_TOO_MUCH", "C01", "more bytes arrived than were asked for"),
    ("RETURNS_NO_CODE", "C01", "it returned 99, which the header does not define"),
    ("NEVER_TELLS_THE_END", "C08", "timed out waiting for the receiver to notice"),
    ("LIES_ABOUT_ITS_LIMIT", "C10", "65536 bytes met no fault in place of TooLong"),
];

#[test]
fn each_broken_plugin_is_refuted_for_the_right_reason() {
    let Some(sandbox) = with_compiler() else { return };
    crate::common::at_once(REFUTED.chunks(6), |some| {
        for (fault, case, reason) in some {
            let file = build(&sandbox, fault);
            let hangs =
                matches!(*fault, "BLOCKS_IN_DETACH" | "BLOCKS_IN_RECV" | "NEVER_TELLS_THE_END");
            let deadline = if hangs { HANGS } else { ENDS };
            let ended = sandbox.run(&["conformance", &file, case, deadline]);
            assert_eq!(ended.status.code(), Some(5), "{fault}: {}{}", ended.stdout, ended.stderr);
            assert!(ended.stdout.contains(reason), "{fault}: {}", ended.stdout);
        }
    });
    nothing_is_left(&sandbox);
}

#[test]
fn what_cannot_be_loaded_is_refused_before_anything_is_measured() {
    let Some(sandbox) = with_compiler() else { return };
    for (fault, reason) in [
        ("HAS_NO_SYMBOL", "has no function ipcperf_transport_v1"),
        ("HAS_ANOTHER_VERSION", "has version 2 of the interface; this ipcperf has 1"),
        ("HAS_NO_RECV", "its table has no 'recv'"),
        ("HAS_NO_NAME", "its facts name it ''"),
        ("HAS_TOO_MANY_KNOBS", "its facts have 65 knobs; 64 are the most"),
        ("HAS_NO_STRIDE", "its facts have knob_stride = 0"),
        ("HAS_LONG_TEXTS", "its facts have a 'needs' of 1100 bytes; 1024 are the most"),
        ("HAS_MANY_TEXTS", "bytes; 32768 are the most"),
        (
            "CRASHES_WHEN_LOADED",
            "its process ended in the code that runs when it is loaded: killed by signal 11",
        ),
    ] {
        let file = build(&sandbox, fault);
        sandbox.refuses(&["run", "-m", &file], reason);
    }
    fs::write(sandbox.home().join("text.so"), "no library").expect("a file");
    sandbox.refuses(&["run", "-m", "./text.so"], "it cannot be loaded");
    sandbox.refuses(&["run", "-m", "./nothing.so"], "plug-in ./nothing.so: No such file");
    nothing_is_left(&sandbox);
}

#[test]
fn a_run_says_of_a_failed_end_in_which_call_it_was() {
    let Some(sandbox) = with_compiler() else { return };
    for (fault, reason) in [
        ("CRASHES", "killed by signal 11; the lead was in send"),
        ("ABORTS", "the lead wrote: transport.c:17: slot < slots failed"),
        ("LINGERS", "the process has not ended 1 s after detach"),
        ("LEAKS_A_DESCRIPTOR", "descriptors open after detach: 1 (/dev/null)"),
        ("FORKS", "processes left after detach: 1"),
        ("FORKS_IN_OPEN", "processes left by it: 1"),
        ("CRASHES_IN_WINDOW", "its process ended in window: killed by signal 11"),
        ("BLOCKS_IN_CLOSE", "close has not returned after 1 s"),
        ("BLOCKS_IN_RECV", "not done after 10 s; the lead was in recv; the follow was in recv"),
        ("CLOSES_ALL_IN_ATTACH", "not done after 10 s; the lead was in attach"),
    ] {
        let file = build(&sandbox, fault);
        let line = "-s 64 --place same-cpu --rounds 1 --slice 2ms --warmup 1ms -o it.json";
        let ended = sandbox.run(&[&["run", "-m", &file], &words(line)[..]].concat());
        assert_eq!(ended.status.code(), Some(1), "{fault}: {}{}", ended.stdout, ended.stderr);
        let document = sandbox.result("it.json");
        let cell = &cells(&document)[0];
        let status = if reason.starts_with("not done") { "deadline" } else { "failed" };
        assert_eq!(text(cell, "status"), status, "{fault}: {cell}");
        assert!(text(cell, "reason").contains(reason), "{fault}: {cell}");
        nothing_is_left(&sandbox);
    }
}

#[test]
fn what_an_end_leaves_is_found_behind_packets_too() {
    let Some(sandbox) = with_compiler() else { return };
    for (fault, reason) in [
        ("LEAKS_A_DESCRIPTOR", "descriptors open after detach: 1 (/dev/null)"),
        ("FORKS", "processes left after detach: 1"),
    ] {
        let file = build(&sandbox, fault);
        let line = "-s 64 --packet 32 --place same-cpu --rounds 1 --slice 2ms --warmup 1ms";
        let ended =
            sandbox.run(&[&["run", "-o", "it.json", "-m", &file], &words(line)[..]].concat());
        assert_eq!(ended.status.code(), Some(1), "{fault}: {}{}", ended.stdout, ended.stderr);
        let document = sandbox.result("it.json");
        assert!(text(&cells(&document)[0], "reason").contains(reason), "{fault}: {document}");
        nothing_is_left(&sandbox);
    }
}

#[test]
fn a_plugin_that_a_file_names_is_loaded_only_if_allowed() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "SOUND");
    let job = format!("mechanism = \"{file}\"\nsize = 64\nrounds = 1\nslice = \"2ms\"\n");
    fs::write(sandbox.home().join("job.toml"), job).expect("a file");
    let reason = "a file names it, and its code would run as you";
    sandbox.refuses(&["run", "job.toml"], reason);
    sandbox.refuses(&["run", "job.toml", "--dry-run"], reason);
    sandbox.done(&["run", "job.toml", "--allow-exec", "--dry-run"]);
}

#[test]
fn a_new_project_builds_and_conforms() {
    let Some(sandbox) = with_compiler() else { return };
    for (language, compiler) in [("c", "cc"), ("cpp", "c++")] {
        if !can_run(compiler, &["--version"]) || !can_run("make", &["--version"]) {
            continue;
        }
        let folder = format!("my-{language}");
        sandbox.done(&["new-transport", language, &folder]);
        sandbox.builds("make", &["-C", &folder]);
        let file = format!("./{folder}/lib{folder}.so");
        let ended = sandbox.done(&["conformance", &file, "C01", "C03", "C08", "C09"]);
        assert!(ended.stdout.contains(" 0 failed"), "{}", ended.stdout);
        sandbox.refuses(&["new-transport", language, &folder], "File exists");
    }
    sandbox.refuses(&["new-transport", "cp", "x"], "did you mean 'cpp'?");
    sandbox.refuses(&["new-transport", "c", "My"], "cannot be the name of a transport");
    nothing_is_left(&sandbox);
}

#[test]
fn a_new_package_in_rust_has_its_name_and_the_path_of_ipcperf() {
    let sandbox = Sandbox::new();
    sandbox.refuses(&["new-transport", "rust", "my-rust"], "--ipcperf PATH names the folder");
    sandbox.refuses(
        &["new-transport", "rust", "my-rust", "--ipcperf", "/"],
        "'/Cargo.toml' is not one",
    );
    sandbox
        .refuses(&["new-transport", "c", "my-c", "--ipcperf", "."], "a plug-in does not need it");
    let library = env!("CARGO_MANIFEST_DIR");
    sandbox.done(&["new-transport", "rust", "my-rust", "--ipcperf", library]);
    let read = |file: &str| {
        let path = sandbox.home().join("my-rust").join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let (package, mechanism) = (read("Cargo.toml"), read("benches/mechanism/mod.rs"));
    assert!(package.contains(&format!("path = \"{library}\"")), "{package}");
    assert!(package.contains("name = \"my-rust\"\nversion"), "{package}");
    assert!(mechanism.contains("use my_rust::"), "{mechanism}");
    assert!(mechanism.contains("Spec::message(\"my-rust\")"), "{mechanism}");
    for file in ["src/lib.rs", "benches/my-rust.rs", "tests/conformance.rs"] {
        assert!(!read(file).contains('@'), "{file}");
    }
}

#[test]
fn processes_of_a_plugin_end_with_a_killed_coordinator() {
    let Some(sandbox) = with_compiler() else { return };
    let file = build(&sandbox, "SOUND");
    let line = "-s 64 --place same-cpu --rounds 1 --slice 30s -o it.json";
    let mut running = sandbox.start(&[&["run", "-m", &file], &words(line)[..]].concat());
    let is_loaded = |pid: &u32| {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.contains("sound.so")
    };
    // Its own process and both ends.
    let own = running.child.id();
    wait_for("the ends of the plug-in", || {
        (workers(&sandbox).iter().filter(|pid| is_loaded(pid)).count() >= 3).then_some(())
    });
    assert!(!is_loaded(&own), "the coordinator has loaded it");
    running.child.kill().expect("our own child");
    running.child.wait().expect("our own child");
    wait_for("the end of its processes", || processes(&sandbox).is_empty().then_some(()));
    sandbox.done(&["clean"]);
    sandbox.leaves_nothing();
}
