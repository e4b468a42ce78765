//! A server and its client, side by side as they are and with other sockets.

use crate::common::{Sandbox, can_run, valid, wait_for};
use crate::watch::signal;
use serde_json::Value;
use std::fs;

/// A server that takes 4 ms of CPU time for each request over TCP and none over a UNIX socket, and a client that makes 25
/// requests over one connection and as many over another.
const SERVER: &str = "
import os, socket, sys, time
l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); l.bind(('127.0.0.1', 0))
open('port', 'w').write(str(l.getsockname()[1])); l.listen()
while True:
    a, _ = l.accept(); is_tcp = os.getxattr(a.fileno(), 'system.sockprotoname').startswith(b'TCP')
    while d := a.recv(100):
        end = time.process_time() + (0.004 if is_tcp else 0)
        while time.process_time() < end: pass
        a.sendall(d.upper())
    a.close()
";

const CLIENT: &str = "
import socket, sys, time
begin = time.monotonic()
if 'fails' in sys.argv: sys.exit('no such key')
if 'stays' in sys.argv: open('waits', 'w').close(); time.sleep(100)
for _ in range(2):
    c = socket.create_connection(('127.0.0.1', int(open('port').read())))
    for _ in range(25):
        if 'pieces' in sys.argv: c.sendall(b'ques'); time.sleep(0.0005)
        c.sendall(b'tion' if 'pieces' in sys.argv else b'question')
        assert c.recv(8, socket.MSG_WAITALL) == b'QUESTION'
    c.close()
print('about 1 of 2'); print('made %.1f requests/s' % (50 / (time.monotonic() - begin)))
";

const PROGRAMS: [&str; 5] =
    ["predict", "--server", "python3 server.py", "--client", "python3 client.py"];

/// Of a client whose questions are several calls each nobody knows how many it has.
const IN_PIECES: [&str; 5] =
    ["predict", "--server", "python3 server.py", "--client", "python3 client.py pieces"];

fn sandbox() -> Option<Sandbox> {
    if !can_run("python3", &["--version"]) {
        return None;
    }
    let sandbox = Sandbox::new();
    for (name, text) in [("server.py", SERVER), ("client.py", CLIENT)] {
        fs::write(sandbox.home().join(name), text).expect("a script");
    }
    Some(sandbox)
}

fn ratio(figure: &Value) -> f64 {
    figure["ratio"]["value"].as_f64().unwrap_or_else(|| panic!("a ratio: {figure}"))
}

#[test]
fn what_a_server_gains_is_found_with_what_it_saves() {
    let Some(sandbox) = sandbox() else { return };
    let figure = ["--figure", "made ([0-9.]+) requests"];
    for (programs, more, metric, requests) in [
        (PROGRAMS, &[][..], "requests_per_second", Some(50)),
        (IN_PIECES, &[], "elapsed_ns", None),
        (IN_PIECES, &["--requests", "50"], "requests_per_second", Some(50)),
        (PROGRAMS, &figure, "figure", None),
    ] {
        let words = [&programs[..], more, &["--rounds", "2", "--no-progress", "-o", "p.json"]];
        let ended = sandbox.run(&words.concat());
        assert_eq!(ended.status.code(), Some(0), "{more:?}: {}", ended.stderr);
        let told = "unix-stream or tcp is faster (python3 on python3)";
        assert!(ended.stdout.contains(told), "{}", ended.stdout);
        let found = valid("comparison", &sandbox.read("p.json").expect("written"));
        let one = &found["comparisons"][0];
        assert_eq!(one["metric"], metric);
        assert_eq!(found["programs"]["requests"].as_u64(), requests);
        let gain = if metric == "elapsed_ns" { 1.0 / ratio(one) } else { ratio(one) };
        assert!(gain > 1.2, "{one}");
        let beside = one["secondary"].as_array().expect("figures");
        let [server, client] = beside.as_slice() else { panic!("two: {one}") };
        assert_eq!(
            (&server["metric"], &client["metric"]),
            (&"server_cpu_ns".into(), &"client_cpu_ns".into())
        );
        assert!(ratio(server) < 0.8, "{server}");
        // 200 ms in a run, 4 ms for each request. How many there were is known but to the client where it tells its rate.
        let least = if metric == "elapsed_ns" { 200e6 } else { 4e6 };
        let is_known = metric != "figure";
        let value = server["a_value"].as_f64().expect("a figure");
        assert!(!is_known || value >= 0.9 * least, "{server}");
        assert_eq!(found["programs"]["connections"], 2);
        // Read again, it says the same.
        let shown = sandbox.run(&["report", "p.json"]);
        assert_eq!(shown.stdout, ended.stdout);
    }
    let page = sandbox.run(&["report", "p.json", "--format", "html"]);
    assert!(page.stdout.contains("ipcperf predict: "), "{}", page.stderr);
    sandbox.leaves_nothing();
}

#[test]
fn programs_in_c_are_exchanged_with_all_connections_and_counted() {
    let Some(sandbox) = Sandbox::of_pair() else { return };
    let words = ["predict", "--server", "./server server", "--client", "./client client 5 2000"];
    let more = ["--rounds", "2", "--no-progress", "-o", "p.json"];
    let ended = sandbox.run(&[&words[..], &more].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    let programs = &found["programs"];
    assert_eq!((&programs["requests"], &programs["connections"]), (&2000.into(), &5.into()));
    assert!(ratio(&found["comparisons"][0]) > 0.0, "{found}");
}

#[test]
fn programs_that_come_to_nothing_say_why() {
    let Some(sandbox) = sandbox() else { return };
    let with = |client: &'static str, more: &[&'static str]| {
        let words = ["predict", "--server", "python3 server.py", "--client", client];
        sandbox.run(&[&words[..], more, &["--rounds", "1", "--no-progress"]].concat())
    };
    for (client, more, code, part) in [
        ("python3 client.py fails", &[][..], 1, "the client failed (exit code 1): no such key"),
        ("python3 client.py stays", &["--deadline", "500ms"], 1, "--deadline allows more"),
        (
            "python3 client.py",
            &["--figure", "took ([0-9]+)"],
            2,
            "finds nothing in what the client",
        ),
        ("python3 client.py", &["--figure", "requests"], 2, "has no group for the number"),
        ("python3 client.py", &["--figure", "(["], 2, "--figure: "),
        ("python3 client.py", &["--port", "1"], 1, "the server has to listen by then"),
        ("no-such-client", &[], 2, "no program 'no-such-client' in PATH"),
        ("python3 client.py", &["--to", "unix"], 2, "sockets become one of"),
        ("python3 client.py", &["--fail-on", "faster:5%"], 2, "--fail-on: "),
        // One round decides nothing.
        ("python3 client.py", &["--fail-on", "slower:5%"], 9, "--fail-on cannot tell: "),
    ] {
        let deadline = if more.contains(&"1") { &["--deadline", "1s"][..] } else { &[] };
        let ended = with(client, &[more, deadline].concat());
        assert_eq!(ended.status.code(), Some(code), "{client} {more:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{client} {more:?}: {}", ended.stderr);
    }
    let words = ["predict", "--server", "sh -c 'echo no room; exit 3'", "--client", "true"];
    let ended = sandbox.run(&[&words[..], &["--no-progress"]].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let told = "the server ended before the client began (exit code 3): no room";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let dry = sandbox.run(&[&PROGRAMS[..], &["--dry-run"]].concat());
    assert!(dry.stdout.contains("python3 on python3, exchanged"), "{}", dry.stdout);
    sandbox.leaves_nothing();
}

#[test]
fn an_interrupt_ends_all_programs() {
    let Some(sandbox) = sandbox() else { return };
    let words = ["predict", "--server", "python3 server.py", "--client", "python3 client.py stays"];
    let running = sandbox.start(&words);
    wait_for("the client", || sandbox.read("waits").ok());
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("interrupted"), "{}", ended.stderr);
    wait_for("the end of all", || crate::watch::processes(&sandbox).is_empty().then_some(()));
    sandbox.leaves_nothing();
}
