//! Programs that are recorded: every request with its sizes, by whichever way, and nothing of what was sent.

use crate::common::{Ended, Sandbox, at_once, can_run, list, skipped, text, valid, wait_for};
use crate::strangers::Somebody;
use crate::watch::{processes, signal};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

/// Answers questions of 17 bytes with 5, over TCP or a UNIX socket, until it is ended.
const SERVER: &str = "
import socket, sys, threading
if 'unix' in sys.argv: l = socket.socket(socket.AF_UNIX); l.bind('secret-folder/talk.sock')
else: l = socket.socket(); l.bind(('127.0.0.1', 0))
l.listen()
if 'unix' not in sys.argv: open('port', 'w').write(str(l.getsockname()[1]))
def serve(a):
    while True:
        d = b''
        while len(d) < 17:
            more = a.recv(17 - len(d))
            if not more: return
            d += more
        a.sendall(d[:5])
while True: threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()
";

/// Makes 20 requests over each of 3 connections.
const CLIENT: &str = "
import socket, sys, time
if 'stays' in sys.argv: open('waits', 'w').close(); time.sleep(100)
for _ in range(3):
    if 'unix' in sys.argv: c = socket.socket(socket.AF_UNIX); c.connect('secret-folder/talk.sock')
    else: c = socket.create_connection(('127.0.0.1', int(open('port').read())))
    for _ in range(20): c.sendall(b'secret-payload-17'); assert c.recv(5, socket.MSG_WAITALL) == b'secre'
    c.close()
if 'fails' in sys.argv: sys.exit(7)
";

/// The ways of recording that this machine allows.
fn ways() -> Vec<&'static str> {
    let mut ways = vec!["ptrace"];
    match ipcperf_programs::sees_calls_in_the_kernel() {
        Ok(()) => ways.push("bpf"),
        Err(error) => skipped("bpf", error),
    }
    ways
}

fn sandbox(texts: &[(&str, &str)]) -> Option<Sandbox> {
    if !can_run("python3", &["--version"]) {
        return None;
    }
    let sandbox = Sandbox::new();
    for (name, text) in texts {
        fs::write(sandbox.home().join(name), text).expect("a script");
    }
    fs::create_dir(sandbox.home().join("secret-folder")).expect("a folder");
    Some(sandbox)
}

/// The profile that was written, and its channels of this kind.
fn recorded(sandbox: &Sandbox, kind: &str) -> (Value, Vec<Value>) {
    let profile = valid("profile", &sandbox.read("p.json").expect("written"));
    assert_eq!(profile["lost"], 0, "{profile}");
    let of = list(&profile, "channels").iter().filter(|channel| channel["kind"] == kind);
    let of = of.cloned().collect();
    (profile, of)
}

fn run(sandbox: &Sandbox, way: &str, client: &str, words: &[&str]) -> Ended {
    let options = ["record", "--with", way, "-o", "p.json", "--client", client, "--"];
    sandbox.run(&[&options[..], words].concat())
}

#[test]
fn every_request_is_seen_with_its_sizes() {
    let Some(sandbox) = sandbox(&[("server.py", SERVER), ("client.py", CLIENT)]) else { return };
    for way in ways() {
        for kind in ["tcp", "unix-stream"] {
            let more = if kind == "tcp" { "tcp" } else { "unix" };
            let client = format!("python3 client.py {more} secret-argument");
            let server = ["python3", "server.py", more, "secret-argument"];
            let ended = run(&sandbox, way, &client, &server);
            assert_eq!(ended.status.code(), Some(0), "{way} {kind}: {}", ended.stderr);
            let (profile, channels) = recorded(&sandbox, kind);
            let [channel] = &channels[..] else { panic!("{way} {kind}: {channels:#?}") };
            let size = serde_json::json!([{"question": 17, "answer": 5, "count": 60}]);
            assert_eq!(channel["sizes"], size, "{way}: {channel:#}");
            assert_eq!(
                [&channel["requests"], &channel["connections"]],
                [60, 3],
                "{way}: {channel:#}"
            );
            assert_eq!([&channel["unanswered"], &channel["most_in_flight"]], [0, 1], "{channel:#}");
            assert_eq!(channel["exchange"], "closed");
            assert_eq!(profile["by"], way);
            let port = || sandbox.read("port").expect("it was written");
            let name = if kind == "tcp" { port() } else { "talk.sock".to_owned() };
            assert_eq!(text(channel, "name"), name);
            for calls in ["asker_calls", "answerer_calls"] {
                let sends = channel[calls]["sendto"].as_f64();
                assert!(sends.is_some_and(|each| (0.9..1.1).contains(&each)), "{channel:#}");
            }
            assert!(channel["response"]["p50_ns"].as_u64() > channel["service"]["p50_ns"].as_u64());
            // Nothing that was sent, no argument, no folder, no address.
            let document = profile.to_string();
            let home = sandbox.home().display().to_string();
            for secret in ["secret", "127.0.0.1", "server.py", "root", &home] {
                assert!(!document.contains(secret), "{way} {kind}: {secret} in {document}");
            }
            let shown = sandbox.run(&["report", "p.json"]).stdout;
            assert!(shown.contains("17 B > 5 B") && shown.contains(&name), "{shown}");
            if kind == "unix-stream" {
                fs::remove_file(sandbox.home().join("secret-folder/talk.sock"))
                    .expect("it is there");
            }
        }
    }
    sandbox.leaves_nothing();
}

/// Answers 8 bytes with 4 and 32 in two writes, which Nagle's algorithm delays unless it is turned off.
const TWO_WRITES: &str = "
import socket, sys
l = socket.socket(); l.bind(('127.0.0.1', 0))
open('port', 'w').write(str(l.getsockname()[1])); l.listen()
while True:
    a, _ = l.accept()
    if 'no-delay' in sys.argv: a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while a.recv(8): a.send(b'head'); a.send(b'b' * 32)
";

const THIRTY_REQUESTS: &str = "
import socket
c = socket.create_connection(('127.0.0.1', int(open('port').read())))
for _ in range(30): c.send(b'question'); assert len(c.recv(36, socket.MSG_WAITALL)) == 36
";

#[test]
fn writes_that_wait_for_acknowledgements_are_found_by_record_and_predict() {
    let texts = [("server.py", TWO_WRITES), ("client.py", THIRTY_REQUESTS)];
    let Some(sandbox) = sandbox(&texts) else { return };
    for (setting, is_delayed) in [("as-usual", true), ("no-delay", false)] {
        for way in ways() {
            let ended = run(&sandbox, way, "python3 client.py", &["python3", "server.py", setting]);
            assert_eq!(ended.status.code(), Some(0), "{way}: {}", ended.stderr);
            let (_, channels) = recorded(&sandbox, "tcp");
            let [channel] = &channels[..] else { panic!("{way}: {channels:#?}") };
            let delayed = &channel["delayed"];
            assert_eq!(delayed["writes"].as_u64() >= Some(10), is_delayed, "{way}: {channel:#}");
            assert_eq!(delayed["mean_ns"].as_u64() >= Some(36_000_000), is_delayed, "{channel:#}");
            let shown = sandbox.run(&["report", "p.json"]).stdout;
            for word in ["W-NAGLE", "TCP_NODELAY"] {
                assert_eq!(shown.contains(word), is_delayed, "{way}: {shown}");
            }
        }
        let server = format!("python3 server.py {setting}");
        let words = ["predict", "--server", &server, "--client", "python3 client.py"];
        let more = ["--no-verdict", "--rounds", "1", "--no-progress", "-o", "c.json"];
        let ended = sandbox.run(&[&words[..], &more].concat());
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        let found = valid("comparison", &sandbox.read("c.json").expect("written"));
        let findings = found["programs"].get("findings").and_then(Value::as_array);
        let findings = findings.into_iter().flatten();
        let found: Vec<_> = findings.map(|one| json!([one["code"], one["cells"]])).collect();
        let expected = is_delayed.then(|| json!(["W-NAGLE", ["A"]]));
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(ended.stdout.contains("In A, warning W-NAGLE"), is_delayed, "{}", ended.stdout);
        fs::remove_file(sandbox.home().join("c.json")).expect("it is there");
    }
    sandbox.leaves_nothing();
}

/// A parent and a child over two pipes, a pair of sockets, a queue in memory and a counter.
const FAMILY: &str = "
import array, os, socket, sys
a, b = socket.socketpair(); r1, w1 = os.pipe(); r2, w2 = os.pipe(); r3, w3 = os.pipe()
s, t = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    for end in (a, s): end.close()
    for _ in range(30): os.write(w2, os.read(r1, 100) * 2)
    for _ in range(10): os.read(r3, 23)
    t.recvmsg(9, 99); t.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12); t.send(b'yes')
    while b.recv(100): pass
    b.sendall(b'bye'); os._exit(0)
for _ in range(30): os.write(w1, b'y' * 9); os.read(r2, 100)
for _ in range(10): os.write(w3, b'z' * 23)
s.sendmsg([b'take it'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))]); s.recv(9)
a.sendall(b'q' * 1000); a.shutdown(socket.SHUT_WR); a.recv(100)
os.wait()
";

#[test]
fn programs_in_c_are_seen_to_the_byte_and_the_call() {
    let Some(sandbox) = Sandbox::of_pair() else { return };
    for way in ways() {
        let ended = run(&sandbox, way, "./client client 5 300", &["./server", "server"]);
        assert_eq!(ended.status.code(), Some(0), "{way}: {}", ended.stderr);
        let (_, channels) = recorded(&sandbox, "tcp");
        let [channel] = &channels[..] else { panic!("{way}: {channels:#?}") };
        for (key, wanted) in [
            ("connections", json!(5)),
            ("requests", json!(300)),
            ("sizes", json!([{"question": 36, "answer": 5, "count": 300}])),
            ("exchange", json!("closed")),
            ("asks", json!("client")),
            ("answers", json!("server")),
        ] {
            assert_eq!(channel[key], wanted, "{way} {key}: {channel:#}");
        }
        let calls = &channel["answerer_calls"];
        assert_eq!([&calls["read"], &calls["write"]], [1.0, 1.0], "{way}: {calls}");
        // Both directions of a queue that two processes share.
        let words = ["record", "--with", way, "-o", "p.json", "--", "./client", "queue", "50"];
        assert_eq!(sandbox.run(&words).status.code(), Some(0), "{way}");
        let (_, queues) = recorded(&sandbox, "sysv-mq");
        let [queue] = &queues[..] else { panic!("{way}: {queues:#?}") };
        assert_eq!((&queue["requests"], &queue["exchange"]), (&json!(50), &json!("closed")));
        assert_eq!(queue["sizes"], json!([{"question": 36, "answer": 5, "count": 50}]), "{way}");
    }
}

#[test]
fn channels_between_relatives_are_told_apart_with_what_they_need() {
    let Some(sandbox) = sandbox(&[("family.py", FAMILY)]) else { return };
    for way in ways() {
        let words = ["record", "--with", way, "-o", "p.json", "--", "python3", "family.py"];
        let ended = sandbox.run(&words);
        assert_eq!(ended.status.code(), Some(0), "{way}: {}", ended.stderr);
        let (_, pipes) = recorded(&sandbox, "pipe");
        let with = |size: u64| {
            let mut of = pipes.iter().filter(|pipe| pipe["sizes"][0]["question"] == size);
            of.next().unwrap_or_else(|| panic!("{way} {size}: {pipes:#?}"))
        };
        let pair = serde_json::json!([{"question": 9, "answer": 18, "count": 30}]);
        assert_eq!(with(9)["sizes"], pair, "{way}: {pipes:#?}");
        let single = serde_json::json!([{"question": 23, "answer": 0, "count": 10}]);
        assert_eq!((&with(23)["sizes"], &with(23)["exchange"]), (&single, &"one-way".into()));
        let (_, sockets) = recorded(&sandbox, "unix-seqpacket");
        let [channel] = &sockets[..] else { panic!("{way}: {sockets:#?}") };
        let needs = serde_json::json!(["descriptors", "credentials"]);
        assert_eq!((&channel["needs"], &channel["bytes_asked"]), (&needs, &7.into()), "{way}");
        let (_, sockets) = recorded(&sandbox, "unix-stream");
        let [channel] = &sockets[..] else { panic!("{way}: {sockets:#?}") };
        let needs = serde_json::json!(["half-close"]);
        assert_eq!((&channel["needs"], &channel["bytes_asked"]), (&needs, &1000.into()), "{way}");
        assert_eq!(channel["bytes_answered"], 3, "{way}: {channel:#}");
    }
    sandbox.leaves_nothing();
}

/// What ipcperf itself measures, by mechanism: the pairs of its workers exchange 64 bytes both ways, or wake each other.
#[test]
fn mechanisms_are_seen_as_what_they_are() {
    let sandbox = Sandbox::new();
    let seen = [
        "pipe",
        "fifo",
        "posix-mq",
        "sysv-mq",
        "unix-stream",
        "unix-dgram",
        "unix-seqpacket",
        "tcp",
        "udp",
    ];
    let hidden = [("process-vm", "process_vm_readv")];
    let names = seen.iter().copied().chain(["eventfd"]).chain(hidden.map(|(name, _)| name));
    let mechanisms = names.collect::<Vec<_>>().join(",");
    let measures = ["run", "-q", "-m", &mechanisms, "--place", "same-cpu", "-o", "r.json"];
    let measures =
        [&measures[..], &["--rounds", "1", "--slice", "5ms", "--warmup", "1ms"]].concat();
    for way in ways() {
        let words = ["record", "--with", way, "-o", "p.json", "--", env!("CARGO_BIN_EXE_ipcperf")];
        let ended = sandbox.run(&[&words[..], &measures].concat());
        // A tracer makes times worthless, and the slices do not count.
        let code = if way == "ptrace" { 3 } else { 0 };
        assert_eq!(ended.status.code(), Some(code), "{way}: {}", ended.stderr);
        let result = valid("result", &sandbox.read("r.json").expect("written"));
        let ran = |cell: &Value| match way {
            "ptrace" => cell["reason"].as_str().is_some_and(|why| why.contains("E-TRACED")),
            _ => cell["status"] == "ok",
        };
        let is_there = |name: &str| {
            let mut cells = crate::common::cells(&result).iter();
            cells.any(|cell| cell["mechanism"] == name && ran(cell))
        };
        assert!(is_there("pipe"), "{way}: {result}");
        let (profile, _) = recorded(&sandbox, "");
        let channels = list(&profile, "channels");
        for name in seen.into_iter().chain(["eventfd"]).filter(|name| is_there(name)) {
            let size = if name == "eventfd" { 8 } else { 64 };
            let is_its = |channel: &&Value| {
                let first = &channel["sizes"][0];
                channel["kind"] == name && first["question"] == size && first["answer"] == size
            };
            let channel = channels.iter().find(is_its);
            let channel = channel.unwrap_or_else(|| panic!("{way} {name}: {channels:#?}"));
            assert_eq!(channel["exchange"], "closed", "{way}: {channel:#}");
        }
        for (name, part) in hidden.into_iter().filter(|(name, _)| is_there(name)) {
            let unseen = profile["unseen"].as_object().expect("an object");
            assert!(unseen.keys().any(|what| what.starts_with(part)), "{way} {name}: {unseen:?}");
        }
    }
    sandbox.leaves_nothing();
}

#[test]
fn a_process_that_runs_already_is_recorded_and_runs_on() {
    let Some(sandbox) = sandbox(&[("server.py", SERVER)]) else { return };
    let mut server = Command::new("python3");
    let server = server.arg("server.py").current_dir(sandbox.home()).stdin(Stdio::null());
    let mut server = server.spawn().expect("it could be run");
    let port = wait_for("the server", || sandbox.read("port").ok().filter(|port| !port.is_empty()));
    let pid = server.id().to_string();
    let asks = || {
        let stream = std::net::TcpStream::connect(("127.0.0.1", port.parse().expect("a port")));
        let mut stream = stream.expect("it listens");
        std::io::Write::write_all(&mut stream, &[1; 17]).expect("it reads");
        let mut answer = [0; 5];
        std::io::Read::read_exact(&mut stream, &mut answer).expect("it answers");
    };
    for way in ways() {
        let words =
            ["record", "--with", way, "--pid", &pid, "--for", "1500ms", "-q", "-o", "p.json"];
        let mut running = sandbox.start(&words);
        while running.child.try_wait().expect("our own child").is_none() {
            asks();
        }
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(0), "{way}: {}", ended.stderr);
        asks();
        assert!(server.try_wait().expect("our own child").is_none(), "{way}: it runs on");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it is there");
        assert!(status.contains("TracerPid:\t0"), "{way}: {status}");
        let (profile, channels) = recorded(&sandbox, "tcp");
        assert_eq!(profile["by"], way);
        let [channel] = &channels[..] else { panic!("{way}: {profile:#}") };
        assert_eq!(text(channel, "name"), port);
        let known = (&channel["sizes"][0]["question"], &channel["sizes"][0]["answer"]);
        assert_eq!(known, (&17.into(), &5.into()), "{way}: {channel:#}");
        assert_eq!(channel.get("asks"), None, "nobody knows who asked: {channel:#}");
    }
    server.kill().expect("our own child");
    server.wait().expect("our own child");
    sandbox.leaves_nothing();
}

#[test]
fn without_rights_it_records_by_ptrace_and_says_which_are_missing() {
    let Some(somebody) = Somebody::new() else { return };
    let ended =
        somebody.run(&[], &["record", "-o", "p.json", "--", "sh", "-c", "echo hello | cat"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("CAP_BPF and CAP_PERFMON"), "{}", ended.stderr);
    let (profile, pipes) = recorded(&somebody.sandbox, "pipe");
    assert_eq!(profile["by"], "ptrace");
    assert!(pipes.iter().any(|pipe| pipe["bytes_asked"] == 6), "{pipes:#?}");
    let ended = somebody.run(&[], &["record", "--with", "bpf", "--", "true"]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("CAP_BPF and CAP_PERFMON"), "{}", ended.stderr);
    somebody.leave();
}

/// Processes have other numbers there, as in a container.
#[test]
fn the_kernel_records_within_a_pid_namespace() {
    if !ways().contains(&"bpf") || !can_run("unshare", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_ipcperf")]);
    let words = ["record", "-o", "p.json", "--", "sh", "-c", "echo hello | cat"];
    let ended = sandbox.spawn(sandbox.surround(unshare, &words)).end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let (profile, pipes) = recorded(&sandbox, "pipe");
    assert_eq!((&profile["by"], &profile["lost"]), (&"bpf".into(), &0.into()), "{}", ended.stderr);
    let hello = pipes.iter().find(|pipe| pipe["bytes_asked"] == 6);
    let ends = hello.map(|pipe| [&pipe["asks"], &pipe["answers"]]);
    assert_eq!(ends, Some([&"sh".into(), &"cat".into()]), "{pipes:#?}");
}

/// Asks a child 20 times by calls that name a place in a file, which is none of a socket.
const PLACED: &str = "
import os, socket
a, b = socket.socketpair()
if os.fork() == 0:
    for _ in range(20): os.preadv(b.fileno(), [bytearray(17)], -1); os.pwritev(b.fileno(), [b'short'], -1)
    os._exit(0)
for _ in range(20): os.pwritev(a.fileno(), [b'secret-payload-17'], -1); os.preadv(a.fileno(), [bytearray(5)], -1)
os.wait()
";

#[test]
fn calls_that_name_a_place_are_calls_like_others() {
    let Some(sandbox) = sandbox(&[("placed.py", PLACED)]) else { return };
    for way in ways() {
        let words = ["record", "--with", way, "-o", "p.json", "--", "python3", "placed.py"];
        let ended = sandbox.run(&words);
        let (profile, channels) = recorded(&sandbox, "unix-stream");
        let [channel] = &channels[..] else { panic!("{way}: {} {profile:#}", ended.stderr) };
        assert_eq!(channel["sizes"], json!([{ "question": 17, "answer": 5, "count": 20 }]));
    }
}

/// Asks a child 20 times: by datagrams to an address, or to the one that it is connected to, or over IPv6.
const ADDRESSED: &str = "
import os, socket, sys
unix, connects, six = ('unix' in sys.argv), ('connected' in sys.argv), ('six' in sys.argv)
family = socket.AF_UNIX if unix else socket.AF_INET6 if six else socket.AF_INET
a = socket.socket(family, socket.SOCK_STREAM if six else socket.SOCK_DGRAM)
a.bind('secret-folder/a' if unix else ('::1', 0) if six else ('127.0.0.1', 0))
at = a.getsockname()
if six: a.listen()
if os.fork() == 0:
    if six: a = a.accept()[0]
    for _ in range(20):
        data, peer = a.recvfrom(100)
        a.sendall(b'short') if six else a.sendto(b'short', peer)
    os._exit(0)
a.close()
c = socket.socket(family, socket.SOCK_STREAM if six else socket.SOCK_DGRAM)
if unix: c.bind('secret-folder/c')
if connects or six: c.connect(at)
for _ in range(20):
    c.send(b'secret-payload-17') if connects or six else c.sendto(b'secret-payload-17', at)
    c.recv(5)
os.wait()
";

#[test]
fn ends_that_know_each_other_by_their_addresses_are_one_connection() {
    for (kind, words, ways) in [
        ("udp", &[][..], ways()),
        ("udp", &["connected"], ways()),
        ("unix-dgram", &["unix"], ways()),
        ("unix-dgram", &["unix", "connected"], ways()),
        ("tcp6", &["six"], ways()),
    ] {
        let Some(sandbox) = sandbox(&[("addressed.py", ADDRESSED)]) else { return };
        for way in ways {
            let record = ["record", "--with", way, "-o", "p.json", "--", "python3", "addressed.py"];
            let _ = fs::remove_file(sandbox.home().join("secret-folder/a"));
            let _ = fs::remove_file(sandbox.home().join("secret-folder/c"));
            let ended = sandbox.run(&[&record, words].concat());
            let (profile, channels) = recorded(&sandbox, kind);
            let [channel] = &channels[..] else {
                panic!("{way} {words:?}: {} {profile:#}", ended.stderr)
            };
            let known = (&channel["sizes"], &channel["unanswered"]);
            let wanted = json!([{ "question": 17, "answer": 5, "count": 20 }]);
            assert_eq!(known, (&wanted, &0.into()), "{way} {words:?}");
            assert!(channel["asks"].is_string() && channel["answers"].is_string(), "{channel:#}");
            if kind == "unix-dgram" {
                assert_eq!(text(channel, "name"), "a");
            }
        }
    }
}

/// Shares memory with a child, and is over before anything looks at its mappings again.
const BRIEF: &str = "
import mmap, os
m = mmap.mmap(-1, 1 << 16)
if os.fork() == 0: m[0] = 1; os._exit(0)
os.wait()
assert m[0] == 1
";

#[test]
fn memory_that_is_shared_for_a_moment_is_named() {
    let Some(sandbox) = sandbox(&[("brief.py", BRIEF)]) else { return };
    // A kernel that tells of calls does so later; this way the program waits.
    let words = ["record", "--with", "ptrace", "-o", "p.json", "--", "python3", "brief.py"];
    sandbox.run(&words);
    let (profile, _) = recorded(&sandbox, "pipe");
    let shared = list(&profile, "shared");
    assert!(shared.iter().any(|one| one["bytes"] == 65536), "{profile:#}");
}

#[test]
fn what_traces_a_process_already_is_named() {
    let sandbox = Sandbox::new();
    let mut slept = Command::new("sleep").arg("600").spawn().expect("it could be run");
    let pid = slept.id().to_string();
    let words = ["record", "--with", "ptrace", "--pid", &pid, "--for", "600s", "-q"];
    let running = sandbox.start(&words);
    wait_for("a tracer", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        (!status.contains("TracerPid:\t0")).then_some(())
    });
    let ended = sandbox.run(&["record", "--with", "ptrace", "--pid", &pid, "--for", "1s"]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
    let tracer = format!("process {} traces it already", running.child.id());
    assert!(ended.stderr.contains(&tracer), "{}", ended.stderr);
    signal("INT", running.child.id());
    running.end();
    slept.kill().expect("our own child");
    slept.wait().expect("our own child");
    sandbox.leaves_nothing();
}

#[test]
fn what_cannot_be_recorded_says_why_and_programs_keep_their_exit_codes() {
    let Some(sandbox) = sandbox(&[("server.py", SERVER), ("client.py", CLIENT)]) else { return };
    let own = std::process::id().to_string();
    for (words, code, part) in [
        (&["--pid", "4194305", "--for", "1s"][..], 2, "there is no such process"),
        (&["--pid", &own], 2, "--for <TIME>"),
        (&["--for", "1s"], 2, "<PROGRAM>"),
        (&["--", "no-such-program"], 2, "no program 'no-such-program' in PATH"),
        (&["--client", "no-such-client", "--", "true"], 2, "no program 'no-such-client' in PATH"),
        (&["--for", "1", "--", "true"], 2, "--for"),
        (&["--with", "ptrace", "--", "sh", "-c", "exit 3"], 3, "Saw no data between"),
        (&["--with", "ptrace", "--", "sh", "-c", "kill -9 $$"], 137, "Saw no data between"),
    ] {
        let ended = sandbox.run(&[&["record"], words].concat());
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {}", ended.stderr);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(part), "{words:?}: {said}");
    }
    let ended = run(&sandbox, "ptrace", "true", &["sh", "-c", "exit 4"]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("its client was not started (exit code 4)"), "{}", ended.stderr);
    let ended = run(&sandbox, "ptrace", "python3 client.py fails", &["python3", "server.py"]);
    assert_eq!(ended.status.code(), Some(7), "{}", ended.stderr);
    sandbox.leaves_nothing();
}

/// A minute, most of it in sleep.
#[test]
fn a_client_does_not_wait_without_end_for_a_program_that_never_listens() {
    at_once(["record", "swap"], |question| {
        let sandbox = Sandbox::new();
        let with: &[&str] = if question == "record" { &["--with", "ptrace"] } else { &[] };
        let words = [&[question], with, &["--client", "true", "--", "sleep", "600"]].concat();
        let ended = sandbox.run(&words);
        assert_ne!(ended.status.code(), Some(0), "{}", ended.stderr);
        let told = "has not listened within 60 s, so its client was not started";
        assert!(ended.stderr.contains(told), "{question}: {}", ended.stderr);
        sandbox.leaves_nothing();
    });
}

#[test]
fn an_interrupt_ends_what_is_recorded_and_keeps_the_profile() {
    let Some(sandbox) = sandbox(&[("server.py", SERVER), ("client.py", CLIENT)]) else { return };
    for way in ways() {
        let client = "python3 client.py stays";
        let words = ["record", "--with", way, "-o", "p.json", "--client", client, "--"];
        let running = sandbox.start(&[&words[..], &["python3", "server.py"]].concat());
        wait_for("the client", || sandbox.read("waits").ok());
        signal("INT", running.child.id());
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(130), "{way}: {}", ended.stderr);
        let (profile, _) = recorded(&sandbox, "tcp");
        assert_eq!(profile["interrupted"], true);
        wait_for("the end of all", || processes(&sandbox).is_empty().then_some(()));
        fs::remove_file(sandbox.home().join("waits")).expect("it is there");
    }
    sandbox.leaves_nothing();
}

/// 10 calls that ask for the number of the process as a 32-bit program would; there, 64-bit programs have writev(2).
#[cfg(target_arch = "x86_64")]
const FOREIGN: &str = "
int main(void) {
    long result = 0;
    for (int at = 0; at < 10; at++)
        __asm__ volatile(\"int $0x80\" : \"=a\"(result) : \"a\"(20L)
                         : \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");
    return result <= 0;
}
";

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_32_bit_programs_are_named_and_taken_for_no_others() {
    if !can_run("cc", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("foreign.c"), FOREIGN).expect("a source");
    sandbox.builds("cc", &["-O2", "-Wall", "-o", "foreign", "foreign.c"]);
    let alone = Command::new(sandbox.home().join("foreign")).status().expect("it was built");
    if !alone.success() {
        skipped("int 0x80", "the kernel has no 32-bit calls (CONFIG_IA32_EMULATION)");
        return;
    }
    for way in ways() {
        let ended = sandbox.run(&["record", "--with", way, "-o", "p.json", "--", "./foreign"]);
        assert_eq!(ended.status.code(), Some(0), "{way}: {}", ended.stderr);
        let profile = valid("profile", &sandbox.read("p.json").expect("written"));
        let unseen = &profile["unseen"]["calls of 32-bit programs, or by int 0x80"];
        assert_eq!(unseen, 10, "{way}: {profile:#}");
        assert!(!profile.to_string().contains("writev"), "{way}: {profile:#}");
    }
    sandbox.leaves_nothing();
}
