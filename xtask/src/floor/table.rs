//! The table, as Markdown that also reads well on a terminal.

use super::case::{Case, Pattern};
use super::verdict::{Outcome, Rounds};

/// A case, its rounds, and what they came to or why to nothing.
pub(crate) type Line<'a> = (&'a Case, &'a Rounds, Result<Outcome, String>);

/// What a reader of the table alone must know.
const LEGEND: &str = "
Round trips: medians, full round trip; streams: GB/s at the receiver; serve: time for each
answered request, over all connections. Figures are medians over the
rounds; ratio is ipcperf / bare, the Hodges-Lehmann estimate over rounds that measured both, with
Wilcoxon's interval. *within*: the estimate meets the target; *over*: ipcperf misses it, the whole
interval too; *bare slower*: ipcperf beats the bare loop by more than a bare loop may lose; *unclear*:
the interval reaches the target, or too few rounds. Line RTT: one cache line there and back between
the same CPUs, measured by ipcperf in each round of the case.
";

/// Renders all cases.
pub(crate) fn render(lines: &[Line<'_>]) -> String {
    let header = ["case", "placement", "bare", "ipcperf", "ratio", "95 % CI", "target", "verdict"];
    let header: Vec<_> = header.into_iter().chain(["line RTT"]).map(str::to_owned).collect();
    let mut text = aligned(&header, &lines.iter().map(row).collect::<Vec<_>>());
    text.push_str(LEGEND);
    let notes: String = lines.iter().map(note).collect();
    if notes.is_empty() { text } else { format!("{text}\n{notes}") }
}

fn row((case, rounds, outcome): &Line<'_>) -> Vec<String> {
    let line = ipcperf_stats::median(&rounds.line_ns);
    let line = line.map_or("-".to_owned(), |ns| figure(Pattern::PingPong, ns));
    let target = match case.target() {
        (low, f64::INFINITY) => format!(">= {low:.2}"),
        (0.0, high) => format!("<= {high:.2}"),
        (low, high) => format!("{low:.2} to {high:.2}"),
    };
    let [bare, product, ratio, interval, verdict] = match outcome {
        Ok(outcome) => [
            figure(case.pattern, outcome.bare),
            figure(case.pattern, outcome.product),
            format!("{:.3}", outcome.ratio.value),
            outcome.ratio.ci95.map_or_else(
                || "too few rounds".to_owned(),
                |interval| format!("{:.3} to {:.3}", interval.low, interval.high),
            ),
            outcome.verdict.name().to_owned(),
        ],
        Err(_) => ["-", "-", "-", "-", "not compared"].map(str::to_owned),
    };
    let place = case.place.to_string();
    vec![case.to_string(), place, bare, product, ratio, interval, target, verdict, line]
}

/// What the table alone would hide: rounds left out or lost, cases without a figure.
fn note((case, rounds, outcome): &Line<'_>) -> String {
    let name = format!("{case}, {}", case.place);
    let mut text = match outcome {
        Err(reason) => return format!("- {name}: not compared: {reason}\n"),
        Ok(outcome) if outcome.left_out == 0 => String::new(),
        Ok(outcome) => format!(
            "- {name}: {} of {} rounds left out, in which the two sides were in different modes.\n",
            outcome.left_out,
            rounds.bare.len()
        ),
    };
    if let Some(reason) = &rounds.failure {
        text.push_str(&format!("- {name}: a round was lost: {reason}\n"));
    }
    text
}

/// A figure with its unit, three significant digits.
fn figure(pattern: Pattern, value: f64) -> String {
    let (value, unit) = match pattern {
        Pattern::PingPong | Pattern::Serve if value >= 1e6 => (value / 1e6, "ms"),
        Pattern::PingPong | Pattern::Serve if value >= 1e3 => (value / 1e3, "us"),
        Pattern::PingPong | Pattern::Serve => (value, "ns"),
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

fn aligned(header: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths);
        cells.map(|(cell, width)| format!("| {cell:width$} ")).chain(["|\n".into()]).collect()
    };
    let rule: String = widths.iter().map(|width| format!("|{:-<1$}", "", width + 2)).collect();
    let rows: String = rows.iter().map(|row| -> String { line(row) }).collect();
    let header: String = line(header);
    format!("{header}{rule}|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let text = aligned(&["a".into(), "bb".into()], &[vec!["long".into(), "x".into()]]);
        assert_eq!(text, "| a    | bb |\n|------|----|\n| long | x  |\n");
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(figure(Pattern::PingPong, 33.04), "33.0 ns");
        assert_eq!(figure(Pattern::PingPong, 71_500.0), "71.5 us");
        assert_eq!(figure(Pattern::Stream, 8.36e9), "8.36 GB/s");
    }
}
