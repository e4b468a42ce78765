//! A comparison for people and programs.

use super::judge::{between, percent, times};
use crate::csv::cell as csv_cell;
use crate::figures;
use crate::format::{Format, Style};
use crate::json;
use crate::markdown::{escape, row, rule};
use crate::page::{Page, Tone};
use crate::text::{counted, join};
use ipcperf_core::result::{
    Adjustment, CellComparison, Comparison, Design, Difference, FigureComparison, Side,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

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
    match format {
        Format::Json => json::document(document, out),
        Format::Ndjson => document.comparisons.iter().try_for_each(|one| json::object(one, out)),
        Format::Csv => csv(document, out),
        Format::Markdown => markdown(document, style, out),
        Format::Table => table(document, &mut Page::new(out, style)),
    }
}

/// How many cells got which verdict: "1 SLOWER, 3 CAN'T TELL".
fn tally(document: &Comparison) -> String {
    let count = |verdict: &Difference| {
        document.comparisons.iter().filter(|one| one.primary.verdict == *verdict).count()
    };
    let words: Vec<String> = Difference::ALL
        .iter()
        .filter(|verdict| count(verdict) > 0)
        .map(|verdict| format!("{} {verdict}", count(verdict)))
        .collect();
    if words.is_empty() { "nothing to compare".to_owned() } else { words.join(", ") }
}

/// One side: what it is, and how good.
fn side(letter: char, side: &Side, design: Design) -> String {
    let grades = join(&side.grades);
    let tool = if design == Design::Live {
        String::new()
    } else {
        format!("ipcperf {}, ", side.tool.version)
    };
    let sessions = counted(side.sessions, "session");
    format!("{letter}: {} ({tool}{sessions}, noise grade {grades})", side.names.join(", "))
}

/// What the comparison rests on, in lines.
fn course(document: &Comparison) -> Vec<String> {
    let mut lines =
        vec![side('A', &document.a, document.design), side('B', &document.b, document.design)];
    if let Some(plan) = &document.plan {
        let rounds = counted(plan.rounds, "round");
        let found = plan.smallest_effect.map_or_else(String::new, |effect| {
            format!(", planned to find differences from {} on", percent(effect))
        });
        let stopped = if document.interrupted { ", interrupted" } else { "" };
        lines.push(format!(
            "{rounds} of A, A again and B in random order, {:.0} s{found}{stopped}; what is found holds in this session",
            plan.duration_s
        ));
    }
    if document.adjustment == Adjustment::BenjaminiHochberg {
        lines.push(
            "Explored: of what is claimed 1 in 20 may be false (Benjamini-Hochberg), which decides nothing.".to_owned(),
        );
    } else if document.family > 1 {
        lines.push(format!("Claims are adjusted for {}.", counted(document.family, "cell")));
    }
    if let Some(attempt) = document.attempt {
        lines.push(format!(
            "Attempt {attempt} of this comparison in this file: what is measured until it turns out so is not shown."
        ));
    }
    lines
        .extend(differing(&document.incomparable).map(|words| format!("Must not differ: {words}")));
    lines.extend(differing(&document.factors).map(|words| format!("Differs: {words}")));
    lines
}

/// Longest value of a factor that is shown in a line.
const VALUE: usize = 60;

/// What differs, one line for each field.
pub(crate) fn differing(
    factors: &BTreeMap<String, [String; 2]>,
) -> impl Iterator<Item = String> + '_ {
    factors.iter().map(|(name, values)| {
        let [a, b] = values.each_ref().map(|value| crate::text::clip(value, VALUE, false));
        format!("{name}: {a} -> {b}")
    })
}

/// A verdict in a word: CPU time is not slow.
fn word(one: &FigureComparison) -> &'static str {
    match one.verdict {
        Difference::Slower if one.metric == CPU => "MORE",
        Difference::Faster if one.metric == CPU => "LESS",
        verdict => verdict.name(),
    }
}

/// CPU time as the document calls it.
const CPU: &str = "cpu_ns_per_message";

/// What the figures beside the one that speaks are called, in the order of the columns.
const BESIDE: [(&str, &[&str]); 2] =
    [("p99", &["rtt_ns.p99", "above_p99"]), ("CPU per message", &[CPU])];

/// The figures beside the one that speaks, with what they are called; nothing where a cell has none.
fn beside(one: &CellComparison) -> [(&'static str, Option<&FigureComparison>); 2] {
    BESIDE.map(|(name, metrics)| {
        let is_it = |figure: &&FigureComparison| metrics.contains(&figure.metric.as_str());
        (name, one.secondary.iter().find(is_it))
    })
}

/// `1.062x [1.012, 1.110] SLOWER`; of the tail that is only counted how often as many operations exceed it.
fn briefly(document: &Comparison, one: &FigureComparison) -> String {
    let often = if one.metric == "above_p99" { "exceeded " } else { "" };
    format!("{often}{} {}", ratio(one), verdict(document, one))
}

/// The verdict, with what confounds it in front.
fn verdict(document: &Comparison, one: &FigureComparison) -> String {
    let is_told = one.verdict != Difference::CannotTell;
    match document.confounded_by.as_slice() {
        names @ [_, ..] if is_told => {
            format!("CONFOUNDED by {}: {}", join(names), word(one))
        }
        _ => word(one).to_owned(),
    }
}

/// The figure of one arm.
fn figure(one: &FigureComparison, value: Option<f64>) -> String {
    let Some(value) = value else { return figures::NONE.to_owned() };
    match one.metric.as_str() {
        "rtt_ns.p50" | "rtt_ns.p99" | CPU => figures::nanos(value),
        "above_p99" => figures::share(value),
        "bytes_per_second" => figures::bytes_per_second(value),
        _ => figures::per_second(value),
    }
}

/// By how much B lies above or below A: `+310 ns`.
fn moved(one: &FigureComparison) -> String {
    let Some((a, b)) = one.a_value.zip(one.b_value) else { return figures::NONE.to_owned() };
    let sign = if b < a { '-' } else { '+' };
    format!("{sign}{}", figure(one, Some((b - a).abs())))
}

/// B over A with its interval.
fn ratio(one: &FigureComparison) -> String {
    let interval = one.ratio.ci95.map_or_else(String::new, |ci| format!(" {}", between(ci)));
    one.ratio.value.map_or_else(|| figures::NONE.to_owned(), |ratio| times(ratio) + &interval)
}

/// `at least 3.2 % slower`.
fn at_least(one: &FigureComparison) -> Option<String> {
    let side = match one.verdict {
        Difference::Slower => "slower",
        Difference::Faster => "faster",
        Difference::None => return Some(format!("within {}", percent(one.margin))),
        Difference::CannotTell => return None,
    };
    one.at_least.map(|least| format!("at least {} {side}", percent(least)))
}

/// What it rests on: "34 rounds, control 1.001x [0.993, 1.010]".
fn basis(one: &FigureComparison) -> String {
    let rounds = match one.rounds.as_slice() {
        [paired] => counted(*paired, "round"),
        [a, b] => format!("{a} and {}", counted(*b, "round")),
        _ => String::new(),
    };
    let mut parts = vec![rounds, format!("margin {}", percent(one.margin))];
    if let Some(control) = one.control {
        parts.push(format!("control {}", between(control)));
    }
    if let Some(p) = one.p_adjusted {
        parts.push(match p {
            p if p < 0.0001 => "p < 0.0001".to_owned(),
            p if p < 0.1 => format!("p {p:.4}"),
            _ => "p > 0.1".to_owned(),
        });
    }
    parts.join(", ")
}

fn tone(verdict: Difference) -> Tone {
    match verdict {
        Difference::Faster => Tone::Best,
        Difference::Slower => Tone::Bad,
        Difference::None => Tone::Plain,
        Difference::CannotTell => Tone::Doubt,
    }
}

/// The cells in words: one name where both have it.
fn cells(one: &CellComparison) -> String {
    if one.a == one.b { one.a.clone() } else { format!("{} beside {}", one.b, one.a) }
}

/// Where the text beside a verdict begins: after the longest.
const TEXT: usize = 15;

fn table(document: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    page.paragraph(Tone::Title, "", &format!("B beside A: {}", tally(document)))?;
    for line in course(document) {
        page.paragraph(Tone::Plain, "", &line)?;
    }
    for one in &document.comparisons {
        page.blank()?;
        cell(document, one, page)?;
    }
    for (letter, only) in [('A', &document.only_a), ('B', &document.only_b)] {
        if !only.is_empty() {
            page.blank()?;
            page.paragraph(Tone::Title, "", &format!("Only in {letter}:"))?;
        }
        for cell in only {
            page.paragraph(Tone::Plain, "- ", cell)?;
        }
    }
    Ok(())
}

/// One cell beside another.
fn cell(document: &Comparison, cell: &CellComparison, page: &mut Page<'_>) -> io::Result<()> {
    let (one, indent) = (&cell.primary, " ".repeat(TEXT));
    page.paragraph(tone(one.verdict), &format!("{:TEXT$}", one.verdict), &cells(cell))?;
    let mut say = |tone, words: &str| page.paragraph(tone, &indent, words);
    if !document.confounded_by.is_empty() && one.verdict != Difference::CannotTell {
        say(Tone::Doubt, &format!("CONFOUNDED by {}", join(&document.confounded_by)))?;
    }
    let [a, b] = [one.a_value, one.b_value].map(|value| figure(one, value));
    say(Tone::Plain, &format!("{a} -> {b} ({}), {}", moved(one), ratio(one)))?;
    if let Some(least) = at_least(one) {
        say(Tone::Plain, &least)?;
    }
    if !one.reason.is_empty() {
        say(Tone::Plain, &one.reason)?;
    }
    say(Tone::Quiet, &basis(one))?;
    for (name, other) in beside(cell) {
        let Some(other) = other else { continue };
        let told = briefly(document, other);
        // What doubts the figure that speaks has been said.
        let is_own = other.doubted && !one.doubted;
        let why = if is_own { format!(": {}", other.reason) } else { String::new() };
        say(Tone::Plain, &format!("{name} {told}{why}"))?;
    }
    let differs: Vec<String> = differing(&cell.factors).collect();
    if !differs.is_empty() {
        say(Tone::Quiet, &format!("differs: {}", differs.join("; ")))?;
    }
    Ok(())
}

fn markdown(document: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let plain = |words: &str| escape(words, style.unicode);
    writeln!(out, "## B beside A: {}\n", plain(&tally(document)))?;
    for line in course(document) {
        writeln!(out, "- {}", plain(&line))?;
    }
    writeln!(out)?;
    if !document.comparisons.is_empty() {
        let mut heads = vec!["cell", "A", "B", "B/A (95 %)", "verdict", ""];
        heads.extend(BESIDE.map(|(name, _)| name));
        heads.extend(["rests on", "why"]);
        row(&heads.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>(), style, out)?;
        rule(&[false, true, true, true, false, false, false, false, false, false], out)?;
    }
    for cell in &document.comparisons {
        let one = &cell.primary;
        let differs = differing(&cell.factors).map(|words| format!("differs in {words}"));
        let reason = Some(one.reason.clone()).filter(|reason| !reason.is_empty());
        let why: Vec<String> = reason.into_iter().chain(differs).collect();
        let mut columns = vec![
            cells(cell),
            figure(one, one.a_value),
            figure(one, one.b_value),
            ratio(one),
            verdict(document, one),
            at_least(one).unwrap_or_default(),
        ];
        let others = beside(cell).map(|(_, other)| other.map(|one| briefly(document, one)));
        columns.extend(others.map(Option::unwrap_or_default));
        columns.extend([basis(one), why.join("; ")]);
        row(&columns, style, out)?;
    }
    for (letter, only) in [('A', &document.only_a), ('B', &document.only_b)] {
        if !only.is_empty() {
            writeln!(out, "\nOnly in {letter}:\n")?;
        }
        for cell in only {
            writeln!(out, "- {}", plain(cell))?;
        }
    }
    Ok(())
}

/// One line for each figure of each cell.
fn csv(document: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "a,b,metric,a_value,b_value,ratio,low,high,verdict,at_least,reason")?;
    for cell in &document.comparisons {
        for one in [&cell.primary].into_iter().chain(&cell.secondary) {
            let number =
                |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let [low, high] = one.ratio.ci95.map_or([None, None], |ci| ci.map(Some));
            let columns = [
                csv_cell(&cell.a),
                csv_cell(&cell.b),
                csv_cell(&one.metric),
                number(one.a_value),
                number(one.b_value),
                number(one.ratio.value),
                number(low),
                number(high),
                csv_cell(&verdict(document, one)),
                number(one.at_least),
                csv_cell(&one.reason),
            ];
            writeln!(out, "{}", columns.join(","))?;
        }
    }
    Ok(())
}
