//! The mechanisms of a first screen with their intervals.

use super::cells::Anchors;
use super::picture::{axis_words, chart, nanos};
use crate::results::chapters::label;
use ipcperf_core::result::{Cell, CpuCost, Metric};
use ipcperf_judge::MetricKind;
use ipcperf_judge::figures::NONE;
use ipcperf_render::doc::{Chart, Picture};
use ipcperf_render::svg::{Axis, Range, RangeRow, Ranges};

/// A mechanism: its cell, its cell at another placement, and whether the others are compared with it.
pub(crate) struct Mechanism<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) elsewhere: Option<&'a Cell>,
    pub(crate) is_reference: bool,
}

/// A figure of a cell with its interval.
fn metric(kind: MetricKind, cell: &Cell) -> Option<Metric> {
    match kind {
        MetricKind::Cpu => cell.cpu_ns_per_message.as_ref().map(CpuCost::figure),
        kind => kind.of_cell(cell).cloned(),
    }
}

/// How figures of a kind are written at an axis.
fn kind_axis(kind: MetricKind, cell: &Cell) -> fn(f64) -> String {
    match kind {
        MetricKind::Primary(figure) => axis_words(figure, cell.key.size_bytes),
        MetricKind::Cpu | MetricKind::P99 | MetricKind::P999 | MetricKind::Above(_) => nanos,
    }
}

/// A figure of some mechanisms, where they were measured at first, and elsewhere; `None` of none.
pub(crate) fn mechanisms(
    (title, kind): (String, MetricKind),
    places: [&str; 2],
    rows: &[Mechanism],
    anchors: &Anchors,
) -> Option<Chart> {
    let size = rows.first()?.cell.key.size_bytes;
    let has_two = rows.iter().any(|row| row.elsewhere.is_some());
    let series: Vec<String> =
        places.into_iter().take(if has_two { 2 } else { 1 }).map(str::to_owned).collect();
    let range = |cell: &Cell| {
        let metric = metric(kind, cell)?;
        let (value, interval) = (metric.value?, metric.ci95);
        Some(Range { value, interval, words: kind.words(value, cell.key.size_bytes) })
    };
    let of_row = |row: &Mechanism| {
        [Some(row.cell), row.elsewhere]
            .into_iter()
            .take(series.len())
            .map(|cell| cell.and_then(range))
            .collect::<Vec<_>>()
    };
    let drawn = |row: &Mechanism| RangeRow {
        label: label(row.cell),
        link: anchors.link(row.cell),
        is_reference: row.is_reference,
        ranges: of_row(row),
    };
    let rows_drawn: Vec<RangeRow> = rows.iter().map(drawn).collect();
    let first = rows_drawn.first()?;
    let words = |range: &Option<Range>| match range {
        Some(Range { words, interval: Some(ends), .. }) => {
            let [low, high] = ends.map(|end| kind.words(end, size));
            format!("{words} [{low}, {high}]")
        }
        Some(range) => range.words.clone(),
        None => NONE.to_owned(),
    };
    let table = rows_drawn.iter().map(|row| {
        let name = [row.label.clone()].into_iter();
        name.chain(row.ranges.iter().map(words)).collect::<Vec<_>>()
    });
    let table = table.collect();
    let heads = [String::new()].into_iter().chain(series.iter().cloned()).collect();
    let label = format!("{title}: {} mechanisms; first {}.", rows_drawn.len(), first.label);
    let note = "The mark is the median, the bar its 95 % interval. The broken lines are at the figures of the reference."
        .to_owned();
    let axis = Axis::plain("", kind_axis(kind, rows.first()?.cell));
    let picture = Picture::Ranges(Ranges { label, axis, series, rows: rows_drawn });
    Some(chart(title, note, picture, heads, table))
}
