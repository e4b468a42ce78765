//! A mechanism is chosen by what was really measured, and the document says by what.

use crate::common::{Sandbox, cells};
use std::collections::BTreeSet;
use std::path::Path;

const NEEDS: [&str; 5] = ["-s", "64,4K", "--can", "told-of-death,unrelated", "--no-spin"];

/// At most 40 lines of 80 columns.
fn is_one_screen(text: &str) {
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn what_meets_the_needs_is_measured_and_the_rest_has_a_reason() {
    let sandbox = Sandbox::new();
    let names = "fifo,unix-stream,unix-seqpacket,unix-dgram,pipe,eventfd,shm-mailbox/spin";
    let words = ["-m", names, "--rate", "5k", "--think", "50us", "--budget", "4s", "-o", "c.json"];
    let ended = sandbox.run(&[&["choose"], &NEEDS[..], &words].concat());
    // On a machine that is busy nothing may keep up with the rate.
    let is_met = !ended.stdout.contains("No mechanism meets all of this");
    assert_eq!(ended.status.code(), Some(if is_met { 0 } else { 3 }), "{}", ended.stderr);
    is_one_screen(&ended.stdout);
    assert!(ended.stderr.starts_with("Measuring, about "), "no terminal: {}", ended.stderr);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(" for 64 B and 4 KiB at 5.00 k/s and after pauses of 50us"), "{shown}");
    assert!(shown.contains("not unrelated: pipe"), "{shown}");
    assert!(shown.contains("not notices-death: unix-dgram"), "{shown}");
    let document = sandbox.result("c.json");
    let plan = &document["invocation"]["plan"];
    assert_eq!(plan["command"], "choose");
    assert_eq!(plan["requirements"]["rate_per_second"], 5000.0);
    let mut patterns = BTreeSet::new();
    for cell in cells(&document) {
        let name = cell["mechanism"].as_str().expect("text");
        patterns.insert((name.to_owned(), cell["pattern"].as_str().expect("text").to_owned()));
        if name.starts_with("unix-s") {
            let knob = format!("{name}.bind");
            assert_eq!(
                cell["knobs"][&knob]["requested"], "path",
                "unrelated ends have no pair: {cell}"
            );
        }
    }
    for name in ["fifo", "unix-stream", "unix-seqpacket"] {
        for pattern in ["ping-pong", "rate", "stream"] {
            assert!(patterns.contains(&(name.to_owned(), pattern.to_owned())), "{name} {pattern}");
        }
    }
    for name in ["eventfd", "shm-mailbox/spin"] {
        assert!(!patterns.iter().any(|(measured, _)| measured == name), "{name} meets too little");
    }
    let again = sandbox.run(&["report", "c.json"]);
    assert_eq!(again.stdout, ended.stdout, "the document has what was asked for");
    let repeated = sandbox.run(&["repeat", "c.json", "-o", "again.json", "-q"]);
    assert_eq!(repeated.status.code(), Some(0), "{}", repeated.stderr);
    let repeated = sandbox.result("again.json");
    let again = &repeated["invocation"]["plan"];
    assert_eq!(
        (&again["command"], &again["requirements"]),
        (&plan["command"], &plan["requirements"])
    );
    let full = sandbox.run(&["report", "c.json", "--full"]);
    assert!(full.stdout.contains("Findings") && full.stdout.contains("Left out"));
}

#[test]
fn a_document_of_before_is_enough_and_what_it_lacks_is_one_line() {
    let sandbox = Sandbox::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/result-1.0.json");
    let old = old.to_str().expect("UTF-8");
    let ended = sandbox.done(&["choose", "--from", old]);
    is_one_screen(&ended.stdout);
    assert!(ended.stdout.contains(" for 64 B with both ends on one CPU"), "{}", ended.stdout);
    assert!(ended.stdout.contains("ipcperf describe pipe"), "{}", ended.stdout);
    let with = sandbox.run(&["choose", "--from", old, "--snippet", "c"]);
    let program = sandbox.run(&["describe", "pipe", "--snippet", "c"]).stdout;
    assert!(program.contains("int main("), "{program}");
    assert_eq!(with.stdout, format!("{}\n{program}", ended.stdout));
    // And a page of it, which begins with the same in a sentence.
    let page = sandbox.run(&["choose", "--from", old, "--format", "html"]);
    assert_eq!((page.status.code(), page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains("<h1>Use pipe: "), "{}", page.stdout);
    let told = |words: &[&str], code: i32, expected: &str| {
        let ended = sandbox.run(&[&["choose"], words].concat());
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    };
    let from = ["--from", old];
    told(&[&from[..], &["-s", "64,4K"]].concat(), 2, "for 4 KiB, only for 64 B");
    told(&[&from[..], &["--snippet", "cobol"]].concat(), 2, "unknown language 'cobol'");
    told(&[&from[..], &["--margin", "3"]].concat(), 2, "--margin: '3' is not a share");
    told(&["-m", "pipe", "--margin", "0%"], 2, "--margin: '0%' is not a share above 0 %");
    told(&["--snippet", "c", "-o", "-"], 2, "--snippet: a program stands below a table");
    told(&[&from[..], &["--format", "csv"]].concat(), 2, "--from shows the choice");
    told(&[&from[..], &["--rate", "7k"]].concat(), 2, "rate was not measured for 64 B at 7.00 k/s");
    told(&[&from[..], &["--place", "free"]].concat(), 2, "nor for any other size");
    told(&["-m", "unix-dgram", "-s", "512M"], 3, "carries 512 MiB here; unix-dgram: ");
    told(&["-m", "pipe", "--can", "network"], 3, "without network: pipe");
}

#[test]
fn a_budget_that_is_too_short_is_said_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&["choose", "-s", "64", "--rate", "30", "--budget", "20s"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stdout);
    assert!(
        refused.stderr.starts_with("ipcperf: --budget 20s: one round of "),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains(" at 30.0 /s takes about "), "{}", refused.stderr);
    assert!(refused.stderr.contains("an order takes 6: --budget "), "{}", refused.stderr);
    let few = ["choose", "-m", "pipe", "--rate", "30", "--budget", "8s", "--dry-run"];
    let told = sandbox.run(&few);
    assert_eq!(told.status.code(), Some(0), "{}", told.stderr);
    let words = "into --budget 8s, and an order takes 6: --budget ";
    assert!(told.stderr.contains(words), "{}", told.stderr);
    assert!(sandbox.run(&[&few[..], &["-q"]].concat()).stderr.is_empty());
}

#[test]
fn among_some_all_are_shown_whether_they_are_measured_or_read() {
    let sandbox = Sandbox::new();
    let words = ["-m", "pipe", "-m", "unix bind=path", "--place", "same-cpu", "--budget", "4s"];
    let more = ["--margin", "12%", "-o", "c.json"];
    let ended = sandbox.done(&[&["choose"], &words[..], &more].concat());
    let document = sandbox.result("c.json");
    assert_eq!(document["invocation"]["plan"]["margin"], 0.12);
    let among = &document["invocation"]["plan"]["requirements"]["among"];
    assert_eq!(*among, serde_json::json!(["pipe", "unix-stream"]));
    for cell in cells(&document).iter().filter(|cell| cell["mechanism"] == "unix-stream") {
        assert_eq!(cell["knobs"]["unix-stream.bind"]["requested"], "path", "{cell}");
    }
    // On a busy machine too few pairs may be left to choose by.
    let is_chosen = ended.stdout.contains("Next: ipcperf describe");
    assert_eq!(ended.stdout.contains("Not chosen"), is_chosen, "{}", ended.stdout);
    let from = |names: &str| {
        sandbox.run(&["choose", "--from", "c.json", "--place", "same-cpu", "-m", names])
    };
    let both = from("pipe,uds");
    assert_eq!(both.status.code(), Some(0), "{}", both.stderr);
    assert_eq!(both.stdout.contains("Not chosen"), is_chosen, "{}", both.stdout);
    let one = from("unix bind=path");
    assert_eq!(one.status.code(), Some(0), "{}", one.stderr);
    assert!(!one.stdout.contains("Not chosen") && !one.stdout.contains("pipe"), "{}", one.stdout);
    let other = from("tcp");
    assert_eq!(other.status.code(), Some(2), "{}", other.stdout);
    assert!(other.stderr.contains("'c.json': unknown mechanism 'tcp'"), "{}", other.stderr);
}

#[test]
fn a_server_with_many_connections_is_chosen_by_requests_that_were_served() {
    let sandbox = Sandbox::new();
    let names = "unix-stream,unix-stream/epoll,tcp,pipe,shm-ring/futex";
    let words = ["choose", "--conns", "3", "-m", names, "--budget", "4s", "-o", "c.json"];
    let ended = sandbox.run(&words);
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    is_one_screen(&ended.stdout);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(" for 64 B over 3 connections"), "{shown}");
    assert!(shown.contains("not listener: pipe"), "{shown}");
    let document = sandbox.result("c.json");
    assert_eq!(document["invocation"]["plan"]["requirements"]["conns"], 3);
    let measured = cells(&document).iter().map(|cell| {
        assert_eq!((&cell["pattern"], &cell["load"]["conns"]), (&"serve".into(), &3.into()));
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        cell["mechanism"].as_str().expect("text").to_owned()
    });
    let measured: BTreeSet<String> = measured.collect();
    assert_eq!(measured, BTreeSet::from(["tcp", "unix-stream"].map(str::to_owned)));
    let refused = sandbox.run(&["choose", "--conns", "2000"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("between 1 and 1024"), "{}", refused.stderr);
}

#[test]
fn consumers_that_each_get_every_message_are_chosen_for_by_what_was_broadcast() {
    let sandbox = Sandbox::new();
    let names = "unix-stream,pipe,udp,eventfd,shm-ring/futex";
    let words = ["choose", "--consumers", "2", "-m", names, "--budget", "4s", "-o", "c.json"];
    let ended = sandbox.run(&words);
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    is_one_screen(&ended.stdout);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        " for 64 B to 2 consumers",
        "Ranked by throughput (--by has cpu, too)",
        "passes no messages (only wake-ups or the latest value): eventfd",
        "every consumer has to get each of them: udp",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert!(!shown.contains("p99"), "{shown}");
    let document = sandbox.result("c.json");
    assert_eq!(document["invocation"]["plan"]["requirements"]["consumers"], 2);
    for cell in cells(&document).iter().filter(|cell| cell["mechanism"] != "udp") {
        assert_eq!((&cell["pattern"], &cell["load"]["peers"]), (&"broadcast".into(), &2.into()));
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
    }
    sandbox.refuses(&["choose", "--consumers", "2", "--by", "p99"], "so there are no times");
    sandbox.refuses(&["choose", "--consumers", "1000"], "--consumers");
}
