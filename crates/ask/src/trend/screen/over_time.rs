//! One cell over the documents that have it.

use super::dates::Dates;
use super::figure::{CellFigure, DatedResult};
use crate::compare::screen::{by_metric, differing};
use crate::results::{csv, marks};
use ipcperf_core::result::Status;
use ipcperf_judge::figures::{NONE, moment, or_none};
use ipcperf_judge::{Differences, changes, figures, percent, session_floor};
use ipcperf_render::doc::{Cell, Chart, Column, Doc, Line, Picture, Place, Row, Table, Tone};
use ipcperf_render::text::{counted, in_groups, join};
use ipcperf_render::{Style, svg};
use serde::Serialize;

/// Fields that say which machine it was.
const MACHINE: [&str; 5] = ["host", "architecture", "cpu", "topology", "hypervisor"];

/// A program that is not optimised measures itself.
const OPTIMISATION: &str = "optimisation";

/// Why the value of a screen is not compared with others.
const NOT_CONFIRMED: &str = "measured only in the screen, not compared";

/// The cell in one document.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TrendPoint {
    cell: String,
    /// What the document is called.
    name: String,
    started_utc: String,
    grade: String,
    #[serde(flatten)]
    figure: CellFigure,
    /// What is another than in the document before it that counts: the kernel, the microcode.
    changed: Differences,
    /// Why it is not compared with the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// Columns that are always there in CSV.
pub(super) const COLUMNS: &[csv::Column] = &[
    ("cell", "/cell"),
    ("name", "/name"),
    ("started_utc", "/started_utc"),
    ("grade", "/grade"),
    ("metric", "/metric"),
    ("timed", "/timed"),
    ("status", "/status"),
    ("value", "/value"),
    ("low", "/ci95/0"),
    ("high", "/ci95/1"),
    ("left_out", "/left_out"),
    ("kernel_changed", "/changed/kernel"),
    ("microcode_changed", "/changed/microcode"),
];

/// A cell over documents, the oldest first.
#[derive(Clone, Debug)]
pub struct Trend {
    cell: String,
    /// Of the last document that counts.
    pub(super) machine: DatedResult,
    points: Vec<TrendPoint>,
    /// When the latest of all results was started, whether it has the cell or not. A copy of it has another name.
    newest: String,
}

/// What became of a cell in the latest result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Latest {
    /// Its figure relative to the one before it: a change is shown.
    Changed(f64),
    /// No change is shown.
    Unchanged,
    /// It had a figure, and has none now.
    Lost(Status),
    /// It had a figure, and the latest result does not have the cell, or cannot be compared.
    Absent,
    /// Fewer than two figures can be compared.
    TooFew,
}

/// What the facts have in a field.
fn fact<'a>(document: &'a DatedResult, field: &str) -> &'a str {
    let parts = document.facts.get(field).and_then(|parts| parts.values().next());
    parts.map_or("", String::as_str)
}

/// Why a document is not compared with the last one.
fn incomparable(
    document: &DatedResult,
    figure: &CellFigure,
    last: (&DatedResult, &CellFigure),
) -> Option<String> {
    let mut machine = changes(&document.facts, &last.0.facts);
    let build = machine.contains_key(OPTIMISATION);
    machine.retain(|name, _| MACHINE.contains(&name.as_str()));
    let told: Vec<String> = differing(&machine).collect();
    if !told.is_empty() {
        Some(format!("another machine ({})", told.join("; ")))
    } else if build {
        Some("a program that was optimised in another way".to_owned())
    } else if figure.not_confirmed {
        Some(NOT_CONFIRMED.to_owned())
    } else if figure.value.is_some() && figure.timed != last.1.timed {
        Some(format!("timed in another way: {}, not {}", figure.timed, last.1.timed))
    } else {
        None
    }
}

/// A cell over the results that have it, the oldest first. `newest` says when the latest of all results was started. Results
/// that cannot be compared with the last one that has a figure are left out, with the reason.
#[must_use]
pub fn trend(cell: &str, documents: Vec<(DatedResult, CellFigure)>, newest: &str) -> Trend {
    let counts = |figure: &CellFigure| figure.value.is_some() && !figure.not_confirmed;
    let last = documents.iter().rev().find(|(_, figure)| counts(figure));
    let last = last.or(documents.last()).cloned();
    let (last, reference) = last.unwrap_or_default();
    let mut before: Option<DatedResult> = None;
    let mut points: Vec<TrendPoint> = Vec::new();
    for (document, figure) in documents {
        let is_it = |point: &&TrendPoint| {
            let is_shown = point.left_out.is_none() && figure.value.is_some();
            is_shown && (&point.started_utc, &point.figure) == (&document.started_utc, &figure)
        };
        let same = points.iter().find(is_it).map(|one| format!("the same result as {}", one.name));
        let left_out = same.or_else(|| incomparable(&document, &figure, (&last, &reference)));
        let mut changed = Differences::new();
        if left_out.is_none() {
            changed = before.map_or(changed, |before| changes(&before.facts, &document.facts));
            before = Some(document.clone());
        }
        let DatedResult { name, started_utc, grade, .. } = document;
        let cell = cell.to_owned();
        points.push(TrendPoint { cell, name, started_utc, grade, figure, changed, left_out });
    }
    Trend { cell: cell.to_owned(), machine: last, points, newest: newest.to_owned() }
}

/// `25 % higher`.
fn side(ratio: f64) -> String {
    let side = if ratio > 1.0 { "higher" } else { "lower" };
    format!("{} {side}", percent((ratio - 1.0).abs()))
}

/// Signs between the least and the largest figure of a trend.
const WIDTH: usize = 24;

/// Where a figure and its interval lie between `least` and `most`: `   ==o===   `.
fn bar(figure: &CellFigure, [least, most]: [f64; 2]) -> String {
    let Some(value) = figure.value else { return String::new() };
    let at = |value: f64| {
        let share = if most > least { (value - least) / (most - least) } else { 0.5 };
        (share.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize
    };
    let [low, high] = figure.ci95.unwrap_or([value; 2]).map(at);
    let sign = |place| match place {
        place if place == at(value) => 'o',
        place if (low..=high).contains(&place) => '=',
        _ => ' ',
    };
    (0..WIDTH).map(sign).collect()
}

impl Trend {
    fn shown(&self) -> Vec<&TrendPoint> {
        self.points.iter().filter(|point| point.left_out.is_none()).collect()
    }

    fn table(&self) -> Table {
        let shown = self.shown();
        let of = |figure: &CellFigure| {
            let [low, high] = figure.ci95.map_or([None, None], |ci| ci.map(Some));
            [figure.value, low, high]
        };
        let all = || shown.iter().flat_map(|point| of(&point.figure)).flatten();
        let ends = [all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max)];
        let scale = match ends[0] <= ends[1] {
            true => ends.map(|end| by_metric(self.metric(), end)).join(" .. "),
            false => String::new(),
        };
        let row = |point: &&TrendPoint| {
            let figure = &point.figure;
            let mark = if figure.two_modes { "*" } else { "" };
            let value = match figure.value {
                Some(value) => by_metric(&figure.metric, value) + mark,
                None if figure.status == Status::Ok => NONE.to_owned(),
                None => figure.status.name().to_owned(),
            };
            let interval =
                figure.ci95.map(|ci| ci.map(|end| by_metric(&figure.metric, end)).join(" .. "));
            let changed = differing(&point.changed).map(|words| Line::new(Tone::Doubt, words));
            let cells = [
                point.name.clone(),
                moment(&point.started_utc),
                value,
                interval.unwrap_or_else(|| NONE.to_owned()),
                point.grade.clone(),
                bar(figure, ends),
            ];
            Row::new(cells.into_iter().map(Cell::from).chain([Cell(changed.collect())]))
        };
        let columns = [
            Column::text("document"),
            Column::text("started (UTC)").rank(2),
            Column::number(self.named()),
            Column::number("95 % interval").rank(4),
            Column::text("noise").rank(3),
            Column::text(scale).rank(1).place(Place::Characters),
            Column::text("changed").place(Place::Above),
        ];
        Table::new(columns, shown.iter().map(row))
    }

    /// The metric of the last document.
    fn metric(&self) -> &str {
        self.shown().last().map_or("", |point| point.figure.metric.as_str())
    }

    /// What the metric is called.
    fn named(&self) -> &'static str {
        if self.metric() == "rtt_ns.p50" { "p50" } else { "rate" }
    }

    /// Which machine, and how many documents.
    fn about(&self) -> String {
        let cpus = fact(&self.machine, "topology").split(',').next().unwrap_or_default();
        let machine = [fact(&self.machine, "cpu"), cpus, fact(&self.machine, "hypervisor")];
        let machine: Vec<&str> =
            machine.into_iter().filter(|word| !["", "none"].contains(word)).collect();
        let count = counted(self.shown().len() as u64, "document");
        format!("{count} of {}", machine.join(", "))
    }

    /// What two documents of this machine may differ by without a reason, and where.
    fn floor(&self) -> (f64, &'static str) {
        session_floor(!["", "none"].contains(&fact(&self.machine, "hypervisor")))
    }

    /// The cell.
    pub(super) fn cell(&self) -> &str {
        &self.cell
    }

    /// All documents that have it.
    pub(super) fn points(&self) -> &[TrendPoint] {
        &self.points
    }

    /// When each figure that is compared was measured, the oldest first.
    pub(super) fn dated(&self) -> impl Iterator<Item = (&str, f64)> {
        let points = self.points.iter().filter(|point| point.left_out.is_none());
        points.filter_map(|point| Some((point.started_utc.as_str(), point.figure.value?)))
    }

    /// How many of them are compared.
    pub(super) fn compared(&self) -> usize {
        self.shown().len()
    }

    /// The last two figures, the latest first.
    fn last_two(&self) -> [Option<(&TrendPoint, f64)>; 2] {
        let points = self.points.iter().rev().filter(|point| point.left_out.is_none());
        let mut figures = points.filter_map(|point| Some((point, point.figure.value?)));
        [figures.next(), figures.next()]
    }

    /// The last figure relative to the one before it, where a change is shown: both were measured on a quiet machine, their
    /// intervals lie apart, and they differ by more than two sessions do without a reason.
    pub(super) fn ratio(&self) -> Option<f64> {
        let [Some((last, value)), Some((before, old))] = self.last_two() else { return None };
        let is_newest = self.shown().last().is_some_and(|newest| newest.figure.value.is_some());
        let is_trusted = is_newest && [before, last].iter().all(|point| point.grade != "F");
        let ends = before.figure.ci95.zip(last.figure.ci95);
        let is_apart =
            ends.is_some_and(|([old_low, old_high], [low, high])| old_high < low || high < old_low);
        let factor = (value / old).max(old / value);
        (is_trusted && is_apart && factor > 1.0 + self.floor().0).then_some(value / old)
    }

    /// The figure in the latest result, and the one before it.
    pub(super) fn figures(&self) -> [String; 2] {
        let [last, before] = self.last_two();
        let now = match self.latest() {
            Latest::Lost(_) | Latest::Absent => [None, last],
            _ => [last, before],
        };
        now.map(|found| or_none(found, |(point, value)| by_metric(&point.figure.metric, value)))
    }

    /// What became of it in the latest result.
    pub(super) fn latest(&self) -> Latest {
        let [last, before] = self.last_two();
        let newest = self.shown().last().copied();
        let is_compared = newest.is_some_and(|point| point.started_utc == self.newest);
        match (newest, self.ratio()) {
            _ if last.is_none() => Latest::TooFew,
            _ if !is_compared => Latest::Absent,
            (Some(newest), _) if newest.figure.value.is_none() => {
                Latest::Lost(newest.figure.status)
            }
            (_, Some(ratio)) => Latest::Changed(ratio),
            _ if before.is_some() => Latest::Unchanged,
            _ => Latest::TooFew,
        }
    }

    /// The same in a few words.
    pub(super) fn change(&self) -> String {
        match self.latest() {
            Latest::Changed(ratio) => side(ratio),
            Latest::Unchanged => "no change shown".to_owned(),
            Latest::Lost(Status::Ok) => "no figure".to_owned(),
            Latest::Lost(status) => status.name().to_owned(),
            Latest::Absent => "not in the latest result, or not compared".to_owned(),
            Latest::TooFew => "not compared".to_owned(),
        }
    }

    /// Results that cannot be compared whatever the cell, with the reason. Values of screens differ from cell to cell.
    pub(super) fn other_results(&self) -> impl Iterator<Item = (&str, &str)> {
        self.points.iter().filter_map(|point| {
            let why = point.left_out.as_deref().filter(|why| *why != NOT_CONFIRMED)?;
            Some((why, point.name.as_str()))
        })
    }

    /// The last figure and the one before it, in a sentence.
    pub(super) fn step(&self) -> String {
        let shown = self.shown();
        let [last, before] = self.last_two();
        let Some((last, value)) = last else {
            return match self.points.iter().any(|point| point.figure.not_confirmed) {
                true => "measured only in screens".to_owned(),
                false => "no document has a figure".to_owned(),
            };
        };
        // What went before is no news of it.
        if let Some(newest) = shown.last().filter(|newest| newest.figure.value.is_none()) {
            return match newest.figure.status {
                Status::Ok => format!("{} has no figure", newest.name),
                status => format!("{} has no figure ({status})", newest.name),
            };
        }
        let words = |value| by_metric(&last.figure.metric, value);
        if self.latest() == Latest::Absent {
            return format!(
                "{} in {}; not in the latest result, or not compared",
                words(value),
                last.name
            );
        }
        let Some((before, old)) = before else {
            return format!("{} in {}, and nothing to compare it with", words(value), last.name);
        };
        let both = format!("{} after {}", words(value), words(old));
        match self.ratio() {
            Some(ratio) => format!("{} than in {}, {both}", side(ratio), before.name),
            None => format!("no change is shown since {}, {both}", before.name),
        }
    }

    /// Documents that are not compared, by their reasons.
    fn left_out(&self) -> Vec<String> {
        let points = self.points.iter();
        let out = points.filter_map(|point| Some((point.left_out.as_deref()?, point.name.clone())));
        let told = |(why, names): (&str, Vec<String>)| format!("{}: {why}", join(&names));
        in_groups(out).into_iter().map(told).collect()
    }

    /// What the differences are good for.
    fn caution(&self) -> Option<String> {
        let shown = self.shown();
        let [.., before, last] = shown.as_slice() else { return None };
        let (floor, place) = self.floor();
        Some(format!(
            "Two documents of {place} may differ by {} without a reason; ipcperf compare {} {} says what can be claimed.",
            percent(floor),
            before.name,
            last.name
        ))
    }

    pub(super) fn doc(&self, style: &Style) -> Doc {
        let shown = self.shown();
        let mut doc = Doc::new(format!("{}: {}", self.cell, self.step()));
        doc.title = format!("ipcperf trend: {}", self.cell);
        let body = &mut doc.body;
        if !shown.is_empty() {
            body.say(Tone::Plain, format!("{}.", self.about()));
        }
        if let Some(words) = self.caution() {
            body.say(Tone::Quiet, words);
        }
        if shown.iter().any(|point| point.figure.value.is_some()) {
            doc.picture = Some(Chart {
                title: self.cell.clone(),
                note: "A point is the figure of a document, the bar its 95 % interval. A dotted rule is a change of the machine or of ipcperf, from then on.".to_owned(),
                picture: Some(Picture::Chart(self.chart())),
                ..Chart::default()
            });
        }
        body.table(self.table());
        if shown.iter().any(|point| point.figure.two_modes) {
            body.say(Tone::Quiet, marks::ONE_OF_TWO);
        }
        let left_out = self.left_out();
        body.section("Left out", |body| {
            body.list(left_out.into_iter().map(|words| Line::new(Tone::Doubt, words)));
        });
        if style.is_whole() {
            let facts = self.machine.facts.iter().flat_map(|(field, parts)| {
                let name = |part: &str| [field, part].join(" ").trim_end().to_owned();
                parts.iter().map(move |(part, value)| (name(part), value.clone()))
            });
            body.section("Machine in the last document", |body| body.facts(facts));
        }
        doc
    }

    /// The figure over the documents, with a rule where something changed.
    fn chart(&self) -> svg::Chart {
        let shown = self.shown();
        let unit = match self.metric() {
            "rtt_ns.p50" => figures::NANOS,
            "bytes_per_second" => figures::BYTES_PER_SECOND,
            _ => figures::PER_SECOND,
        };
        let values = || shown.iter().filter_map(|point| point.figure.value);
        let least = values().fold(f64::INFINITY, f64::min);
        let (scale, name) = figures::suited(least, unit);
        let points = shown.iter().map(|point| svg::Point {
            here: point.figure.value.map(|value| value / scale),
            interval: point.figure.ci95.map(|ends| ends.map(|end| end / scale)),
            published: None,
        });
        let rules = shown.iter().enumerate().flat_map(|(at, point)| {
            point.changed.iter().map(move |(what, [_, now])| (at, format!("{what} {now}")))
        });
        let starts: Vec<&str> = shown.iter().map(|point| point.started_utc.as_str()).collect();
        let dates = Dates::of(&starts).unwrap_or_else(|| Dates {
            places: Vec::new(),
            heads: shown.iter().map(|point| point.name.clone()).collect(),
            caption: "documents, the oldest first".to_owned(),
        });
        svg::Chart {
            title: format!("{}: {}", self.cell, self.step()),
            x: dates.caption,
            unit: name.to_owned(),
            heads: dates.heads,
            places: dates.places,
            series: vec![svg::Series { label: self.named().to_owned(), points: points.collect() }],
            rules: rules.collect(),
            log_y: true,
            ..svg::Chart::default()
        }
    }
}
