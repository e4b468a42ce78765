//! One row for each cell, for a spreadsheet. Columns are named by their path in the document (`rtt_ns.p50.value`);
//! the rounds stay in the document. Quoting follows RFC 4180; lines end in a newline alone, as every other text here, and
//! no cell has one.

use crate::{pipelines, text};
use ipcperf_core::result::ResultSet;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Columns that are always there and come first, so that scripts can rely on them.
const ALWAYS: &[&str] = &[
    "id",
    "mechanism",
    "wait",
    "pattern",
    "size_bytes",
    "placement",
    "cpus.0",
    "cpus.1",
    "idle",
    "touch",
    "status",
    "reason",
    "messages",
    "lost",
    "verified",
    "rtt_ns.min.value",
    "rtt_ns.p50.value",
    "rtt_ns.p50.ci95.0",
    "rtt_ns.p50.ci95.1",
    "rtt_ns.mean.value",
    "rtt_ns.mean.ci95.0",
    "rtt_ns.mean.ci95.1",
    "rtt_ns.p90.value",
    "rtt_ns.p99.value",
    "rtt_ns.p99.9.value",
    "rtt_ns.max.value",
    "bytes_per_second.value",
    "bytes_per_second.ci95.0",
    "bytes_per_second.ci95.1",
    "messages_per_second.value",
    "messages_per_second.ci95.0",
    "messages_per_second.ci95.1",
    "cpu_ns_per_message.total",
    "cpu_ns_per_message.ci95.0",
    "cpu_ns_per_message.ci95.1",
    "cpu_ns_per_message.lead",
    "cpu_ns_per_message.follow",
    "cpu_ns_per_message.user",
    "cpu_ns_per_message.system",
    "machine_cpu_ns_per_message.value",
    "energy_nj_per_message.value",
    "syscalls_per_message",
    "context_switches_per_message",
    "voluntary_switches_per_message",
    "involuntary_switches_per_message",
    "page_faults_per_message",
    "ipis_per_message",
    "bound.name",
    "bound.value",
    "bound.ratio",
];

pub(crate) fn render(set: &ResultSet, out: &mut dyn io::Write) -> io::Result<()> {
    let mut values = Vec::new();
    for cell in &set.cells {
        let mut value = serde_json::to_value(cell)?;
        if let Value::Object(keys) = &mut value {
            keys.remove("rounds");
        }
        values.push(value);
    }
    if set.pipelines.is_empty() {
        return render_values(&values, ALWAYS, out);
    }
    // A run has one or the other; a document with both has two tables.
    if !values.is_empty() {
        render_values(&values, ALWAYS, out)?;
        writeln!(out)?;
    }
    render_values(&pipelines::rows(set)?, pipelines::ALWAYS, out)
}

/// Objects as rows: the columns of `always`, then whatever else occurs, sorted.
pub(crate) fn render_values(
    values: &[Value],
    always: &[&str],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let rows: Vec<BTreeMap<String, String>> = values
        .iter()
        .map(|value| {
            let mut row = BTreeMap::new();
            flatten("", value, &mut row);
            row
        })
        .collect();
    let occurring: BTreeSet<&str> =
        rows.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    let mut columns: Vec<&str> = always.to_vec();
    columns.extend(occurring.into_iter().filter(|key| !always.contains(key)));
    line(columns.iter().copied(), out)?;
    for row in &rows {
        line(columns.iter().map(|key| row.get(*key).map_or("", String::as_str)), out)?;
    }
    Ok(())
}

fn flatten(path: &str, value: &Value, row: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(keys) => {
            keys.iter().for_each(|(key, value)| flatten(&below(key), value, row));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(at, item)| flatten(&below(&at.to_string()), item, row));
        }
        Value::Null => {
            row.insert(path.to_owned(), String::new());
        }
        Value::String(text) => {
            row.insert(path.to_owned(), text.clone());
        }
        Value::Bool(_) | Value::Number(_) => {
            row.insert(path.to_owned(), value.to_string());
        }
    }
}

fn line<'a>(fields: impl Iterator<Item = &'a str>, out: &mut dyn io::Write) -> io::Result<()> {
    let cells: Vec<String> = fields.map(cell).collect();
    writeln!(out, "{}", cells.join(","))
}

/// A cell of a CSV file: one clean line, quoted where it must be. A text that a spreadsheet would take for a formula
/// gets an apostrophe in front; a number stays one.
#[must_use]
pub fn cell(text: &str) -> String {
    let mut cell = text::clean(text, true);
    if cell.starts_with(['=', '@', '+', '-']) && cell.parse::<f64>().is_err() {
        cell.insert(0, '\'');
    }
    // Some spreadsheets part cells at semicolons.
    if cell.contains([',', ';', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, Build};
    use crate::{Format, Style, render};

    /// Reads RFC 4180 text back.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let mut rows = vec![vec![String::new()]];
        let mut is_quoted = false;
        let mut signs = text.chars().peekable();
        while let Some(sign) = signs.next() {
            let row = rows.last_mut().expect("never empty");
            let field = row.last_mut().expect("never empty");
            match sign {
                '"' if is_quoted && signs.peek() == Some(&'"') => {
                    field.push('"');
                    signs.next();
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => row.push(String::new()),
                '\n' if !is_quoted => rows.push(vec![String::new()]),
                sign => field.push(sign),
            }
        }
        rows.pop();
        rows
    }

    fn table(set: &ResultSet) -> Vec<Vec<String>> {
        let mut bytes = Vec::new();
        render(set, &sample::spec, Format::Csv, &Style::default(), &mut bytes).unwrap();
        parse(&String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn every_figure_of_every_cell_reads_back() {
        let set = sample::survey();
        let table = table(&set);
        assert_eq!(table.len(), set.cells.len() + 1);
        let column = |name: &str| table[0].iter().position(|head| head == name).unwrap();
        for (row, cell) in table[1..].iter().zip(&set.cells) {
            assert_eq!(row.len(), table[0].len());
            assert_eq!(row[column("id")], cell.id);
            assert_eq!(row[column("size_bytes")], cell.key.size_bytes.to_string());
            let p50 = cell.rtt_ns.as_ref().and_then(|rtt| rtt["p50"].value);
            assert_eq!(row[column("rtt_ns.p50.value")].parse().ok(), p50);
        }
    }

    #[test]
    fn commas_and_quotes_survive_and_a_row_is_a_line() {
        let mut cell = sample::cell("pipe", 64, sample::TWO);
        cell.reason = Some("a, \"b\"\nc".to_owned());
        let table = table(&sample::set(vec![cell]));
        let at = table[0].iter().position(|head| head == "reason").unwrap();
        assert_eq!(table[1][at], "a, \"b\" c");
    }

    #[test]
    fn a_text_is_no_formula_and_a_number_stays_one() {
        for (text, told) in [
            ("=1+2", "'=1+2"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("a;=1", "\"a;=1\""),
            ("=\"x\"", "\"'=\"\"x\"\"\""),
            ("-2", "-2"),
            ("-1.5e-3", "-1.5e-3"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(super::cell(text), told);
        }
        let mut cell = sample::cell("pipe", 64, sample::TWO);
        cell.reason = Some("=1+2".to_owned());
        assert!(table(&sample::set(vec![cell]))[1].iter().any(|cell| cell == "'=1+2"));
    }

    #[test]
    fn the_fixed_columns_are_there_without_any_cell() {
        let table = table(&sample::set(Vec::new()));
        assert_eq!(table, [ALWAYS.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()]);
    }

    #[test]
    fn knobs_become_columns_and_rounds_do_not() {
        let cell = sample::cell("pipe", 64, sample::TWO).knob("pipe.size", Some(5000), 8192);
        let heads = &table(&sample::set(vec![cell]))[0];
        assert!(heads.iter().any(|head| head == "knobs.pipe.size.effective"));
        assert!(!heads.iter().any(|head| head.starts_with("rounds")));
    }
}
