//! `trend` over files of real runs.

use crate::common::Sandbox;
use std::fs;

/// A run that is over soon.
const RUN: [&str; 13] = [
    "run",
    "-m",
    "pipe,fifo",
    "--place",
    "same-cpu",
    "--slice",
    "1ms",
    "--warmup",
    "1ms",
    "--rounds",
    "1",
    "-q",
    "-o",
];

const PIPE: &str = "pipe ping-pong 64B same-cpu";

#[test]
fn results_are_put_in_the_order_of_their_start_wherever_they_lie() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.home().join("results")).expect("a folder");
    sandbox.done(&[&RUN[..], &["results/b.json"]].concat());
    let mut older = sandbox.result("results/b.json");
    older["started_utc"] = "2026-01-01T00:00:00Z".into();
    older["kernel"]["release"] = "6.1.0".into();
    older["cells"][0]["rtt_ns"]["p50"] = serde_json::json!({ "value": 1000.0 });
    fs::write(sandbox.home().join("results/z.json"), older.to_string()).expect("ours");
    let said = |words: &[&str]| {
        let ended = sandbox.done(words);
        assert_eq!(ended.stderr, "", "{words:?}");
        ended.stdout
    };
    let shown = said(&["trend", "results", "--cell", PIPE]);
    assert!(shown.starts_with(&format!("{PIPE}: ")), "{shown}");
    let at = |name: &str| shown.find(name).unwrap_or_else(|| panic!("{name} in {shown}"));
    let first = at("\nresults/z.json ");
    assert!(first < at("kernel: 6.1.0 ") && first < at("\nresults/b.json "), "{shown}");
    // A cell by either of its names, files in any order.
    let typed = ["trend", "results/b.json", "results/z.json", "--cell", "pipe same-cpu"];
    assert_eq!(said(&typed), shown);
    // Without a cell: all of them, and as rows every point of each.
    let all = said(&["trend", "results"]);
    assert!(all.contains("2 cells") && all.contains("\nfifo ping-pong 64B same-cpu "), "{all}");
    assert_eq!(said(&["trend", "results", "--format", "csv"]).lines().count(), 1 + 4);
    for (file, format) in [
        ("trend.txt", "table"),
        ("trend.md", "markdown"),
        ("trend.json", "json"),
        ("trend.html", "html"),
    ] {
        assert_eq!(said(&["trend", "results", "--cell", PIPE, "-o", file]), "");
        let shown = said(&["trend", "results", "--cell", PIPE, "--format", format]);
        assert_eq!(sandbox.read(file).expect("written"), shown, "{file}");
    }
    let own = ["trend", "results/b.json", "--format", "json", "-o", "results/b.json"];
    sandbox.refuses(&own, "-o would overwrite the input 'results/b.json'");
}

#[test]
fn files_that_are_no_results_are_named_and_cells_that_none_has_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.done(&[&RUN[..], &["a.json"]].concat());
    fs::write(sandbox.home().join("b.json"), "{}").expect("ours");
    let ended = sandbox.run(&["trend", "a.json", "b.json"]);
    assert_eq!(ended.status.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stdout.contains("2 cells"), "{}", ended.stdout);
    assert!(ended.stderr.contains("Left out: 1 of 2 files is not a result: 'b.json'"));
    let ended = sandbox.run(&["trend", "b.json"]);
    assert_eq!(ended.status.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("'b.json': not an ipcperf result"), "{}", ended.stderr);
    sandbox.refuses(&["trend", "a.json", "--cell", "tcp same-cpu"], "unknown cell 'tcp ping-pong");
    sandbox.refuses(&["trend", "a.json", "--cell", "pip 64"], "did you mean 'pipe'?");
}
