//! Several cells over time: what became of each.

use super::dates::Dates;
use super::over_time::{COLUMNS, Latest, Trend};
use ipcperf_render::doc::{Chart, Column, Doc, Line, Picture, Row, Table, Tone};
use ipcperf_render::text::{counted, each_once, in_groups, join};
use ipcperf_render::{Format, Output, Style, svg};
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
            _ => doc(all, style),
        },
    )
}

fn doc(all: &[Trend], style: &Style) -> Doc {
    let of = |is_it: fn(Latest) -> bool| -> Vec<&Trend> {
        all.iter().filter(|trend| is_it(trend.latest())).collect()
    };
    let changed = of(|latest| matches!(latest, Latest::Changed(_)));
    let lost = of(|latest| matches!(latest, Latest::Lost(_)));
    let unchanged = of(|latest| latest == Latest::Unchanged);
    let others = of(|latest| matches!(latest, Latest::Absent | Latest::TooFew));
    let mut doc = Doc::new(headline(changed.len(), unchanged.len(), lost.len()));
    doc.title = "ipcperf trend".to_owned();
    doc.picture = picture(changed.iter().chain(&lost).chain(&unchanged).copied());
    let body = &mut doc.body;
    let row = |trend: &&Trend| {
        let tone = match trend.latest() {
            Latest::Changed(_) => Tone::Doubt,
            Latest::Lost(_) => Tone::Bad,
            _ => Tone::Plain,
        };
        let count = trend.compared().to_string();
        let [latest, before] = trend.figures();
        Row::new([trend.cell().to_owned(), trend.change(), latest, before, count]).tone(tone)
    };
    let columns = [
        Column::text("cell"),
        Column::text("change"),
        Column::number("latest"),
        Column::number("before"),
        Column::number("documents").rank(1),
    ];
    let (left, rest) = if style.verbose { (0, others.as_slice()) } else { (others.len(), &[][..]) };
    let listed = changed.iter().chain(&lost).chain(&unchanged).chain(rest);
    body.table(Table::new(columns, listed.map(row)));
    if left > 0 {
        let cells = counted(left as u64, "cell");
        let why = "with fewer than two figures that can be compared, or none in the latest result";
        body.say(Tone::Quiet, format!("Not listed: {cells} {why} (-v lists them)."));
    }
    if !all.is_empty() {
        body.say(Tone::Quiet, "--cell CELL shows one of them with its chart.");
    }
    let out = in_groups(each_once(all.iter().flat_map(Trend::other_results)));
    body.section("Left out", |body| {
        body.list(out.into_iter().map(|(why, names)| {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            Line::new(Tone::Doubt, format!("{}: {why}", join(&names)))
        }));
    });
    doc
}

/// Cells with a line of their own.
const DRAWN: usize = 6;

/// The first of some cells over time, each relative to its first figure; `None` where none has two, or a time is missing.
fn picture<'a>(all: impl Iterator<Item = &'a Trend>) -> Option<Chart> {
    let drawn: Vec<&Trend> = all.filter(|trend| trend.dated().nth(1).is_some()).collect();
    let (more, drawn) = (drawn.len().saturating_sub(DRAWN), &drawn[..drawn.len().min(DRAWN)]);
    let mut starts: Vec<&str> =
        drawn.iter().flat_map(|trend| trend.dated().map(|(start, _)| start)).collect();
    starts.sort_unstable();
    starts.dedup();
    let dates = Dates::of(&starts)?;
    let series = drawn.iter().map(|trend| {
        let first = trend.dated().next().map_or(1.0, |(_, first)| first);
        let point = |start: &&str| {
            let here = trend.dated().find(|(other, _)| other == start);
            let here = here.map(|(_, value)| value / first);
            svg::Point { here, ..svg::Point::default() }
        };
        svg::Series { label: trend.cell().to_owned(), points: starts.iter().map(point).collect() }
    });
    let title = "Figures relative to the first of each cell".to_owned();
    let chart = svg::Chart {
        title: title.clone(),
        x: dates.caption,
        unit: "times the first".to_owned(),
        heads: dates.heads,
        places: dates.places,
        series: series.collect(),
        log_y: true,
        ..svg::Chart::default()
    };
    let more = match more {
        0 => String::new(),
        more => format!(" {more} more are in the table."),
    };
    Some(Chart {
        title,
        note: format!(
            "Above 1 a time is longer, and a rate higher. Cells with a change come first.{more}"
        ),
        picture: Some(Picture::Chart(chart)),
        ..Chart::default()
    })
}

/// How many cells changed, and how many lost their figure.
fn headline(changed: usize, unchanged: usize, lost: usize) -> String {
    let cells = counted((changed + unchanged) as u64, "cell");
    let mut words = match (changed, unchanged) {
        (0, 0) => "No cell has two figures that can be compared".to_owned(),
        (0, _) => format!("No change is shown in {cells}"),
        (changed, _) => format!("A change is shown in {changed} of {cells}"),
    };
    if lost > 0 {
        let its = if lost == 1 { "its figure" } else { "their figures" };
        words += &format!("; {} lost {its}", counted(lost as u64, "cell"));
    }
    words
}
