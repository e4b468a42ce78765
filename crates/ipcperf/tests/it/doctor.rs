//! Whether the machine is fit to measure: what is looked at, and that it stands in every result.

use crate::common::{Sandbox, valid};
use serde_json::Value;
use std::collections::BTreeSet;

fn codes(list: &Value, strip: usize) -> BTreeSet<String> {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| one["code"].as_str().expect("a code")[strip..].to_owned()).collect()
}

#[test]
fn everything_is_looked_at_and_nothing_is_left_behind() {
    let sandbox = Sandbox::new();
    let ended = sandbox.done(&["doctor", "--format", "json"]);
    let document = valid("doctor", &ended.stdout);
    let found = codes(&document["checks"], 0);
    for code in [
        "CLOCK",
        "CALL",
        "COPY",
        "CPUS",
        "FREQUENCY",
        "IDLE",
        "IRQ",
        "LIMITS",
        "LOAD",
        "SECCOMP",
        "SHM",
        "STEAL",
        "VM",
    ] {
        assert!(found.contains(code), "{code}: {found:?}");
    }
    // Two CPUs are needed for it; what it costs has a meaning wherever it is.
    if document["host"]["cpus_allowed"].as_array().is_some_and(|cpus| cpus.len() > 1) {
        assert!(found.contains("WAKEUP"), "{found:?}");
    }
    for fitness in ["centre", "tail"] {
        let grade = document[fitness]["grade"].as_str().expect("a grade");
        assert!(["A", "B", "C", "D", "F", "unknown"].contains(&grade), "{grade}");
        assert_ne!(document[fitness]["because"], "");
    }
    // What follows from something is told with it.
    for check in document["checks"].as_array().expect("a list") {
        assert_eq!(check["rating"] == "fine", check["consequence"] == "", "{check}");
    }
}

#[test]
fn a_result_has_the_same_findings() {
    let sandbox = Sandbox::new();
    let examined = sandbox.run(&["doctor", "--format", "json"]).stdout;
    let checks: Value = serde_json::from_str(&examined).expect("JSON");
    let words = ["run", "-m", "pipe", "--rounds", "1", "--slice", "1ms", "-o", "-"];
    let ended = sandbox.run(&words);
    let document = valid("result", &ended.stdout);
    let measured = ["CLOCK", "CALL", "COPY", "WAKEUP", "LOAD", "STEAL", "GAPS", "IRQ", "RETURN"];
    let not_fine = checks["checks"].as_array().expect("a list").iter();
    let not_fine = not_fine.filter(|check| check["rating"] != "fine");
    let wanted: BTreeSet<String> = not_fine
        .map(|check| check["code"].as_str().expect("a code").to_owned())
        .filter(|code| !measured.contains(&code.as_str()))
        .collect();
    let machine =
        document["noise"].get("machine").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    assert_eq!(codes(&machine, 2), wanted);
}
