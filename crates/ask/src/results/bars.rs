//! The distribution of a few cells drawn in characters: quantiles as bars on a scale of powers of ten, and the rounds in
//! their order. A terminal without UTF-8 gets ASCII.

use ipcperf_core::result::{Cell, Metric, ResultSet, Round, Status};
use ipcperf_judge::figures;
use ipcperf_render::doc::{Cell as Words, Column, Place, Row, Section, Table, Tone};
use ipcperf_render::{Style, text};
use std::collections::BTreeMap;

/// With more cells than this nobody compares bars.
const MOST: usize = 6;

/// In this order, as far as the sample supports them.
const QUANTILES: &[&str] = &["min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max"];

/// Columns beside a bar: indent, name of the quantile, figure or ends of the rounds.
const BESIDE: usize = 38;

/// Heights of the rounds, the lowest first.
const BLOCKS: [[char; 8]; 2] =
    [['_', '.', ',', '-', '=', '+', '*', '#'], ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']];

/// What was rejected, or did not keep up.
const NO_FIGURE: char = 'x';

/// The cells that have quantiles, where they are few.
pub(crate) fn section(set: &ResultSet, style: &Style) -> Section {
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok);
    let cells: Vec<(&Cell, Vec<(&str, f64)>)> = measured
        .filter_map(|cell| Some((cell, quantiles(cell.times()?))))
        .filter(|(_, quantiles)| quantiles.len() > 1)
        .collect();
    let values = || cells.iter().flat_map(|(_, quantiles)| quantiles).map(|(_, value)| *value);
    if cells.is_empty() || cells.len() > MOST {
        return Section::default();
    }
    let low = values().fold(f64::INFINITY, f64::min).log10().floor();
    let high = values().fold(1.0, f64::max).log10().ceil().max(low + 1.0);
    let room = style.width.saturating_sub(BESIDE).clamp(8, 60);
    let [from, to] = [low, high].map(|end| figures::nanos(10_f64.powf(end)));
    let half = room.saturating_sub(4) / 2;
    let scale = format!("{from:<half$} .. {to:>half$}");
    let columns =
        [Column::text(""), Column::text(scale).place(Place::Characters), Column::number("")];
    let rows = cells.iter().flat_map(|(cell, quantiles)| {
        let row = |(name, value): &(&str, f64)| {
            let share = (value.log10() - low) / (high - low);
            let bar = text::bar(share * room as f64, style.unicode);
            Row::new([(*name).to_owned(), bar, figures::nanos(*value)])
        };
        let rows = quantiles.iter().map(row).chain(rounds(cell, style));
        rows.map(|row| row.group(cell.id.as_str()))
    });
    let table = Table { flexible: 1, ..Table::new(columns, rows) };
    Section::new("Distribution, over powers of ten", |body| body.table(table))
}

fn quantiles(times: &BTreeMap<String, Metric>) -> Vec<(&'static str, f64)> {
    let figure = |name: &&'static str| Some((*name, times.get(*name)?.value?));
    QUANTILES.iter().filter_map(figure).filter(|(_, value)| *value > 0.0).collect()
}

/// The figure of each round, from the lowest to the highest of them.
fn rounds(cell: &Cell, style: &Style) -> Option<Row> {
    let figure =
        |slices: &[Round]| cell.figure_of(slices.iter().find(|slice| slice.rejected.is_none())?);
    let figures: Vec<Option<f64>> = cell.by_round().map(figure).collect();
    let low = figures.iter().flatten().fold(f64::INFINITY, |a, b| a.min(*b));
    let high = figures.iter().flatten().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    if figures.len() < 2 || !low.is_finite() || !high.is_finite() {
        return None;
    }
    let heights = BLOCKS[usize::from(style.unicode)];
    let height = |figure: &Option<f64>| match figure {
        None => NO_FIGURE,
        // The share first: of figures near the largest that there are, a multiple is infinite.
        Some(figure) => heights[(7.99 * ((figure - low) / (high - low).max(1e-9))) as usize],
    };
    let drawn: String = figures.iter().map(height).collect();
    let (facts, size) = (cell.key.pattern.facts().figure, cell.key.size_bytes);
    let [low, high] = [low, high].map(|value| figures::of(facts, value, size));
    let out = if drawn.contains(NO_FIGURE) { "x has no figure" } else { "" };
    let ends = Words::from(format!("{low} to {high}")).below(Tone::Plain, out);
    Some(Row::new([Words::from("rounds"), Words::from(drawn), ends]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;
    use crate::testing::sample::{Build, TWO};
    use ipcperf_render::Format;
    use ipcperf_render::doc::Doc;
    use ipcperf_testing::to_text;

    fn drawn(set: &ResultSet, style: &Style) -> String {
        let mut doc = Doc::default();
        doc.body.add(section(set, style));
        to_text(|out| doc.write(Format::Table, style, out))
    }

    fn set(cells: usize) -> ResultSet {
        let cell = |at: usize| {
            let mut cell = sample::cell("pipe", 64 << at, TWO)
                .rtt(10_000.0, 100.0)
                .of_rounds(&[10_000.0, 20_000.0, 15_000.0]);
            let times = cell.rtt_ns.as_mut().unwrap();
            for (name, value) in [("min", 1000.0), ("p50", 10_000.0), ("max", 100_000.0)] {
                times.insert(name.to_owned(), sample::metric(value, 0.0));
            }
            cell
        };
        sample::set((0..cells).map(cell).collect())
    }

    fn flat(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Signs of the bar beside this quantile.
    fn length(text: &str, name: &str) -> usize {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
        line.chars().filter(|sign| ['#', '\u{2588}'].contains(sign)).count()
    }

    #[test]
    fn each_power_of_ten_is_as_long_as_the_others() {
        for unicode in [false, true] {
            let text = drawn(&set(1), &Style { unicode, width: 80, ..Style::default() });
            let lengths = ["min", "p50", "max"].map(|name| length(&text, name));
            assert_eq!(lengths, [0, 21, 42], "{text}");
            assert_eq!(text.is_ascii(), !unicode, "{text}");
        }
    }

    #[test]
    fn the_largest_figure_that_a_file_can_hold_has_a_height() {
        let mut set = set(1);
        for (round, p50) in set.cells[0].rounds.iter_mut().zip([f64::MAX, 10_000.0, f64::MAX]) {
            round.p50_ns = Some(p50);
        }
        let text = drawn(&set, &Style { width: 2000, ..Style::default() });
        assert!(text.contains("  rounds  #_# "), "{text}");
    }

    #[test]
    fn rounds_stand_in_their_order_and_what_has_no_figure_has_no_height() {
        let mut set = set(1);
        let text = drawn(&set, &Style::default());
        assert!(flat(&text).contains(" rounds _#- 10.0 us to 20.0 us"), "{text}");
        set.cells[0].rounds[1].rejected = Some("moved".to_owned().into());
        let text = drawn(&set, &Style { unicode: true, ..Style::default() });
        assert!(flat(&text).contains(" rounds ▁x█ 10.0 us to 15.0 us x has no figure"), "{text}");
        // Nor is one that did not keep up, though it counts.
        (set.cells[0].rounds[1].rejected, set.cells[0].rounds[1].p50_ns) = (None, None);
        let text = drawn(&set, &Style::default());
        assert!(flat(&text).contains(" rounds _x# 10.0 us to 15.0 us x has no figure"), "{text}");
        set.cells[0].rounds[1].rejected = Some("moved".to_owned().into());
        set.cells[0].rounds[1].p50_ns = Some(20_000.0);
        // Measured once more, the round has a figure again.
        let again = Round { rejected: None, ..set.cells[0].rounds[1].clone() };
        set.cells[0].rounds.insert(2, again);
        let text = drawn(&set, &Style::default());
        assert!(flat(&text).contains(" rounds _#- 10.0 us to 20.0 us"), "{text}");
        assert!(
            crate::results::table::masthead(&set).concat().contains(", 3 rounds of "),
            "no fourth round"
        );
    }

    #[test]
    fn it_is_for_few_cells_and_never_wider_than_the_terminal() {
        assert_eq!(drawn(&set(MOST + 1), &Style::default()), "");
        assert_eq!(drawn(&set(0), &Style::default()), "");
        for width in [20, 40, 80, 200] {
            let text = drawn(&set(2), &Style { width, unicode: true, ..Style::default() });
            assert!(
                text.lines().all(|line| ipcperf_render::text::width(line) <= width),
                "{width}: {text}"
            );
        }
    }
}
