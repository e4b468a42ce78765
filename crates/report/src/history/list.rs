//! The list of kept documents.

use super::rows;
use super::summary::Summary;
use crate::csv;
use crate::figures::NONE;
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::text::counted;
use crate::{Format, Style};
use ipcperf_core::units::format_size;
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

/// Columns of the list, and which of them are numbers.
const HEADS: [(&str, bool); 8] = [
    ("document", false),
    ("started (UTC)", false),
    ("what", false),
    ("measured", true),
    ("noise", false),
    ("kernel", false),
    ("ipcperf", false),
    ("size", true),
];

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

fn row(one: &Kept) -> Vec<String> {
    let Summary { started_utc, command, measured, planned, grade, kernel, tool, .. } = &one.summary;
    let or_none = |text: &String| if text.is_empty() { NONE.to_owned() } else { text.clone() };
    let stopped = if one.summary.interrupted { " (stopped)" } else { "" };
    let what = match &one.summary.problem {
        Some(_) => "unreadable".to_owned(),
        None => format!("{command}{stopped}"),
    };
    vec![
        one.name.clone(),
        moment(started_utc),
        what,
        format!("{measured}/{planned}"),
        or_none(grade),
        or_none(kernel),
        or_none(tool),
        format_size(one.bytes),
    ]
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
    let mut grid = Grid::of(&HEADS, all.iter().map(row).collect());
    if rows(all, COLUMNS, &grid, (format, style), out)?.is_some() {
        return Ok(());
    }
    let mut page = Page::new(out, style);
    let count = counted(all.len() as u64, "document");
    page.paragraph(Tone::Title, "", &format!("{count} in {place}"))?;
    if all.is_empty() {
        let how = "'ipcperf run ... --keep NAME' keeps one, and so do 'survey' and 'replicate'.";
        return page.paragraph(Tone::Plain, "", how);
    }
    let columns = grid.fit(&[0, 1], &[2, 4, 5, 3, 6, 7], 0, style.width, style.unicode);
    let (heads, lines) = grid.lines(&columns);
    page.row(Tone::Quiet, "", &heads)?;
    for (line, one) in lines.iter().zip(all) {
        let tone = if one.summary.problem.is_some() { Tone::Bad } else { Tone::Plain };
        page.row(tone, "", line)?;
    }
    let unreadable = all.iter().filter_map(|one| Some((&one.name, one.summary.problem.as_ref()?)));
    for (name, problem) in unreadable {
        page.paragraph(Tone::Bad, "", &format!("{name}: {problem}"))?;
    }
    Ok(())
}
