//! Transports in Python: a class in a file is measured and refuted as a plug-in is, and what is wrong with it is reported with
//! its line.

use crate::common::{Sandbox, can_run, cells, list, text, wait_for, words};
use crate::watch::processes;
use ipcperf_core::digest::{hex, sha256};
use std::fs;

const PIPE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/pipe.py"));

/// One cell, one short round.
const SHORT: &str = "-s 64 --place same-cpu --rounds 1 --slice 2ms --warmup 1ms -o it.json";

fn with_python() -> Option<Sandbox> {
    can_run("python3", &["-c", "import ctypes"]).then(Sandbox::new)
}

/// Writes a class as `./it.py`: the pipe of the examples with this in place of that.
fn changed(sandbox: &Sandbox, from: &str, to: &str) {
    assert!(PIPE.contains(from), "{from}");
    fs::write(sandbox.home().join("it.py"), PIPE.replace(from, to)).expect("a file");
}

fn nothing_is_left(sandbox: &Sandbox) {
    assert!(processes(sandbox).is_empty(), "{:?}", processes(sandbox));
    sandbox.leaves_nothing();
}

#[test]
fn a_new_project_in_python_keeps_every_promise() {
    let Some(sandbox) = with_python() else { return };
    sandbox.done(&["new-transport", "python", "my-python"]);
    let ended = sandbox.done(&["conformance", "./my-python/my-python.py", "--deadline=300s"]);
    for passed in
        ["C13 descriptor and mapping leaks: passed", "C25 returned memory: passed", " 0 failed"]
    {
        assert!(ended.stdout.contains(passed), "{}", ended.stdout);
    }
    let left: Vec<_> = fs::read_dir(sandbox.home().join("my-python")).expect("a folder").collect();
    assert_eq!(
        left.len(),
        2,
        "the class and its Makefile, and no cache of the interpreter: {left:?}"
    );
    nothing_is_left(&sandbox);
}

#[test]
fn a_class_is_measured_with_proof_beside_mechanisms() {
    let Some(sandbox) = with_python() else { return };
    fs::write(sandbox.home().join("it.py"), PIPE).expect("a file");
    sandbox.done(&[&["run", "-m", "./it.py,pipe"], &words(SHORT)[..]].concat());
    let document = sandbox.result("it.json");
    let names: Vec<_> = cells(&document).iter().map(|cell| text(cell, "mechanism")).collect();
    assert_eq!(names, ["python-pipe", "pipe"]);
    for cell in cells(&document) {
        assert_eq!((text(cell, "status"), &cell["verified"]), ("ok", &true.into()), "{cell}");
    }
    let file = &list(&document, "plugins")[0];
    assert_eq!(text(file, "file"), "it.py");
    assert_eq!(text(file, "sha256"), hex(&sha256(PIPE.as_bytes())));
    nothing_is_left(&sandbox);
}

#[test]
fn files_of_the_working_folder_are_not_taken_for_modules_of_the_interpreter() {
    let Some(sandbox) = with_python() else { return };
    fs::create_dir(sandbox.home().join("mine")).expect("a folder");
    fs::write(sandbox.home().join("mine/it.py"), PIPE).expect("a file");
    for module in ["ctypes", "errno", "traceback", "collections"] {
        let file = sandbox.home().join(format!("{module}.py"));
        fs::write(file, "raise SystemExit('not asked for')").expect("a file");
    }
    sandbox.done(&[&["run", "-m", "./mine/it.py"], &words(SHORT)[..]].concat());
    assert_eq!(text(&cells(&sandbox.result("it.json"))[0], "status"), "ok");
    nothing_is_left(&sandbox);
}

#[test]
fn what_cannot_be_a_transport_is_refused_with_its_line() {
    let Some(sandbox) = with_python() else { return };
    for (from, to, reason) in [
        ("import os", "import no_such_module", "No module named 'no_such_module' (it.py, line 3)"),
        ("def recv", "def receive", "classes with the methods send and recv: none"),
        ("class Pipe:", "class Pipe(:", "SyntaxError"),
        (
            "copies = 2",
            "wait = 'sleep'",
            "Pipe.wait is 'sleep'; known: block, epoll, spin, spin-then-block",
        ),
        (
            "copies = 2",
            "knobs = {'n': {'most': 3}}",
            "Pipe.knobs['n'] has 'most'; known: kind, help",
        ),
        ("name = \"python-pipe\"", "name = 'Not A Name'", "a name has 1 to 32 of a-z"),
        ("name = \"python-pipe\"", "name = 'pipe'", "the name of a mechanism of ipcperf"),
    ] {
        changed(&sandbox, from, to);
        sandbox.refuses(&["run", "-m", "./it.py"], reason);
    }
    sandbox.refuses(&["run", "-m", "./nothing.py"], "plug-in ./nothing.py: No such file");
    sandbox.refuses(&["run", "-m", "it.py"], "did you mean the plug-in './it.py'?");
    nothing_is_left(&sandbox);
}

#[test]
fn what_goes_wrong_in_a_class_is_reported_with_the_call_and_the_line() {
    let Some(sandbox) = with_python() else { return };
    for (from, to, reason) in [
        (
            "while message:",
            "raise KeyError('x')\n        while message:",
            "send: KeyError: 'x' (it.py, line 24)",
        ),
        ("return received\n", "return None\n", "recv: recv returned None, not how many bytes"),
        ("self.reads, self.writes = wiring.fds", "self.reads, = wiring.fds", "attach: ValueError"),
        (
            "return (back, into), (there, into_back)",
            "return 1",
            "open: open returns (lead, follow)",
        ),
        ("return received\n", "os.abort()\n", "killed by signal 6"),
        (
            "return received\n",
            "buffer[:] = bytes(len(buffer)); return received\n",
            "wrong stamp or payload",
        ),
        ("return received\n", "return max(received - 1, 0)\n", "a message arrived shortened"),
        ("return received\n", "return -1\n", "recv: recv returned -1, not how many bytes"),
        (
            "def detach(self):\n",
            "def detach(self):\n        return\n",
            "descriptors open after detach: 2",
        ),
    ] {
        changed(&sandbox, from, to);
        let ended = sandbox.run(&[&["run", "-m", "./it.py"], &words(SHORT)[..]].concat());
        assert_ne!(ended.status.code(), Some(0), "{to}: {}{}", ended.stdout, ended.stderr);
        let document = sandbox.result("it.json");
        let cell = &cells(&document)[0];
        assert!(text(cell, "reason").contains(reason), "{to}: {cell}");
        nothing_is_left(&sandbox);
    }
}

#[test]
fn what_a_host_lacks_is_unavailable_by_the_words_of_the_class() {
    let Some(sandbox) = with_python() else { return };
    for (from, to) in [
        ("copies = 2", "probe = staticmethod(lambda setup: 'no device here')"),
        ("self.reads, self.writes = wiring.fds", "setup.unavailable('no device here')"),
    ] {
        changed(&sandbox, from, to);
        let ended = sandbox.run(&[&["run", "-m", "./it.py"], &words(SHORT)[..]].concat());
        assert_eq!(ended.status.code(), Some(3), "{to}: {}{}", ended.stdout, ended.stderr);
        let document = sandbox.result("it.json");
        let cell = &cells(&document)[0];
        assert_eq!(text(cell, "status"), "unavailable", "{to}: {cell}");
        assert!(text(cell, "reason").contains("no device here"), "{to}: {cell}");
    }
    fs::write(sandbox.home().join("it.py"), PIPE).expect("a file");
    let mut command = sandbox.command(&["run", "-m", "./it.py"]);
    let output = command.env("PATH", "/nowhere").output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("python3: No such file or directory; install python3"), "{said}");
    nothing_is_left(&sandbox);
}

/// A class whose two ends exchange their sockets with `swap`; it has a knob, a limit, a window and events.
const RICH: &str = r#"
import socket

class Rich:
    """Datagrams between ends that meet by themselves."""
    over = "unix-dgram"
    copies = 2
    on_close = on_death = "unnoticed"
    knobs = {"depth": {"kind": "count", "min": 1, "max": 9, "help": "Nothing.", "fallback": "1"}}

    @staticmethod
    def limit(setup):
        return 4096

    @staticmethod
    def window(setup):
        return 4

    @staticmethod
    def open(setup):
        return b"lead", b"follow"

    def __init__(self, setup, wiring):
        assert wiring.data == (b"lead" if setup.is_lead else b"follow") and not wiring.fds
        assert setup.settings == {"depth": "3"} and setup.message_bytes == 64, setup.settings
        setup.grant("depth", 2)
        mine, yours = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        theirs = setup.swap(yours, b"hello")
        assert theirs.data == b"hello"
        yours.close()
        self.into, self.out = socket.socket(fileno=theirs.fds[0]), mine
        self.sent = 0

    def send(self, message):
        self.into.send(message)
        self.sent += 1

    def recv(self, buffer):
        return self.out.recv_into(buffer)

    def events(self):
        return {"datagrams": self.sent}

    def detach(self):
        self.into.close()
        self.out.close()
"#;

#[test]
fn ends_swap_descriptors_and_report_knobs_and_events() {
    let Some(sandbox) = with_python() else { return };
    fs::write(sandbox.home().join("it.py"), RICH).expect("a file");
    sandbox.done(&[&["run", "-m", "./it.py depth=3"], &words(SHORT)[..]].concat());
    let document = sandbox.result("it.json");
    let cell = &cells(&document)[0];
    assert_eq!((text(cell, "status"), text(cell, "mechanism")), ("ok", "rich"), "{cell}");
    assert_eq!(cell["knobs"]["rich.depth"]["effective"], 2, "{cell}");
    assert!(cell["events"]["datagrams"].as_u64() > Some(0), "{cell}");
    let refused = &[&["run", "-m", "./it.py depth=10"], &words(SHORT)[..]].concat();
    sandbox.refuses(refused, "depth");
    nothing_is_left(&sandbox);
}

const BROKER: &str = include_str!("fixtures/broker.py");

/// A transport over a broker, with this in place of that.
fn over_a_broker(sandbox: &Sandbox, from: &str, to: &str) {
    assert!(BROKER.contains(from), "{from}");
    fs::write(sandbox.home().join("it.py"), BROKER.replace(from, to)).expect("a file");
}

#[test]
fn a_helper_runs_as_long_as_its_channel_and_has_its_cpu_time_in_an_event() {
    let Some(sandbox) = with_python() else { return };
    over_a_broker(&sandbox, "Packets", "Packets");
    sandbox.done(&[&["run", "-m", "./it.py"], &words(SHORT)[..]].concat());
    let document = sandbox.result("it.json");
    let cell = &cells(&document)[0];
    assert_eq!(text(cell, "status"), "ok", "{cell}");
    assert!(cell["events"]["us of CPU time in its helper"].as_u64() > Some(0), "{cell}");
    nothing_is_left(&sandbox);
    let ended = sandbox.done(&["conformance", "./it.py", "C13", "C16", "C17", "--deadline=300s"]);
    assert!(ended.stdout.contains("C16 isolation: passed"), "{}", ended.stdout);
    nothing_is_left(&sandbox);
}

#[test]
fn what_is_wrong_with_a_helper_is_reported_by_its_name() {
    let Some(sandbox) = with_python() else { return };
    let ready = "print(\"the broker: ready\", flush=True)";
    for (from, to, status, reason) in [
        (
            "\"python3 {file}",
            "\"no-such-helper {file}",
            "unavailable",
            "its helper no-such-helper: No such file",
        ),
        (
            ready,
            "sys.exit(7)",
            "failed",
            "its helper python3 ended before it was ready: exit code 7",
        ),
        (
            ready,
            "print('soon', flush=True)",
            "failed",
            "its helper python3 has not written 'the broker: ready' within 5 s",
        ),
        (
            "os._exit(0)",
            "os._exit(9)",
            "failed",
            "its helper python3 ended before the channel: exit code 9",
        ),
    ] {
        over_a_broker(&sandbox, from, to);
        sandbox.run(&[&["run", "-m", "./it.py"], &words(SHORT)[..]].concat());
        let document = sandbox.result("it.json");
        let cell = &cells(&document)[0];
        assert_eq!(text(cell, "status"), status, "{to}: {cell}");
        assert!(text(cell, "reason").contains(reason), "{to}: {cell}");
        nothing_is_left(&sandbox);
    }
}

#[test]
fn a_helper_ends_with_a_run_that_is_killed() {
    let Some(sandbox) = with_python() else { return };
    over_a_broker(&sandbox, "Packets", "Packets");
    let mut started =
        sandbox.command(&["run", "-m", "./it.py", "--slice", "2s"]).spawn().expect("started");
    let has_helper = || {
        processes(&sandbox).iter().any(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("it.py\0/")
        })
    };
    wait_for("the helper", || has_helper().then_some(()));
    started.kill().expect("it runs");
    started.wait().expect("it ends");
    wait_for("the end of all processes", || processes(&sandbox).is_empty().then_some(()));
}
