//! Connections for single requests: whatever was asked is answered or failed for a reason, and nothing is left.

use crate::common::{Ended, Sandbox, cells, is_here, rounds, skipped};
use ipcperf_sys::io::socket::ports;
use serde_json::Value;
use std::process::Command;

/// Everything that can be connected to, and how the server may wait.
const DOORS: &str = "unix-stream,unix-stream/epoll,unix-seqpacket,tcp,tcp/epoll,tcp6,vsock,fifo";

fn document(sandbox: &Sandbox, ended: &Ended) -> Value {
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    sandbox.result("run.json")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

/// Requests asked, after checking that all of them are accounted for.
fn accounted(cell: &Value) -> u64 {
    let requests = &cell["connect"];
    let errors = requests["errors"].as_object().expect("classes of errors");
    let failed: u64 = errors.values().map(count).sum();
    let (asked, answered) = (count(&requests["asked"]), count(&requests["answered"]));
    assert_eq!(asked, answered + failed, "{requests}");
    assert_eq!((count(&cell["messages"]), count(&cell["lost"])), (answered, failed), "{cell}");
    for round in &rounds(cell) {
        let proof = &round["proof"];
        assert_eq!(proof["holds"], true, "{proof}");
        assert_ne!(proof["lead_pid"], proof["follow_pid"]);
        // Nothing failed and nobody was dropped, so the server gave exactly the answers that arrived.
        let is_crowded = requests["overflows"].as_u64().is_some_and(|count| count > 0);
        assert!(failed > 0 || is_crowded || proof["lead"][1] == proof["follow"][0], "{proof}");
    }
    asked
}

#[test]
fn every_request_of_connect_slices_of_one_five_and_64_clients_is_accounted_for() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "connect", "-m", DOORS, "--conns", "1,5,64", "--place", "free"];
    let more = ["--rounds", "1", "--slice", "30ms", "--warmup", "5ms", "-o", "run.json"];
    let ended = sandbox.run(&[&words[..], &more].concat());
    let document = document(&sandbox, &ended);
    assert_eq!(cells(&document).len(), 24);
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        assert!(accounted(cell) >= count(&cell["load"]["conns"]), "each asked at least once");
    }
    assert!(
        ended.stdout.contains("conns=64") && ended.stdout.contains("errors"),
        "{}",
        ended.stdout
    );
}

/// Where only one may wait, 16 clients at a UNIX socket sleep until there is room. TCP drops them, also for ever: what
/// nobody answers is asked again, and counted.
#[test]
fn a_full_backlog_costs_no_request_and_no_cell() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "connect", "--conns", "16", "--place", "free"];
    let listeners = ["-m", "unix-stream,unix-stream/epoll,tcp"];
    let few = ["--set", "unix-stream.backlog=1", "--set", "tcp.backlog=1", "-o", "run.json"];
    let brief = ["--rounds", "1", "--slice", "20ms", "--warmup", "1ms"];
    let ended = sandbox.run(&[&words[..], &listeners, &few, &brief].concat());
    let document = document(&sandbox, &ended);
    assert_eq!(cells(&document).len(), 3);
    for cell in cells(&document) {
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        let requests = &cell["connect"];
        assert_eq!(requests["backlog"], 1, "{cell}");
        assert!(accounted(cell) >= 16, "each asked at least once");
        assert_eq!(requests["errors"], serde_json::json!({}), "{cell}");
        let is_tcp = cell["mechanism"] == "tcp";
        assert_eq!(requests["overflows"].is_u64() && requests["syn_resent"].is_u64(), is_tcp);
        let resent = requests.get("resent").map_or(0, count);
        assert!(is_tcp || resent == 0, "{cell}");
        let told = document["noise"]["findings"].as_array().expect("a list");
        let is_told = told.iter().any(|finding| finding["code"] == "W-BACKLOG");
        assert!(is_told || !is_tcp || resent == 0, "{cell}");
    }
}

#[test]
fn whichever_side_closes_first_every_request_is_accounted_for() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "connect", "-m", DOORS, "--conns", "1,3", "--place", "free"];
    let sides = ["--closes", "server,client", "--rounds", "1", "--slice", "20ms"];
    let more = ["--warmup", "1ms", "-o", "run.json"];
    let ended = sandbox.run(&[&words[..], &sides, &more].concat());
    let document = document(&sandbox, &ended);
    assert_eq!(cells(&document).len(), 32);
    for cell in cells(&document).iter().filter(|cell| is_here(cell)) {
        let id = cell["id"].as_str().expect("an identity");
        let side = if id.contains("closes=client") { "client" } else { "server" };
        assert_eq!(cell["connect"]["closes"], side, "{id}");
        assert_eq!(
            cell["load"]["closes"],
            if side == "client" { side.into() } else { Value::Null }
        );
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        assert_eq!(cell["connect"]["errors"], serde_json::json!({}), "{cell}");
        assert!(accounted(cell) > 0);
    }
    let refused = sandbox.run(&["run", "-p", "connect", "-m", "tcp", "--closes", "cliant"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("did you mean 'client'?"), "{}", refused.stderr);
}

#[test]
fn what_a_connect_without_blocking_does_not_do_at_once_is_counted() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "connect", "--nonblocking", "--conns", "16", "--place", "free"];
    let listeners = ["-m", "unix-stream,unix-stream/epoll,tcp,fifo"];
    let few = ["--set", "unix-stream.backlog=1"];
    let brief = ["--rounds", "1", "--slice", "20ms", "--warmup", "1ms", "-o", "run.json"];
    let ended = sandbox.run(&[&words[..], &listeners, &few, &brief].concat());
    let document = document(&sandbox, &ended);
    for cell in cells(&document) {
        assert!(cell["id"].as_str().is_some_and(|id| id.contains("nonblocking")), "{cell}");
        if cell["mechanism"] == "fifo" {
            let reason = cell["reason"].as_str().unwrap_or_default();
            assert_eq!(cell["status"], "unavailable", "{cell}");
            assert!(reason.contains("leave out --nonblocking"), "{reason}");
            continue;
        }
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        assert!(accounted(cell) >= 16, "each asked at least once");
        let connect = &cell["connect"];
        assert_eq!(connect["errors"], serde_json::json!({}), "who finds no room comes again");
        let counted = connect["not_at_once"].as_object().expect("what was not done at once");
        let what = if cell["mechanism"] == "tcp" { "EINPROGRESS" } else { "EAGAIN" };
        assert_eq!(counted.keys().collect::<Vec<_>>(), [what], "{cell}");
        assert!(count(&connect["retried"]) >= count(&counted[what]), "{cell}");
    }
    assert!(ended.stdout.contains("EAGAIN"), "{}", ended.stdout);
}

/// Each way for unrelated processes to meet, where the path to the run's directory is longer than that of a socket may be.
#[test]
fn a_name_that_no_socket_can_have_is_unavailable_and_says_what_helps() {
    let sandbox = Sandbox::new();
    let folder = sandbox.run_directories().join("d".repeat(107));
    std::fs::create_dir(&folder).expect("a folder of our own");
    let bound = ["unix-stream", "unix-dgram", "unix-seqpacket"];
    let set = bound.map(|name| format!("{name}.bind=path"));
    let knobs: Vec<&str> = set.iter().flat_map(|knob| ["--set", knob]).collect();
    let brief = ["--place", "free", "--rounds", "1", "--slice", "1ms", "-o", "run.json"];
    for pattern in ["ping-pong", "connect"] {
        let names = bound.join(",");
        let words = [&["run", "-p", pattern, "-m", &names][..], &knobs, &brief].concat();
        let mut command = sandbox.command(&words);
        command.env("XDG_RUNTIME_DIR", &folder).env("TMPDIR", &folder);
        let ended = sandbox.spawn(command).end();
        assert_eq!(ended.status.code(), Some(3), "nothing ran: {}", ended.stderr);
        let document = sandbox.result("run.json");
        for cell in cells(&document) {
            let reason = cell["reason"].as_str().unwrap_or_default();
            assert_eq!(cell["status"], "unavailable", "{cell}");
            let is_told = reason.contains("at most 107; a shorter XDG_RUNTIME_DIR");
            assert!(is_told || reason.contains("no listener"), "{reason}");
        }
    }
    // What has no path does not mind.
    let words = ["run", "-m", "unix-stream,fifo", "--set", "unix-stream.bind=abstract"];
    let mut command = sandbox.command(&[&words[..], &brief].concat());
    command.env("XDG_RUNTIME_DIR", &folder).env("TMPDIR", &folder);
    assert_eq!(sandbox.spawn(command).end().status.code(), Some(0));
}

#[test]
fn what_has_no_listener_says_so() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "connect", "-m", "pipe,unix-stream/spin,unix-stream/mmsg,tcp"];
    let more =
        ["-s", "17,64", "--rounds", "1", "--slice", "1ms", "--place", "free", "-o", "run.json"];
    let document = document(&sandbox, &sandbox.run(&[&words[..], &more].concat()));
    for cell in cells(&document) {
        let is_ok = cell["mechanism"] == "tcp" && cell["size_bytes"] == 64;
        assert_eq!(cell["status"] == "ok", is_ok, "{cell}");
        let reason = cell["reason"].as_str().unwrap_or_default();
        let wanted = if cell["mechanism"] == "tcp" { "at least 18 bytes" } else { "no listener" };
        // On one CPU that comes first.
        let spins = cell["wait"] == "spin" && reason.contains("two busy-waiting processes");
        assert!(is_ok || spins || reason.contains(wanted), "{reason}");
    }
}

#[test]
fn two_hundred_connect_slices_leave_no_descriptor_no_file_and_no_process() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("sh");
    // With a descriptor left by each connect slice the coordinator would soon have none.
    command.args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ipcperf")]);
    let words = ["run", "-p", "connect", "-m", "unix-stream,unix-seqpacket,tcp,fifo"];
    let more = ["--conns", "2", "--place", "free", "--rounds", "50", "--slice", "1ms"];
    let last = ["--warmup", "1ms", "-o", "run.json"];
    let ended =
        sandbox.spawn(sandbox.surround(command, &[&words[..], &more, &last].concat())).end();
    let document = document(&sandbox, &ended);
    for cell in cells(&document) {
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        assert_eq!(rounds(cell).len(), 50);
        accounted(cell);
    }
    sandbox.leaves_nothing();
    assert!(crate::watch::workers(&sandbox).is_empty());
}

/// Ports of a network of its own, where it may be had: there are only four, so that ten clients run out of them.
#[test]
fn requests_without_a_port_are_counted_and_many_are_an_error() {
    let sandbox = Sandbox::new();
    let ports = "/proc/sys/net/ipv4/ip_local_port_range";
    let alone = format!("ip link set lo up && echo 40000 40003 > {ports} && exec \"$0\" \"$@\"");
    let unshared = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--map-root-user", "sh", "-c", &alone]).args(words);
        sandbox.surround(command, &[])
    };
    if !unshared(&["true"]).status().is_ok_and(|status| status.success()) {
        return skipped("a network of one's own", "no namespace, unshare or ip");
    }
    let words = ["run", "-p", "connect", "-m", "tcp", "--conns", "10", "--place", "free"];
    let more = ["--rounds", "1", "--slice", "30ms", "-o", "run.json"];
    let program = [env!("CARGO_BIN_EXE_ipcperf")];
    let ended = sandbox.spawn(unshared(&[&program[..], &words, &more].concat())).end();
    let document = sandbox.result("run.json");
    let [cell] = cells(&document) else { panic!("one cell") };
    assert_eq!(cell["status"], "ok", "{cell}");
    let asked = accounted(cell);
    let without = count(&cell["connect"]["errors"]["EADDRNOTAVAIL"]);
    assert!(without > 0 && without < asked, "{without} of {asked}");
    let code = i32::from(100 * without > asked);
    assert_eq!(ended.status.code(), Some(code), "{without} of {asked}: {}", ended.stderr);
    // Too many failed for a tail, so there is none.
    assert_eq!(cell["connect"]["request_ns"]["max"]["value"], Value::Null);
    assert!(ended.stdout.contains("EADDRNOTAVAIL"), "{}", ended.stdout);
}

/// With 500 ports and a kernel that does not use one in TIME_WAIT again, the side that closes first decides.
#[test]
fn a_client_that_closes_first_runs_out_of_ports_and_is_told_what_helps() {
    let sandbox = Sandbox::new();
    let settings =
        "cd /proc/sys/net/ipv4 && echo 40000 40499 > ip_local_port_range && echo 0 > tcp_tw_reuse";
    let alone = format!("ip link set lo up && ({settings}) && exec \"$0\" \"$@\"");
    let unshared = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--map-root-user", "sh", "-c", &alone]).args(words);
        sandbox.surround(command, &[])
    };
    if !unshared(&["true"]).status().is_ok_and(|status| status.success()) {
        return skipped("a network of one's own", "no namespace, unshare or ip");
    }
    for (side, code) in [("server", 0), ("client", 1)] {
        let words = ["run", "-p", "connect", "-m", "tcp", "--closes", side, "--place", "free"];
        let more = ["--rounds", "1", "--samples", "1000", "--warmup", "1ms", "-o", "run.json"];
        let program = [env!("CARGO_BIN_EXE_ipcperf")];
        let ended = sandbox.spawn(unshared(&[&program[..], &words, &more].concat())).end();
        assert_eq!(ended.status.code(), Some(code), "{side}: {}", ended.stderr);
        let document = sandbox.result("run.json");
        let [cell] = cells(&document) else { panic!("one cell") };
        let errors = cell["connect"]["errors"].as_object().expect("errors by their names");
        let names: Vec<_> = errors.keys().map(String::as_str).collect();
        assert_eq!(names, if side == "client" { vec!["EADDRNOTAVAIL"] } else { vec![] }, "{cell}");
        let findings = document["noise"]["findings"].as_array().expect("a list");
        let refused = findings.iter().find(|finding| finding["code"] == "E-REFUSED");
        let remedy = refused.and_then(|finding| finding["remedy"].as_str()).unwrap_or_default();
        assert_eq!(remedy.contains("--closes server"), side == "client", "{remedy}");
    }
}

#[test]
fn a_listener_has_a_port_of_those_counted() {
    let range = ports::ephemeral_range().expect("Linux says it");
    assert!(range.0 <= range.1 && ports::time_wait().is_some());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    match ports::in_use((port, port)) {
        Some(count) => assert_eq!(count, 1),
        None => skipped("inet_diag", "the kernel does not list sockets"),
    }
}
