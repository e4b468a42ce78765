//! Searches for a crossover in real processes, for structure, never for figures.

use crate::common::{Sandbox, cells, words};

const SEARCH: &str =
    "crossover --place same-cpu --slice 1ms --warmup 1ms --rounds 10 --no-progress -o x.json";

/// What a search ends in, whatever it finds.
const ANSWERS: [&str; 4] = [" overtakes ", "No crossover: ", "Cannot tell where ", "No single "];

#[test]
fn a_search_measures_both_arms_at_each_point_and_begins_with_the_answer() {
    let sandbox = Sandbox::new();
    for (arms, more, points) in [
        (["memfd", "unix-stream"], &["--over", "size", "-s", "64,64K"][..], [64, 64 << 10]),
        (
            ["pipe", "pipe size=4K"],
            &["--over", "think", "--think", "1us,1ms", "-s", "4K"],
            [1000, 1_000_000],
        ),
        (["tcp", "unix-stream"], &["--over", "conns", "--conns", "1,2"], [1, 2]),
        (["fifo", "pipe"], &["--over", "rate", "--rate", "1k,2k"], [1000, 2000]),
    ] {
        let ended = sandbox.done(&[&words(SEARCH)[..], &arms, more].concat());
        assert!(
            ended.stderr.starts_with("Search: 2 points, 10 rounds each, about "),
            "{}",
            ended.stderr
        );
        let document = sandbox.result("x.json");
        let asked = &document["invocation"]["plan"]["crossover"];
        assert_eq!([&asked["a"], &asked["b"], &asked["over"]], [arms[0], arms[1], more[1]]);
        assert_eq!(asked["most_points"], 14);
        // Pairs in the order in which they were looked at: those of the list come first.
        let all = cells(&document);
        assert!(all.len() >= 4 && all.len().is_multiple_of(2), "{}", all.len());
        let at = |cell: &serde_json::Value| match more[1] {
            "size" => cell["size_bytes"].as_u64(),
            "think" => cell["load"]["think_ns"].as_u64(),
            "conns" => cell["load"]["conns"].as_u64(),
            _ => cell["load"]["rate"]
                .as_str()
                .and_then(|rate| rate.trim_end_matches("/s").parse().ok()),
        };
        let found: Vec<_> = all.chunks(2).map(|pair| [at(&pair[0]), at(&pair[1])]).collect();
        assert!(found.iter().all(|pair| pair[0] == pair[1]), "{found:?}");
        assert_eq!(found[..2], points.map(|at| [Some(at); 2]));
        let between = found[2..].iter().flatten().flatten();
        assert!(between.into_iter().all(|at| points[0] < *at && *at < points[1]), "{found:?}");
        // Sentences may be paragraphs in the one and lines in the other.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let answer = words(
            ended
                .stdout
                .split(concat!("ipcperf ", env!("CARGO_PKG_VERSION")))
                .next()
                .expect("text"),
        );
        assert!(ANSWERS.iter().any(|part| answer.contains(part)), "{}", ended.stdout);
        assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
        // Shown again, and with all tables.
        assert_eq!(sandbox.run(&["report", "x.json"]).stdout, ended.stdout);
        let full = words(&sandbox.run(&["report", "x.json", "--full"]).stdout);
        assert!(full.contains(&answer), "{full}");
    }
}
