//! Open and closed loops over a real mechanism: what each can see, and that it ends.

use crate::common::{Sandbox, cells, valid};
use ipcperf_report::RESULT_SCHEMA;
use serde_json::Value;

/// Runs `words` and reads the document.
fn document(words: &[&str]) -> (Value, String) {
    let sandbox = Sandbox::new();
    let place = ["--place", "same-llc,same-cpu"];
    let ended = sandbox.run(&[&["run", "-o", "x.json"], words, &place].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    (valid(RESULT_SCHEMA, &sandbox.read("x.json").expect("written")), ended.stdout)
}

/// Cells that ran: the class of two CPUs may be missing here.
fn measured(document: &Value) -> Vec<&Value> {
    let measured: Vec<_> = cells(document).iter().filter(|cell| cell["status"] == "ok").collect();
    assert!(!measured.is_empty(), "nothing was measured: {document}");
    measured
}

fn figure(cell: &Value, table: &str, name: &str) -> f64 {
    let metric = &cell[table][name];
    metric["value"].as_f64().unwrap_or_else(|| panic!("no {table} {name}: {metric}"))
}

/// 1,000 messages a second for 2 s and a stop of 100 ms: 100 of 2,000 messages are due while the follow stands, and wait
/// from 100 ms down to nothing. The 20 slowest, above p99, waited for 80 ms or more.
#[test]
fn an_open_loop_sees_a_stop_that_a_closed_one_hides() {
    let common = ["-m", "unix-stream", "-s", "64", "--rounds", "1", "--slice", "2s"];
    let stop = ["--stall", "100ms"];
    let open = ["-p", "rate", "--rate", "1k", "--arrivals", "constant"];
    let (open, shown) = document(&[&common[..], &stop, &open].concat());
    assert!(shown.contains("OPEN LOOP"), "{shown}");
    for cell in measured(&open) {
        let p99 = figure(cell, "rtt_ns", "p99");
        assert!(p99 >= 75e6, "{p99} of {cell}");
        assert!(figure(cell, "rtt_ns", "p50") < 50e6);
        // Only the message under way waited in the mechanism; the others waited at the sender.
        assert!(figure(cell, "service_ns", "p99") < p99, "{cell}");
        assert!(figure(cell, "service_ns", "max") >= 95e6);
    }
    let (closed, shown) = document(&[&common[..], &stop, &["-p", "ping-pong"]].concat());
    assert!(shown.contains("CLOSED LOOP"), "{shown}");
    for cell in measured(&closed) {
        assert!(figure(cell, "rtt_ns", "max") >= 95e6, "{cell}");
        assert!(figure(cell, "rtt_ns", "p99") < 50e6, "{cell}");
    }
}

#[test]
fn far_below_the_peak_all_that_is_offered_is_answered() {
    let words = ["-m", "unix-stream", "-p", "rate", "--rate", "200", "--rounds", "2"];
    let (document, _) = document(&[&words[..], &["--slice", "1s"]].concat());
    for cell in measured(&document) {
        let value = |key: &str| cell[key]["value"].as_f64().expect(key);
        let (offered, achieved) = (value("offered_per_second"), value("achieved_per_second"));
        assert!((offered - 200.0).abs() < 0.1, "{offered}");
        // A machine that pauses at the end of a slice keeps its last messages waiting.
        assert!((achieved / offered - 1.0).abs() < 0.1, "{achieved} of {offered}");
        assert!(value("peak_per_second") > 200.0);
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
        for round in cell["rounds"].as_array().expect("rounds") {
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
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let document = valid(RESULT_SCHEMA, &sandbox.read("x.json").expect("written"));
    for cell in cells(&document) {
        let id = &cell["id"];
        match cell["status"].as_str() {
            Some("ok") => {}
            Some("unavailable" | "rejected") => {
                assert!(!cell["reason"].as_str().unwrap_or_default().is_empty(), "{id}");
            }
            other => panic!("{id}: {other:?}: {}", cell["reason"]),
        }
    }
}

#[test]
fn a_pause_leaves_room_for_transforms_and_the_way_by_itself() {
    let words = ["-m", "unix-stream", "-s", "4K", "--think", "200us", "--transform", "none,lz4"];
    let small = ["--one-way", "--rounds", "2", "--slice", "200ms"];
    let (document, _) = document(&[&words[..], &small].concat());
    for cell in measured(&document) {
        assert!(figure(cell, "rtt_ns", "p50") < 200e6, "{cell}");
        assert_eq!(cell["load"]["think_ns"], 200_000, "{cell}");
        assert!(cell["pacing_ns"]["p50"]["value"].is_number(), "{cell}");
        let way = &cell["one_way_ns"];
        // Some machines have no counters that can be compared.
        assert!(way["quantiles"]["p50"]["value"].is_number() || way["reason"].is_string(), "{way}");
        let is_changed = cell["load"]["transform"] == "lz4";
        assert_eq!(cell["transform"]["compress_ns"].is_number(), is_changed, "{cell}");
    }
}
