//! Messages that are due at times of their own, and go to all consumers.

use crate::common::{Sandbox, cells, rounds};
use ipcperf_sys::skipped::skipped;
use serde_json::Value;

const BRIEF: [&str; 8] =
    ["--rounds", "2", "--slice", "40ms", "--warmup", "2ms", "--arrivals", "constant"];

fn measured(words: &[&str]) -> (Value, String) {
    let sandbox = Sandbox::new();
    let ended =
        sandbox.done(&[&["run", "-p", "feed"], words, &BRIEF, &["-o", "feed.json"]].concat());
    (sandbox.result("feed.json"), ended.stdout)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter().map(number).collect()
}

/// What must hold of every cell that was measured. Messages that were due are read or lost, by each consumer.
fn check(cell: &Value) {
    assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
    let consumers = number(&cell["load"]["peers"]) as usize;
    let feed = &cell["feed"];
    assert_eq!(number(&feed["consumers"]) as usize, consumers);
    for round in &rounds(cell) {
        let own = &round["feed"];
        let [read, lost] = ["read", "lost"].map(|name| numbers(&own[name]));
        assert_eq!((read.len(), lost.len()), (consumers, consumers), "{round}");
        let due = number(&round["proof"]["lead"][0]) / consumers as f64;
        assert!(read.iter().zip(&lost).all(|(read, lost)| read + lost == due), "{round}");
        assert!(due >= 2.0, "{round}");
        for backlog in ["late", "unread"] {
            let most = numbers(&own[backlog]);
            assert!(most[0] >= most[1] && most[0] <= due, "{backlog}: {round}");
        }
        let mut pids = numbers(&own["pids"]);
        pids.push(number(&round["proof"]["lead_pid"]));
        pids.sort_by(f64::total_cmp);
        pids.dedup();
        assert_eq!(pids.len(), consumers + 1, "a process for each end: {round}");
    }
    let lost: f64 = numbers(&feed["lost"]).iter().sum();
    assert_eq!(lost, cell["lost"].as_f64().unwrap_or(0.0), "{cell}");
    assert!(number(&cell["offered_per_second"]["value"]) > 0.0);
    assert!(number(&cell["achieved_per_second"]["value"]) > 0.0);
    let max = |value: &Value| value["max"]["value"].as_f64();
    // The newest message is at least one interval old when the next one comes, unless times are missing.
    if let (Some(oldest), Some(longest)) = (max(&feed["staleness_ns"]), max(&cell["rtt_ns"])) {
        assert!(oldest > 0.0 && longest > 0.0, "{cell}");
        if lost == 0.0 {
            // At 10,000 messages a second, as far as its clock goes in steps.
            assert!(oldest >= 99_000.0, "{feed}");
        }
    }
}

#[test]
fn every_consumer_of_a_feed_reads_each_message_or_knows_that_it_was_lost() {
    let names = "pipe,unix-dgram,udp,shm-ring/futex,tcp";
    let words = ["-m", names, "-s", "64", "--rate", "10k", "--peers", "1,3", "--place", "same-cpu"];
    let (document, shown) = measured(&words);
    for cell in cells(&document) {
        check(cell);
        if cell["mechanism"] != "udp" {
            assert!(numbers(&cell["feed"]["lost"]).iter().all(|lost| *lost == 0.0), "{cell}");
        }
        assert_eq!(number(&cell["feed"]["bound_ns"]), 0.0, "one CPU has one clock: {cell}");
    }
    assert_eq!(cells(&document).len(), 10, "{shown}");
    assert!(shown.contains("A feed: one way, at a rate"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn a_rate_that_nobody_keeps_up_with_is_not_hidden() {
    // Each message goes to eight processes on one CPU: far less than 500,000 a second.
    let words = ["-m", "pipe", "-s", "64", "--rate", "500k", "--peers", "8", "--place", "same-cpu"];
    let (document, _) = measured(&words);
    let [cell] = cells(&document) else { panic!("one cell was asked for") };
    check(cell);
    let [offered, achieved] =
        ["offered_per_second", "achieved_per_second"].map(|name| number(&cell[name]["value"]));
    assert!(achieved < offered, "{cell}");
    assert!(number(&cell["feed"]["most_late"]["value"]) > 1.0, "{cell}");
    assert_eq!(cell["rtt_ns"]["p50"]["reason"], "saturated", "{cell}");
}

#[test]
fn the_clocks_of_two_cpus_are_compared_or_it_says_why_not() {
    let words = ["-m", "pipe", "-s", "64", "--rate", "5k", "--peers", "2", "--place", "free"];
    let sandbox = Sandbox::new();
    let plan = sandbox.run(&[&["run", "-p", "feed"], &words[..], &["--dry-run"]].concat());
    assert!(plan.stdout.contains("the ends are not pinned"), "{}", plan.stdout);
    let (document, shown) = measured(&["-m", "pipe", "-s", "64", "--rate", "5k", "--peers", "2"]);
    for cell in cells(&document) {
        let is_one = cell["placement"] == "same-cpu";
        match cell["status"].as_str() {
            Some("ok") => {
                check(cell);
                assert_eq!(number(&cell["feed"]["bound_ns"]) == 0.0, is_one, "{cell}");
            }
            // Counters that cannot be compared, or no second CPU.
            Some("unavailable") => {
                assert!(cell["reason"].as_str().is_some_and(|why| why.contains("C")), "{shown}");
            }
            _ => panic!("{cell}"),
        }
    }
}

#[test]
fn what_no_feed_can_do_is_refused() {
    let sandbox = Sandbox::new();
    for (words, part) in [
        (&["-m", "pipe"][..], "feed needs --rate"),
        (&["-m", "pipe", "--rate", "0"], "'0' is not a rate"),
        (&["-m", "pipe", "--rate", "25%"], "takes messages per second"),
        (&["-m", "pipe", "--rate", "1k", "--peers", "257"], "between 1 and 256"),
    ] {
        sandbox.refuses(&[&["run", "-p", "feed"], words].concat(), part);
    }
    let words = ["run", "-p", "feed", "-m", "pipe/spin,eventfd,null,process-vm", "-s", "64"];
    let more = ["--rate", "1k", "--peers", "3", "--place", "same-cpu", "--dry-run"];
    let plan = sandbox.run(&[&words[..], &more].concat());
    for part in ["cannot share one CPU", "become one", "moves nothing", "name each other's"] {
        assert!(plan.stdout.contains(part), "{part}: {}", plan.stdout);
    }
}

#[test]
fn a_feed_and_a_broadcast_reach_256_consumers() {
    let sandbox = Sandbox::new();
    let words = ["run", "-p", "feed,broadcast", "-m", "shm-ring/futex,pipe", "-s", "64"];
    let many = ["--rate", "20", "--peers", "256", "--place", "same-cpu", "--rounds", "1"];
    let brief = ["--slice", "100ms", "--warmup", "1ms", "-o", "many.json"];
    let ended = sandbox.run(&[&words[..], &many, &brief].concat());
    let document = sandbox.result("many.json");
    for cell in cells(&document) {
        let reason = cell["reason"].as_str().unwrap_or_default();
        if reason.contains("open files") {
            skipped("256 consumers", reason);
            continue;
        }
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        if cell["pattern"] == "feed" {
            check(cell);
        }
    }
    assert_eq!(cells(&document).len(), 4, "{}{}", ended.stdout, ended.stderr);
}

/// Of the whole program, with real processes: the longest time and how many were late are of the planted delay.
#[test]
fn a_planted_delay_is_in_the_longest_time_and_in_all_messages_that_were_due_meanwhile() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["selftest", "--only", "feed", "--format", "json"]);
    let document: Value = serde_json::from_str(&ended.stdout).expect("a document");
    let check = &document["checks"][0];
    // It fails below 5 ms, or if messages that were due meanwhile are not late. Other work may add to the delay, or cost the
    // slice, and then nothing can be told.
    let found = check["found"].as_str().expect("a text");
    match check["outcome"].as_str() {
        Some("passed") => assert!(found.starts_with("5 ms before"), "{check}"),
        Some("cannot-tell") => {}
        _ => panic!("{check}"),
    }
}
