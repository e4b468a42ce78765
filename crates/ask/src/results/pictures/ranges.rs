//! The mechanisms of a first screen with their intervals.

use super::cells::Anchors;
use super::picture::{chart, nanos};
use crate::results::chapters::label;
use ipcperf_core::result::Cell;
use ipcperf_judge::figures::NONE;
use ipcperf_judge::{ROUND_TRIP, figures};
use ipcperf_render::doc::{Chart, Picture};
use ipcperf_render::svg::{Axis, Range, RangeRow, Ranges};

/// A mechanism: its cell, its cell at another placement, and whether the others are compared with it.
pub(crate) struct Mechanism<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) elsewhere: Option<&'a Cell>,
    pub(crate) is_reference: bool,
}

/// Round trips of some mechanisms, where they were measured at first, and elsewhere; `None` of none.
pub(crate) fn mechanisms(
    title: String,
    places: [&str; 2],
    rows: &[Mechanism],
    anchors: &Anchors,
) -> Option<Chart> {
    let has_two = rows.iter().any(|row| row.elsewhere.is_some());
    let series: Vec<String> =
        places.into_iter().take(if has_two { 2 } else { 1 }).map(str::to_owned).collect();
    let range = |cell: &Cell| {
        let metric = ROUND_TRIP.of_cell(cell)?;
        let (value, interval) = (metric.value?, metric.ci95);
        Some(Range { value, interval, words: figures::nanos(value) })
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
        Some(Range { words, interval: Some([low, high]), .. }) => {
            format!("{words} [{}, {}]", figures::nanos(*low), figures::nanos(*high))
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
    let note = "The mark is the median, the bar its 95 % interval. Broken lines lead the reference through all rows."
        .to_owned();
    let axis = Axis::plain("", nanos);
    let picture = Picture::Ranges(Ranges { label, axis, series, rows: rows_drawn });
    Some(chart(title, note, picture, heads, table))
}
