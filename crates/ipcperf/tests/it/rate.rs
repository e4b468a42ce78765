//! Open and closed loops over a real mechanism: what each can see, and that it ends.

use crate::common::{Sandbox, buckets, cells, rounds, skipped};
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs `words` and reads the document.
fn document(words: &[&str]) -> (Value, String) {
    let sandbox = Sandbox::new();
    let place = ["--place", "same-llc,same-cpu"];
    let ended = sandbox.done(&[&["run", "-o", "x.json"], words, &place].concat());
    (sandbox.result("x.json"), ended.stdout)
}

/// Cells that ran. On one CPU every one can that does not spin; the class of two CPUs may be missing here, and says so.
fn measured(document: &Value) -> Vec<&Value> {
    for cell in cells(document).iter().filter(|cell| cell["status"] != "ok") {
        let can = cell["placement"] == "same-cpu" && cell["wait"] != "spin";
        let is_refused = cell["load"]["inflight"] != 1 || cell["mechanism"] == "eventfd";
        assert!(!can || is_refused, "{}: {}", cell["id"], cell["reason"]);
    }
    let measured: Vec<_> = cells(document).iter().filter(|cell| cell["status"] == "ok").collect();
    assert!(!measured.is_empty(), "nothing was measured: {document}");
    measured
}

fn figure(cell: &Value, table: &str, name: &str) -> f64 {
    let metric = &cell[table][name];
    metric["value"].as_f64().unwrap_or_else(|| panic!("no {table} {name}: {metric}"))
}

/// Trips of all rounds that took as long as three quarters of the stop, or longer.
fn late(cell: &Value) -> u64 {
    const LATE_PS: u64 = 75_000_000_000;
    let rounds = rounds(cell);
    let late = rounds.iter().flat_map(buckets).filter(|bucket| bucket.0 >= LATE_PS);
    late.map(|bucket| bucket.1).sum()
}

/// 1,000 messages a second for 2 s and a stop of 100 ms: 100 of 2,000 messages are due while the follow stands, and wait
/// from 100 ms down to nothing: 25 of them for three quarters of the stop or longer, and the 20 slowest, above p99, for
/// 80 ms. A closed loop has one trip under way, which takes all of the stop.
#[test]
fn an_open_loop_sees_a_stop_for_every_message_and_a_closed_one_once() {
    let common = ["-m", "unix-stream", "-s", "64", "--rounds", "1", "--slice", "2s"];
    let stop = ["--stall", "100ms"];
    let open = ["-p", "rate", "--rate", "1k", "--arrivals", "constant"];
    let (open, shown) = document(&[&common[..], &stop, &open].concat());
    assert!(shown.contains("open loop"), "{shown}");
    let (closed, shown) = document(&[&common[..], &stop, &["-p", "ping-pong"]].concat());
    assert!(shown.contains("closed loop"), "{shown}");
    let (open, closed) = (measured(&open), measured(&closed));
    let places = |cells: &[&Value]| -> Vec<Value> {
        cells.iter().map(|cell| cell["placement"].clone()).collect()
    };
    assert_eq!(places(&open), places(&closed));
    for (open, closed) in open.into_iter().zip(closed) {
        // How many trips a closed loop makes was expected in its warm-up: where that was disturbed, too few for a p99.
        let (shown, hidden) = (figure(open, "rtt_ns", "p99"), figure(closed, "rtt_ns", "p90"));
        assert!(shown >= 75e6 && late(open) >= 25, "{shown}, {} late of {open}", late(open));
        // From when it was due, since the lead of a busy machine may be held up beside the follow.
        assert!(figure(open, "rtt_ns", "max") >= 95e6, "{open}");
        assert!(figure(open, "service_ns", "max") <= figure(open, "rtt_ns", "max"), "{open}");
        assert!(figure(closed, "rtt_ns", "max") >= 50e6 && late(closed) >= 1, "{closed}");
        assert!(hidden < shown / 3.0, "a closed loop hides it: {hidden} beside {shown}");
    }
}

/// What is offered is a share of one number, found before the rounds: no measurement comes between the shares.
#[test]
fn a_larger_share_of_the_peak_is_a_higher_rate() {
    let words = ["-m", "unix-stream", "-p", "rate", "--rate", "10%..95%", "--rounds", "3"];
    let (document, _) = document(&[&words[..], &["--slice", "100ms", "--warmup", "5ms"]].concat());
    for place in ["same-cpu", "same-llc"] {
        let of_place = |cell: &&&Value| cell["placement"] == place;
        let all = measured(&document);
        let cells: Vec<_> = all.iter().filter(of_place).collect();
        assert!(cells.len() == 6 || (cells.is_empty() && place != "same-cpu"), "{}", cells.len());
        for (cell, share) in cells.iter().zip([0.1, 0.25, 0.5, 0.75, 0.9, 0.95]) {
            let peak = cell["peak_per_second"]["value"].as_f64().expect("a peak");
            assert_eq!(cell["peak_per_second"], cells[0]["peak_per_second"], "{cell}");
            for round in &rounds(cell) {
                let offered = round["offered_per_second"].as_f64().expect("a rate");
                assert!((offered / (share * peak) - 1.0).abs() < 1e-3, "{offered} of {peak}");
            }
        }
    }
}

#[test]
fn all_that_is_offered_is_sent_and_answered() {
    let words = ["-m", "unix-stream", "-p", "rate", "--rate", "200", "--rounds", "2"];
    let (document, _) = document(&[&words[..], &["--slice", "1s"]].concat());
    for cell in measured(&document) {
        let offered = cell["offered_per_second"]["value"].as_f64().expect("a rate");
        assert!((offered - 200.0).abs() < 0.1, "{offered}");
        for round in &rounds(cell) {
            // As many as are due in a second, also where the machine pauses and the last of them come late.
            assert_eq!(round["proof"]["lead"], serde_json::json!([200, 200]), "{round}");
            assert_eq!(round["proof"]["follow"], serde_json::json!([200, 200]), "{round}");
            let of = |key: &str| round[key].as_f64().expect(key);
            let answered = of("achieved_per_second") * of("elapsed_ns") / 1e9;
            // Numbers have eight digits.
            assert!((answered - 200.0).abs() < 1e-4, "{answered}: {round}");
        }
    }
}

#[test]
fn more_than_the_peak_is_saturated_and_ends_in_time() {
    let words =
        ["-m", "unix-stream,shm-ring/spin", "-p", "rate", "--rate", "5000%", "--rounds", "2"];
    let (document, shown) = document(&[&words[..], &["--slice", "50ms"]].concat());
    assert!(shown.contains("saturated"), "{shown}");
    for cell in measured(&document) {
        assert_eq!(cell["rtt_ns"]["p50"]["value"], Value::Null, "{cell}");
        assert_eq!(cell["rtt_ns"]["p50"]["reason"], "saturated", "{cell}");
        for round in &rounds(cell) {
            assert_eq!(round["proof"]["holds"], true, "{cell}");
        }
    }
    let found = document["noise"]["findings"].as_array().expect("findings");
    assert!(found.iter().any(|finding| finding["code"] == "W-SATURATED"), "{found:?}");
}

#[test]
fn pauses_bursts_and_windows_run_over_every_mechanism_or_say_why_not() {
    let sandbox = Sandbox::new();
    let words = ["run", "-m", "all", "-s", "64", "--place", "same-llc", "-o", "x.json"];
    let loads = ["-p", "ping-pong,stream,rate,burst", "--think", "100us", "--window", "4"];
    let more = ["--burst", "4", "--rate", "1k"];
    let small = ["--rounds", "1", "--slice", "5ms", "--warmup", "2ms"];
    let ended = sandbox.run(&[&words[..], &loads, &more, &small].concat());
    let document = sandbox.result("x.json");
    // The place of two CPUs may be missing; where it is there, pipes and sockets at the least have all of the patterns.
    let is_there = cells(&document)
        .iter()
        .any(|cell| cell["cpus"].as_array().is_some_and(|at| !at.is_empty()));
    if !is_there {
        skipped("same-llc", "there are no two CPUs with one cache");
    }
    assert_eq!(ended.status.code(), Some(if is_there { 0 } else { 3 }), "{}", ended.stderr);
    let mut ran = BTreeMap::new();
    for cell in cells(&document) {
        let id = &cell["id"];
        match cell["status"].as_str() {
            Some("ok") => *ran.entry(cell["pattern"].to_string()).or_insert(0) += 1,
            Some("unavailable" | "rejected") => {
                assert!(!cell["reason"].as_str().unwrap_or_default().is_empty(), "{id}");
            }
            other => panic!("{id}: {other:?}: {}", cell["reason"]),
        }
    }
    if is_there {
        assert!(ran.len() == 4 && ran.values().all(|count| *count >= 10), "{ran:?}");
    }
}

#[test]
fn a_pause_leaves_room_for_transforms_and_the_way_by_itself() {
    let words = ["-m", "unix-stream", "-s", "4K", "--think", "200us", "--transform", "none,lz4"];
    let small = ["--one-way", "--rounds", "2", "--slice", "200ms"];
    let (document, _) = document(&[&words[..], &small].concat());
    for cell in measured(&document) {
        assert_eq!(cell["load"]["think_ns"], 200_000, "{cell}");
        for round in &rounds(cell) {
            // A trip is two messages, and each has its pause.
            let trips = round["messages"].as_f64().expect("a count") / 2.0;
            assert!(round["elapsed_ns"].as_f64().expect("a time") >= trips * 200e3, "{round}");
        }
        assert!(cell["pacing_ns"]["p50"]["value"].is_number(), "{cell}");
        let way = &cell["one_way_ns"];
        // Some machines have no counters that can be compared.
        assert!(way["quantiles"]["p50"]["value"].is_number() || way["reason"].is_string(), "{way}");
        let is_changed = cell["load"]["transform"] == "lz4";
        assert_eq!(cell["transform"]["compress_ns"].is_number(), is_changed, "{cell}");
    }
}

/// A request that has its answer is two messages, of these sizes; the first four of each segment are left out.
fn proved(cell: &Value, size: u64, reply: u64) {
    for round in &rounds(cell) {
        let (proof, messages) = (&round["proof"], round["messages"].as_u64().expect("messages"));
        assert_eq!(
            (&proof["holds"], &proof["fully_checked"]),
            (&true.into(), &16.into()),
            "{cell}"
        );
        let [sent, received] = [0, 1].map(|at| proof["lead"][at].as_u64().expect("a count"));
        // On a busy machine an answer may come too late: a result like any other.
        let lost = round["lost"].as_u64().expect("a count");
        assert_eq!(sent, received + lost, "{cell}");
        if lost > 0 && cell["mechanism"] == "udp" {
            continue;
        }
        assert_eq!(
            [&proof["follow"][1], &proof["follow"][0]],
            [&proof["lead"][0], &proof["lead"][1]]
        );
        let led_in = received - messages / 2;
        assert!(sent == received && led_in >= 4 && led_in.is_multiple_of(4), "{cell}");
        assert_eq!(round["moved"], 2 * received, "{cell}");
        assert_eq!(round["bytes"], messages / 2 * (size + reply), "{cell}");
    }
}

#[test]
fn one_request_at_a_time_with_an_answer_of_its_size_is_a_round_trip() {
    let words = ["-m", "pipe,unix-stream,udp", "-s", "64", "-p", "ping-pong,request"];
    let (document, shown) = document(&[&words[..], &["--rounds", "2", "--slice", "20ms"]].concat());
    assert!(shown.contains("Requests and answers"), "{shown}");
    let all = measured(&document);
    assert_eq!(all.iter().filter(|cell| cell["pattern"] == "request").count() * 2, all.len());
    for cell in all {
        proved(cell, 64, 64);
        assert_eq!(cell["timing"]["mode"], "per-op", "{cell}");
        assert_eq!(cell["achieved_per_second"].is_object(), cell["pattern"] == "request", "{cell}");
        assert!(figure(cell, "rtt_ns", "p50") > 0.0);
    }
}

#[test]
fn requests_are_under_way_together_and_their_answers_have_a_size_of_their_own() {
    let words =
        ["-m", "pipe,unix-stream,posix-mq,shm-ring/futex,udp,eventfd", "-s", "64", "-p", "request"];
    let more = ["--reply", "4", "--inflight", "1,4", "--rounds", "2", "--slice", "20ms"];
    let (document, _) = document(&[&words[..], &more].concat());
    for cell in measured(&document) {
        proved(cell, 64, 4);
        // No answer can be there before its request has left.
        let (time, rate) =
            (figure(cell, "rtt_ns", "p50"), cell["achieved_per_second"]["value"].as_f64());
        assert!(time > 0.0 && rate.expect("a rate") > 0.0, "{cell}");
    }
    let refused = |mechanism: &str, inflight: u64| {
        let is_it =
            |cell: &&Value| cell["mechanism"] == mechanism && cell["load"]["inflight"] == inflight;
        let refused =
            |cell: &&Value| cell["status"] == "unavailable" && cell["placement"] == "same-cpu";
        let cell = cells(&document).iter().filter(refused).find(is_it);
        cell.and_then(|cell| cell["reason"].as_str()).unwrap_or_default()
    };
    assert!(refused("udp", 4).contains("one request can be in flight"), "{}", refused("udp", 4));
    assert_eq!(refused("udp", 1), "");
    assert!(refused("eventfd", 1).contains("one size"), "{}", refused("eventfd", 1));
}

/// 64 KiB fit an empty pipe, and no more: neither 8 questions nor 8 answers of that size do.
#[test]
fn what_a_channel_does_not_keep_is_refused_and_never_hangs() {
    let small = ["-p", "request", "--rounds", "1", "--slice", "5ms", "--place", "same-cpu"];
    let run = |words: &[&str]| {
        let sandbox = Sandbox::new();
        let ended = sandbox.run(&[&["run", "-o", "x.json"], words, &small[..]].concat());
        let document = sandbox.result("x.json");
        let cell = cells(&document)[0].clone();
        (
            ended.status.code(),
            cell["status"].clone(),
            cell["reason"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let (_, status, reason) = run(&["-m", "pipe", "-s", "64K", "--inflight", "8"]);
    assert_eq!(status, "unavailable", "{reason}");
    assert!(reason.contains("with --inflight 8") && reason.contains("--inflight 1,"), "{reason}");
    // Of 4 KiB it keeps 16, and so 8 can be under way.
    let (_, status, reason) = run(&["-m", "pipe", "-s", "4K", "--inflight", "9"]);
    assert!(status == "unavailable" && reason.contains("--inflight 8,"), "{reason}");
    assert_eq!(run(&["-m", "pipe", "-s", "4K", "--inflight", "8"]).1, "ok");
    // One of the two ways is enough.
    for words in [["-s", "64K", "--reply", "4"], ["-s", "4", "--reply", "64K"]] {
        assert_eq!(run(&[&["-m", "pipe", "--inflight", "8"][..], &words].concat()).1, "ok");
    }
    let (_, status, reason) = run(&["-m", "eventfd", "--inflight", "2"]);
    assert!(status == "unavailable" && reason.contains("--inflight 1,"), "{reason}");
    let words = ["run", "-m", "pipe", "-p", "ping-pong", "--reply", "4"];
    Sandbox::new().refuses(&words, "--reply needs the pattern request");
}
