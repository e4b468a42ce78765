//! A search for where one of two arms overtakes the other: its points, and what can be said of them.

use crate::results::marks;
use crate::results::table::{grade_words, masthead, reasons};
use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_core::units::format_duration;
use ipcperf_core::{Axis, Figure};
use ipcperf_judge::figures::NONE;
use ipcperf_judge::{Point, Search, between, figures, times};
use ipcperf_kit::document::Screen;
use ipcperf_render::doc::{Column, Doc, Line, Row, Table, Tone};
use ipcperf_render::text::{counted, join};
use ipcperf_stats::Arm;
use std::ops::Deref;

#[cfg(test)]
pub(crate) mod tests;

/// A place on an axis: `4 KiB`, `8 clients`, `10.0 k/s`, `100us`.
fn place(axis: Axis, at: u64) -> String {
    match axis {
        Axis::Size => figures::size(at),
        Axis::Conns => counted(at, "client"),
        Axis::Rate => figures::per_second(at as f64),
        Axis::Think => format_duration(at),
    }
}

/// What the places of an axis are called, and the column of them.
const fn nouns(axis: Axis) -> (&'static str, &'static str) {
    match axis {
        Axis::Size => ("size", "size"),
        Axis::Conns => ("client count", "clients"),
        Axis::Rate => ("rate", "rate"),
        Axis::Think => ("pause", "pause"),
    }
}

/// A search in words.
struct SearchWords<'a>(Search<'a>);

impl<'a> Deref for SearchWords<'a> {
    type Target = Search<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl SearchWords<'_> {
    fn arm(&self, arm: Arm) -> &str {
        match arm {
            Arm::A => &self.asked.a,
            Arm::B => &self.asked.b,
        }
    }

    fn place(&self, at: u64) -> String {
        place(self.asked.over, at)
    }

    /// `8 sizes from 64 B to 1 MiB`.
    fn range(&self) -> String {
        let (noun, _) = nouns(self.asked.over);
        let many = counted(self.points.len() as u64, noun);
        match self.points.as_slice() {
            [first, .., last] => {
                format!("{many} from {} to {}", self.place(first.at), self.place(last.at))
            }
            _ => many,
        }
    }

    /// Of those who certainly win at some points: `1.2x to 5.1x`.
    fn margin(&self) -> String {
        let certain = self.points.iter().filter(|point| point.winner.is_some());
        let factors: Vec<f64> = certain.filter_map(Point::factor).collect();
        let ends =
            [factors.iter().copied().reduce(f64::min), factors.iter().copied().reduce(f64::max)];
        match ends {
            [Some(least), Some(most)] if figures::times(least) != figures::times(most) => {
                format!("by {} to {}", figures::times(least), figures::times(most))
            }
            [Some(only), _] => format!("by {}", figures::times(only)),
            _ => String::new(),
        }
    }

    /// The answer, in a sentence or two.
    fn sentences(&self) -> Vec<String> {
        let changes = self.changes.as_slice();
        let (a, b) = (self.arm(Arm::A), self.arm(Arm::B));
        let (noun, _) = nouns(self.asked.over);
        let is_between = |at: u64| changes.iter().any(|one| one.last < at && at < one.first);
        let open = self.points.iter().filter(|one| one.winner.is_none() && !is_between(one.at));
        let open: Vec<String> = open.map(|one| self.place(one.at)).collect();
        let certain = self.points.iter().find_map(|point| point.winner);
        let mut told = vec![match (changes, certain) {
            _ if self.points.is_empty() => format!("No {noun} was measured for both {a} and {b}."),
            (_, None) => {
                let is_doubted = self.points.iter().all(|point| point.doubt.is_some());
                let of_first = self.points.first().and_then(|point| point.doubt.as_deref());
                let doubt = self.doubt.as_deref().or(of_first.filter(|_| is_doubted));
                let why = doubt.unwrap_or("no difference is certain; more --rounds may show one");
                format!("Cannot tell where {a} or {b} is better at {}: {why}.", self.range())
            }
            ([], Some(winner)) => {
                let only = if open.is_empty() { "at each of" } else { "wherever it is certain at" };
                format!(
                    "No crossover: {} is better than {} {only} {}, {}.",
                    self.arm(winner),
                    self.arm(other(winner)),
                    self.range(),
                    self.margin()
                )
            }
            ([change], _) => {
                let (to, from) = (self.arm(change.to), self.arm(other(change.to)));
                format!(
                    "{to} overtakes {from} between {} and {}: {from} is certainly better at the one, {to} at the other.",
                    self.place(change.last),
                    self.place(change.first)
                )
            }
            (several, _) => {
                let parts: Vec<String> = several
                    .iter()
                    .map(|change| {
                        let (last, first) = (self.place(change.last), self.place(change.first));
                        format!("{} overtakes between {last} and {first}", self.arm(change.to))
                    })
                    .collect();
                format!(
                    "No single {noun} divides {a} and {b}, which change places {} times: {}.",
                    several.len(),
                    join(&parts)
                )
            }
        }];
        if certain.is_some() && !open.is_empty() {
            told.push(format!("It cannot be told at {}.", join(&open)));
        }
        told
    }

    fn table(&self) -> Table {
        let figure = |cell: &Cell| {
            let speaks = cell.key.pattern.facts().figure;
            let Some(metric) = cell.figure() else { return NONE.to_owned() };
            let mark = if metric.modes.len() > 1 { "*" } else { "" };
            let words = |value| figures::of(speaks, value, cell.key.size_bytes) + mark;
            figures::or_none(metric.value, words)
        };
        let row = |point: &Point<'_>| {
            let ratio = point.ratio.map_or_else(
                || NONE.to_owned(),
                |ratio| {
                    let interval = ratio.ci95.map(|ends| format!(" {}", between(ends)));
                    times(ratio.value) + &interval.unwrap_or_default()
                },
            );
            Row::new([
                self.place(point.at),
                figure(point.a),
                figure(point.b),
                ratio,
                point.winner.map_or_else(|| NONE.to_owned(), |arm| self.arm(arm).to_owned()),
            ])
        };
        let (_, column) = nouns(self.asked.over);
        let columns = [
            Column::number(column),
            Column::number(&self.asked.a).rank(1),
            Column::number(&self.asked.b).rank(2),
            Column::number("B/A within rounds (95 %)"),
            Column::text("certainly better"),
        ];
        Table { flexible: 4, ..Table::new(columns, self.points.iter().map(row)) }
    }
}

fn other(arm: Arm) -> Arm {
    match arm {
        Arm::A => Arm::B,
        Arm::B => Arm::A,
    }
}

/// The heads of the points of a search.
#[cfg(test)]
pub(crate) fn heads(set: &ResultSet) -> Vec<String> {
    let columns =
        Search::of(set).map(SearchWords).map(|found| found.table().columns).unwrap_or_default();
    columns.into_iter().map(|column| column.head).collect()
}

/// The screen of a search.
pub(crate) const SCREEN: Screen = Screen::new(|set, _, _| doc(set));

/// The answer of a search, and its points; `None` of another document.
fn doc(set: &ResultSet) -> Option<Doc> {
    let found = Search::of(set).map(SearchWords)?;
    let mut sentences = found.sentences().into_iter();
    let mut doc = Doc::new(sentences.next().unwrap_or_default());
    let body = &mut doc.body;
    body.lines(sentences.map(Line::from));
    body.lines(masthead(set).into_iter().map(|words| Line::new(Tone::Quiet, words)));
    body.say(Tone::Plain, grade_words(&set.noise));
    let Some(point) = found.points.first() else { return Some(doc) };
    let key = &point.a.key;
    let what = match key.pattern.facts().figure {
        Figure::Time => "p50",
        Figure::Throughput | Figure::Requests => "rate",
    };
    let title = format!(
        "{what} of {}, {} (A) and {} (B), {}",
        key.pattern, found.asked.a, found.asked.b, key.placement
    );
    body.section(title, |body| {
        let table = found.table();
        let cells = table.rows.iter().flat_map(|row| &row.cells);
        let has_modes = cells.map(|cell| cell.text("")).any(|cell| cell.ends_with('*'));
        body.table(table);
        if has_modes {
            body.say(Tone::Quiet, marks::ONE_OF_TWO);
        }
        body.list(reasons(set).into_iter().map(|line| Line { tone: Tone::Doubt, ..line }));
    });
    Some(doc)
}
