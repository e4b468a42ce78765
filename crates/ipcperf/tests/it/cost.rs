//! What a message costs: every cell says it, or why not.

use crate::common::{Sandbox, cells, rounds, words};
use serde_json::Value;

fn document(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.done(&[&["run", "-o", "r.json"], words].concat());
    sandbox.result("r.json")
}

/// A figure above 0, or a reason: never 0, never nothing.
fn figure_or_reason(metric: &Value) -> Option<f64> {
    match metric["value"].as_f64() {
        Some(value) => {
            assert!(value > 0.0, "{metric}");
            Some(value)
        }
        None => {
            assert!(metric["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{metric}");
            None
        }
    }
}

#[test]
fn every_cell_says_what_a_message_costs() {
    let sandbox = Sandbox::new();
    let words = ["-m", "udp,pipe,pipe/spin", "-p", "ping-pong,stream", "--place", "same-cpu,free"];
    let document =
        document(&sandbox, &[&words[..], &["--rounds", "3", "--slice", "100ms"]].concat());
    let measured: Vec<&Value> =
        cells(&document).iter().filter(|cell| cell["status"] == "ok").collect();
    assert!(measured.len() >= 8, "two mechanisms, two patterns, two places");
    assert!(document["kernel"]["cpu_accounting"].is_string());
    assert!(document["noise"]["idle_busy_cpus"].as_f64().is_some_and(|busy| busy >= 0.0));
    for cell in measured {
        let cost = &cell["cpu_ns_per_message"];
        let of = |key: &str| cost[key].as_f64().unwrap_or_else(|| panic!("{key} in {cost}"));
        let (both, shares) = (of("lead") + of("follow"), of("user") + of("system"));
        // The shares are steps of a microsecond of the same time; a slice is 100 ms.
        assert!(both > 0.0 && (shares / both - 1.0).abs() < 0.05, "{cost}");
        assert_eq!(cost["spinning"] == true, cell["wait"] == "spin", "{cost}");
        let precise = document["kernel"]["cpu_accounting"] == "precise";
        assert_eq!(cost["split_is_approximate"] == true, !precise, "{cost}");
        let guest = document["host"]["hypervisor"].is_string();
        assert_eq!(cost["excludes_hypervisor"] == true, guest, "{cost}");

        // The processes are part of the machine. No more is said: others use it, too.
        let machine = &cell["machine_cpu_ns_per_message"];
        if figure_or_reason(machine).is_some() {
            assert_eq!(machine["method"], "/proc/stat less idle baseline");
        }
        figure_or_reason(&cell["energy_nj_per_message"]);
        let count = |key: &str| cell[key].as_f64().unwrap_or_else(|| panic!("no {key}"));
        let [all, waited, preempted] = ["context", "voluntary", "involuntary"]
            .map(|kind| count(&format!("{kind}_switches_per_message")));
        // Numbers have eight digits.
        assert!((waited + preempted - all).abs() <= all * 1e-7, "{waited} + {preempted}, {all}");
        assert!(count("page_faults_per_message") >= 0.0);
        for round in &rounds(cell) {
            let seen = &round["covariates"];
            let window = seen["machine_window_ns"].as_f64().expect("a length");
            assert!(window >= round["elapsed_ns"].as_f64().expect("a length"), "{seen}");
            assert!(seen["machine_busy_ns"].is_u64() && seen["energy_uj"].is_null(), "{seen}");
        }
    }
}

#[test]
fn cost_is_a_column_of_every_table_and_a_table_of_its_own() {
    let sandbox = Sandbox::new();
    let small =
        ["--rounds", "2", "--slice", "5ms", "--warmup", "2ms", "--place", "free", "-o", "r.json"];
    let words =
        ["run", "-m", "pipe,unix-stream,tcp", "-p", "ping-pong,stream", "-s", "64,4K", "-v"];
    let ended = sandbox.done(&[&words[..], &small].concat());
    let heads: Vec<&str> =
        ended.stdout.lines().filter(|line| line.trim_start().starts_with("size ")).collect();
    assert_eq!(heads.len(), 4, "{}", ended.stdout);
    assert!(heads.iter().all(|head| head.contains("CPU/msg")), "{heads:#?}");
    for title in
        ["CPU per message of a round trip, blocking", "CPU per message of a stream, blocking"]
    {
        let (_, table) = ended.stdout.split_once(title).expect(title);
        // Behind the rest of the title come the heads.
        let (head, rows) =
            table.split_once('\n').and_then(|(_, table)| table.split_once('\n')).expect("rows");
        assert!(head.contains("vs "), "{table}");
        let is_reference = |line: &&str| line.split_whitespace().any(|word| word == "reference");
        assert!(rows.lines().take(8).any(|line| is_reference(&line)), "{table}");
        assert!(rows.contains("undecided: 2 pairs"), "a ratio takes six rounds: {table}");
    }
}

#[test]
fn the_way_of_a_message_is_told_with_its_bound_or_refused() {
    let sandbox = Sandbox::new();
    let words = ["-m", "pipe,udp,eventfd", "--one-way", "--place", "same-cpu,free", "-s", "64"];
    let document =
        document(&sandbox, &[&words[..], &["--rounds", "2", "--slice", "20ms"]].concat());
    let counter = document["clock"]["source"] != "clock_monotonic";
    for cell in cells(&document) {
        assert_eq!(cell["status"], "ok", "{cell}");
        let way = &cell["one_way_ns"];
        let p50 = way["quantiles"]["p50"]["value"].as_f64();
        if cell["placement"] == "free" || !counter {
            assert!(p50.is_none() && way["reason"].is_string(), "{way}");
        } else if let Some(p50) = p50 {
            // One CPU has one counter, and the way there is a part of the round trip.
            assert_eq!(way["bound_ns"], 0.0);
            let most = cell["rtt_ns"]["max"]["value"].as_f64().unwrap_or(f64::INFINITY);
            assert!(p50 > 0.0 && p50 < most, "{way}");
        } else {
            // A loaded machine may lose a datagram.
            assert!(way["reason"].as_str().is_some_and(|reason| reason.contains("lost")), "{way}");
        }
    }
    let words = ["run", "-m", "pipe", "-p", "stream", "--one-way"];
    sandbox.refuses(&words, "--one-way needs the pattern ping-pong");
}

#[test]
fn every_transform_goes_there_and_back_over_every_kind_of_channel() {
    let sandbox = Sandbox::new();
    let line = "-m pipe,udp,shm-ring/futex,memfd,eventfd --transform gzip,lz4,zstd,crc32 \
                -p ping-pong,stream -s 1,4K --place free --rounds 1 --slice 5ms";
    let document = document(&sandbox, &words(line));
    for cell in cells(&document) {
        if cell["size_bytes"] == 0 {
            assert_eq!(cell["status"], "unavailable");
            assert!(
                cell["reason"].as_str().is_some_and(|why| why.contains("no payload")),
                "{cell}"
            );
            continue;
        }
        assert_eq!(cell["status"], "ok", "{cell}");
        let (cost, name) = (&cell["transform"], &cell["load"]["transform"]);
        assert_eq!(&cost["name"], name);
        let of = |key: &str| cost[key].as_f64().unwrap_or_else(|| panic!("{key} in {cost}"));
        assert!(of("compress_ns") > 0.0 && of("decompress_ns") > 0.0, "{cost}");
        // Payload is what the program has, whatever the mechanism moves.
        let round = &rounds(cell)[0];
        let [bytes, messages] = ["bytes", "messages"].map(|key| round[key].as_u64());
        assert_eq!(bytes, messages.map(|count| count * cell["size_bytes"].as_u64().unwrap_or(0)));
        if cell["size_bytes"] == 4096 && name != "crc32" {
            assert!(of("ratio") > 1.3 && of("wire_bytes") < 3200.0, "{cost}");
        }
    }
    sandbox.refuses(&["run", "-m", "pipe", "--transform", "gzp"], "gzip");
}
