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
    let ended = sandbox.done(&[&["choose"], &NEEDS[..], &words].concat());
    is_one_screen(&ended.stdout);
    assert!(ended.stderr.starts_with("Measuring, about "), "no terminal: {}", ended.stderr);
    let shown = &ended.stdout;
    assert!(
        shown.contains("CHOICE for 64 B and 4 KiB at 5.00 k/s and after pauses of 50us"),
        "{shown}"
    );
    assert!(shown.contains("not unrelated: pipe"), "{shown}");
    assert!(shown.contains("not told-of-death: unix-dgram"), "{shown}");
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
    assert_eq!(&again.stdout, shown, "the document has what was asked for");
    let repeated = sandbox.run(&["run", "--from", "c.json", "-o", "again.json", "-q"]);
    assert_eq!(repeated.status.code(), Some(0), "{}", repeated.stderr);
    let repeated = sandbox.result("again.json");
    let again = &repeated["invocation"]["plan"];
    assert_eq!(
        (&again["command"], &again["requirements"]),
        (&plan["command"], &plan["requirements"])
    );
    let full = sandbox.run(&["report", "c.json", "--full"]);
    assert!(full.stdout.contains("FINDINGS") && full.stdout.contains("LEFT OUT"));
}

#[test]
fn a_document_of_before_is_enough_and_what_it_lacks_is_one_line() {
    let sandbox = Sandbox::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/result-1.0.json");
    let old = old.to_str().expect("UTF-8");
    let ended = sandbox.done(&["choose", "--from", old]);
    is_one_screen(&ended.stdout);
    assert!(ended.stdout.contains("CHOICE for 64 B with both ends on one CPU"), "{}", ended.stdout);
    assert!(ended.stdout.contains("ipcperf describe pipe"), "{}", ended.stdout);
    let with = sandbox.run(&["choose", "--from", old, "--snippet", "c"]);
    let program = sandbox.run(&["describe", "pipe", "--snippet", "c"]).stdout;
    assert!(program.contains("int main("), "{program}");
    assert_eq!(with.stdout, format!("{}\n{program}", ended.stdout));
    // And a page of it, which begins with the same.
    let page = sandbox.run(&["choose", "--from", old, "--format", "html"]);
    assert_eq!((page.status.code(), page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains("<h1>pipe: "), "{}", page.stdout);
    let told = |words: &[&str], code: i32, expected: &str| {
        let ended = sandbox.run(&[&["choose"], words].concat());
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    };
    let from = ["--from", old];
    told(&[&from[..], &["-s", "64,4K"]].concat(), 2, "for 4 KiB, only for 64 B");
    told(&[&from[..], &["--snippet", "cobol"]].concat(), 2, "unknown language 'cobol'");
    told(&["--snippet", "c", "-o", "-"], 2, "--snippet: a program stands below a table");
    told(&[&from[..], &["--format", "csv"]].concat(), 2, "--from shows the choice");
    told(&[&from[..], &["--keep", "it"]].concat(), 2, "--keep");
    told(&[&from[..], &["--rate", "7k"]].concat(), 2, "rate was not measured for 64 B at 7.00 k/s");
    told(&[&from[..], &["--place", "free"]].concat(), 2, "nor for any other size");
    told(&["-m", "unix-dgram", "-s", "512M"], 3, "carries 512 MiB here; unix-dgram: ");
    told(&["-m", "pipe", "--can", "network"], 3, "without network: pipe");
}
