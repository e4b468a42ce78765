//! A comparison for people and programs.

use super::judge::{between, percent, times};
use crate::csv::cell as csv_cell;
use crate::figures;
use crate::format::{Format, Style};
use crate::json;
use crate::markdown::{escape, row, rule};
use crate::page::{Page, Tone};
use crate::text::{counted, join};
use ipcperf_core::result::{CellComparison, Comparison, Design, Difference, Side};
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
        document.comparisons.iter().filter(|one| one.verdict == *verdict).count()
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
    if document.family > 1 {
        lines.push(format!("Claims are adjusted for {}.", counted(document.family, "cell")));
    }
    lines.extend(differing(&document.factors).map(|words| format!("Differs: {words}")));
    lines
}

/// Longest value of a factor that is shown in a line.
const VALUE: usize = 60;

fn differing(factors: &BTreeMap<String, [String; 2]>) -> impl Iterator<Item = String> + '_ {
    factors.iter().map(|(name, values)| {
        let [a, b] = values.each_ref().map(|value| crate::text::clip(value, VALUE, false));
        format!("{name}: {a} -> {b}")
    })
}

/// The verdict, with what confounds it in front.
fn verdict(document: &Comparison, one: &CellComparison) -> String {
    let is_told = one.verdict != Difference::CannotTell;
    match document.confounded_by.as_slice() {
        names @ [_, ..] if is_told => {
            format!("CONFOUNDED by {}: {}", join(names), one.verdict)
        }
        _ => one.verdict.to_string(),
    }
}

/// The figure of one arm.
fn figure(one: &CellComparison, value: Option<f64>) -> String {
    let Some(value) = value else { return figures::NONE.to_owned() };
    match one.metric.as_str() {
        "rtt_ns.p50" => figures::nanos(value),
        "bytes_per_second" => figures::bytes_per_second(value),
        _ => figures::per_second(value),
    }
}

/// By how much B lies above or below A: `+310 ns`.
fn moved(one: &CellComparison) -> String {
    let Some((a, b)) = one.a_value.zip(one.b_value) else { return figures::NONE.to_owned() };
    let sign = if b < a { '-' } else { '+' };
    format!("{sign}{}", figure(one, Some((b - a).abs())))
}

/// B over A with its interval.
fn ratio(one: &CellComparison) -> String {
    let interval = one.ratio.ci95.map_or_else(String::new, |ci| format!(" {}", between(ci)));
    one.ratio.value.map_or_else(|| figures::NONE.to_owned(), |ratio| times(ratio) + &interval)
}

/// `at least 3.2 % slower`.
fn at_least(one: &CellComparison) -> Option<String> {
    let side = match one.verdict {
        Difference::Slower => "slower",
        Difference::Faster => "faster",
        Difference::None => return Some(format!("within {}", percent(one.margin))),
        Difference::CannotTell => return None,
    };
    one.at_least.map(|least| format!("at least {} {side}", percent(least)))
}

/// What it rests on: "34 rounds, control 1.001x [0.993, 1.010]".
fn basis(one: &CellComparison) -> String {
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
    let indent = " ".repeat(TEXT);
    for one in &document.comparisons {
        page.blank()?;
        let word = format!("{:TEXT$}", one.verdict);
        page.paragraph(tone(one.verdict), &word, &cells(one))?;
        if !document.confounded_by.is_empty() && one.verdict != Difference::CannotTell {
            let words = format!("CONFOUNDED by {}", join(&document.confounded_by));
            page.paragraph(Tone::Doubt, &indent, &words)?;
        }
        let [a, b] = [one.a_value, one.b_value].map(|value| figure(one, value));
        page.paragraph(
            Tone::Plain,
            &indent,
            &format!("{a} -> {b} ({}), {}", moved(one), ratio(one)),
        )?;
        if let Some(least) = at_least(one) {
            page.paragraph(Tone::Plain, &indent, &least)?;
        }
        if !one.reason.is_empty() {
            page.paragraph(Tone::Plain, &indent, &one.reason)?;
        }
        page.paragraph(Tone::Quiet, &indent, &basis(one))?;
        let differs: Vec<String> = differing(&one.factors).collect();
        if !differs.is_empty() {
            page.paragraph(Tone::Quiet, &indent, &format!("differs: {}", differs.join("; ")))?;
        }
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

fn markdown(document: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let plain = |words: &str| escape(words, style.unicode);
    writeln!(out, "## B beside A: {}\n", plain(&tally(document)))?;
    for line in course(document) {
        writeln!(out, "- {}", plain(&line))?;
    }
    writeln!(out)?;
    if !document.comparisons.is_empty() {
        let heads = ["cell", "A", "B", "B/A (95 %)", "verdict", "", "rests on", "why"];
        row(&heads.map(ToOwned::to_owned), style, out)?;
        rule(&[false, true, true, true, false, false, false, false], out)?;
    }
    for one in &document.comparisons {
        let differs = differing(&one.factors).map(|words| format!("differs in {words}"));
        let reason = Some(one.reason.clone()).filter(|reason| !reason.is_empty());
        let why: Vec<String> = reason.into_iter().chain(differs).collect();
        let columns = [
            cells(one),
            figure(one, one.a_value),
            figure(one, one.b_value),
            ratio(one),
            verdict(document, one),
            at_least(one).unwrap_or_default(),
            basis(one),
            why.join("; "),
        ];
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

/// One line for each cell.
fn csv(document: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "a,b,metric,a_value,b_value,ratio,low,high,verdict,at_least,reason")?;
    for one in &document.comparisons {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let [low, high] = one.ratio.ci95.map_or([None, None], |ci| ci.map(Some));
        let cells = [
            csv_cell(&one.a),
            csv_cell(&one.b),
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
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}
