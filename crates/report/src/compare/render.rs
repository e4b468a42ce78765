//! A comparison for people and programs.

use super::words::{
    BESIDE, alone, at_least, basis, beside, briefly, cells, course, differing, figure, moved,
    own_reason, paired, ratio, ratio_head, shared_reason, tally, verdict,
};
use super::{html, in_a_sentence};
use crate::csv;
use crate::grid::Grid;
use crate::json;
use crate::markdown::{self, escape};
use crate::page::{Page, Tone};
use crate::stopped;
use crate::text::{counted, join};
use crate::{Format, Style};
use ipcperf_core::result::{CellComparison, Comparison, Difference, FigureComparison};
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
    stopped::first(document, format, style, out)?;
    match format {
        Format::Json => json::document(document, out),
        Format::Ndjson => document.comparisons.iter().try_for_each(|one| json::object(one, out)),
        Format::Csv => csv(document, out),
        Format::Markdown => markdown(document, style, out),
        Format::Table => table(document, &mut Page::new(out, style)),
        Format::Html => html::write(document, out),
    }
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

fn table(document: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    page.paragraph(Tone::Title, "", &format!("B beside A: {}", tally(&document.comparisons)))?;
    course(document).iter().try_for_each(|line| page.paragraph(Tone::Plain, "", line))?;
    let (shown, left) = shown(document, page.style);
    let shared_reason = shared_reason(document);
    for one in shown {
        page.blank()?;
        cell(document, one, shared_reason, page)?;
    }
    if let Some(left) = left {
        page.blank()?;
        page.paragraph(Tone::Quiet, "", &left)?;
    }
    for (letter, only) in alone(document) {
        page.blank()?;
        page.paragraph(Tone::Title, "", &format!("Only in {letter}:"))?;
        only.iter().try_for_each(|cell| page.paragraph(Tone::Plain, "- ", cell))?;
    }
    in_a_sentence(document).map_or(Ok(()), |words| {
        page.blank()?;
        page.paragraph(Tone::Title, "", &words)
    })
}

/// So many cells are shown where nothing is claimed of more.
const CELLS: usize = 20;

/// The cells that are shown unless all are asked for: those of which something is claimed and the first others, in their
/// order. And what is to be said of the rest.
fn shown<'a>(document: &'a Comparison, style: &Style) -> (Vec<&'a CellComparison>, Option<String>) {
    let is_claim =
        |one: &FigureComparison| matches!(one.verdict, Difference::Faster | Difference::Slower);
    let is_claimed =
        |one: &&CellComparison| [&one.primary].into_iter().chain(&one.secondary).any(is_claim);
    let all = &document.comparisons;
    let mut others = if style.is_whole() {
        all.len()
    } else {
        CELLS.saturating_sub(all.iter().filter(is_claimed).count())
    };
    let is_shown = |one: &&CellComparison| {
        let is_other = !is_claimed(one);
        let is_shown = !is_other || others > 0;
        others = others.saturating_sub(usize::from(is_other));
        is_shown
    };
    let (shown, left): (Vec<_>, Vec<_>) = all.iter().partition(is_shown);
    let words = || {
        let more = counted(left.len() as u64, "more cell");
        format!("{more} without a claim: {} (-v shows them)", tally(left.iter().copied()))
    };
    let words = (!left.is_empty()).then(words);
    (shown, words)
}

/// One cell beside another.
fn cell(
    document: &Comparison,
    cell: &CellComparison,
    shared: Option<&str>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let (one, indent) = (&cell.primary, " ".repeat(TEXT));
    page.paragraph(tone(one.verdict), &format!("{:TEXT$}", one.verdict), &cells(cell))?;
    let mut say = |tone, words: &str| page.paragraph(tone, &indent, words);
    if !document.confounded_by.is_empty() && one.verdict != Difference::CannotTell {
        say(Tone::Doubt, &format!("CONFOUNDED by {}", join(&document.confounded_by)))?;
    }
    let [a, b] = [one.a_value, one.b_value].map(|value| figure(one, value));
    say(Tone::Plain, &format!("{a} -> {b} ({}), medians over rounds", moved(one)))?;
    say(Tone::Plain, &format!("B/A {} {}", ratio(one), paired(document)))?;
    if let Some(least) = at_least(one) {
        say(Tone::Plain, &least)?;
    }
    if let Some(reason) = own_reason(one, shared) {
        say(Tone::Plain, reason)?;
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
    writeln!(out, "## B beside A: {}\n", plain(&tally(&document.comparisons)))?;
    course(document).iter().try_for_each(|line| writeln!(out, "- {}", plain(line)))?;
    writeln!(out)?;
    let (shown, left) = shown(document, style);
    let shared = shared_reason(document);
    let row = |cell: &&CellComparison| {
        let one = &cell.primary;
        let differs = differing(&cell.factors).map(|words| format!("differs in {words}"));
        let reason = own_reason(one, shared).map(ToOwned::to_owned);
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
        columns
    };
    let of_ratio = ratio_head(document);
    let mut heads = vec![("cell", false), ("A", true), ("B", true), (of_ratio.as_str(), true)];
    let words = ["verdict", "", BESIDE[0].0, BESIDE[1].0, "rests on", "why"];
    heads.extend(words.map(|head| (head, false)));
    if !shown.is_empty() {
        markdown::grid(&Grid::of(&heads, shown.iter().map(row).collect()), style, out)?;
    }
    if let Some(left) = left {
        writeln!(out, "\n{}", plain(&left))?;
    }
    for (letter, only) in alone(document) {
        writeln!(out, "\nOnly in {letter}:\n")?;
        only.iter().try_for_each(|cell| writeln!(out, "- {}", plain(cell)))?;
    }
    in_a_sentence(document).map_or(Ok(()), |words| writeln!(out, "\n{}", plain(&words)))
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
