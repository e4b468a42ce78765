//! The figures of the originals, drawn again: what was published, and what was found here over it.

use super::words::{here, statistic};
use crate::replication::{PlotKind, Published, Replication, StudyResult, TableResult};
use ipcperf_core::result::Metric;
use ipcperf_render::svg::{Chart, ChartKind, Point, Series};

/// Name and text of a picture for each table that has one. Names are fit for files, whatever the document says.
#[must_use]
pub(crate) fn plots(document: &Replication) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for study in &document.studies {
        for table in &study.tables {
            if let (Some(name), Some(chart)) =
                (file_name(study, table), chart(document, study, table))
            {
                all.push((name, chart.svg()));
            }
        }
    }
    all
}

/// A word that leads nowhere as part of a path.
fn safe(words: &str) -> String {
    let fit = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
    words.chars().take(64).map(|sign| if fit(sign) { sign } else { '_' }).collect()
}

/// What the picture of a table is called, if it has one.
pub(super) fn file_name(study: &StudyResult, table: &TableResult) -> Option<String> {
    let plot = table.plot.as_ref()?;
    (!series(table, plot.kind).1.is_empty())
        .then(|| format!("{}-{}.svg", safe(&study.name), safe(&plot.name)))
}

/// Heads and series of a table.
fn series(table: &TableResult, kind: PlotKind) -> (Vec<String>, Vec<Series>) {
    let drawn = table.plot.iter().flat_map(|plot| &plot.columns);
    let drawn: Vec<&String> = drawn.collect();
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|at| drawn.is_empty() || drawn.contains(&&table.columns[*at]))
        .collect();
    let point = |row: usize, column: usize| {
        let row = &table.rows[row];
        let here: Option<&Metric> = row.measured.get(column);
        Point {
            here: here.and_then(|metric| metric.value),
            interval: here.and_then(|metric| metric.ci95),
            published: row.published.get(column).and_then(|was: &Published| was.number(0)),
        }
    };
    let row_labels = || table.rows.iter().map(|row| row.label.clone());
    let column_labels = || columns.iter().map(|at| table.columns[*at].clone());
    let (heads, mut all): (Vec<String>, Vec<Series>) = match kind {
        PlotKind::Lines => {
            let of = |(row, label)| Series {
                label,
                points: columns.iter().map(|column| point(row, *column)).collect(),
            };
            (column_labels().collect(), row_labels().enumerate().map(of).collect())
        }
        PlotKind::Bars => {
            let of = |(column, label): (&usize, String)| Series {
                label,
                points: (0..table.rows.len()).map(|row| point(row, *column)).collect(),
            };
            (row_labels().collect(), columns.iter().zip(column_labels()).map(of).collect())
        }
    };
    let has_figure = |point: &Point| point.here.is_some() || point.published.is_some();
    all.retain(|series| series.points.iter().any(has_figure));
    (heads, all)
}

pub(super) fn chart(
    document: &Replication,
    study: &StudyResult,
    table: &TableResult,
) -> Option<Chart> {
    let plot = table.plot.as_ref()?;
    let (heads, series) = series(table, plot.kind);
    let points = || series.iter().flat_map(|one| &one.points);
    let mut note = format!("Filled: here, {}", statistic(table));
    if points().any(|point| point.interval.is_some()) {
        note += ", with 95 % intervals";
    }
    if points().any(|point| point.published.is_some()) {
        note += "; hollow: as published";
    }
    let machine = here(document, study);
    let machine = machine.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let machine = machine.trim_start_matches("Here: ");

    Some(Chart {
        kind: match plot.kind {
            PlotKind::Lines => ChartKind::Lines,
            PlotKind::Bars => ChartKind::Bars,
        },
        title: format!("{}: {}", study.name, table.title.trim()),
        notes: vec![note, format!("Here: {machine}")],
        x: plot.x.clone(),
        unit: table.unit.clone(),
        heads,
        series,
        log_x: plot.log_x,
        log_y: plot.log_y,
        ..Chart::default()
    })
}
