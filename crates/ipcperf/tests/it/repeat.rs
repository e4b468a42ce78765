//! `repeat`: the plan of a result carried out again.

use crate::common::{Sandbox, words};
use serde_json::Value;

/// What a plan is, as its document has it.
fn plan(document: &Value) -> (Vec<Value>, Value, Value) {
    let cells = document["cells"].as_array().expect("cells").iter();
    let cells = cells.map(|cell| {
        serde_json::json!([
            cell["id"],
            cell["mechanism"],
            cell["pattern"],
            cell["size_bytes"],
            cell["load"]
        ])
    });
    let mut plan = document["invocation"]["plan"].clone();
    // A guess of how long it takes.
    plan["expected_s"] = Value::Null;
    (cells.collect(), plan, document["invocation"]["seed"].clone())
}

fn measured(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.done(words);
    sandbox.result(words[words.len() - 1])
}

#[test]
fn the_plan_of_a_result_is_repeated_as_it_was() {
    let sandbox = Sandbox::new();
    for line in [
        "run -m pipe,unix-stream -p ping-pong,stream,rate -s 64,4K --set pipe.size=128K \
         --rate 1000 --slice 3ms --warmup 1ms --rounds 2 -o a.json",
        "run -m udp,pipe -p fan-in,burst --peers 1,2 --burst 4 --touch full --place free,smt \
         --slice 2500us --rounds 1 -o a.json",
        "survey --budget 1s -o a.json",
    ] {
        let words = words(line);
        let first = measured(&sandbox, &words);
        if words[0] == "survey" {
            is_slim(&first, sandbox.read("a.json").expect("written").len());
        }
        // A survey takes long, and the plan says it as well.
        if words[0] == "run" {
            let second = measured(&sandbox, &["repeat", "a.json", "-o", "b.json"]);
            assert_eq!(plan(&first), plan(&second), "{words:?}");
        }
        let [dry, from] = [&words[..], &["repeat", "a.json", "-o", "a.json"]].map(|words| {
            let seed = first["invocation"]["seed"].to_string();
            let seeded = ["--seed", seed.as_str()];
            let more: &[&str] = if words.contains(&"repeat") { &[] } else { &seeded };
            sandbox.run(&[words, &["--dry-run"], more].concat()).stdout
        });
        assert_eq!(dry, from, "{words:?}");
    }
}

/// A document has at most twice the bytes that its measured cells and their rounds usually take, which are 2,300 of a cell
/// and 550 of a round: the 250 cells and 8 rounds of a usual survey stay within 2 MB.
fn is_slim(document: &Value, bytes: usize) {
    let cells = document["cells"].as_array().expect("cells");
    let rounds = |cell: &Value| cell["rounds"]["round"].as_array().map_or(0, Vec::len);
    let measured = cells.iter().filter(|cell| cell["status"] == "ok");
    let room: usize = measured.map(|cell| 4_600 + 1_100 * rounds(cell)).sum();
    assert!(room > 0 && bytes < 100_000 + room, "{bytes} bytes, {room} for cells");
}

#[test]
fn what_cannot_be_repeated_is_refused_by_name() {
    let sandbox = Sandbox::new();
    measured(&sandbox, &["run", "-m", "pipe", "--rounds", "1", "--slice", "1ms", "-o", "a.json"]);
    sandbox.done(&["exec", "echo it", "--rounds", "1", "-o", "exec.json"]);
    let text = sandbox.read("a.json").expect("written");
    let other = text.replace("\"mechanism\": \"pipe\"", "\"mechanism\": \"pipf\"");
    std::fs::write(sandbox.home().join("other.json"), other).expect("written");
    // What could not be typed would end in an arithmetic error, or in a worker that takes all memory.
    for (name, key, value) in [
        ("long.json", "load", serde_json::json!({ "think_ns": 11_000_000_000_u64 })),
        ("clients.json", "load", serde_json::json!({ "conns": u64::MAX })),
        ("large.json", "size_bytes", (1_u64 << 61).into()),
    ] {
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        document["cells"][0][key] = value;
        std::fs::write(sandbox.home().join(name), document.to_string()).expect("written");
    }
    for (words, told) in [
        (&["repeat", "a.json", "-m", "pipe"][..], "unexpected argument '-m'"),
        (&["repeat", "a.json", "--rounds", "3"], "'ipcperf run' has --rounds N"),
        (&["repeat", "a.json", "--think", "1ms"], "'ipcperf run' has --think TIMES"),
        (&["repeat", "a.json", "--set", "pipe.size=4K"], "'set' would change it"),
        (&["run", "--from", "a.json"], "'ipcperf repeat RESULT.json' measures the same again"),
        (&["repeat", "exec.json"], "type them: ipcperf exec 'echo it'"),
        (&["repeat", "none.json"], "cannot read 'none.json'"),
        // How it is shown and what ends it badly may differ.
        (&["repeat", "none.json", "--format", "csv", "--full"], "cannot read 'none.json'"),
        (&["repeat", "none.json", "--max-noise", "C"], "cannot read 'none.json'"),
        (&["repeat", "/proc/self/status"], "/proc/self/status"),
        (&["repeat", "other.json"], "did you mean 'pipe'?"),
        (&["repeat", "long.json"], "--think: 11s is not between 0ns and 10s"),
        (&["repeat", "clients.json"], "' is not a number between 1 and 1024"),
        (&["repeat", "large.json"], "is above 1G, the largest message"),
    ] {
        sandbox.refuses(words, told);
    }
}
