//! Several producers or consumers at one object.

use crate::common::{Sandbox, at_once, cells, rounds, wait_for};
use crate::watch::{signal, workers};
use serde_json::Value;
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

fn measured(words: &[&str]) -> (Value, String) {
    let sandbox = Sandbox::new();
    let brief = ["--rounds", "2", "--slice", "10ms", "--warmup", "2ms", "-o", "fan.json"];
    let ended = sandbox.done(&[&["run"], words, &brief].concat());
    (sandbox.result("fan.json"), ended.stdout)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// What must hold of every cell that was measured.
fn check(cell: &Value) {
    let peers = number(&cell["load"]["peers"]);
    assert_eq!(cell["verified"], true, "{cell}");
    assert!(number(&cell["messages_per_second"]["value"]) > 0.0);
    assert!(number(&cell["cpu_ns_per_message"]["lead"]) > 0.0);
    let fan = &cell["fan"];
    assert_eq!(number(&fan["peers"]), peers);
    for round in &rounds(cell) {
        let served = round["fan"]["served"].as_array().map(Vec::len);
        assert!([Some(0), Some(peers as usize)].contains(&served), "{round}");
        let proof = &round["proof"];
        let pids: BTreeSet<_> = round["fan"]["pids"]
            .as_array()
            .expect("a list")
            .iter()
            .chain([&proof["lead_pid"], &proof["follow_pid"]])
            .map(|pid| pid.as_u64().expect("a number"))
            .collect();
        assert_eq!(pids.len(), peers as usize + 1, "a process for each end: {round}");
        let arrived = number(&proof["follow"][1]) + number(&round["lost"]);
        assert_eq!(number(&proof["lead"][0]), arrived);
    }
    // Very few messages fit the buffers: then the shares are unknown, and it says so.
    if fan["jain"]["value"].is_null() {
        assert!(fan["jain"]["reason"].is_string(), "{fan}");
        return;
    }
    let jain = number(&fan["jain"]["value"]);
    // Numbers have eight digits.
    assert!((1.0 / peers - 1e-8..=1.0 + 1e-8).contains(&jain), "{fan}");
    let [least, most] = ["least_share", "most_share"].map(|name| number(&fan[name]["value"]));
    assert!((0.0..=1.0 / peers + 1e-8).contains(&least), "{fan}");
    assert!((1.0 / peers - 1e-8..=1.0).contains(&most), "{fan}");
    // Of a slow mechanism there may be too few calls for any quantile, but never none.
    assert!(number(&fan["call_ns"]["max"]["value"]) > 0.0);
}

#[test]
fn every_fan_is_measured_and_proved_or_explained() {
    let mechanisms = ["-m", "pipe,unix-dgram,posix-mq,udp", "-s", "64", "--peers", "1,2,8"];
    let (document, shown) = measured(&[&["-p", "fan-in,fan-out"], &mechanisms[..]].concat());
    for cell in cells(&document) {
        let reason = cell["reason"].as_str().unwrap_or_default();
        match cell["status"].as_str() {
            Some("ok") => check(cell),
            // Sockets have one receiver; a sandbox may have no queues.
            Some("unavailable") if reason.contains("takes one consumer only") => {
                assert_eq!(cell["pattern"], "fan-out");
                assert!(["udp", "unix-dgram"].contains(&cell["mechanism"].as_str().expect("text")));
            }
            Some("unavailable") => assert!(!reason.is_empty(), "{cell}"),
            _ => panic!("{cell}"),
        }
    }
    let ok = |pattern: &str| {
        cells(&document).iter().any(|cell| cell["pattern"] == pattern && cell["status"] == "ok")
    };
    assert!(ok("fan-in") && ok("fan-out"));
    // A column is there where any cell has a figure for it; on a busy machine few messages are timed in a slice.
    for (pattern, column) in [("fan-in", "p99 send"), ("fan-out", "p99 recv")] {
        let has_p99 = |cell: &Value| {
            cell["pattern"] == pattern && !cell["fan"]["call_ns"]["p99"]["value"].is_null()
        };
        assert_eq!(shown.contains(column), cells(&document).iter().any(has_p99), "{shown}");
    }
    for word in ["peers", "Jain", "least", "CPU/msg"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn every_touch_policy_proves_where_a_message_came_from() {
    for touch in ["none", "header", "full"] {
        let words = ["-p", "fan-in,fan-out", "-m", "pipe", "-s", "8,100,4096", "--touch", touch];
        let (document, _) = measured(&[&words[..], &["--place", "free", "--peers", "3"]].concat());
        for cell in cells(&document) {
            assert_eq!(cell["status"], "ok", "{cell}");
            check(cell);
        }
    }
}

#[test]
fn every_consumer_of_a_broadcast_gets_every_message_or_it_says_why_not() {
    let can = ["pipe", "fifo", "unix-stream", "unix-seqpacket", "posix-mq", "tcp", "shm-ring"];
    let cannot = [
        ("udp", "it may lose messages"),
        ("eventfd", "become one"),
        ("process-vm", "name each other's process"),
        ("null", "moves nothing"),
    ];
    let names = can.iter().copied().chain(cannot.iter().map(|(name, _)| *name));
    let names = names.collect::<Vec<_>>().join(",");
    let words = ["-p", "broadcast", "-m", &names, "-s", "64", "--peers", "1,3", "--place", "free"];
    let (document, shown) = measured(&words);
    for cell in cells(&document) {
        let mechanism = cell["mechanism"].as_str().expect("a name");
        let name = mechanism.split('/').next().unwrap_or_default();
        let reason = cell["reason"].as_str().unwrap_or_default();
        if let Some((_, why)) = cannot.iter().find(|(cannot, _)| *cannot == name) {
            assert!(reason.contains(why), "{mechanism}: {reason}");
            continue;
        }
        if cell["status"] == "unavailable" {
            assert!(!reason.contains("every consumer"), "{mechanism}: {reason}");
            continue;
        }
        assert_eq!(cell["status"], "ok", "{cell}");
        check(cell);
        let peers = number(&cell["load"]["peers"]) as usize;
        for round in &rounds(cell) {
            let each = round["fan"]["per_second"].as_array().map_or(0, Vec::len);
            assert!([0, peers].contains(&each), "{round}");
            let sent = number(&round["proof"]["lead"][0]);
            assert_eq!(sent % peers as f64, 0.0, "each message once for each consumer: {round}");
        }
        let fan = &cell["fan"];
        let [behind, most] = ["behind", "most_behind"].map(|name| fan[name]["value"].as_f64());
        assert!(behind.zip(most).is_none_or(|(behind, most)| (0.0..=most).contains(&behind)));
    }
    let measured = |cell: &&Value| cell["status"] == "ok";
    assert!(cells(&document).iter().filter(measured).count() >= 10, "{shown}");
    assert!(shown.contains("every message to several consumers"), "{shown}");
}

/// The newest message alone is there for a consumer, which knows how many it has missed.
#[test]
fn who_may_miss_messages_of_a_broadcast_says_how_many() {
    let words = ["-p", "broadcast", "-m", "seqlock", "-s", "64", "--touch", "full"];
    let more = ["--peers", "1", "--place", "free,same-cpu"];
    let (document, shown) = measured(&[&words[..], &more].concat());
    let [free, shared] = cells(&document) else { panic!("two cells: {shown}") };
    assert!(shared["reason"].as_str().is_some_and(|why| why.contains("cannot share")), "{shared}");
    if free["status"] == "unavailable" {
        assert!(free["reason"].as_str().is_some_and(|why| why.contains("CPU")), "{free}");
        return;
    }
    assert_eq!(free["status"], "ok", "{free}");
    // What was sent has come or is counted as missed.
    check(free);
}

#[test]
fn what_cannot_fan_is_explained() {
    let sandbox = Sandbox::new();
    let mechanisms = "tcp,shm-ring/futex,eventfd,pipe,pipe/spin,udp/mmsg";
    let words = ["run", "-p", "fan-in", "-m", mechanisms, "-s", "4,4097", "--dry-run"];
    let plan = sandbox.run(&words);
    for part in [
        "tcp fan-in 4B same-cpu peers=4: unavailable: one object takes one producer only",
        "several producers could use this object, but its end here serves only one",
        "a wake-up carries no bytes",
        "pipe fan-in 4B same-cpu peers=4: unavailable: the number that proves",
        "pipe fan-in 4097 same-cpu peers=4: unavailable: above PIPE_BUF (4096 bytes)",
    ] {
        assert!(plan.stdout.contains(part), "{part}: {}", plan.stdout);
    }
    assert!(!plan.stdout.lines().skip(1).any(|line| !line.contains("unavailable")));
    let spinning = ["run", "-p", "fan-in", "-m", "pipe/spin", "--peers", "2", "--dry-run"];
    let plan = sandbox.run(&spinning);
    for line in plan.stdout.lines().skip(1) {
        assert!(line.contains("cannot share ") || line.contains("CPU is allowed"), "{line}");
    }
    for (wrong, part) in [
        (["fan-in", "--peers", "0"], "between 1 and 256"),
        (["fan-out", "--peers", "257"], "between 1 and 256"),
        (["stream", "--peers", "2"], "fan-in or fan-out or broadcast"),
    ] {
        sandbox.refuses(&[&["run", "-m", "pipe", "-p"], &wrong[..]].concat(), part);
    }
}

/// Reasons of those that cannot, beside what a host lacks.
const CANNOT: [&str; 4] = [
    "one object takes one ",
    "could use this object, but its end here serves only one",
    "a wake-up carries no bytes, so it cannot name its sender",
    "busy-waiting processes cannot share a CPU",
];

/// Those that several processes can share, each side, but for variants that spin: three of them and the other end are
/// more than the CPUs that a host may have.
const SHARED: [(&str, &[&str]); 2] = [
    (
        "fan-in",
        &[
            "pipe",
            "pipe/epoll",
            "fifo",
            "unix-dgram",
            "unix-dgram/epoll",
            "unix-seqpacket",
            "unix-seqpacket/epoll",
            "udp",
            "netlink",
            "pipe-packet",
            "posix-mq",
            "posix-mq/epoll",
            "sysv-mq",
        ],
    ),
    (
        "fan-out",
        &[
            "pipe",
            "pipe/epoll",
            "fifo",
            "unix-seqpacket",
            "unix-seqpacket/epoll",
            "pipe-packet",
            "posix-mq",
            "posix-mq/epoll",
            "sysv-mq",
        ],
    ),
];

fn full_name(cell: &Value) -> String {
    let [name, variant] = ["mechanism", "variant"].map(|key| cell[key].as_str());
    let name = name.expect("a name");
    variant.map_or(name.to_owned(), |variant| format!("{name}/{variant}"))
}

/// What must hold of every cell of a grid that was measured.
fn check_grid(cell: &Value) {
    let [producers, consumers] = ["writers", "readers"].map(|key| number(&cell["load"][key]));
    assert_eq!(cell["verified"], true, "{cell}");
    assert!(number(&cell["messages_per_second"]["value"]) > 0.0);
    let fan = &cell["fan"];
    assert_eq!(number(&fan["peers"]), producers, "{fan}");
    assert_eq!(number(&fan["consumers"]["count"]), consumers, "{fan}");
    let is_cut = number(&cell["size_bytes"]) > 4096.0;
    for round in &rounds(cell) {
        let (of_fan, proof) = (&round["fan"], &round["proof"]);
        for (key, count) in [("served", producers), ("taken", consumers)] {
            let served = of_fan.get(key).and_then(Value::as_array).map_or(0, Vec::len);
            assert!([0, count as usize].contains(&served), "{key}: {round}");
        }
        let sent = number(&proof["lead"][0]);
        assert_eq!(sent, number(&proof["follow"][1]), "{round}");
        assert_eq!(of_fan.get("arrived").is_some(), is_cut, "{round}");
        if let Some(arrived) = of_fan.get("arrived").and_then(Value::as_array) {
            assert_eq!(arrived.iter().map(number).sum::<f64>(), sent, "{round}");
            if (producers, consumers) == (1.0, 1.0) {
                assert_eq!(number(&arrived[0]), sent, "nothing else is on the way: {round}");
            }
        }
    }
    let shares =
        ["whole", "mixed", "split"].map(|key| fan.get(key).map(|one| number(&one["value"])));
    assert!(shares.iter().all(|share| share.is_some() == is_cut), "{fan}");
}

#[test]
fn every_number_of_producers_and_consumers_is_measured_and_proved() {
    let grid = ["-p", "grid", "--writers", "1,2,5", "--readers", "1,5", "--place", "same-cpu"];
    let (document, shown) = measured(&[&grid[..], &["-m", "pipe", "-s", "64,4K,64K"]].concat());
    assert_eq!(cells(&document).len(), 18);
    for cell in cells(&document) {
        assert_eq!(cell["status"], "ok", "{cell}");
        check_grid(cell);
    }
    for head in ["writers", "readers", "whole"] {
        assert!(shown.contains(head), "{head}: {shown}");
    }
}

#[test]
fn what_cannot_be_a_grid_is_explained() {
    for (mechanism, size, why) in [
        ("pipe", "6000", "use a size that is a multiple of 4K"),
        ("pipe", "4", "takes 8 bytes"),
        ("pipe/spin", "64", "busy-waiting processes cannot share a CPU"),
        ("unix-stream", "64", "one object takes one producer only"),
        ("shm-ring/futex", "64", "one object takes one producer only"),
        ("eventfd", "0", "cannot name its sender"),
        ("pty", "64", "serves only one"),
    ] {
        let sandbox = Sandbox::new();
        let words = ["run", "-p", "grid", "-m", mechanism, "-s", size, "-o", "grid.json"];
        let ended = sandbox.run(&words);
        assert_eq!(ended.status.code(), Some(3), "{mechanism} {size}: {}", ended.stdout);
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(why), "{mechanism} {size}: {text}");
    }
    for (words, why) in [
        (&["run", "-m", "pipe", "--writers", "2"][..], "--writers"),
        (&["run", "-p", "grid", "-m", "pipe", "--writers", "0"], "'0'"),
        (&["run", "-p", "grid", "-m", "pipe", "--readers", "65"], "between 1 and 64"),
        (&["run", "-p", "grid", "-m", "pipe", "--peers", "2"], "--peers"),
    ] {
        let ended = Sandbox::new().run(words);
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{words:?}: {}", ended.stderr);
    }
}

/// Batched variants and those on io_uring among them.
#[test]
fn every_mechanism_fans_or_says_why_not() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "fan-in,fan-out", "-m", "all", "--peers", "1,3", "--place", "free"];
    let brief = ["--rounds", "1", "--slice", "3ms", "--warmup", "1ms", "-o", "fan.json"];
    let ended = sandbox.run(&[&words[..], &brief].concat());
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document = sandbox.result("fan.json");
    for cell in cells(&document) {
        let (name, reason) = (full_name(cell), cell["reason"].as_str().unwrap_or_default());
        let (pattern, peers) = (&cell["pattern"], number(&cell["load"]["peers"]));
        let shared = SHARED.iter().find(|(word, _)| pattern == word).expect("a fan").1;
        // What is missing here is told with the way to get it.
        let is_missing = !CANNOT.iter().any(|why| reason.contains(why)) && reason.contains("; ");
        match cell["status"].as_str() {
            Some("ok") => {
                check(cell);
                assert!(shared.contains(&&*name) || (name.ends_with("/spin") && peers <= 1.0));
            }
            Some("unavailable") => {
                assert!(is_missing || !shared.contains(&&*name), "{name}: {reason}");
                assert!(is_missing || CANNOT.iter().any(|why| reason.contains(why)), "{reason}");
            }
            _ => panic!("{cell}"),
        }
    }
}

/// All that both fans share.
#[test]
fn every_mechanism_is_a_grid_or_says_why_not() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "grid", "-m", "all", "--writers", "3", "--readers", "2"];
    let brief = ["--place", "free", "--rounds", "1", "--slice", "3ms", "--warmup", "1ms"];
    let ended = sandbox.run(&[&words[..], &brief, &["-o", "grid.json"]].concat());
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document = sandbox.result("grid.json");
    let mut names = BTreeSet::new();
    for cell in cells(&document) {
        match cell["status"].as_str() {
            Some("ok") => {
                check_grid(cell);
                names.insert(full_name(cell));
            }
            Some("unavailable") => assert!(cell["reason"].is_string(), "{cell}"),
            _ => panic!("{cell}"),
        }
    }
    for (_, shared) in SHARED {
        // A sandbox may have no queues.
        assert!(names.iter().all(|name| shared.contains(&&**name)), "{names:?}");
    }
    assert!(names.contains("pipe") && names.contains("fifo"), "{names:?}");
}

#[test]
fn a_killed_peer_costs_its_cell_and_not_the_run() {
    let each = SHARED
        .iter()
        .flat_map(|(pattern, names)| names.iter().zip(0..).map(|(name, at)| (*pattern, *name, at)));
    // One of the peers or the single end, in turn; of a grid a producer and a consumer.
    let of_grid = [("grid", "pipe", 0), ("grid", "fifo", 2), ("grid", "pipe", 3)];
    let all: Vec<_> = each.chain(of_grid).collect();
    for some in all.chunks(6) {
        at_once(some.iter().copied(), |(pattern, name, at)| kill_one(pattern, name, at % 4));
    }
}

/// Kills one of four processes while they stand around an object of this mechanism.
fn kill_one(pattern: &str, name: &str, which: usize) {
    let sandbox = Sandbox::new();
    let count: &[&str] = match pattern {
        "grid" => &["--writers", "2", "--readers", "2", "-s", "64K"],
        _ => &["--peers", "3"],
    };
    let words = [&["run", "-p", pattern, "-m", name, "-o", "rest.json"], count].concat();
    // So many slices that one of them is seen however busy the machine is.
    let brief = ["--place", "free", "--rounds", "10000", "--slice", "300ms", "--warmup", "5ms"];
    let running = sandbox.start(&[&words[..], &brief].concat());
    let pid = running.child.id();
    let peers = wait_for("four workers", || {
        if !std::path::Path::new(&format!("/proc/{pid}/fd/0")).exists() {
            return Some(Vec::new());
        }
        let peers = workers(&sandbox);
        if peers.len() != 4 {
            return None;
        }
        // On a busy machine the slice may be over by now; else its coordinator waits for whom this stops. Where that is the
        // last one to leave, its cell is not over before its deadline.
        signal("STOP", peers[which]);
        sleep(Duration::from_millis(500));
        if workers(&sandbox) == peers {
            return Some(peers);
        }
        signal("CONT", peers[which]);
        None
    });
    let is_here = !peers.is_empty();
    peers.get(which).into_iter().for_each(|pid| signal("KILL", *pid));
    let ended = running.end();
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let document = sandbox.result("rest.json");
    let [cell] = cells(&document) else { panic!("one cell was asked for") };
    if is_here {
        assert_eq!((ended.status.code(), &cell["status"]), (Some(1), &"failed".into()), "{cell}");
        let reason = cell["reason"].as_str().expect("a reason");
        assert!(reason.contains("killed by signal 9"), "{pattern} {name}: {reason}");
        assert!(reason.contains("producer") || reason.contains("consumer"), "{reason}");
        assert!(cell.get("messages_per_second").is_none());
    } else {
        assert_eq!(cell["status"], "unavailable", "{cell}");
    }
    wait_for("the end of every worker", || workers(&sandbox).is_empty().then_some(()));
}
