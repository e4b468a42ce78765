//! Programs of others at the place of the follow: measured beside our own, refused with the reason, and nothing is left.

use crate::common::{Sandbox, can_run, cells, list, rounds, text, words};
use crate::watch::processes;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

/// Where the examples lie.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ends");

/// Does something to an example in the sandbox; false where the tool is not installed, which is a skip.
fn made(sandbox: &Sandbox, tool: &str, trial: &str, file: &str, build: &[&str]) -> bool {
    if !can_run(tool, &[trial]) {
        return false;
    }
    fs::copy(Path::new(EXAMPLES).join(file), sandbox.home().join(file)).expect("an example");
    if !build.is_empty() {
        sandbox.builds(tool, build);
    }
    true
}

/// The end in C as `./echo`.
fn echo(sandbox: &Sandbox) -> bool {
    made(sandbox, "cc", "--version", "echo.c", &["-O2", "-Wall", "-Werror", "-o", "echo", "echo.c"])
}

/// Runs it with these programs, and gives the document and the exit code; no process is left.
fn run(sandbox: &Sandbox, line: &str, programs: &[&str]) -> (Value, i32) {
    let follows = programs.iter().flat_map(|program| ["--follow", program]);
    let all: Vec<&str> = words(line).into_iter().chain(follows).chain(["-o", "it.json"]).collect();
    let ended = sandbox.run(&all);
    assert!(processes(sandbox).is_empty(), "{:?}", processes(sandbox));
    sandbox.leaves_nothing();
    let code = ended.status.code().expect("it ends by itself");
    assert!(sandbox.read("it.json").is_ok(), "{}", ended.stderr);
    (sandbox.result("it.json"), code)
}

/// The program of a cell; `None`: our own end.
fn program(cell: &Value) -> Option<String> {
    let words = cell["load"]["follow"].as_array()?;
    Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
}

fn is_proved(cell: &Value) {
    assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
    for round in rounds(cell) {
        let proof = &round["proof"];
        assert_eq!(proof["lead"][0], proof["follow"][1], "{proof}");
        assert_ne!(proof["lead_pid"], proof["follow_pid"]);
    }
}

#[test]
fn programs_are_measured_beside_our_own_end_in_the_same_rounds() {
    let sandbox = Sandbox::new();
    let mut programs = Vec::new();
    if echo(&sandbox) {
        programs.push("./echo");
    }
    if made(&sandbox, "python3", "--version", "echo.py", &[]) {
        programs.push("python3 echo.py");
    }
    let line = "run -m pipe,unix-stream,tcp --place same-cpu --rounds 6 --slice 2ms --warmup 1ms";
    let (document, code) = run(&sandbox, line, &programs);
    assert_eq!((cells(&document).len(), code), (3 * (1 + programs.len()), 0));
    for cell in cells(&document) {
        is_proved(cell);
        assert_eq!(text(cell, "touch"), if programs.is_empty() { "cacheline" } else { "header" });
        let rounds = rounds(cell);
        assert_eq!(rounds.len(), 6);
        for round in &rounds {
            let Some(name) = program(cell) else {
                assert!(round.get("program").is_none_or(Value::is_null), "{round}");
                continue;
            };
            let end = &round["program"];
            assert!(end["first_answer_ns"].as_f64() > Some(0.0), "{name}: {end}");
            assert!(end["warmup_ns"].as_f64() > Some(0.0), "{name}: {end}");
            assert!(end["processes"].as_u64() >= Some(1) && end["threads"].as_u64() >= Some(1));
            assert!(round["cpu_ns"]["follow"].as_u64() > Some(0), "{name}: {round}");
        }
    }
    if programs.is_empty() {
        return;
    }
    let shown = sandbox.done(&["report", "it.json", "--format", "markdown", "--verbose"]).stdout;
    assert!(shown.contains("of ours"), "{shown}");
    for name in programs {
        assert!(shown.contains(&format!("unix-stream with {name}")), "{shown}");
        assert!(shown.contains(&format!("{name}: first answer")), "{shown}");
        // Two modes have no ratio.
        let has_ratio = |row: &str| row.contains("x \\[") || row.contains(" of 6 rounds");
        let mut rows = shown.lines().filter(|line| line.contains(&format!("with {name}")));
        assert!(rows.any(has_ratio), "{name}: {shown}");
    }
}

#[test]
fn an_end_answers_over_every_mechanism_that_has_descriptors() {
    let sandbox = Sandbox::new();
    if !echo(&sandbox) {
        return;
    }
    let all = "fifo,pty,unix-stream,unix-seqpacket,unix-dgram,tcp6";
    for (names, rest) in [
        ("unix-seqpacket", "-s 1,3,7,8,63,64,68 --touch header"),
        ("unix-stream", "-s 1,9 --touch full"),
        ("unix-dgram", "-p burst --burst 3 -s 1,5"),
        (all, "-s 4K --touch header"),
        (all, "-s 100 --touch full"),
        (all, "-p burst --burst 3 -s 200"),
    ] {
        let line = format!(
            "run -m {names} {rest} --place same-cpu --rounds 1 --slice 1ms --warmup 1ms --set unix-stream.bind=path"
        );
        let (document, _) = run(&sandbox, &line, &["./echo"]);
        for cell in cells(&document) {
            if crate::common::is_here(cell) {
                is_proved(cell);
            }
        }
    }
    let free = "run -m unix-stream --place free,same-cpu --think 1us --rounds 1 --slice 1ms";
    cells(&run(&sandbox, free, &["./echo"]).0).iter().for_each(is_proved);
}

#[test]
fn ends_in_other_languages_answer_as_ours_does() {
    let sandbox = Sandbox::new();
    let mut programs = Vec::new();
    for (tool, trial, file, build, program) in [
        ("python3", "--version", "echo_asyncio.py", &[][..], "python3 echo_asyncio.py"),
        ("go", "version", "echo.go", &["build", "-o", "echo-go", "echo.go"], "./echo-go"),
        ("node", "--version", "echo.mjs", &[], "node echo.mjs"),
        ("javac", "--version", "Echo.java", &["Echo.java"], "java Echo"),
    ] {
        if made(&sandbox, tool, trial, file, build) {
            programs.push(program);
        }
    }
    // Which of our descriptors it is makes no difference to how an end waits for several messages.
    for what in ["-m pipe,unix-stream,tcp -p ping-pong", "-m unix-stream -p burst"] {
        let line = format!("run {what} -s 200 --place free --rounds 1 --slice 2ms --warmup 1ms");
        let (document, code) = run(&sandbox, &line, &programs);
        assert_eq!(code, 0, "{document}");
        cells(&document).iter().for_each(is_proved);
    }
}

#[test]
fn an_end_that_fails_is_refused_with_the_answer_and_the_reason() {
    let sandbox = Sandbox::new();
    if !echo(&sandbox) {
        return;
    }
    let told = [
        ("cat", "answer 1 is wrong: it is not the message with its first 64 bytes complemented"),
        ("sh -c 'exit 3'", "it ended with exit code 3 before answer 1"),
        ("sh -c 'kill -SEGV $$'", "it ended with killed by signal 11 before answer 1"),
        ("sh -c './echo & exit 0'", "it ended with exit code 0 before"),
        (
            "sh -c './echo; exit 4'",
            "after end-of-file it ended with exit code 4, not with exit code 0",
        ),
        ("sh -c './echo; sleep 600'", "it had not ended 1 s after end-of-file, and was killed"),
        ("sh -c 'head -c 128 | (head -c 64; sleep 600)'", "answer 1"),
        ("sleep 600", "silent: answer 1 had not come after"),
        ("sh -c 'setsid sleep 600 & sleep 601'", "silent: answer 1 had not come after"),
    ];
    let programs: Vec<&str> = told.iter().map(|(program, _)| *program).collect();
    let line = "run -m unix-stream --place free --rounds 2 --slice 2ms";
    let (document, code) = run(&sandbox, line, &programs);
    assert_eq!(code, 1);
    let (ours, others): (Vec<_>, Vec<_>) =
        cells(&document).iter().partition(|cell| program(cell).is_none());
    is_proved(ours[0]);
    for (cell, (name, part)) in others.iter().zip(told) {
        assert_eq!(cell["status"], "failed", "{name}: {cell}");
        assert!(text(cell, "reason").contains(part), "{name}: {}", text(cell, "reason"));
    }
}

#[test]
fn what_a_program_starts_is_in_its_account_and_what_is_lost_is_told() {
    let sandbox = Sandbox::new();
    if !echo(&sandbox) {
        return;
    }
    let wrapped = "sh -c './echo; true'";
    let says = "sh -c 'echo runtime of a test >&3; echo no-value >&3; exec ./echo'";
    let lost = "perl -e '$SIG{CHLD} = \"IGNORE\"; system(\"./echo\"); exit 0'";
    if !can_run("perl", &["-v"]) {
        return;
    }
    let line = "run -m unix-stream --place same-cpu --rounds 2 --slice 20ms";
    let (document, _) = run(&sandbox, line, &[wrapped, says, lost]);
    let of = |at: usize| {
        let cell = &cells(&document)[at];
        is_proved(cell);
        (cell, rounds(cell))
    };
    let (_, all) = of(1);
    for round in &all {
        assert_eq!(
            (&round["program"]["processes"], round["cpu_ns"]["follow"].as_u64() > Some(0)),
            (&2.into(), true)
        );
    }
    let (_, all) = of(2);
    assert_eq!(list(&all[0]["program"], "said"), ["runtime of a test"], "{}", all[0]);
    let (cell, all) = of(3);
    assert!(all.iter().all(|round| round["program"]["is_incomplete"] == true), "{all:?}");
    for key in ["cpu_ns_per_message", "context_switches_per_message"] {
        assert!(cell.get(key).is_none_or(Value::is_null), "{key}: {cell}");
    }
    let shown = sandbox.done(&["report", "it.json", "--full"]).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("said by the program, not checked: runtime of a test"), "{shown}");
    assert!(shown.contains("its CPU time is unknown"), "{shown}");
}

#[test]
fn what_no_program_can_be_is_refused_with_what_would_do() {
    let sandbox = Sandbox::new();
    for (line, told) in [
        (
            "run pipe -p stream --follow cat",
            "no side answers in this pattern, so nothing would prove what arrives; use ping-pong or burst",
        ),
        ("run pipe -p connect --follow cat", "its server is our own; use ping-pong or burst"),
        (
            "run pipe --touch cacheline --follow cat",
            "--follow does not work with --touch cacheline: an answer would need to know",
        ),
        ("run pipe --touch none --follow cat", "use header or full"),
        ("run pipe --follow ./nothing", "there is no file './nothing'"),
        ("run pipe --follow cat --follow cat", "it is named twice"),
        ("run pipe --follow cat --time-calls", "only our own ends time their calls"),
        ("exec true --follow cat", "unexpected argument '--follow'"),
    ] {
        sandbox.refuses(&words(line), told);
    }
    let long = format!("true {}", "x".repeat(5000));
    sandbox.refuses(&["run", "pipe", "--follow", &long], "it is longer than 4096 bytes");
    let line =
        "run -m shm-ring/futex,pipe/epoll,eventfd,udp --place same-cpu --rounds 1 --slice 1ms";
    let (document, _) = run(&sandbox, line, &["cat"]);
    let programs = cells(&document).iter().filter(|cell| program(cell).is_some());
    for cell in programs {
        assert_eq!(cell["status"], "unavailable", "{cell}");
        assert!(text(cell, "reason").contains("a program of others cannot be its end"), "{cell}");
    }
    let line = "run -m pipe --stall 1ms --place same-cpu --rounds 1 --slice 1ms";
    let (document, _) = run(&sandbox, line, &["cat"]);
    assert!(
        text(&cells(&document)[1], "reason").contains("--stall stops a process of our own"),
        "{document}"
    );
}

#[test]
fn programs_that_a_file_names_run_only_if_allowed() {
    let sandbox = Sandbox::new();
    if !echo(&sandbox) {
        return;
    }
    let job = "mechanism = 'pipe'\nplace = 'same-cpu'\nrounds = 1\nslice = '1ms'\nfollow = ['./echo', \"sh -c './echo; true #a, b'\"]\n";
    fs::write(sandbox.home().join("job.toml"), job).expect("a file");
    let told = "job file 'job.toml' runs programs: ./echo , sh -c './echo; true #a, b'; --allow-exec lets it";
    sandbox.refuses(&["run", "job.toml"], told);
    sandbox.done(&["run", "job.toml", "--allow-exec", "-o", "it.json"]);
    let document = sandbox.result("it.json");
    assert_eq!(program(&cells(&document)[1]).as_deref(), Some("./echo"));
    let told = "'it.json' runs programs: ./echo , sh -c './echo; true #a, b'; --allow-exec lets it";
    sandbox.refuses(&["repeat", "it.json", "-o", "again.json"], told);
    sandbox.done(&["repeat", "it.json", "--allow-exec", "-o", "again.json"]);
    let again = sandbox.result("again.json");
    let ids = |document: &Value| -> Vec<Value> {
        cells(document).iter().map(|cell| cell["id"].clone()).collect()
    };
    assert_eq!(ids(&again), ids(&document));
}

/// Listens where its argument says, and starts the end in C for each connection.
const SERVER: &str = "
import os, socket, sys
kind, place = sys.argv[1].split(':', 1)
if kind == 'tcp':
    listener = socket.create_server(('127.0.0.1', 0))
    print(listener.getsockname()[1], flush=True)
else:
    listener = socket.socket(socket.AF_UNIX, getattr(socket, 'SOCK_' + kind))
    listener.bind(place)
    listener.listen()
    print(place, flush=True)
while True:
    connection, _ = listener.accept()
    if os.fork() == 0:
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        os.execv('./echo', ['./echo'])
    connection.close()
";

#[test]
fn an_end_that_is_running_already_answers_as_one_that_is_started() {
    let sandbox = Sandbox::new();
    if !echo(&sandbox) || !can_run("python3", &["--version"]) {
        return;
    }
    let path = sandbox.home().join("end").display().to_string();
    let other = sandbox.home().join("other").display().to_string();
    for (kind, mechanism) in [
        (format!("STREAM:{path}"), "unix-stream"),
        (format!("SEQPACKET:{other}"), "unix-seqpacket"),
        ("tcp:".to_owned(), "tcp"),
    ] {
        let mut server = sandbox.surround(Command::new("python3"), &["-c", SERVER, &kind]);
        let environment = [("SIZE", "100"), ("ANSWER", "100"), ("BURST", "1"), ("FLIP", "64")];
        server.envs(environment.map(|(name, value)| (format!("IPCPERF_{name}"), value)));
        server.stdout(std::process::Stdio::piped());
        let mut server = server.spawn().expect("it was tried before");
        let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
        let mut place = String::new();
        said.read_line(&mut place).expect("it says where it listens");
        let at = match mechanism {
            "tcp" => format!("tcp:127.0.0.1:{}", place.trim()),
            _ => format!("unix:{}", place.trim()),
        };
        let line = "run -s 100 --rounds 2 --slice 20ms -o it.json";
        let named = ["-m", mechanism, "--at", &at];
        let ended = sandbox.run(&[&words(line), &named[..]].concat());
        let _ = server.kill();
        let _ = server.wait();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        let told = "The end must have been started with IPCPERF_END=1";
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
        assert!(
            ended
                .stderr
                .contains("IPCPERF_SIZE=100 IPCPERF_ANSWER=100 IPCPERF_BURST=1 IPCPERF_FLIP=64")
        );
        let document = sandbox.result("it.json");
        assert_eq!(cells(&document).len(), 2);
        cells(&document).iter().for_each(is_proved);
        let cell = &cells(&document)[1];
        assert!(text(&cell["load"], "at").starts_with(&at[..5]), "{cell}");
        for round in rounds(cell) {
            // Only a UNIX socket says whose it is.
            let is_known = mechanism != "tcp";
            assert_eq!(round["cpu_ns"]["follow"].as_u64() > Some(0), is_known, "{round}");
            assert_eq!(round["program"]["is_incomplete"] == true, !is_known, "{round}");
        }
        sandbox.leaves_nothing();
        sandbox.refuses(&["repeat", "it.json"], "type it: --at ");
    }
}

#[test]
fn an_address_that_leads_to_no_end_is_told_and_one_size_is_asked_for() {
    let sandbox = Sandbox::new();
    for (line, told) in [
        ("run --at unix:/tmp/x -s 1,2", "knows one kind of messages; -s has 2 values"),
        ("run --at tcp:10.0.0.1:7", "is not on this host's 127.0.0.1"),
        ("run --at /tmp/x", "is not unix:PATH or tcp:127.0.0.1:PORT"),
        ("run --at unix:/tmp/x -p stream", "--at does not work with the pattern stream"),
    ] {
        sandbox.refuses(&words(line), told);
    }
    let line = words("run --at unix:./nobody --rounds 1 --slice 1ms -o it.json");
    assert_eq!(sandbox.run(&line).status.code(), Some(1));
    let document = sandbox.result("it.json");
    let cell = &cells(&document)[1];
    assert_eq!(text(cell, "reason"), "connect unix:./nobody: No such file or directory");
    let line = ["run", "--at", "unix:./nobody", "-m", "pipe,tcp", "--rounds", "1", "-o", "it.json"];
    sandbox.refuses(&line, "-m has 2 values");
    for (more, told) in [
        (
            "-m pipe",
            "pipe does not reach an end at unix:./nobody; -m unix-stream or unix-seqpacket",
        ),
        ("-m unix-stream/epoll", "unix-stream/epoll does not reach an end at"),
        ("-m mptcp", "mptcp does not reach an end at"),
        ("-m vsock", "vsock does not reach an end at"),
        ("--set unix-stream.bind=path", "bind says how our own two ends meet"),
        (
            "--stall 1ms",
            "an end that is running already is the follow: --stall stops a process of our own",
        ),
        ("--follow-in all", "--follow-in and --net move our own end into namespaces"),
        ("--place same-cpu", "--place free, or CPU,free to pin the lead alone"),
    ] {
        let line = format!("run --at unix:./nobody {more} --rounds 1 --slice 1ms -o it.json");
        sandbox.run(&words(&line));
        let document = sandbox.result("it.json");
        let is_there = |cell: &&Value| !cell["load"]["at"].is_null();
        let cell = cells(&document).iter().find(is_there).expect("it was asked for");
        assert_eq!(text(cell, "status"), "unavailable", "{cell}");
        assert!(text(cell, "reason").contains(told), "{told}: {cell}");
    }
    // A path at which nobody knows the mechanism's kind of socket.
    let path = sandbox.home().join("end");
    let _stream = std::os::unix::net::UnixListener::bind(&path).expect("a path of our own");
    let at = format!("unix:{}", path.display());
    let line = ["run", "-m", "unix-seqpacket", "--at", &at, "--rounds", "1", "-o", "it.json"];
    sandbox.run(&line);
    let document = sandbox.result("it.json");
    let cell = &cells(&document)[1];
    let told = "listens with another kind of socket; -m unix-stream, or -m unix-seqpacket";
    assert!(text(cell, "reason").contains(told), "{cell}");
}
