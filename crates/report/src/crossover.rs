//! A search for where one of two arms overtakes the other: its points, and what can be said of them.

use crate::Specs;
use crate::Style;
use crate::compare::{self, Reading, between, distrust, name, pair, times};
use crate::figures::{self, NONE};
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::table::{grade_words, masthead, reasons};
use crate::text::{counted, join};
use crate::words;
use ipcperf_core::result::{Cell, Crossover, ResultSet, Status};
use ipcperf_core::units::format_duration;
use ipcperf_core::{Axis, Figure};
use ipcperf_stats::{Arm, Evidence, Looked, changes, winner};
use std::io;

#[cfg(test)]
pub(crate) mod tests;

/// What was found at one point.
struct Point<'a> {
    at: u64,
    a: &'a Cell,
    b: &'a Cell,
    /// What the ratio B over A rests on.
    evidence: Option<Evidence>,
    /// Why the figures may not be believed.
    doubt: Option<String>,
    /// Who certainly wins.
    winner: Option<Arm>,
}

impl Point<'_> {
    /// How many times as good the one is that wins.
    fn factor(&self) -> Option<f64> {
        let ratio = self.evidence.as_ref().map(Evidence::ratio)?;
        Some(ratio.max(1.0 / ratio))
    }
}

/// All that a search has found.
struct Found<'a> {
    asked: &'a Crossover,
    /// In ascending order; those that were measured.
    points: Vec<Point<'a>>,
    /// Why nothing of it may be believed.
    doubt: Option<String>,
}

/// What a document says of a search, if it is of one.
fn found(set: &ResultSet) -> Option<Found<'_>> {
    let asked = set.invocation.plan.crossover.as_ref()?;
    let doubt = distrust("this run", &[set]);
    let is_measured = |cell: &&Cell| cell.status == Status::Ok && cell.verified;
    let measured: Vec<(String, &Cell)> =
        set.cells.iter().filter(is_measured).map(|cell| (name(cell), cell)).collect();
    let at = |cell: &Cell| cell.key.place_on(asked.over);
    let mut points: Vec<Point<'_>> = measured
        .iter()
        .filter(|(arm, _)| *arm == asked.a)
        .filter_map(|(_, a)| {
            let is_its_b = |(arm, b): &&(String, &Cell)| *arm == asked.b && at(b) == at(a);
            let (_, b) = measured.iter().find(is_its_b)?;
            let pair = pair(a, b);
            let evidence = pair.evidence.filter(|_| pair.doubt.is_none());
            let more_is_better = Reading::Own.more_is_better(&a.key);
            let told = |evidence| winner(evidence, more_is_better, asked.most_points);
            let winner = evidence.as_ref().filter(|_| doubt.is_none()).and_then(told);
            Some(Point { at: at(a)?, a, b, evidence, doubt: pair.doubt, winner })
        })
        .collect();
    points.sort_by_key(|point| point.at);
    points.dedup_by_key(|point| point.at);
    Some(Found { asked, points, doubt })
}

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

impl Found<'_> {
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
        let looked: Vec<Looked> =
            self.points.iter().map(|point| (point.at, point.winner)).collect();
        let changes = changes(&looked);
        let (a, b) = (self.arm(Arm::A), self.arm(Arm::B));
        let (noun, _) = nouns(self.asked.over);
        let is_between = |at: u64| changes.iter().any(|one| one.last < at && at < one.first);
        let open = looked.iter().filter(|(at, winner)| winner.is_none() && !is_between(*at));
        let open: Vec<String> = open.map(|(at, _)| self.place(*at)).collect();
        let certain = self.points.iter().find_map(|point| point.winner);
        let mut told = vec![match (changes.as_slice(), certain) {
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

    fn grid(&self) -> Grid {
        let figure = |cell: &Cell| {
            let speaks = cell.key.pattern.facts().figure;
            let Some(metric) = cell.figure() else { return NONE.to_owned() };
            let mark = if metric.modes.len() > 1 { "*" } else { "" };
            let words = |value| figures::of(speaks, value, cell.key.size_bytes) + mark;
            figures::or_none(metric.value, words)
        };
        let row = |point: &Point<'_>| {
            let evidence = point.evidence.as_ref();
            let interval = evidence.and_then(|one| one.interval(0.95));
            let interval = interval.map(|one| format!(" {}", between([one.low, one.high])));
            let ratio = evidence.map_or_else(|| NONE.to_owned(), |one| times(one.ratio()));
            vec![
                self.place(point.at),
                figure(point.a),
                figure(point.b),
                ratio + &interval.unwrap_or_default(),
                point.winner.map_or_else(|| NONE.to_owned(), |arm| self.arm(arm).to_owned()),
            ]
        };
        let (_, column) = nouns(self.asked.over);
        let heads =
            [column, &self.asked.a, &self.asked.b, "B/A within rounds (95 %)", "certainly better"];
        Grid {
            heads: heads.map(ToOwned::to_owned).to_vec(),
            right: vec![true, true, true, true, false],
            rows: self.points.iter().map(row).collect(),
        }
    }
}

fn other(arm: Arm) -> Arm {
    match arm {
        Arm::A => Arm::B,
        Arm::B => Arm::A,
    }
}

/// The table of the points of a search.
#[cfg(test)]
pub(crate) fn grid(set: &ResultSet) -> Option<Grid> {
    found(set).map(|found| found.grid())
}

/// What a document says of the search it is of; `None` if it is of none.
fn sentences(set: &ResultSet) -> Option<Vec<String>> {
    found(set).map(|found| found.sentences())
}

/// What a run says in sentences: what its search found, or else how its cells differ.
pub(crate) fn answer(set: &ResultSet, specs: &Specs) -> Vec<String> {
    sentences(set).unwrap_or_else(|| compare::sentences(set, specs))
}

/// Whether a set is shown by its points: a search, unless all of it was asked for.
pub(crate) fn is_one_screen(set: &ResultSet, style: &Style) -> bool {
    set.invocation.plan.crossover.is_some() && !style.is_whole()
}

/// The points as a table, and the answer.
pub(crate) fn render(set: &ResultSet, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let Some(found) = found(set) else { return Ok(()) };
    let mut page = Page::new(out, style);
    for line in masthead(set) {
        page.paragraph(Tone::Quiet, "", &line)?;
    }
    page.paragraph(Tone::Plain, "", &grade_words(&set.noise))?;
    page.blank()?;
    if let Some(point) = found.points.first() {
        let key = &point.a.key;
        let what = match key.pattern.facts().figure {
            Figure::Time => "p50",
            Figure::Throughput | Figure::Requests => "rate",
        };
        let title = format!(
            "{what} of {}, {} (A) and {} (B), {}",
            key.pattern, found.asked.a, found.asked.b, key.placement
        );
        page.paragraph(Tone::Title, "", &title)?;
    }
    let mut grid = found.grid();
    let columns = grid.fit(&[0, 3, 4], &[1, 2], 4, style.width, style.unicode);
    let (heads, lines) = grid.lines(&columns);
    if !lines.is_empty() {
        page.row(Tone::Quiet, "", &heads)?;
    }
    lines.iter().try_for_each(|row| page.row(Tone::Plain, "", row))?;
    if grid.rows.iter().flatten().any(|cell| cell.ends_with('*')) {
        page.paragraph(Tone::Quiet, "", words::ONE_OF_TWO)?;
    }
    for (_, reason) in reasons(set) {
        page.paragraph(Tone::Doubt, "- ", &reason)?;
    }
    page.blank()?;
    for sentence in found.sentences() {
        page.paragraph(Tone::Plain, "", &sentence)?;
    }
    Ok(())
}
