//! Several cells over time: what became of each.

use super::over_time::{COLUMNS, Trend};
use crate::text::counted;
use crate::{Format, Style};
use ipcperf_render::Output;
use ipcperf_render::doc::{Column, Doc, Row, Table, Tone};
use std::io::{self, Write};

/// Writes cells over time: one with its chart, several as a list in which those that changed come first. Rows (CSV, JSON)
/// are the points of all of them.
///
/// # Errors
/// `out` refuses the bytes.
pub fn trends(all: &[Trend], format: Format, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let points: Vec<_> = all.iter().flat_map(Trend::points).collect();
    Output { document: &points, rows: &points, columns: COLUMNS }.write(
        format,
        style,
        out,
        |style| match all {
            [one] => one.doc(style),
            _ => doc(all),
        },
    )
}

fn doc(all: &[Trend]) -> Doc {
    let (changed, others): (Vec<_>, Vec<_>) = all.iter().partition(|trend| trend.ratio().is_some());
    let cells = counted(all.len() as u64, "cell");
    let mut doc = Doc::new(match changed.as_slice() {
        [] => format!("No change of {cells} is shown"),
        some => format!("A change of {} of {cells} is shown", some.len()),
    });
    doc.title = "ipcperf trend".to_owned();
    let row = |trend: &&Trend| {
        let tone = if trend.ratio().is_some() { Tone::Doubt } else { Tone::Plain };
        let count = trend.compared().to_string();
        let [latest, before] = trend.figures();
        Row::new([trend.cell().to_owned(), count, before, latest, trend.change()]).tone(tone)
    };
    let columns = [
        Column::text("cell"),
        Column::number("documents").rank(1),
        Column::number("before"),
        Column::number("latest"),
        Column::text("change"),
    ];
    doc.body.table(Table::new(columns, changed.iter().chain(&others).map(row)));
    doc.body.say(Tone::Quiet, "--cell CELL shows one of them with its chart.");
    doc
}
