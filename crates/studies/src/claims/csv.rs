//! Readings in the original's own format.

use crate::claims::study::{CsvFile, Study};
use crate::replication::{RowResult, StudyResult, TableResult};
use std::fmt::Write as _;

/// Name and rows of every file that a study describes; of a study that describes none, one file with all readings. The
/// cells are as the study says, not yet fit for a file.
pub fn files(study: &Study, result: &StudyResult) -> Vec<(String, Vec<Vec<String>>)> {
    if study.files.is_empty() {
        return vec![(format!("{}.csv", study.head.name), readings(result))];
    }
    study.files.iter().map(|file| (file.file.clone(), rows(file, study, result))).collect()
}

/// Name and text of every table that a study has as Ruby's Benchmark prints its times: seconds of the user, of the system, of
/// both, and by the clock. Rows without all four are left out, and files without a row.
pub fn benchmarks(study: &Study, result: &StudyResult) -> Vec<(String, String)> {
    let tables = study.tables.iter().zip(&result.tables);
    let named = tables.filter_map(|(table, found)| Some((table.benchmark.clone()?, found)));
    named.filter_map(|(file, found)| Some((file, benchmark(found)?))).collect()
}

fn benchmark(table: &TableResult) -> Option<String> {
    let seconds = |row: &RowResult| -> Option<[f64; 4]> {
        let all: Option<Vec<f64>> = row.measured.iter().map(|metric| metric.value).collect();
        all?.try_into().ok()
    };
    let rows = table.rows.iter().filter_map(|row| Some((row.label.as_str(), seconds(row)?)));
    let rows: Vec<(&str, [f64; 4])> = rows.collect();
    let width = rows.iter().map(|(label, _)| label.chars().count()).max()?;
    let mut text = format!("{:width$}       user     system      total        real\n", "");
    for (label, [user, system, total, real]) in rows {
        let _ =
            writeln!(text, "{label:width$} {user:10.6} {system:10.6} {total:10.6} ({real:10.6})");
    }
    Some(text)
}

fn rows(file: &CsvFile, study: &Study, result: &StudyResult) -> Vec<Vec<String>> {
    let mut rows = vec![file.header.clone()];
    let arms = study.arms.iter().zip(&result.arms);
    for (arm, found) in arms.filter(|(arm, _)| file.arms.contains(&arm.base)) {
        for round in &found.rounds {
            let value = |word: &String| match word.as_str() {
                "round" => (round.round + 1).to_string(),
                "each" => arm.each.clone(),
                "arm" => arm.id.clone(),
                metric => round.values.get(metric).map(ToString::to_string).unwrap_or_default(),
            };
            rows.push(file.values.iter().map(value).collect());
        }
    }
    rows
}

fn readings(result: &StudyResult) -> Vec<Vec<String>> {
    let mut rows = vec![["arm", "round", "order", "metric", "value"].map(Into::into).to_vec()];
    for arm in &result.arms {
        for round in &arm.rounds {
            let (number, order) = ((round.round + 1).to_string(), (round.order + 1).to_string());
            for (metric, value) in &round.values {
                let (id, metric, value) = (arm.id.clone(), metric.clone(), value.to_string());
                rows.push(vec![id, number.clone(), order.clone(), metric, value]);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::result::Metric;

    /// Ruby pads the labels to one width and prints ten places with six decimals for each figure.
    #[test]
    fn times_are_written_as_ruby_prints_them_without_rows_that_lack_one() {
        let figure = |value| Metric { value, ..Metric::default() };
        let row = |label: &str, values: [Option<f64>; 4]| RowResult {
            label: label.into(),
            published: Vec::new(),
            measured: values.map(figure).into(),
            claims: Vec::new(),
        };
        let mut table = TableResult {
            title: "times".into(),
            unit: "s".into(),
            statistic: "median".into(),
            columns: Vec::new(),
            rows: vec![
                row("tcp__1", [1.24, 0.49, 1.73, 1.854_051].map(Some)),
                row("ufs", [Some(0.5), None, Some(0.5), Some(1.0)]),
                row("tcp_10", [32.0, 16.44, 48.48, 141.639_263].map(Some)),
            ],
            plot: None,
        };
        let expected = "             user     system      total        real\n\
                        tcp__1   1.240000   0.490000   1.730000 (  1.854051)\n\
                        tcp_10  32.000000  16.440000  48.480000 (141.639263)\n";
        assert_eq!(benchmark(&table).as_deref(), Some(expected));
        table.rows.remove(2);
        table.rows.remove(0);
        assert_eq!(benchmark(&table), None);
    }
}
