//! Slices that are counted rather than timed, every operation in a file, and one end that alone is pinned.

use crate::common::{Ended, Sandbox, buckets, cells, rounds, skipped, text, words};
use ipcperf_engine::page::CAPACITY;
use ipcperf_sys::affinity;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;

/// Nanoseconds of the lines of a file of operations, by cell and round.
fn lines(text: &str) -> BTreeMap<(String, u64), Vec<f64>> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("iters\tns\tround\tcell"));
    let mut all: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for line in lines {
        let [iters, ns, round, cell] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}")
        };
        assert_eq!(iters, "1", "each is one operation");
        let round = round.parse().expect("a number");
        all.entry((cell.to_owned(), round)).or_default().push(ns.parse().expect("a number"));
    }
    all
}

/// Every accepted round has its operations in the file, as many as its histogram has and as long; nothing else is there.
/// Returns how many there are of each cell.
fn agree(document: &Value, text_of_file: &str) -> Vec<u64> {
    let mut lines = lines(text_of_file);
    let of_cell = |cell: &Value| {
        let mut all = 0;
        let accepted = rounds(cell).into_iter().filter(|round| round["rejected"].is_null());
        for round in accepted.filter(|_| cell["status"] == "ok") {
            let index = round["round"].as_u64().expect("an index");
            let key = (text(cell, "id").to_owned(), index);
            let mut ns = lines.remove(&key).unwrap_or_else(|| panic!("{key:?} has no lines"));
            let buckets = buckets(&round);
            let count: u64 = buckets.iter().map(|(_, count)| count).sum();
            assert_eq!(ns.len() as u64, count, "{key:?}");
            let number = |value: &Value| value.as_f64().expect("a number");
            let is_near = |own: f64, ps: f64| (own * 1e3 - ps).abs() <= 0.001 * ps + 1.0;
            let sum = number(&round["histogram"]["sum"]);
            assert!(is_near(ns.iter().sum(), sum), "{key:?}: {} and {sum}", ns.iter().sum::<f64>());
            ns.sort_by(f64::total_cmp);
            assert!(is_near(ns[0], number(&round["histogram"]["min"])), "{key:?}");
            assert!(is_near(ns[ns.len() - 1], number(&round["histogram"]["max"])), "{key:?}");
            // Each quantile of the file lies in its bucket of the histogram, which is a thousandth wide.
            let mut below = 0;
            for (low, count) in buckets {
                let (first, last) = (ns[below as usize], ns[(below + count - 1) as usize]);
                let (from, to) = (low as f64 * 0.999 - 1.0, low as f64 * 1.002 + 1.0);
                assert!(
                    first * 1e3 >= from && last * 1e3 <= to,
                    "{key:?}: {first}, {last}, {low} ps"
                );
                below += count;
            }
            all += count;
        }
        all
    };
    let counts = cells(document).iter().map(of_cell).collect();
    assert!(lines.is_empty(), "of no accepted round: {:?}", lines.keys());
    counts
}

fn run(sandbox: &Sandbox, line: &str) -> (Value, Ended) {
    let ended = sandbox.done(&words(line));
    (sandbox.result("x.json"), ended)
}

/// What is shown, without the ends of its lines.
fn one_line(ended: &Ended) -> String {
    ended.stdout.replace('\n', " ")
}

fn accepted(cell: &Value) -> u64 {
    rounds(cell).iter().filter(|round| round["rejected"].is_null()).count() as u64
}

#[test]
fn every_operation_is_a_line_and_the_lines_are_the_histograms() {
    let sandbox = Sandbox::new();
    let line = "run -m pipe,unix-dgram -p ping-pong,request --inflight 3 --place same-cpu --rounds 3 \
                --samples 300 --warmup-ops 100 --raw x.tsv -o x.json";
    let (document, ended) = run(&sandbox, line);
    assert!(ended.stderr.contains("operations: x.tsv"), "{}", ended.stderr);
    let counts = agree(&document, &sandbox.read("x.tsv").expect("it was written"));
    for (cell, count) in cells(&document).iter().zip(counts) {
        assert_eq!(count, 300 * accepted(cell), "{}", cell["id"]);
        assert_eq!(cell["messages"].as_u64(), Some(2 * count), "{}", cell["id"]);
    }
    let plan = &document["invocation"]["plan"];
    let counted = ["samples", "warmup_operations", "batch", "slice_ms", "warmup_ms"];
    let said = counted.map(|key| plan[key].as_f64().expect("a number"));
    assert_eq!(said, [300.0, 100.0, 1.0, 0.0, 0.0]);
    assert!(one_line(&ended).contains(" 3 rounds of 300 samples, "), "{}", ended.stdout);
    sandbox.leaves_nothing();
}

/// The slots of the page are read several times in a slice. Nothing is timed but the harness, whose operations are short.
#[test]
fn more_operations_than_the_page_has_room_for_are_all_there() {
    let sandbox = Sandbox::new();
    let samples = 2 * CAPACITY + 5;
    let line = format!(
        "run -m null --place same-cpu --rounds 1 --samples {samples} --raw x.tsv -o x.json"
    );
    let (document, _) = run(&sandbox, &line);
    let [cell] = cells(&document) else { panic!("one cell") };
    let counts = agree(&document, &sandbox.read("x.tsv").expect("it was written"));
    assert_eq!(counts, [samples as u64 * accepted(cell)]);
}

#[test]
fn a_slice_by_time_has_its_lines_too_and_those_of_an_open_loop_count_from_when_they_were_due() {
    let sandbox = Sandbox::new();
    let line = "run -m pipe -p ping-pong,burst,rate --burst 4 --rate 2000 --place same-cpu --rounds 2 --slice 10ms \
                --warmup 2ms --raw x.tsv -o x.json";
    let (document, _) = run(&sandbox, line);
    let counts = agree(&document, &sandbox.read("x.tsv").expect("it was written"));
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

#[test]
fn lines_that_are_printed_are_in_the_place_of_the_table_and_nobody_need_read_them() {
    let sandbox = Sandbox::new();
    let line = "run -m pipe --place same-cpu --rounds 2 --samples 50 --raw - -o x.json";
    let (document, ended) = run(&sandbox, line);
    assert_eq!(agree(&document, &ended.stdout), [50 * accepted(&cells(&document)[0])]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut unread = sandbox.command(&words(line));
    let output = unread.stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn operations_of_a_batch_are_timed_together_and_have_no_quantiles() {
    let sandbox = Sandbox::new();
    let line =
        "run -m pipe --place same-cpu --rounds 2 --samples 40 --batch 25 --warmup-ops 50 -o x.json";
    let (document, ended) = run(&sandbox, line);
    let [cell] = cells(&document) else { panic!("one cell") };
    assert_eq!(cell["timing"], serde_json::json!({"mode": "batch", "batch": 25}));
    assert_eq!(cell["messages"].as_u64(), Some(2 * 40 * 25 * accepted(cell)));
    for name in ["p90", "p99", "min", "max"] {
        let metric = &cell["rtt_ns"][name];
        assert!(metric["value"].is_null(), "{metric}");
        assert!(text(metric, "reason").contains("batches of 25"), "{metric}");
    }
    assert!(cell["rtt_ns"]["p50"]["value"].as_f64() > Some(0.0));
    let head = one_line(&ended);
    assert!(head.contains(" 2 rounds of 40 samples in batches of 25, "), "{head}");
    // By time as well.
    let line = "run -m pipe --place same-cpu --rounds 1 --slice 5ms --batch 10 -o x.json";
    let (document, _) = run(&sandbox, line);
    assert_eq!(cells(&document)[0]["timing"]["batch"].as_u64(), Some(10));
}

#[test]
fn a_plan_that_counts_is_repeated_as_it_was() {
    let sandbox = Sandbox::new();
    let line =
        "run -m pipe --place same-cpu --rounds 1 --samples 60 --warmup-ops 20 --batch 2 -o x.json";
    let (document, _) = run(&sandbox, line);
    let plan = |document: &Value| {
        let plan = &document["invocation"]["plan"];
        ["samples", "warmup_operations", "batch"].map(|key| plan[key].as_u64())
    };
    assert_eq!(plan(&document), [60, 20, 2].map(Some));
    let (again, _) = run(&sandbox, "repeat x.json -o x.json");
    assert_eq!(plan(&again), [60, 20, 2].map(Some));
    // A line is a batch of two.
    run(&sandbox, "repeat x.json -o x.json --raw y.tsv");
    let text = sandbox.read("y.tsv").expect("written");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 60);
    assert!(lines.iter().all(|line| line.starts_with("2\t")), "{text}");
}

#[test]
fn what_excludes_each_other_or_is_out_of_range_is_refused_in_one_line() {
    let sandbox = Sandbox::new();
    for (line, told) in [
        ("--samples 5 --slice 1s", "'--samples <N>' cannot be used with '--slice <TIME>'"),
        ("--warmup-ops 5 --warmup 1s", "'--warmup-ops <N>' cannot be used with '--warmup <TIME>'"),
        ("--samples 0", "--samples: 0 is not between 1 and 100000000"),
        ("--samples 100000001", "--samples: 100000001 is not between 1 and 100000000"),
        ("--warmup-ops 0", "--warmup-ops: 0 is not between 1 and 100000000"),
        ("--warmup-ops 200000000", "--warmup-ops: 200000000 is not between 1 and 100000000"),
        ("--batch 0", "--batch: 0 is not between 1 and 1000000"),
        ("--batch 1000001", "--batch: 1000001 is not between 1 and 1000000"),
        (
            "--samples 1000000 --batch 1000",
            "are 1000000000 round trips, and 100000000 are the most",
        ),
        ("--samples many", "invalid value 'many' for '--samples <N>'"),
        ("--sample 5", "'--samples'"),
        ("--warmup-op 5", "'--warmup-ops'"),
        ("--bacth 5", "'--batch'"),
        ("--raws x.tsv", "'--raw'"),
        ("--repeat 5", "did you mean --samples N"),
        ("--batch 2 -p stream", "--batch: stream has no round trips that are timed together"),
        ("--batch 2 --think 1ms", "--batch: what --think does is seen in single round trips only"),
        (
            "--raw x.tsv -p stream",
            "--raw: no operation of stream is timed by itself; those of ping-pong, rate",
        ),
        ("--raw x.tsv -p fan-in", "--raw: no operation of fan-in is timed by itself"),
        ("--samples 5 -p fan-in", "--samples: fan-in goes by time"),
        ("--warmup-ops 5 -p connect", "--warmup-ops: connect is warmed up by time; use --warmup"),
        ("--raw x.json -o x.json", "--raw and -o are both 'x.json'; name two files"),
        ("--raw - -o -", "--raw and -o are both '-'; name two files"),
        ("--raw no/such/folder/x.tsv", "name another file with --raw"),
        (
            "--raw x.tsv --samples 30000000 --rounds 2 --place same-cpu",
            "are 60000000 operations, and a run keeps 50000000 at the most",
        ),
    ] {
        sandbox.refuses(&words(&format!("run -m pipe {line}")), told);
    }
    assert!(sandbox.read("x.tsv").is_err() && sandbox.read("x.json").is_err());
}

#[test]
fn a_plan_says_what_is_counted_and_where_it_goes() {
    let sandbox = Sandbox::new();
    let line = "run -m pipe --samples 5000 --warmup-ops 200 --batch 2 --rounds 3 --dry-run";
    let told = sandbox.done(&words(line)).stdout;
    assert!(
        told.contains("3 rounds x (5,000 samples of 2 round trips + 200 operations warm-up)"),
        "{told}"
    );
    let told = sandbox.done(&words("run -m pipe --raw x.tsv --dry-run")).stdout;
    assert!(told.contains("\nEvery operation: x.tsv\n"), "{told}");
}

#[test]
fn one_end_alone_is_pinned_in_every_round_and_what_spins_is_refused() {
    let cpus = affinity::allowed_cpus().expect("affinity is readable");
    if cpus.len() < 2 {
        return skipped("two CPUs", "on one both ends are where they must be");
    }
    let (sandbox, cpu) = (Sandbox::new(), cpus[1]);
    let line = format!(
        "run -m pipe,pipe/spin --place {cpu},free,free,{cpu} --rounds 4 --samples 200 -o x.json"
    );
    let (document, ended) = run(&sandbox, &line);
    let mut seen = Vec::new();
    for cell in cells(&document) {
        assert_eq!(cell["cpus"], serde_json::json!([]));
        if text(cell, "mechanism") == "pipe/spin" {
            let reason = text(cell, "reason");
            assert!(
                reason.contains("may put both processes on one CPU") && reason.contains("0,1"),
                "{reason}"
            );
            continue;
        }
        let (lead, follow) = (format!("{cpu},free"), format!("free,{cpu}"));
        let pinned = if text(cell, "placement") == lead { "lead" } else { "follow" };
        assert_eq!(text(cell, "placement"), if pinned == "lead" { &lead } else { &follow });
        assert!(text(cell, "id").contains(&format!(" place={}", text(cell, "placement"))));
        for round in rounds(cell).iter().filter(|round| round["rejected"].is_null()) {
            let found = &round["covariates"][pinned];
            assert_eq!(found["cpu"].as_u64(), Some(cpu as u64), "never swapped: {round}");
            assert_eq!(found["migrations"].as_u64().unwrap_or(0), 0);
        }
        seen.push(pinned);
    }
    assert_eq!(seen, ["lead", "follow"]);
    assert!(
        ended.stdout.contains(&format!("lead on CPU {cpu}, follow not pinned")),
        "{}",
        ended.stdout
    );
    sandbox.refuses(&words("run -m pipe --place 0,fre"), "CPU 0 has no partner");
    let missing = sandbox.run(&words("run -m pipe --place 4095,free -o x.json"));
    assert_eq!(missing.status.code(), Some(3), "{}", missing.stderr);
}
