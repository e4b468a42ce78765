//! A server and its client, side by side as they are and with other sockets.

use crate::common::{Ended, Sandbox, at_once, can_run, valid, wait_for};
use crate::watch::signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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

/// A launcher that uses 90 pipes every other time and 10 in between, and a client that makes no connection.
const LAUNCHER: &str = "sh -c 'if rm odd; then last=19; else touch odd; last=99; fi; for _ in $(seq 10 $last); do \
                        word=$(seq $last); done; exec python3 client.py stays'";

const PROGRAMS: [&str; 5] =
    ["predict", "--server", "python3 server.py", "--client", "python3 client.py"];

/// Of a client whose questions are several calls each nobody knows how many it has.
const IN_PIECES: [&str; 5] =
    ["predict", "--server", "python3 server.py", "--client", "python3 client.py pieces"];

/// A pair that does something else once its sockets are exchanged, by the words behind it. The server answers 8 bytes with 8, or
/// with 1 (`short`). The client makes 50 requests over two connections, or as many as it can in 500 ms (`timed`); it ends well with
/// less (`early`), without any (`idle`), says that it was refused (`refused`), or sleeps before it connects (`stalls`).
const OTHER_SERVER: &str = "
import os, socket, sys
def is_exchanged(s):
    own = str(os.fstat(s.fileno()).st_ino)
    return any(own in line.split() for line in open('/proc/net/unix'))
l = socket.socket(); l.bind(('127.0.0.1', 0))
open('port', 'w').write(str(l.getsockname()[1])); l.listen()
while True:
    a, _ = l.accept(); size = 1 if 'short' in sys.argv and is_exchanged(a) else 8
    while d := a.recv(8): a.sendall(d[:size])
";

const OTHER_CLIENT: &str = "
import os, socket, sys, time
def is_exchanged(s):
    own = str(os.fstat(s.fileno()).st_ino)
    return any(own in line.split() for line in open('/proc/net/unix'))
made, begin = 0, time.monotonic()
listens = f':{int(open(\"port\").read()):04X} 00000000:0000 0A '
if 'stalls' in sys.argv and listens not in open('/proc/net/tcp').read(): time.sleep(100)
def ask(c):
    global made
    c.sendall(b'question'); assert c.recv(8); made += 1
for _ in range(2):
    c = socket.create_connection(('127.0.0.1', int(open('port').read())))
    other = is_exchanged(c)
    if other and 'idle' in sys.argv: sys.exit()
    if other and 'fails' in sys.argv: sys.exit('no such option')
    for _ in range(5 if other and 'early' in sys.argv else 25): ask(c)
    if other and 'early' in sys.argv: sys.exit()
    while 'timed' in sys.argv and time.monotonic() < begin + 0.5: ask(c)
    c.close()
if 'refused' in sys.argv and other: print('2 were refused')
print('tps = %.1f' % (made / (time.monotonic() - begin)))
";

/// The outcome of a comparison of such a pair. `./pgbench` is the client under the name of one whose figure is known.
fn other_work(server: &str, client: &str, more: &[&str]) -> Option<(Sandbox, Ended)> {
    if !can_run("python3", &["--version"]) {
        return None;
    }
    let sandbox = Sandbox::new();
    let known = format!("#!/usr/bin/env python3\n{OTHER_CLIENT}");
    for (name, text) in
        [("server.py", OTHER_SERVER), ("client.py", OTHER_CLIENT), ("pgbench", &known)]
    {
        let file = sandbox.home().join(name);
        fs::write(&file, text).expect("a script");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let server = format!("python3 server.py {server}");
    let words = ["predict", "--server", &server, "--client", client];
    let plan = ["--no-verdict", "--rounds", "2", "--no-progress", "-o", "p.json"];
    let ended = sandbox.run(&[&words[..], &plan, more].concat());
    Some((sandbox, ended))
}

#[test]
fn there_is_no_verdict_on_other_work() {
    at_once(
        [
            ("short", "", "bytes answered: 400 and 50"),
            ("", "early", "connections: 2 and 1; requests: 50 and 5; bytes asked: 400 and 40"),
            ("", "idle", "A and B do not do the same work"),
            ("", "fails", "exchanged: the client failed (exit code 1): no such option"),
        ],
        |(server, client, part)| {
            let client = format!("python3 client.py {client}");
            let Some((sandbox, ended)) = other_work(server, &client, &[]) else { return };
            assert_eq!(ended.status.code(), Some(5), "{part}: {}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
            assert!(ended.stderr.contains("no verdict"), "{part}: {}", ended.stderr);
            assert_eq!(ended.stdout, "", "{part}");
            assert!(sandbox.read("p.json").is_err(), "nothing was measured: {part}");
            sandbox.leaves_nothing();
        },
    );
}

#[test]
fn other_work_is_compared_if_there_is_a_reason_and_shown() {
    let more = ["--allow-different", "a short answer is right"];
    let Some((sandbox, ended)) = other_work("short", "python3 client.py", &more) else { return };
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    let programs = &found["programs"];
    assert_eq!(programs["different"], serde_json::json!(["bytes answered: 400 and 50"]));
    assert_eq!(programs["different_because"], "a short answer is right");
    assert_eq!(programs["work"]["requests"], serde_json::json!([50, 50]));
    assert!(
        ended.stdout.contains("allows a difference, because: a short answer"),
        "{}",
        ended.stdout
    );
}

/// An exchange is held against the same programs configured by hand, in rounds that have all five runs.
#[test]
fn an_exchange_is_held_against_a_configuration_by_hand() {
    let Some(sandbox) = Sandbox::of_pair() else { return };
    let words = ["predict", "--server", "./server server", "--client", "./client client 2 400"];
    let by_hand = ["--client-b", "nice -n 0 ./client client 2 400", "--with-truth"];
    let plan = ["--no-verdict", "--rounds", "2", "--no-progress", "-v", "-o", "p.json"];
    let ended = sandbox.run(&[&words[..], &by_hand, &plan].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    let (one, by_hand) = (&found["comparisons"][0], &found["programs"]["by_hand"]);
    let rounds = |value: &Value| -> Vec<f64> {
        value.as_array().expect("rounds").iter().filter_map(Value::as_f64).collect()
    };
    let [a, b] = ["a_rounds", "b_rounds"].map(|arm| rounds(&one[arm]));
    let [own_a, own_b] = ["a_rounds", "b_rounds"].map(|arm| rounds(&by_hand[arm]));
    assert_eq!([a.len(), b.len(), own_a.len(), own_b.len()], [2; 4], "{by_hand}");
    // The middle of two rounds is their mean, of logarithms.
    let ratio = |a: &[f64], b: &[f64]| ((b[0] / a[0]) * (b[1] / a[1])).sqrt();
    let is_near = |value: &Value, wanted: f64| {
        let value = value["value"].as_f64().expect("a ratio");
        assert!((value / wanted - 1.0).abs() < 1e-6, "{value} and {wanted}");
    };
    is_near(&by_hand["ratio"], ratio(&own_a, &own_b));
    is_near(&by_hand["exchange"], ratio(&a, &b) / ratio(&own_a, &own_b));
    assert!(ended.stdout.contains("Configured by hand, B/A is "), "{}", ended.stdout);
    let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["whether a UNIX socket would make", "Each run of B exchanged 2 connections"] {
        assert!(said.contains(part), "{part}: {}", ended.stdout);
    }
    sandbox.refuses(&[&words[..], &["--with-truth"]].concat(), "--server-b or --client-b");
    let dry =
        sandbox.run(&[&words[..], &["--client-b", "true", "--with-truth", "--dry-run"]].concat());
    assert!(dry.stdout.contains("12 rounds of 5 runs"), "{}", dry.stdout);
}

/// The calls of programs are answered until they have ended, also after the deadline.
#[test]
fn programs_that_are_late_do_not_complain_of_their_end() {
    let more = ["--allow-different", "it stalls", "--deadline", "5s"];
    let Some((sandbox, ended)) = other_work("", "python3 client.py stalls", &more) else { return };
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("exchanged: not done after 5 s"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("not implemented"), "{}", ended.stderr);
    sandbox.leaves_nothing();
}

#[test]
fn what_only_one_client_prints_takes_the_verdict() {
    let client = "python3 client.py refused";
    let Some((sandbox, ended)) = other_work("", client, &[]) else { return };
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    let different = "only the client of B prints 'refused' and 'were'";
    assert_eq!(found["programs"]["different"], serde_json::json!([different]));
    assert_eq!(found["comparisons"][0]["verdict"], "CAN'T TELL", "{found}");
    assert!(ended.stdout.contains("Different work: only the client of B"), "{}", ended.stdout);
}

#[test]
fn a_client_of_a_fixed_time_is_compared_by_its_own_figure() {
    let own = ["--figure", "tps = ([0-9.]+)"];
    at_once(
        [
            ("python3 client.py timed", &[][..], Some(5)),
            ("python3 client.py timed", &["--figure", "pgbench"], Some(0)),
            ("nice -n 0 ./pgbench timed", &[], Some(0)),
        ],
        |(client, more, code)| {
            let Some((sandbox, ended)) = other_work("", client, more) else { return };
            let found = valid("comparison", &sandbox.read("p.json").expect("written"));
            let one = &found["comparisons"][0];
            // On a busy machine answers to calls may take too large a part of a run of this length.
            let reason = one["reason"].as_str().unwrap_or_default();
            let is_refused = reason.contains("ipcperf answers calls");
            let has_code =
                ended.status.code() == code || is_refused && ended.status.code() == Some(5);
            assert!(has_code, "{client}: {}{}", ended.stdout, ended.stderr);
            if code == Some(5) {
                assert!(ended.stderr.contains("--figure CLIENT"), "{}", ended.stderr);
                let reason = one["reason"].as_str().expect("a reason");
                assert!(reason.contains("works for a fixed time"), "{one}");
            } else {
                assert_eq!(one["metric"], "figure", "{client} {more:?}: {one}");
                assert_eq!(found["programs"]["figure"], own[1]);
            }
            assert_eq!(found["programs"].get("requests"), None, "it makes as many as it can");
            assert!(!ended.stdout.contains("Different work"), "{}", ended.stdout);
        },
    );
}

/// A server that closes connections without an answer for so many seconds after it listens, and a client that fails then.
const LATE_SERVER: &str = "
import os, socket, sys, time
l = socket.socket(); l.bind(('127.0.0.1', 0))
open('port', 'w').write(str(l.getsockname()[1])); l.listen(); ready = time.monotonic() + float(sys.argv[1])
if 'counts' in sys.argv: open('starts', 'a').write('1')
while True:
    a, _ = l.accept()
    while time.monotonic() > ready and (d := a.recv(8)): a.sendall(d)
    a.close()
";

const LATE_CLIENT: &str = "
import os, socket, sys
if 'breaks' in sys.argv:
    open('runs', 'a').write('1')
    if os.path.getsize('runs') >= int(sys.argv[-1]): sys.exit('out of keys')
c = socket.create_connection(('127.0.0.1', int(open('port').read())))
for _ in range(20):
    c.sendall(b'question')
    if not c.recv(8): sys.exit('it is starting up')
";

/// The outcome of a comparison of such a pair.
fn late(seconds: &str, client: &str, more: &[&str]) -> Option<(Sandbox, Ended)> {
    if !can_run("python3", &["--version"]) {
        return None;
    }
    let sandbox = Sandbox::new();
    for (name, text) in [("server.py", LATE_SERVER), ("client.py", LATE_CLIENT)] {
        fs::write(sandbox.home().join(name), text).expect("a script");
    }
    let (server, client) =
        (format!("python3 server.py {seconds}"), format!("python3 client.py {client}"));
    let words = ["predict", "--server", &server, "--client", &client];
    let ended = sandbox
        .run(&[&words[..], &["--no-verdict", "--no-progress", "-o", "p.json"], more].concat());
    Some((sandbox, ended))
}

#[test]
fn a_client_begins_when_the_server_is_ready() {
    let ready = ["--ready", "python3 client.py"];
    at_once([&ready[..], &[]], |more| {
        let words = [more, &["--rounds", "1"]].concat();
        let Some((sandbox, ended)) = late("0.15", "", &words) else { return };
        assert_eq!(ended.status.code(), Some(0), "{more:?}: {}", ended.stderr);
        let found = valid("comparison", &sandbox.read("p.json").expect("written"));
        let programs = &found["programs"];
        // What looks whether the server is ready is no part of the work. Without it all three clients come too early, unless
        // the machine is slow.
        assert_eq!(programs["connections"], 1, "{programs}");
        let repeated = programs["repeated"].as_u64().unwrap_or(0);
        assert!(if more.is_empty() { repeated <= 3 } else { repeated == 0 }, "{programs}");
        assert!(!ended.stdout.contains("Different work"), "{}", ended.stdout);
    });
}

#[test]
fn a_run_that_fails_is_repeated_and_complete_rounds_are_kept() {
    // Two runs are recorded; the eighth and the ninth of all are of the second round.
    let Some((sandbox, ended)) = late("0", "breaks 7", &["--rounds", "3"]) else { return };
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("out of keys"), "{}", ended.stderr);
    assert!(ended.stderr.contains("; kept: 1 round"), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    assert_eq!(found["interrupted"], true);
    assert_eq!(found["comparisons"][0]["rounds"], serde_json::json!([1]), "{found}");
    assert!(found["programs"]["repeated"].as_u64() >= Some(1), "{found}");
}

#[test]
fn a_client_that_always_fails_is_told_by_its_first_run() {
    let Some((sandbox, ended)) = late("0", "breaks 1", &["--rounds", "12"]) else { return };
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let told = "unchanged: the client failed (exit code 1): out of keys";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    // Recorded, and once more without that, where a client that fails at once is started again.
    assert!(sandbox.read("runs").expect("it ran").len() <= 3, "{:?}", sandbox.read("runs"));
}

#[test]
fn two_configurations_are_compared_without_an_exchange() {
    let Some(sandbox) = Sandbox::of_pair() else { return };
    let words = ["predict", "--server", "./server server", "--client", "./client client 2 400"];
    let b = |client| {
        [
            "--client-b",
            client,
            "--no-verdict",
            "--rounds",
            "2",
            "--no-progress",
            "-v",
            "-o",
            "p.json",
        ]
    };
    let client = "nice -n 0 ./client client 2 400";
    let ended = sandbox.run(&[&words[..], &b(client)].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    let programs = &found["programs"];
    assert_eq!(programs["client_b"], client);
    assert_eq!(programs.get("server_b"), None, "it is the same");
    assert_eq!(programs["work"]["bytes answered"], serde_json::json!([2000, 2000]));
    assert_eq!(programs["work"]["connections"], serde_json::json!([2, 2]));
    assert_eq!(programs["filter_ns"], 0.0, "no call is handed over");
    assert!(ended.stdout.contains(&format!("Client of B: {client}")), "{}", ended.stdout);
    let other = sandbox.run(&[&words[..], &b("./client client 2 300")].concat());
    assert_eq!(other.status.code(), Some(5), "{}", other.stderr);
    assert!(other.stderr.contains("requests: 400 and 300"), "{}", other.stderr);
    sandbox.leaves_nothing();
}

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
        let plan = ["--no-verdict", "--rounds", "2", "--no-progress", "-o", "p.json"];
        let words = [&programs[..], more, &plan];
        let ended = sandbox.run(&words.concat());
        assert_eq!(ended.status.code(), Some(0), "{more:?}: {}", ended.stderr);
        let sentence = "Cannot tell whether a UNIX socket would make this python3 run faster";
        // Lines are broken where the screen ends.
        let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(sentence), "{}", ended.stdout);
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
    let more = ["--no-verdict", "--rounds", "2", "--no-progress", "-o", "p.json"];
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
        let is_judged = more.contains(&"--judged") || more.contains(&"--fail-on");
        let more: Vec<&str> = more.iter().copied().filter(|word| *word != "--judged").collect();
        let plan = ["--no-progress", "--rounds", "1", "--no-verdict"];
        sandbox.run(&[&words[..], &more, &plan[..if is_judged { 3 } else { 4 }]].concat())
    };
    for (client, more, code, part) in [
        ("python3 client.py fails", &[][..], 1, "the client failed (exit code 1): no such key"),
        ("python3 client.py stays", &["--deadline", "500ms"], 1, "--deadline allows more"),
        (LAUNCHER, &["--deadline", "500ms"], 1, "--deadline allows more"),
        (
            "python3 client.py",
            &["--figure", "took ([0-9]+)"],
            2,
            "finds nothing in what the client",
        ),
        ("python3 client.py", &["--figure", "requests"], 2, "has no group for the number"),
        ("python3 client.py", &["--figure", "(["], 2, "--figure: "),
        (
            "python3 client.py",
            &["--port", "1"],
            5,
            "nothing has bound port 1 within 2 s; the program listens on 127.0.0.1:",
        ),
        ("python3 client.py", &["--ready", "false"], 1, "--ready must succeed"),
        ("python3 client.py", &["--ready", "no-such"], 2, "--ready: no program 'no-such'"),
        ("python3 client.py", &["--figure", "pgbnech"], 2, "did you mean 'pgbench'?"),
        ("python3 client.py", &["--client-b", "no-such"], 2, "no program 'no-such' in PATH"),
        ("python3 client.py", &["--client-b", "true", "--to", "tcp"], 2, "it exchanges no sockets"),
        ("no-such-client", &[], 2, "no program 'no-such-client' in PATH"),
        ("python3 client.py", &["--to", "unix"], 2, "sockets become one of"),
        ("python3 client.py", &["--fail-on", "faster:5%"], 2, "--fail-on: "),
        ("python3 client.py", &["--judged"], 2, "--rounds 1: a verdict needs 8"),
        ("python3 client.py", &["--sessions", "3"], 2, "--sessions 3: give 1, or 4 to 24"),
    ] {
        let deadline = if more.contains(&"false") { &["--deadline", "1s"][..] } else { &[] };
        let ended = with(client, &[more, deadline].concat());
        assert_eq!(ended.status.code(), Some(code), "{client} {more:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{client} {more:?}: {}", ended.stderr);
    }
    let words = ["predict", "--server", "sh -c 'echo no room; exit 3'", "--client", "true"];
    let ended = sandbox.run(&[&words[..], &["--no-progress"]].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let told = "the server ended before the client was started (exit code 3): no room";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let dry = sandbox.run(&[&PROGRAMS[..], &["--dry-run"]].concat());
    assert!(dry.stdout.contains("python3 on python3, exchanged"), "{}", dry.stdout);
    sandbox.leaves_nothing();
}

#[test]
fn several_sessions_are_what_the_interval_is_made_of() {
    let Some(sandbox) = sandbox() else { return };
    let plan = ["--sessions", "4", "--apart", "50ms", "--rounds", "1", "--no-verdict"];
    let output = ["--no-progress", "-o", "p.json"];
    let ended = sandbox.run(&[&PROGRAMS[..], &plan, &output].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let found = valid("comparison", &sandbox.read("p.json").expect("written"));
    assert_eq!(found["plan"]["sessions"], serde_json::json!([1, 1, 1, 1]));
    assert_eq!((&found["plan"]["rounds"], &found["a"]["sessions"]), (&4.into(), &4.into()));
    // Four rounds of one session have no interval.
    let interval = &found["comparisons"][0]["ratio"]["ci95"];
    assert!(interval.as_array().is_some_and(|ends| ends.len() == 2), "{interval}");
    let shown = sandbox.run(&["report", "p.json"]);
    assert_eq!(shown.stdout, ended.stdout);
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
