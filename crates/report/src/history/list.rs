//! The list of kept documents.

use super::summary::Summary;
use crate::figures::NONE;
use crate::text::counted;
use crate::{Format, Style, csv};
use ipcperf_core::units::format_size;
use ipcperf_render::Output;
use ipcperf_render::doc::{Column, Doc, Line, Row, Table, Tone};
use serde::Serialize;
use std::io::{self, Write};

/// A document that is kept.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// What it is called: `@nightly~1`.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Length of the file.
    pub bytes: u64,
    /// What is known of it.
    #[serde(flatten)]
    pub summary: Summary,
}

/// Columns that are always there in CSV.
const COLUMNS: &[csv::Column] = &[
    ("name", "/name"),
    ("started_utc", "/started_utc"),
    ("command", "/command"),
    ("measured", "/measured"),
    ("planned", "/planned"),
    ("grade", "/grade"),
    ("kernel", "/kernel"),
    ("tool", "/tool"),
    ("bytes", "/bytes"),
    ("file", "/file"),
];

/// `2026-11-20 02:00:05` of a time as the document has it.
pub(super) fn moment(utc: &str) -> String {
    if utc.is_empty() { NONE.to_owned() } else { utc.replace('T', " ").replace('Z', "") }
}

fn row(one: &Kept) -> Row {
    let Summary { started_utc, command, measured, planned, grade, kernel, tool, .. } = &one.summary;
    let or_none = |text: &String| if text.is_empty() { NONE.to_owned() } else { text.clone() };
    let stopped = if one.summary.interrupted { " (stopped)" } else { "" };
    let what = match &one.summary.problem {
        Some(_) => "unreadable".to_owned(),
        None => format!("{command}{stopped}"),
    };
    let tone = if one.summary.problem.is_some() { Tone::Bad } else { Tone::Plain };
    let cells = [
        one.name.clone(),
        moment(started_utc),
        what,
        format!("{measured}/{planned}"),
        or_none(grade),
        or_none(kernel),
        or_none(tool),
        format_size(one.bytes),
    ];
    Row::new(cells).tone(tone)
}

/// Writes the list of these documents, which are kept in `place`.
///
/// # Errors
/// `out` refuses the bytes.
pub fn kept(
    all: &[Kept],
    place: &str,
    format: Format,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    Output { document: &all, rows: all, columns: COLUMNS }
        .write(format, style, out, |_| doc(all, place))
}

fn doc(all: &[Kept], place: &str) -> Doc {
    let count = counted(all.len() as u64, "document");
    let mut doc = Doc::new(format!("{count} in {place}"));
    if all.is_empty() {
        let how = "'ipcperf run ... --keep NAME' keeps one, and so do 'survey' and 'replicate'.";
        doc.body.say(Tone::Plain, how);
    }
    let columns = [
        Column::text("document"),
        Column::text("started (UTC)"),
        Column::text("what").rank(1),
        Column::number("measured").rank(4),
        Column::text("noise").rank(2),
        Column::text("kernel").rank(3),
        Column::text("ipcperf").rank(5),
        Column::number("size").rank(6),
    ];
    doc.body.table(Table::new(columns, all.iter().map(row)));
    let unreadable = all.iter().filter_map(|one| Some((&one.name, one.summary.problem.as_ref()?)));
    doc.body
        .list(unreadable.map(|(name, problem)| Line::new(Tone::Bad, format!("{name}: {problem}"))));
    doc
}
