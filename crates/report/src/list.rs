//! Mechanisms, what they can do, and whether this host can run them.

use crate::figures::{self, NONE};
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::{Format, Style};
use crate::{csv, json, markdown, text};
use ipcperf_core::result::{MECHANISMS_SCHEMA, MechanismEntry, MechanismList};
use ipcperf_core::{BackPressure, Family, Knob, Limit, Missing, Payload, Reach, Spec};
use std::io;

#[cfg(test)]
mod tests;

/// One mechanism as this host sees it.
#[derive(Clone, Debug)]
pub struct ListRow {
    /// Its facts.
    pub spec: &'static Spec,
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// Why it cannot run here; `None`: it can.
    pub missing: Option<Missing>,
    /// The largest message here, where there is a limit.
    pub limit: Option<Limit>,
}

fn entry(row: &ListRow) -> MechanismEntry {
    let how = row.missing.as_ref().map(|missing| missing.how.clone());
    MechanismEntry {
        name: row.spec.full_name(),
        family: row.spec.family,
        default: row.spec.default,
        available: row.missing.is_none(),
        missing: row.missing.as_ref().map(|missing| missing.what.clone()),
        how: how.filter(|how| !how.is_empty()),
        limit: row.limit,
        knobs: row.knobs,
        spec: row.spec,
    }
}

/// Writes a list of mechanisms in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub fn list(
    rows: &[ListRow],
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Table | Format::Html => table(rows, style, out),
        Format::Markdown => markdown_table(rows, style, out),
        Format::Json => {
            let mechanisms = rows.iter().map(entry).collect();
            json::document(&MechanismList { schema: MECHANISMS_SCHEMA, mechanisms }, out)
        }
        Format::Ndjson => rows.iter().try_for_each(|row| json::object(&entry(row), out)),
        Format::Csv => csv::render_values(rows.iter().map(entry), COLUMNS, out),
    }
}

const COLUMNS: &[csv::Column] = &[
    ("name", "/name"),
    ("family", "/family"),
    ("default", "/default"),
    ("available", "/available"),
    ("missing", "/missing"),
    ("how", "/how"),
    ("wait", "/spec/wait"),
    ("payload", "/spec/payload/kind"),
    ("direction", "/spec/direction"),
    ("reach", "/spec/reach"),
    ("producers", "/spec/producers"),
    ("consumers", "/spec/consumers"),
    ("back_pressure", "/spec/back_pressure"),
    ("on_close", "/spec/on_close"),
    ("on_death", "/spec/on_death"),
    ("on_restart", "/spec/on_restart"),
    ("descriptors", "/spec/descriptors"),
    ("memory", "/spec/memory"),
    ("copies", "/spec/copies"),
    ("send_calls", "/spec/syscalls/send"),
    ("recv_calls", "/spec/syscalls/recv"),
    ("summary", "/spec/summary"),
];

/// Columns, and which of them stand at the right edge.
const HEADS: &[(&str, bool)] = &[
    ("mechanism", false),
    ("here", false),
    ("waits", false),
    ("carries", false),
    ("largest", true),
    ("meets", false),
    ("when full", false),
    ("peers", false),
    ("calls", true),
    ("copies", true),
    ("death", false),
];

/// What columns mean whose heads are not enough.
const LEGEND: &[(&str, &str)] = &[
    (
        "meets",
        "how two processes come by it (passing a descriptor, knowing a process of the same user, opening a name, connecting to a port)",
    ),
    ("calls", "system calls of both ends for one message when nobody waits"),
    ("death", "whether the survivor is told when the other end is killed"),
];

/// Columns after the first two, the most wanted first.
const WANTED: &[usize] = &[2, 3, 4, 5, 6, 8, 7, 9, 10];

fn cells(row: &ListRow) -> Vec<String> {
    let spec = row.spec;
    let here = if row.missing.is_some() { "NO" } else { "yes" };
    let largest = match (&row.limit, spec.payload) {
        (Some(limit), _) => figures::size(limit.bytes as u64),
        (None, Payload::Wake { word }) => format!("{word} B"),
        (None, _) => NONE.to_owned(),
    };
    let calls = spec.syscalls.per_message().map_or_else(|| NONE.to_owned(), figures::count);
    vec![
        spec.full_name(),
        here.to_owned(),
        spec.wait.to_string(),
        carries(spec.payload).to_owned(),
        largest,
        meets(spec.reach).to_owned(),
        match spec.back_pressure {
            BackPressure::None => NONE.to_owned(),
            other => other.to_string(),
        },
        format!("{}-{}", spec.producers, spec.consumers),
        calls,
        spec.copies.to_string(),
        spec.on_death.to_string(),
    ]
}

pub(crate) const fn carries(payload: Payload) -> &'static str {
    match payload {
        Payload::Wake { .. } => "wake-ups",
        Payload::Stream => "bytes",
        Payload::Message { .. } => "messages",
    }
}

pub(crate) const fn meets(reach: Reach) -> &'static str {
    match reach {
        Reach::Related => "by fd",
        Reach::SameUser => "by pid",
        Reach::Named => "by name",
        Reach::Network => "by port",
    }
}

pub(crate) fn families(rows: &[ListRow]) -> impl Iterator<Item = (Family, Vec<&ListRow>)> {
    Family::ALL.iter().filter_map(move |family| {
        let members: Vec<&ListRow> = rows.iter().filter(|row| row.spec.family == *family).collect();
        (!members.is_empty()).then_some((*family, members))
    })
}

fn table(rows: &[ListRow], style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(out, style);
    let cells = families(rows).flat_map(|(_, members)| members).map(cells).collect();
    let mut grid = Grid::of(HEADS, cells);
    let room = style.width.saturating_sub(2);
    let chosen = grid.fit(&[0, 1], WANTED, 0, room, style.unicode);
    let (head, lines) = grid.lines(&chosen);
    let mut lines = lines.into_iter();
    page.row(Tone::Quiet, "  ", &head)?;
    for (family, members) in families(rows) {
        page.line(Tone::Title, family.name())?;
        for (row, line) in members.iter().zip(lines.by_ref()) {
            let tone = if row.missing.is_some() { Tone::Quiet } else { Tone::Plain };
            page.row(tone, "  ", &line)?;
        }
    }
    let available = rows.iter().filter(|row| row.missing.is_none()).count();
    page.blank()?;
    if rows.is_empty() {
        return page.paragraph(Tone::Plain, "", "No mechanism can do all of that.");
    }
    let mut words = format!("{available} of {} can run here.", rows.len());
    for (column, meaning) in LEGEND {
        if chosen.iter().any(|at| HEADS[*at].0 == *column) {
            words.push_str(&format!(" {column}: {meaning}."));
        }
    }
    page.paragraph(Tone::Quiet, "", &words)?;
    for (what, names) in missing(rows) {
        page.paragraph(Tone::Doubt, "- ", &format!("{}: {what}", text::join(&names)))?;
    }
    Ok(())
}

/// What is missing, each reason once with all mechanisms that lack it.
fn missing(rows: &[ListRow]) -> Vec<(String, Vec<String>)> {
    let lacks = |row: &ListRow| Some((row.missing.as_ref()?.to_string(), row.spec.full_name()));
    text::in_groups(rows.iter().filter_map(lacks))
}

fn markdown_table(rows: &[ListRow], style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let line = |row: &ListRow| [vec![row.spec.family.to_string()], cells(row)].concat();
    let heads = [&[("family", false)][..], HEADS].concat();
    let lines = families(rows).flat_map(|(_, members)| members).map(line).collect();
    markdown::grid(&Grid::of(&heads, lines), style, out)?;
    let missing = missing(rows);
    if !missing.is_empty() {
        writeln!(out)?;
    }
    for (what, names) in missing {
        let item = format!("{}: {what}", text::join(&names));
        writeln!(out, "- {}", markdown::escape(&item, style.unicode))?;
    }
    Ok(())
}
