//! Mechanisms, what they can do, and whether this host can run them.

use crate::results::csv;
use ipcperf_core::result::{MECHANISMS_SCHEMA, MechanismEntry, MechanismList, Origin};
use ipcperf_core::{BackPressure, Family, Knob, Limit, Missing, Payload, Reach, Spec};
use ipcperf_judge::figures;
use ipcperf_judge::figures::NONE;
use ipcperf_render::doc::{Column, Doc, Line, Row, Table, Tone};
use ipcperf_render::{Format, Output, Style, text};
use std::io;

#[cfg(test)]
mod tests;

/// One mechanism as this host sees it.
#[derive(Clone, Debug)]
pub(crate) struct ListRow {
    /// Its facts.
    pub spec: &'static Spec,
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// Whether it was tried here.
    pub tried: bool,
    /// Why it cannot run here; `None`: it can, or was not tried.
    pub missing: Option<Missing>,
    /// The largest message here, where there is a limit and it was tried.
    pub limit: Option<Limit>,
}

fn entry(row: &ListRow) -> MechanismEntry {
    let how = row.missing.as_ref().map(|missing| missing.how.clone());
    MechanismEntry {
        name: row.spec.full_name(),
        family: row.spec.family,
        default: row.spec.default,
        available: row.tried.then_some(row.missing.is_none()),
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
pub(crate) fn list(
    rows: &[ListRow],
    origin: &Origin,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mechanisms: Vec<MechanismEntry> = rows.iter().map(entry).collect();
    let document = MechanismList { schema: MECHANISMS_SCHEMA, origin: origin.clone(), mechanisms };
    Output { document: &document, rows: &document.mechanisms, columns: COLUMNS }.write(
        format,
        style,
        out,
        |_| doc(rows),
    )
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
    ("over", "/spec/over"),
    ("exchange", "/spec/exchange"),
    ("threads", "/spec/threads"),
];

/// The columns, with the rank by which they give way.
fn columns() -> Vec<Column> {
    vec![
        Column::text("mechanism"),
        Column::text("here"),
        Column::text("waits").rank(1),
        Column::text("carries").rank(2),
        Column::number("largest").rank(3),
        Column::text("meets").rank(4).legend(
            "how two processes get connected (a descriptor is passed, a process of the same user is known by its number, a \
             name is opened, a port is connected to)",
        ),
        Column::text("when full").rank(5),
        Column::text("peers").rank(7),
        Column::number("calls")
            .rank(6)
            .legend("system calls of both ends for one message when neither waits"),
        Column::number("copies").rank(8),
        Column::text("death")
            .rank(9)
            .legend("whether the other end notices that its peer was killed"),
    ]
}

fn cells(row: &ListRow) -> Vec<String> {
    let spec = row.spec;
    let here = match (row.tried, &row.missing) {
        (false, _) => NONE,
        (true, None) => "yes",
        (true, Some(_)) => "NO",
    };
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
        _ => "messages",
    }
}

pub(crate) const fn meets(reach: Reach) -> &'static str {
    match reach {
        Reach::Related => "by fd",
        Reach::SameUser => "by pid",
        Reach::Named => "by name",
        Reach::Network => "by port",
        other => other.name(),
    }
}

pub(crate) fn families(rows: &[ListRow]) -> impl Iterator<Item = (Family, Vec<&ListRow>)> {
    Family::ALL.iter().filter_map(move |family| {
        let members: Vec<&ListRow> = rows.iter().filter(|row| row.spec.family == *family).collect();
        (!members.is_empty()).then_some((*family, members))
    })
}

fn doc(rows: &[ListRow]) -> Doc {
    if rows.is_empty() {
        return Doc::new("No mechanism can do all of that.");
    }
    let available = rows.iter().filter(|row| row.missing.is_none()).count();
    let mut doc = Doc::new(if rows.iter().all(|row| row.tried) {
        format!("{available} of {} can run here.", rows.len())
    } else {
        format!("{} mechanisms and variants; none was tried.", rows.len())
    });
    let lines = families(rows).flat_map(|(family, members)| {
        members.into_iter().map(move |row| {
            let tone = if row.missing.is_some() { Tone::Quiet } else { Tone::Plain };
            Row::new(cells(row)).tone(tone).group(family.name())
        })
    });
    doc.body.table(Table { groups: "family".to_owned(), ..Table::new(columns(), lines) });
    doc.body.list(
        missing(rows)
            .into_iter()
            .map(|(what, names)| Line::new(Tone::Doubt, format!("{}: {what}", text::join(&names)))),
    );
    doc
}

/// What is missing, each reason once with all mechanisms that lack it.
fn missing(rows: &[ListRow]) -> Vec<(String, Vec<String>)> {
    let lacks = |row: &ListRow| Some((row.missing.as_ref()?.to_string(), row.spec.full_name()));
    text::in_groups(rows.iter().filter_map(lacks))
}
