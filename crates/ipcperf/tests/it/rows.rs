//! Results of several machines as rows, read by what they are made for: DuckDB, through Python.

use crate::common::{Sandbox, skipped};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Written by the first version: six patterns, two rounds.
const FIRST: &str = include_str!("fixtures/result-1.0.json");

/// What docs/PLOTS.md says, on these files, and the histograms by the function of the manual.
const SCRIPT: &str = r#"
import duckdb, json, re
rows = duckdb.sql("SELECT machine, id, median(p50_ns), count(*) FROM 'rounds.csv' WHERE rejected IS NULL GROUP BY ALL ORDER BY ALL").fetchall()
duckdb.sql("COPY (FROM 'rounds.csv') TO 'rounds.parquet'")
again = duckdb.sql("SELECT machine, id, median(p50_ns), count(*) FROM 'rounds.parquet' WHERE rejected IS NULL GROUP BY ALL ORDER BY ALL").fetchall()
types = dict(duckdb.sql("SELECT column_name, column_type FROM (DESCRIBE FROM 'rounds.parquet')").fetchall())
def typed(name, kind):
    return f"read_csv('{name}', {open(kind).read()})"
cells = duckdb.sql(f"SELECT machine, kernel, grade, id, p50_ns FROM {typed('cells.csv', 'rows')}").fetchall()
described = []
for name, kind in [("cells.csv", "rows"), ("rounds.csv", "rows-rounds"), ("runs.csv", "rows-runs")]:
    seen = duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE FROM {typed(name, kind)})").fetchall()
    described += [[open(name).readline().strip().split(","), [one for one, _ in seen], len(duckdb.sql(f"FROM {typed(name, kind)}").fetchall())]]
runs = duckdb.sql(f"SELECT kernel, host, labels, run_id, errors + warnings, microcode FROM {typed('runs.csv', 'rows-runs')} ORDER BY kernel").fetchall()
kernels = duckdb.sql(f"SELECT DISTINCT kernel, labels->>'job' FROM {typed('cells.csv', 'rows')} ORDER BY kernel").fetchall()
exec(re.search("```python\n(.*?)```", open("RESULTS.md").read(), re.S).group(1))
counted = []
for cell in json.load(open("again.json"))["cells"]:
    for text in cell["rounds"].get("histogram", {}).get("buckets", []):
        counted += [[list(bucket) for bucket in buckets(text)]] if text else []
print(json.dumps([rows, again, types, cells, counted, described, runs, kernels]))
"#;

#[test]
fn duckdb_reads_the_rounds_of_two_machines_and_makes_parquet_of_them() {
    let asked = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !asked.is_ok_and(|asked| asked.status.success()) {
        return skipped("duckdb", "no Python that has it (pip install duckdb)");
    }
    let sandbox = Sandbox::new();
    let mut other: Value = serde_json::from_str(FIRST).expect("JSON");
    other["host"]["cpu_model"] = "Other, \"Inc.\" CPU".into();
    // Without types DuckDB takes both kernels for dates.
    let mut here: Value = serde_json::from_str(FIRST).expect("JSON");
    here["kernel"]["release"] = "6.1.99".into();
    other["kernel"]["release"] = "6.12.57".into();
    other["run_id"] = "0123456789abcdef0123456789abcdef".into();
    other["labels"] = serde_json::json!({"host": "n2", "job": "a, \"b\""});
    for (name, text) in [
        ("here.json", here.to_string()),
        ("there.json", other.to_string()),
        ("RESULTS.md", include_str!("../../../../docs/RESULTS.md").to_owned()),
        ("ask.py", SCRIPT.to_owned()),
    ] {
        fs::write(sandbox.home().join(name), text).expect("written");
    }
    for more in [
        &["there.json", "--rows", "rounds", "-o", "rounds.csv"][..],
        &["there.json", "-o", "cells.csv"],
        &["there.json", "--rows", "runs", "-o", "runs.csv"],
        &["-o", "again.json"],
    ] {
        let ended = sandbox.run(&[&["report", "here.json"], more].concat());
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{more:?}");
    }
    for kind in ["rows", "rows-rounds", "rows-runs"] {
        let types = sandbox.run(&["schema", kind]).stdout;
        fs::write(sandbox.home().join(kind), types).expect("written");
    }
    let ended = sandbox.spawn(sandbox.surround(Command::new("python3"), &["ask.py"])).end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let [rows, again, types, cells, counted, described, runs, kernels]: [Value; 8] =
        serde_json::from_str(&ended.stdout).expect("JSON");
    for one in described.as_array().expect("a list") {
        assert_eq!(one[0], one[1], "every column has its type, in order");
        assert!(one[2].as_u64() > Some(1), "{one}");
    }
    let labels = r#"{"host":"n2","job":"a, \"b\""}"#;
    let id = "0123456789abcdef0123456789abcdef";
    let microcode = &runs[0][5];
    assert_eq!(
        runs,
        serde_json::json!([
            ["6.1.99", null, null, null, runs[0][4], microcode],
            ["6.12.57", "n2", labels, id, runs[0][4], microcode]
        ])
    );
    assert_eq!(kernels, serde_json::json!([["6.1.99", null], ["6.12.57", "a, \"b\""]]));
    assert_eq!(rows, again, "Parquet has what CSV has");
    let first: Value = serde_json::from_str(FIRST).expect("JSON");
    let first = first["cells"].as_array().expect("a list");
    assert_eq!(cells.as_array().map(Vec::len), Some(2 * first.len()));
    // By machine, then by cell: all cells of one, then all of the other.
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len() % 2, 0);
    for (here, there) in rows[..rows.len() / 2].iter().zip(&rows[rows.len() / 2..]) {
        assert_ne!(here[0], there[0]);
        assert_eq!([&here[1], &here[2], &here[3]], [&there[1], &there[2], &there[3]]);
        let cell = first.iter().find(|cell| cell["id"] == here[1]).expect("a cell of the document");
        let rounds = cell["rounds"].as_array().expect("a list");
        let accepted: Vec<&Value> =
            rounds.iter().filter(|round| round.get("rejected").is_none()).collect();
        assert_eq!(here[3], accepted.len(), "{here}");
        let mut p50: Vec<f64> =
            accepted.iter().filter_map(|round| round["p50_ns"].as_f64()).collect();
        p50.sort_by(f64::total_cmp);
        let middle =
            (!p50.is_empty()).then(|| f64::midpoint(p50[(p50.len() - 1) / 2], p50[p50.len() / 2]));
        let told = here[2].as_f64();
        assert_eq!(told.is_some(), middle.is_some(), "{here}");
        let off = told.zip(middle).map_or(0.0, |(told, middle)| (told / middle - 1.0).abs());
        // Rows have six digits.
        assert!(off < 1e-5, "{here} {middle:?}");
    }
    for (column, kind) in [
        ("run", "TIMESTAMP"),
        ("machine", "VARCHAR"),
        ("size_bytes", "BIGINT"),
        ("p50_ns", "DOUBLE"),
        ("proved", "BOOLEAN"),
    ] {
        let found = types[column].as_str().unwrap_or_default();
        assert!(found.starts_with(kind), "{column}: {found}");
    }
    let buckets: Vec<&Value> = first
        .iter()
        .flat_map(|cell| cell["rounds"].as_array().expect("a list"))
        .filter_map(|round| round["histogram"].get("buckets"))
        .collect();
    assert!(!buckets.is_empty());
    assert_eq!(counted.as_array().expect("a list").iter().collect::<Vec<_>>(), buckets);
}

#[test]
fn rows_are_of_results_and_in_csv() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join("one.json"), FIRST).expect("written");
    let other = FIRST.replacen("\"seed\":1,", "\"seed\":12,", 1);
    fs::write(sandbox.home().join("other.json"), other).expect("written");
    for (words, part) in [
        (&["one.json", "other.json", "--format", "json"][..], "--format csv"),
        (&["one.json", "--rows", "rounds"], "--format csv"),
        (&["one.json", "--rows", "rounds", "-o", "x.md"], "--format csv"),
        (
            &["gone.json", "absent.json", "--format", "csv"],
            "none of 2 files is a result: cannot read 'gone.json': No",
        ),
        (&["one.json", "--rows", "days", "--format", "csv"], "'days'"),
        (
            &["one.json", "other.json", "one.json", "--format", "html", "--plots", "x"],
            "--plots takes",
        ),
        (&["one.json", "other.json", "--format", "html", "--plots", "x"], "--plots takes"),
    ] {
        sandbox.refuses(&[&["report"], words].concat(), part);
    }
    let rows = |more: &[&str]| {
        let words = [&["report", "one.json", "other.json", "--format", "csv"], more].concat();
        sandbox.run(&words).stdout.lines().count()
    };
    assert_eq!(rows(&["-p", "stream"]), 1 + 2 * 3);
    assert_eq!(rows(&["-p", "stream", "--rows", "rounds"]), 1 + 2 * 3 * 2);
}
