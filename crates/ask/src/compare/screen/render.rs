//! A comparison for people and programs: the verdicts, a picture of every ratio, and what each rests on.

use super::in_a_sentence;
use super::words::{
    Weight, alone, at_least, basis, beside, briefly, cells, differing, figure, heads, moved,
    own_reason, paired, ratio, ratio_head, rests_on, shared_reason, tally, verdict,
};
use crate::results::csv;
use crate::results::document::put_below;
use crate::results::pictures::axis_of;
use crate::results::sentence::sides;
use crate::results::table::ON_A_SCREEN;
use ipcperf_core::result::ResultSet;
use ipcperf_core::result::{
    COMPARISON_SCHEMA, CellComparison, Comparison, Difference, FigureComparison, Origin, Side,
};
use ipcperf_judge::{LoadError, damaged, times};
use ipcperf_kit::document::{Document, Show, interrupted_after};
use ipcperf_render::doc::{Cell, Chart, Column, Doc, Layout, Line, Picture, Row, Table, Tone};
use ipcperf_render::svg::{Axis, Strip, StripRow};
use ipcperf_render::text::{counted, each_once, join};
use ipcperf_render::{Format, Output, Style};
use std::io::{self, Write};

/// What `compare` writes, as a document that is read and shown.
#[derive(Debug)]
pub struct ComparisonDocument(pub Comparison);

impl Document for ComparisonDocument {
    fn schema() -> &'static str {
        COMPARISON_SCHEMA
    }

    fn load(text: &str) -> Result<Self, LoadError> {
        let read = serde_json::from_str(text).map_err(|error| damaged(&error, text));
        read.map(Self)
    }

    fn command(&self) -> &'static str {
        "compare"
    }

    fn origin(&self) -> &Origin {
        &self.0.origin
    }

    fn is_interrupted(&self) -> bool {
        self.0.interrupted
    }

    fn stopped(&self) -> Option<String> {
        stopped(&self.0)
    }

    fn show(&self, show: &Show<'_>, out: &mut dyn Write) -> io::Result<()> {
        comparison(&self.0, show.format, show.style, out)
    }
}

/// That a comparison or one of its sides was stopped, and how far it came.
fn stopped(document: &Comparison) -> Option<String> {
    if document.interrupted {
        let rounds = document.comparisons.iter().flat_map(|one| &one.primary.rounds);
        let planned = document.plan.as_ref().map_or(0, |plan| plan.rounds);
        return Some(interrupted_after(rounds.max().copied().unwrap_or(0), planned));
    }
    let sides = [('A', &document.a), ('B', &document.b)];
    let stopped = sides.into_iter().filter(|(_, side)| side.interrupted > 0);
    let of = |(letter, side): (char, &Side)| {
        format!("{} of {} of {letter}", side.interrupted, side.names.len())
    };
    let stopped: Vec<String> = stopped.map(of).collect();
    (!stopped.is_empty()).then(|| {
        let sides = stopped.join(" and ");
        format!("INTERRUPTED before their plan was done: the runs of {sides}.")
    })
}

/// Writes a comparison in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub fn comparison(
    document: &Comparison,
    format: Format,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if format == Format::Csv {
        return csv(document, out);
    }
    Output { document, rows: &document.comparisons, columns: &[] }.write(
        format,
        style,
        out,
        |style| doc(document, &style.whole(format)),
    )
}

/// Writes a page of two documents: the second next to the first, then all of the second.
///
/// # Errors
/// `out` refuses the bytes.
pub fn before_and_after(
    document: &Comparison,
    after: &ResultSet,
    show: &Show<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = Style::default().within(Format::Html);
    let mut both = doc(document, &style);
    put_below(&mut both, after, &Show { style: &style, ..*show });
    both.write(Format::Html, &style, out)
}

fn tone(verdict: Difference) -> Tone {
    match verdict {
        Difference::Faster => Tone::Best,
        Difference::Slower => Tone::Bad,
        Difference::None => Tone::Plain,
        Difference::CannotTell => Tone::Doubt,
    }
}

/// Where the text beside a verdict begins: after the longest.
const TEXT: usize = 15;

/// A comparison for people.
pub(crate) fn doc(document: &Comparison, style: &Style) -> Doc {
    let tally_words = format!("B vs A: {}", tally(&document.comparisons));
    let sentence = in_a_sentence(document);
    // A page begins with the answer; the last lines of a screen are what is copied.
    let (headline, first, last) = match sentence {
        // A reason for having no verdict does not make a heading.
        Some((answer, Some(why))) if style.pictures => (answer, Some(format!("{why}.")), None),
        Some((answer, None)) if style.pictures => {
            (answer, (document.comparisons.len() != 1).then_some(tally_words), None)
        }
        Some((answer, Some(why))) => (tally_words, None, Some(format!("{answer}: {why}."))),
        Some((answer, None)) => (tally_words, None, Some(format!("{answer}."))),
        None => (tally_words, None, None),
    };
    let mut doc = Doc::new(headline);
    doc.stopped = stopped(document);
    let [a, b] = [&document.a, &document.b].map(|side| side.names.join(", "));
    let command = if document.programs.is_some() { "predict" } else { "compare" };
    doc.title = format!("ipcperf {command}: {b} vs {a}");
    let is_empty = document.comparisons.is_empty() && document.not_confirmed.is_empty();
    if is_empty && !style.is_whole() && doc.stopped.is_none() {
        let cells = |only: &[String]| counted(only.len() as u64, "cell");
        let [a_only, b_only] = [&document.only_a, &document.only_b].map(|only| cells(only));
        doc.headline =
            format!("Nothing to compare: no cell of {a} ({a_only}) is in {b} ({b_only}): -v");
        return doc;
    }
    if style.pictures {
        doc.picture = both_sides(document).or_else(|| ratios(document));
        doc.foot = foot(document);
    }
    let body = &mut doc.body;
    body.lines(first.map(Line::from));
    let (basis, hidden) = match style.is_whole() {
        true => (rests_on(document).into_iter().map(|(_, words)| words).collect(), 0),
        false => in_short(rests_on(document)),
    };
    body.list(basis);
    let (shown, left) = shown(document, style);
    let shared = shared_reason(document);
    let [tail, cpu] = heads(document).map(|(head, _)| head);
    let columns = [
        Column::text("cell"),
        Column::number("A"),
        Column::number("B"),
        Column::number(ratio_head(document)),
        Column::text("verdict"),
        Column::text(tail),
        Column::text(cpu),
        Column::text("rests on"),
    ];
    let detail = match shown.len() {
        _ if style.is_whole() => Detail::All,
        ..=CLOSE => Detail::Figures,
        _ => Detail::Ratio,
    };
    let rows = shown.into_iter().map(|cell| row(document, cell, shared, detail));
    body.table(Table::new(columns, rows).layout(Layout::Cards));
    if let Some(left) = left {
        body.space();
        body.say(Tone::Quiet, left);
    }
    for (letter, only) in alone(document) {
        body.fold(format!("Only in {letter}: {}", only.len()), |body| {
            body.list(only.iter().cloned());
        });
    }
    if let Some(words) = not_confirmed(document) {
        body.space();
        body.say(Tone::Quiet, words);
    }
    if !style.is_whole() && !document.comparisons.is_empty() {
        let more = (hidden > 0).then(|| format!("{} on A and B", counted(hidden, "more line")));
        let parts: Vec<String> =
            more.into_iter().chain(["the basis of each verdict".to_owned()]).collect();
        body.space();
        body.say(Tone::Quiet, format!("{}: -v", join(&parts)));
    }
    if let Some(words) = last {
        body.space();
        body.say(Tone::Title, words);
    }
    doc
}

/// The lines of a default screen, and how many more `-v` shows.
fn in_short(lines: Vec<(Weight, String)>) -> (Vec<String>, u64) {
    let all = lines.len();
    let mut findings = 0;
    let shown: Vec<String> = lines
        .into_iter()
        .filter(|(weight, _)| {
            findings += usize::from(*weight == Weight::Finding);
            match weight {
                Weight::Basis => true,
                Weight::Finding => findings <= ON_A_SCREEN,
                Weight::Detail => false,
            }
        })
        .map(|(_, words)| words)
        .collect();
    let hidden = (all - shown.len()) as u64;
    (shown, hidden)
}

/// How much is shown of each cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Its ratio.
    Ratio,
    /// All figures of it.
    Figures,
    /// The figures, and what they are based on.
    All,
}

/// Up to this many cells are shown with all figures on a default screen.
const CLOSE: usize = 2;

/// How many cells are not compared, since A and B have rounds of the screen alone.
fn not_confirmed(document: &Comparison) -> Option<String> {
    let count = document.not_confirmed.len() as u64;
    (count > 0).then(|| {
        format!(
            "Not compared: {} with rounds of the screen alone (survey --all-equal measures all cells alike).",
            counted(count, "cell")
        )
    })
}

/// What measured both sides.
fn foot(document: &Comparison) -> Vec<String> {
    let tools = [&document.a, &document.b].map(|side| {
        let tool = &side.tool;
        format!("{} {}", tool.name, tool.version).trim().to_owned()
    });
    let tools = each_once(tools.into_iter().filter(|tool| !tool.is_empty()));
    let measured = (!tools.is_empty()).then(|| format!("Measured by {}.", join(&tools)));
    measured
        .into_iter()
        .chain([format!("From a document of schema {}.", document.schema)])
        .collect()
}

/// The figures of both sides of a comparison of one cell, every round as a point.
fn both_sides(document: &Comparison) -> Option<Chart> {
    let [cell] = document.comparisons.as_slice() else { return None };
    let one = &cell.primary;
    let ([a, b], what) = sides(document, cell);
    let row = |(letter, name): (char, String), value: Option<f64>, rounds: &[f64], is_best| {
        let value = value?;
        let (label, words) = (format!("{letter}: {name}"), figure(one, Some(value)));
        let rounds = rounds.to_vec();
        Some(StripRow { label, rounds, value, words, is_best, ..StripRow::default() })
    };
    let rows = vec![
        row(('A', a), one.a_value, &one.a_rounds, one.verdict == Difference::Slower)?,
        row(('B', b), one.b_value, &one.b_rounds, one.verdict == Difference::Faster)?,
    ];
    if one.a_rounds.is_empty() || one.b_rounds.is_empty() {
        return None;
    }
    let better = if one.more_is_better { "right" } else { "left" };
    let label = format!("Every round of A and B: {}.", tally(&document.comparisons));
    let axis = Axis::plain("", axis_of(&one.metric));
    Some(Chart {
        title: format!("Every round of A and B: {what}").trim_end_matches([':', ' ']).to_owned(),
        note: format!(
            "A point is a round, the first at the top of its row; the line is the median. Further {better} is better."
        ),
        picture: Some(Picture::Strip(Strip { label, axis, rows })),
        ..Chart::default()
    })
}

/// Ratios that are drawn; all of them are in the table.
const DRAWN: usize = 20;

/// Each ratio with its interval over one axis, and where rounds are paired every round as a point. Differences come first.
fn ratios(document: &Comparison) -> Option<Chart> {
    let is_claim = |cell: &CellComparison| {
        matches!(cell.primary.verdict, Difference::Faster | Difference::Slower)
    };
    let row = |cell: &CellComparison| {
        let one = &cell.primary;
        let paired = one.rounds.len() == 1 && one.a_rounds.len() == one.b_rounds.len();
        let rounds = one.a_rounds.iter().zip(&one.b_rounds).filter(|_| paired);
        let value = one.ratio.value?;
        Some(StripRow {
            label: cells(cell),
            rounds: rounds.map(|(a, b)| b / a).collect(),
            value,
            interval: one.ratio.ci95,
            words: format!("{} {}", times(value), one.verdict),
            is_best: is_claim(cell),
            ..StripRow::default()
        })
    };
    let mut ordered: Vec<&CellComparison> = document.comparisons.iter().collect();
    ordered.sort_by_key(|cell| !is_claim(cell));
    let mut rows: Vec<StripRow> = ordered.into_iter().filter_map(row).collect();
    let more = rows.len().saturating_sub(DRAWN);
    rows.truncate(DRAWN);
    if rows.is_empty() {
        return None;
    }
    let count = counted(rows.len() as u64, "cell");
    let label = format!("B over A of {count}: {}.", tally(&document.comparisons));
    let more = match more {
        0 => String::new(),
        more => format!(" {more} more are in the table."),
    };
    Some(Chart {
        title: "B over A".to_owned(),
        note: format!(
            "Left of 1x the figure of B is smaller: better for a time, worse for a rate. The line is the ratio, the bar its \
             95 % interval; points are rounds in which both were measured.{more}"
        ),
        picture: Some(Picture::Strip(Strip { label, axis: Axis::plain("", factor), rows })),
        ..Chart::default()
    })
}

/// A factor at an axis.
fn factor(value: f64) -> String {
    let digits = format!("{value:.3}");
    format!("{}x", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A cell of B against that of A; `shared` is the reason that holds for all cells.
fn row(document: &Comparison, cell: &CellComparison, shared: Option<&str>, detail: Detail) -> Row {
    let one = &cell.primary;
    let [a, b] = [one.a_value, one.b_value].map(|value| figure(one, value));
    let least = at_least(one).unwrap_or_default();
    let reason = own_reason(one, shared).unwrap_or_default();
    let differs: Vec<String> = differing(&cell.factors).collect();
    let differs = match differs.as_slice() {
        [] => String::new(),
        all => format!("differs: {}", all.join("; ")),
    };
    let others = beside(document, cell)
        .map(|(name, other)| (name, other.map(|one| (briefly(document, one), one))));
    let cells_of_others =
        others.each_ref().map(|(_, other)| other.as_ref().map_or("", |(words, _)| words.as_str()));
    let verdict = Cell::from(Line::new(tone(one.verdict), verdict(document, one)))
        .below(Tone::Quiet, &least)
        .below(Tone::Quiet, reason)
        .below(Tone::Quiet, &differs);
    let [tail, cpu] = cells_of_others.map(Cell::from);
    let row = [
        Cell::from(cells(cell)),
        Cell::from(a.as_str()),
        Cell::from(b.as_str()),
        Cell::from(ratio(one)),
        verdict,
        tail,
        cpu,
        Cell::from(basis(one)),
    ];
    let is_confounded = !document.confounded_by.is_empty() && one.verdict != Difference::CannotTell;
    let confounded = match is_confounded {
        true => format!("CONFOUNDED by {}", join(&document.confounded_by)),
        false => String::new(),
    };
    let beside = others.into_iter().filter_map(|(name, other)| {
        let (words, other) = other?;
        // What doubts the primary figure has been said.
        let is_own = other.doubted && !one.doubted;
        let why = if is_own { format!(": {}", other.reason) } else { String::new() };
        Some((Tone::Plain, format!("{name} {words}{why}")))
    });
    let figures = format!("{a} -> {b} ({})", moved(one));
    let figures = match detail {
        Detail::Ratio => vec![format!("{figures}, B/A {}", ratio(one))],
        Detail::Figures | Detail::All => vec![
            format!("{figures}, medians over rounds"),
            format!("B/A {} {}", ratio(one), paired(document)),
        ],
    };
    let figures = figures.into_iter().map(|words| (Tone::Plain, words));
    let at =
        |least: Detail, tone, words| (detail as usize >= least as usize).then_some((tone, words));
    let lines = [Some((Tone::Doubt, confounded))].into_iter().flatten().chain(figures);
    // What doubts a claim is said next to it.
    let of_reason = match one.verdict {
        Difference::Faster | Difference::Slower => Detail::Ratio,
        Difference::None | Difference::CannotTell => Detail::Figures,
    };
    let rest = [
        at(Detail::All, Tone::Plain, least),
        at(of_reason, Tone::Plain, reason.to_owned()),
        at(Detail::All, Tone::Quiet, basis(one)),
    ];
    let beside = beside.filter(|_| detail != Detail::Ratio);
    let lines = lines.chain(rest.into_iter().flatten()).chain(beside);
    let lines = lines.chain(at(Detail::All, Tone::Quiet, differs));
    let lines = lines.filter(|(_, words)| !words.is_empty());
    let lines = lines.map(|(tone, words)| Line::new(tone, words).after(" ".repeat(TEXT)));
    let first = Line::new(tone(one.verdict), cells(cell)).after(format!("{:TEXT$}", one.verdict));
    Row::new(row).card([first].into_iter().chain(lines))
}

/// A default screen shows at most this many cells.
const CELLS: usize = 4;

/// The cells that are shown unless all are asked for: the first of those with a claim, and then others, in their order. And
/// what is to be said of the rest.
fn shown<'a>(document: &'a Comparison, style: &Style) -> (Vec<&'a CellComparison>, Option<String>) {
    let all = &document.comparisons;
    if style.is_whole() {
        return (all.iter().collect(), None);
    }
    let is_claim =
        |one: &FigureComparison| matches!(one.verdict, Difference::Faster | Difference::Slower);
    let is_claimed =
        |one: &CellComparison| [&one.primary].into_iter().chain(&one.secondary).any(is_claim);
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| (!is_claim(&all[*at].primary), !is_claimed(&all[*at])));
    let mut left = order.split_off(order.len().min(CELLS));
    order.sort_unstable();
    left.sort_unstable();
    let words = || {
        let more = counted(left.len() as u64, "more cell");
        format!("{more}: {} (-v shows them)", tally(left.iter().map(|at| &all[*at])))
    };
    let words = (!left.is_empty()).then(words);
    (order.into_iter().map(|at| &all[at]).collect(), words)
}

/// One line for each figure of each cell.
fn csv(document: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "a,b,metric,a_value,b_value,ratio,low,high,verdict,at_least,reason")?;
    for cell in &document.comparisons {
        for one in [&cell.primary].into_iter().chain(&cell.secondary) {
            let [low, high] = one.ratio.ci95.map_or([None, None], |ci| ci.map(Some));
            let columns = [
                cell.a.clone(),
                cell.b.clone(),
                one.metric.clone(),
                csv::number(one.a_value),
                csv::number(one.b_value),
                csv::number(one.ratio.value),
                csv::number(low),
                csv::number(high),
                verdict(document, one),
                csv::number(one.at_least),
                one.reason.clone(),
            ];
            csv::line(columns, out)?;
        }
    }
    Ok(())
}
