//! Ends in namespaces of their own: what still meets has figures, what does not has the reason, and nothing is left.

use crate::common::{Sandbox, cells, is_here, list, skipped, text, valid, wait_for};
use crate::container::without;
use crate::interruption::nothing_is_left;
use crate::strangers::Somebody;
use crate::watch::{Objects, elsewhere, signal, workers};
use ipcperf_sys::seccomp::Refusal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const SHORT: [&str; 6] = ["--rounds", "2", "--slice", "5ms", "--warmup", "2ms"];

/// The cells of a short run whose follow enters namespaces.
fn measured(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let file = "apart.json";
    let ended = sandbox
        .run(&[&["run", "-q", "-o", file, "--place", "same-cpu"], &SHORT[..], words].concat());
    assert!([Some(0), Some(3)].contains(&ended.status.code()), "{words:?}: {}", ended.stderr);
    cells(&sandbox.result(file)).to_vec()
}

/// Whether this machine lets this user enter namespaces.
pub(crate) fn may_enter(sandbox: &Sandbox) -> bool {
    measured(sandbox, &["-m", "pipe", "--follow-in", "all"]).iter().all(is_here)
}

#[test]
fn descriptors_that_are_handed_over_cross_everything() {
    let sandbox = Sandbox::new();
    if !may_enter(&sandbox) {
        return;
    }
    let names = "pipe,unix-stream,eventfd,posix-mq,shm-ring/futex,memfd,futex";
    let all = measured(&sandbox, &["-m", names, "--follow-in", "none,net,ipc,mnt,pid,user,all"]);
    assert_eq!(all.len(), 7 * 7);
    for cell in all.iter().filter(|cell| is_here(cell)) {
        let id = text(cell, "id");
        assert_eq!((text(cell, "status"), &cell["verified"]), ("ok", &Value::from(true)), "{id}");
        match cell["load"]["follow_in"].as_str() {
            Some(which) => assert!(id.contains(&format!(" follow-in={which}")), "{id}"),
            None => assert!(!id.contains("follow-in"), "{id}"),
        }
    }
    sandbox.leaves_nothing();
}

#[test]
fn what_ends_at_a_namespace_is_refused_with_the_reason_before_anything_starts() {
    let sandbox = Sandbox::new();
    for (name, which, told) in [
        ("tcp", "net", "loopback addresses and abstract names end at the network namespace"),
        ("unix-stream bind=abstract", "all", "end at the network namespace"),
        ("sysv-mq", "ipc", "identifiers of System V objects end at the IPC namespace"),
        ("unix-stream bind=path", "mnt", "ends at the mount namespace"),
        ("fifo", "net+mnt", "ends at the mount namespace"),
        ("signal", "pid", "process and thread numbers end at the PID namespace"),
        ("process-vm", "user", "takes rights in the peer's user namespace"),
        ("pipe", "pid:4194304", "there is no process 4194304"),
    ] {
        let all = measured(&sandbox, &["-m", name, "--follow-in", which]);
        let [cell] = &all[..] else { panic!("{name}: {all:?}") };
        assert_eq!(text(cell, "status"), "unavailable", "{name}");
        // A machine without it says that first.
        if cell["reason"].as_str().is_some_and(|why| why.contains(told)) || !is_here(cell) {
            assert!(text(cell, "reason").contains(told) || name == "process-vm", "{name}: {cell}");
        }
    }
    let net = "--net veth puts each side into a network namespace of its own";
    sandbox.refuses(&["run", "-m", "tcp", "--net", "veth", "--follow-in", "net"], net);
    let words = ["-m", "pipe", "--follow", "cat", "--follow-in", "net"];
    let told = "--follow-in and --net move our own end into namespaces";
    let all = measured(&sandbox, &words);
    assert!(all.iter().any(|cell| cell["reason"].as_str().is_some_and(|why| why.contains(told))));
    let words = ["run", "-m", "pipe", "--follow-in", "nte"];
    sandbox.refuses(&words, "--follow-in: unknown namespace 'nte'");
    let words = ["run", "-m", "unix-stream", "-p", "connect", "--follow-in", "net"];
    sandbox.refuses(&words, "--follow-in needs the pattern");
}

#[test]
fn every_pattern_of_two_ends_measures_with_its_follow_elsewhere() {
    let sandbox = Sandbox::new();
    if !may_enter(&sandbox) {
        return;
    }
    let patterns = "ping-pong,stream,burst,request,rate";
    let words = ["-m", "unix-stream", "-p", patterns, "--rate", "1k", "--follow-in", "all"];
    let all = measured(&sandbox, &words);
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|cell| cell["status"] == "ok"), "{all:?}");
    // Stopping a process that stands for another would not stop the other.
    let all = measured(&sandbox, &["-m", "pipe", "--stall", "1ms", "--follow-in", "pid"]);
    let [cell] = &all[..] else { panic!("{all:?}") };
    assert_eq!(text(cell, "status"), "unavailable", "{cell}");
}

#[test]
fn the_namespaces_of_a_running_process_can_be_entered() {
    let sandbox = Sandbox::new();
    if !may_enter(&sandbox) {
        return;
    }
    // Only with a process of its own in a PID namespace can this one be ended for sure with its parent.
    let mut other = Command::new("unshare");
    let started =
        other.args(["--net", "--ipc", "--mount", "--pid", "--fork", "sleep", "600"]).spawn();
    let Ok(mut other) = started else { return skipped("unshare", "cannot be started") };
    let sleeper = wait_for("the process in other namespaces", || {
        if other.try_wait().expect("our own child").is_some() {
            return Some(None);
        }
        let children = format!("/proc/{0}/task/{0}/children", other.id());
        let child = fs::read_to_string(children).ok()?;
        let child: u32 = child.split_whitespace().next()?.parse().ok()?;
        let own = fs::read_link("/proc/self/ns/pid").ok()?;
        let name = fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        let theirs = fs::read_link(format!("/proc/{child}/ns/pid")).ok()?;
        (theirs != own && name.trim() == "sleep").then_some(Some(child))
    });
    let Some(sleeper) = sleeper else { return skipped("unshare", "needs more rights") };
    let which = format!("pid:{sleeper}");
    let all = measured(&sandbox, &["-m", "pipe,tcp", "--follow-in", &which]);
    signal("KILL", sleeper);
    other.wait().expect("our own child");
    let [pipe, tcp] = &all[..] else { panic!("{all:?}") };
    assert_eq!(text(pipe, "status"), "ok", "{pipe}");
    assert_eq!(text(pipe, "id"), format!("pipe ping-pong 64B same-cpu follow-in={which}"));
    assert!(text(tcp, "reason").contains("end at the network namespace"), "{tcp}");
    sandbox.leaves_nothing();
}

#[test]
fn an_ordinary_user_enters_by_a_user_namespace_or_is_told_what_is_missing() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-q", "-m", "pipe,unix-stream,process-vm", "--follow-in", "net,all"];
    let ended = somebody.run(&[], &[&words[..], &SHORT[..], &["-o", "apart.json"]].concat());
    assert!([Some(0), Some(3)].contains(&ended.status.code()), "{}", ended.stderr);
    let document = valid("result", &somebody.sandbox.read("apart.json").expect("written"));
    for cell in cells(&document) {
        let reaches_in = cell["mechanism"] == "process-vm";
        match text(cell, "status") {
            "ok" => assert!(!reaches_in, "its ends were said to need one user namespace"),
            "unavailable" => {
                let told = text(cell, "reason");
                assert!(reaches_in || told.contains("user namespace"), "{cell}");
            }
            other => panic!("{other}: {cell}"),
        }
    }
    somebody.leave();
}

/// The end of one process of a run: the coordinator, the lead, the follow, or who stands for it.
#[test]
fn an_end_killed_in_namespaces_of_its_own_leaves_nothing() {
    let sandbox = Sandbox::new();
    if !may_enter(&sandbox) {
        return;
    }
    let before = Objects::now();
    for victim in ["coordinator", "first", "last"] {
        for net in ["follow-in", "net"] {
            let words = match net {
                "net" => ["--net", "bridge", "-m", "tcp"],
                _ => ["--follow-in", "all", "-m", "pipe"],
            };
            let long =
                ["--rounds", "1", "--slice", "60s", "--place", "same-cpu", "-q", "-o", "k.json"];
            let running = sandbox.start(&[&["run"], &words[..], &long].concat());
            // Lead and follow, or the follow and who stands for it.
            let all = wait_for("both processes in other namespaces", || {
                let all = elsewhere(&sandbox);
                (all.len() == 2).then_some(all)
            });
            let pid = match victim {
                "coordinator" => running.child.id(),
                "first" => all[0],
                _ => all[all.len() - 1],
            };
            signal("KILL", pid);
            let ended = running.end();
            assert_ne!(ended.status.code(), Some(0), "{victim} {net}: {}", ended.stderr);
            wait_for("the end of all workers", || workers(&sandbox).is_empty().then_some(()));
        }
    }
    nothing_is_left(&sandbox, &before);
}

/// Those calls by which namespaces are entered, each the last one of the process that makes it.
#[test]
fn an_end_that_dies_while_it_enters_costs_its_cell_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    if !may_enter(&sandbox) {
        return;
    }
    let bridge = &["-m", "tcp", "--net", "bridge"][..];
    let all = &["-m", "pipe", "--follow-in", "all"][..];
    for (call, words) in [
        (libc::SYS_unshare, all),
        (libc::SYS_mount, all),
        (libc::SYS_unshare, bridge),
        (libc::SYS_setns, bridge),
    ] {
        let words =
            [&["run", "-q", "-o", "k.json", "--place", "same-cpu"], &SHORT[..], words].concat();
        let ended = without(&[call], Refusal::Killed, || sandbox.run(&words));
        let ended = ended.expect("this kernel has filters");
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {}", ended.stderr);
        let document = sandbox.result("k.json");
        let [cell] = cells(&document) else { panic!("one cell") };
        assert_eq!(text(cell, "status"), "failed", "{cell}");
        assert!(text(cell, "reason").contains("killed by signal 31"), "{cell}");
        assert_eq!(workers(&sandbox), Vec::<u32>::new());
        sandbox.leaves_nothing();
    }
}

#[test]
fn addresses_are_reached_over_a_network_of_their_own() {
    let sandbox = Sandbox::new();
    let words = ["-m", "tcp,udp,tcp6,mptcp,pipe", "--net", "loopback,veth,bridge"];
    let all = measured(&sandbox, &words);
    assert_eq!(all.len(), 15);
    for cell in &all {
        let (id, net) = (text(cell, "id"), &cell["load"]["net"]);
        if cell["mechanism"] == "pipe" && !net.is_null() {
            assert!(text(cell, "reason").contains("have no internet addresses"), "{cell}");
        } else if is_here(cell) {
            assert_eq!((text(cell, "status"), &cell["verified"]), ("ok", &true.into()), "{cell}");
        }
        let wanted = net.as_str().map_or(String::new(), |net| format!(" net={net}"));
        assert!(id.ends_with(&wanted), "{id}");
    }
    let both = ["-m", "tcp", "--net", "veth", "--follow-in", "pid+mnt+ipc+user"];
    assert!(measured(&sandbox, &both).iter().all(|cell| !is_here(cell) || cell["status"] == "ok"));
    sandbox.leaves_nothing();
}

#[test]
fn a_choice_across_namespaces_leaves_out_what_ends_at_them() {
    let sandbox = Sandbox::new();
    let words = ["choose", "-m", "tcp,unix-stream,fifo,pipe,sysv-mq", "--budget", "4s", "-q"];
    // On a busy machine it may be that nobody can be said to meet the needs.
    let chosen = |more: &[&str]| {
        let ended = sandbox.run(&[&words[..], more].concat());
        assert!([Some(0), Some(3)].contains(&ended.status.code()), "{more:?}: {}", ended.stderr);
        ended
    };
    let ended = chosen(&["--across", "net,mnt", "-o", "c.json"]);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("Needed: --across net, --across mnt."), "{shown}");
    assert!(shown.contains("ends at the network namespace: tcp"), "{shown}");
    assert!(shown.contains("ends at the mount namespace: fifo"), "{shown}");
    let document = sandbox.result("c.json");
    let requirements = &document["invocation"]["plan"]["requirements"];
    assert_eq!(list(requirements, "across"), ["net", "mnt"]);
    // Where both must find each other by a name, a pair that is handed over does not do.
    chosen(&["--across", "net", "--can", "unrelated", "-o", "n.json"]);
    let document = sandbox.result("n.json");
    let measured = cells(&document).iter().filter(|cell| cell["status"] == "ok");
    let names: BTreeSet<_> = measured.map(|cell| text(cell, "mechanism")).collect();
    assert!(names.contains("unix-stream") && names.contains("fifo"), "{names:?}");
    let ended = sandbox.run(
        &[&words[..], &["--across", "mnt", "--can", "unrelated,two-way", "--dry-run"]].concat(),
    );
    assert!(!ended.stdout.contains("unix-stream"), "a path ends there: {}", ended.stdout);
    sandbox.refuses(&["choose", "--across", "nte"], "unknown namespace 'nte'; did you mean 'net'?");
}
