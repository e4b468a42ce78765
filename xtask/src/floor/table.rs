//! The table, as Markdown that also reads well on a terminal, and its place in a document.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::case::{Case, Pattern, Place};
use super::verdict::{Outcome, Rounds, TwoModes};

/// The lines between which the table of a document lies.
/// The lines of a document between which a table stands.
pub(crate) struct Markers {
    begin: &'static str,
    end: &'static str,
}

/// What a reader of the table alone must know.
const LEGEND: &str = "
Round trips: medians, full round trip; streams: GB/s at the receiver. Figures are medians over the
rounds; ratio is ipcperf / bare, the Hodges-Lehmann estimate over rounds that measured both, with
Wilcoxon's interval. *within*: the estimate meets the target; *over*: ipcperf misses it, the whole
interval too; *bare slower*: ipcperf beats the bare loop by more than a bare loop may lose; *unclear*:
the interval reaches the target, the two differ by one step of the clock, or too few rounds. Line
RTT: one cache line there and back between the same CPUs, measured before each round of the case.
";

/// Renders all cases; `place_names` are ipcperf's words for one CPU and for two.
pub(crate) fn render(
    lines: &[(Case, Rounds, Result<Outcome, String>)],
    place_name: impl Fn(Place) -> String,
) -> String {
    let header = [
        "case",
        "placement",
        "bare",
        "ipcperf",
        "ratio",
        "95 % CI",
        "target",
        "verdict",
        "line RTT",
    ];
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|(case, rounds, outcome)| row(case, rounds, outcome, &place_name(case.place)))
        .collect();
    let mut text = aligned(&header, &rows);
    text.push_str(LEGEND);
    text.push_str(&notes(lines, place_name));
    text
}

fn row(
    case: &Case,
    rounds: &Rounds,
    outcome: &Result<Outcome, String>,
    place: &str,
) -> Vec<String> {
    let line = ipcperf_stats::median(&rounds.line_ns)
        .map_or("-".into(), |ns| figure(Pattern::RoundTrip, ns));
    let (bare, product, ratio, interval, verdict) = match outcome {
        Ok(outcome) => (
            figure(case.pattern, outcome.bare),
            figure(case.pattern, outcome.product),
            format!("{:.3}", outcome.ratio.value),
            match &outcome.ratio.ci95 {
                Some(ci) => format!("{:.3} to {:.3}", ci.low, ci.high),
                None => "too few rounds".to_owned(),
            },
            outcome.verdict.to_string(),
        ),
        Err(_) => {
            let alone = ipcperf_stats::median(&rounds.bare);
            let alone = alone.map_or("-".into(), |bare| figure(case.pattern, bare));
            (alone, "-".into(), "-".into(), "-".into(), "not compared".into())
        }
    };
    let target = case.target.to_string();
    vec![case.name(), place.to_owned(), bare, product, ratio, interval, target, verdict, line]
}

/// What the table alone would hide: modes, rounds left out, cases without a figure.
fn notes(
    lines: &[(Case, Rounds, Result<Outcome, String>)],
    place_name: impl Fn(Place) -> String,
) -> String {
    let mut text = String::new();
    for (case, rounds, outcome) in lines {
        let name = format!("{}, {}", case.name(), place_name(case.place));
        match outcome {
            // Nobody asked for a comparison.
            Err(_) if rounds.product.len() < rounds.bare.len() => Ok(()),
            Err(reason) => writeln!(text, "- {name}: not compared: {reason}"),
            Ok(outcome) => {
                for (side, modes) in
                    [("bare", outcome.bare_modes), ("ipcperf", outcome.product_modes)]
                {
                    if let Some(modes) = modes {
                        let modes = two_modes(case.pattern, modes);
                        writeln!(text, "- {name}: {side} fell into two modes, {modes}.")
                            .expect("a String takes all text");
                    }
                }
                if outcome.left_out > 0 {
                    writeln!(
                        text,
                        "- {name}: compared are the {} rounds in which both sides were in the same \
                         mode; {} were left out.",
                        outcome.rounds, outcome.left_out
                    )
                    .expect("a String takes all text");
                }
                match &rounds.failure {
                    Some(reason) => writeln!(text, "- {name}: a round was lost: {reason}"),
                    None => Ok(()),
                }
            }
        }
        .expect("a String takes all text");
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn two_modes(pattern: Pattern, modes: TwoModes) -> String {
    let one =
        |(median, rounds): (f64, usize)| format!("{} in {rounds} rounds", figure(pattern, median));
    format!("{} and {}", one(modes.low), one(modes.high))
}

/// A figure with its unit, three significant digits.
pub(crate) fn figure(pattern: Pattern, value: f64) -> String {
    let (value, unit) = match pattern {
        Pattern::RoundTrip if value >= 1e6 => (value / 1e6, "ms"),
        Pattern::RoundTrip if value >= 1e3 => (value / 1e3, "us"),
        Pattern::RoundTrip => (value, "ns"),
        Pattern::Stream => (value / 1e9, "GB/s"),
    };
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

fn aligned(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    let mut push = |cells: &mut dyn Iterator<Item = String>| {
        for cell in cells {
            text.push_str(&cell);
        }
        text.push_str("|\n");
    };
    push(&mut header.iter().zip(&widths).map(|(cell, width)| format!("| {cell:width$} ")));
    push(&mut widths.iter().map(|width| format!("|{:-<1$}", "", width + 2)));
    for row in rows {
        push(&mut row.iter().zip(&widths).map(|(cell, width)| format!("| {cell:width$} ")));
    }
    text
}

impl Markers {
    /// Of the table for the machine's own idle policy, or for polling.
    pub(crate) fn of(idle_poll: bool) -> Self {
        if idle_poll {
            Self { begin: "<!-- floor-idle-poll:begin -->", end: "<!-- floor-idle-poll:end -->" }
        } else {
            Self { begin: "<!-- floor:begin -->", end: "<!-- floor:end -->" }
        }
    }

    /// Puts the text between the markers of a document, which is made if it does not exist.
    pub(crate) fn write(&self, file: &Path, text: &str) -> Result<()> {
        let document = match std::fs::read_to_string(file) {
            Ok(document) => document,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                format!("{}\n{}\n", self.begin, self.end)
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", file.display()));
            }
        };
        let replaced =
            self.replace(&document, text).with_context(|| format!("in {}", file.display()))?;
        std::fs::write(file, replaced).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Fails now rather than after minutes of measuring.
    pub(crate) fn check(&self, file: &Path) -> Result<()> {
        match std::fs::read_to_string(file) {
            Ok(document) => self
                .replace(&document, "")
                .map(drop)
                .with_context(|| format!("in {}", file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    fn replace(&self, document: &str, text: &str) -> Result<String> {
        let Self { begin, end } = self;
        let (before, rest) =
            document.split_once(begin).with_context(|| format!("the line {begin} is missing"))?;
        let (_, after) =
            rest.split_once(end).with_context(|| format!("the line {end} is missing"))?;
        ensure!(!after.contains(begin), "the line {begin} occurs twice");
        Ok(format!("{before}{begin}\n{}\n{end}{after}", text.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_changes() {
        let (plain, polling) = (Markers::of(false), Markers::of(true));
        let other = format!("{}\nkept\n{}", polling.begin, polling.end);
        let document = format!("head\n{}\nold\n{}\n{other}\n", plain.begin, plain.end);
        let replaced = plain.replace(&document, "new\n").unwrap();
        assert_eq!(replaced, format!("head\n{}\nnew\n{}\n{other}\n", plain.begin, plain.end));
        assert_eq!(plain.replace(&replaced, "new").unwrap(), replaced);
    }

    #[test]
    fn a_document_without_markers_is_refused() {
        assert!(Markers::of(false).replace("head\n", "new").is_err());
    }

    #[test]
    fn columns_line_up() {
        let text = aligned(&["a", "bb"], &[vec!["long".into(), "x".into()]]);
        assert_eq!(text, "| a    | bb |\n|------|----|\n| long | x  |\n");
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(figure(Pattern::RoundTrip, 33.04), "33.0 ns");
        assert_eq!(figure(Pattern::RoundTrip, 71_500.0), "71.5 us");
        assert_eq!(figure(Pattern::Stream, 8.36e9), "8.36 GB/s");
    }
}
