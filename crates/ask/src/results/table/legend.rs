//! What the signs and columns of a table mean; only those that occur.

use crate::results::advice::{for_samples, samples};
use crate::results::chapters::{Block, Chapter, Row, is_touched};
use crate::results::columns::{Column, Explains, Tables, placed, sentence};
use crate::results::{columns, marks, words};
use ipcperf_core::result::ResultSet;
use ipcperf_core::{Figure, PayloadFile, Wait};
use ipcperf_judge::{
    MetricKind, Relation, clock_share, figures, has_too_few_rounds, is_timed_alone,
};
use ipcperf_render::{Style, text};
use ipcperf_stats::FEWEST_ROUNDS;

/// The quantiles of which a missing one is explained.
const QUANTILES: [&str; 2] = ["p90", "p99"];

/// A part of the legend.
struct LegendPart {
    name: &'static str,
    /// Its sentences continue the line before them.
    is_joined: bool,
    is_shown: bool,
    explains: Explains,
}

const fn part(name: &'static str, explains: Explains) -> LegendPart {
    LegendPart { name, is_joined: false, is_shown: true, explains }
}

const fn joined(name: &'static str, explains: Explains) -> LegendPart {
    LegendPart { is_joined: true, ..part(name, explains) }
}

/// What is said of rows, and of more than one column.
fn parts() -> Vec<LegendPart> {
    vec![
        part("round trip", |tables| {
            let is_trip = |row: &Row<'_>| {
                let is_request = row.cell.key.pattern.facts().figure == Figure::Requests;
                row.cell.rtt_ns.is_some() && !is_request
            };
            sentence(tables.rows().any(is_trip), "A round trip is there and back, never halved.")
        }),
        joined("uncertainty", |tables| {
            let head = columns::spread_head(tables.style);
            vec![format!("{head} is half of the 95 % interval over rounds.")]
        }),
        part("rounds", |tables| {
            let head = columns::spread_head(tables.style);
            let is_missing = |row: &Row<'_>| {
                columns::spread(row) == figures::NONE && has_too_few_rounds(row.cell)
            };
            let words = format!("- in {head}: an interval takes {FEWEST_ROUNDS} rounds.");
            sentence(tables.rows().any(is_missing), &words)
        }),
        joined("guest", |tables| {
            let is_less = tables.first_cost().is_some_and(|(_, cost)| cost.excludes_hypervisor);
            sentence(is_less, "Hypervisor CPU time is not included.")
        }),
        part("patterns", |tables| {
            let legends = tables.rows().map(|row| row.cell.key.pattern.facts().legend);
            let legends = text::each_once(legends.filter(|legend| !legend.is_empty()));
            legends.into_iter().map(str::to_owned).collect()
        }),
        part("places", places),
        part("intervals", |tables| {
            let head = columns::spread_head(tables.style);
            let is_interval = |row: &Row<'_>| figures::is_interval(&columns::spread(row));
            let words = format!("{head} above 50 % is the 95 % interval itself.");
            sentence(tables.rows().any(is_interval), &words)
        }),
        part("touch", |tables| {
            sentence(
                tables.rows().any(|row| !is_touched(row.cell.key.touch)),
                "Touch none and header are not compared: a payload that is not touched costs nothing to move by reference.",
            )
        }),
        part("refused", refused),
        part("payloads", |tables| {
            let payloads = tables.rows().filter_map(|row| row.cell.key.load.payload.as_ref());
            text::each_once(payloads.map(PayloadFile::sentence))
        }),
        part("names", |tables| {
            let is_brief = tables.rows().any(|row| row.cell.key.wait == Wait::SpinThenBlock);
            words::legend(marks::BRIEFLY).filter(|_| is_brief).into_iter().collect()
        }),
        part("marks", |tables| {
            let is_split = tables.rows().any(Row::is_two_mode);
            let is_batch = tables.rows().any(|row| columns::figure(row).ends_with(marks::BATCH));
            let marks = [(is_split, marks::TWO_MODES), (is_batch, marks::BATCH)].into_iter();
            marks.filter(|(is_so, _)| *is_so).filter_map(|(_, mark)| words::legend(mark)).collect()
        }),
        part("quantiles", quantiles),
    ]
}

/// What the signs and columns mean; only those that occur, of columns that have a figure.
pub(crate) fn legend_lines(
    set: &ResultSet,
    chapters: &[Chapter<'_>],
    style: &Style,
) -> Vec<String> {
    let tables = &columns::tables(set, chapters, style);
    if tables.rows().next().is_none() {
        return Vec::new();
    }
    let columns = columns::all().filter_map(|column| {
        let Column { name, is_joined, legend_after, .. } = *column;
        let is_shown = tables.has(name);
        Some((legend_after, LegendPart { name, is_joined, is_shown, explains: column.legend? }))
    });
    let mut lines: Vec<String> = Vec::new();
    let mut begin = 0;
    for part in placed(parts(), columns, |part| part.name) {
        if !part.is_joined {
            begin = lines.len();
        }
        let sentences = if part.is_shown { (part.explains)(tables) } else { Vec::new() };
        for sentence in sentences {
            match lines[begin..].last_mut().filter(|_| part.is_joined) {
                Some(line) => line.push_str(&format!(" {sentence}")),
                None => lines.push(sentence),
            }
        }
    }
    lines
}

/// Cells whose ways could not be timed.
fn refused(tables: &Tables<'_>) -> Vec<String> {
    let by_figure = tables.rows().filter(|row| row.kind != MetricKind::Cpu);
    let refused = text::in_groups(by_figure.filter_map(|row| {
        let way = row.cell.one_way_ns.as_ref()?;
        Some((way.reason.as_deref()?, row.cell.id.as_str()))
    }));
    let words = |(reason, who): &(&str, Vec<&str>)| match who.as_slice() {
        [one] => format!("No one-way figure for {one}: {reason}."),
        all => format!("No one-way figure for {} cells: {reason}.", all.len()),
    };
    refused.iter().map(words).collect()
}

/// Why quantiles are missing.
fn quantiles(tables: &Tables<'_>) -> Vec<String> {
    let says = |row: &Row<'_>| [columns::figure(row), columns::median(row)];
    let is_saturated = |row: &Row<'_>| says(row).iter().any(|one| one == columns::SATURATED);
    let is_unsupported =
        |row: &Row<'_>| columns::quantile(row, "p99") == figures::NONE && !is_saturated(row);
    let has_times = |row: &Row<'_>| row.cell.rtt_ns.is_some() || row.cell.connect.is_some();
    let is_missed = |row: &Row<'_>| has_times(row) && is_unsupported(row);
    // A column that is hidden because it has no figure at all is missed most of all.
    let is_empty = |name| tables.rows().all(|row| columns::quantile(row, name) == figures::NONE);
    let mut names = QUANTILES.to_vec();
    names.retain(|name| tables.has(name) || is_empty(name));
    if names.is_empty() || !tables.rows().any(is_missed) {
        return Vec::new();
    }
    let head = match names.iter().any(|name| tables.has(name)) {
        true => "- in a quantile".to_owned(),
        false => format!("No {}", names.join(" and no ")),
    };
    vec![format!("{head}: {}", missing_quantile(tables, &names))]
}

/// Why the first quantile that is missing is missing, and what would give it.
fn missing_quantile(tables: &Tables<'_>, names: &[&str]) -> String {
    let lacks = |row: &Row<'_>| {
        let times = row.cell.times()?;
        names.iter().find_map(|name| {
            let metric = times.get(*name).filter(|metric| metric.value.is_none())?;
            Some((*name, samples(metric.reason.as_deref()?)?))
        })
    };
    match tables.rows().find_map(lacks) {
        Some((name, (needed, had))) => format!(
            "too few samples; {name} needs {} (had {}): use {}.",
            text::grouped(needed),
            text::grouped(had),
            for_samples(tables.set, needed, had)
        ),
        None => "too few samples.".to_owned(),
    }
}

/// Why there is no ratio, and what the clock is in the figures.
fn places(tables: &Tables<'_>) -> Vec<String> {
    let blocks = || tables.chapters.iter().flat_map(Chapter::blocks);
    let compared = blocks().filter(|block| block.reference.is_some());
    let mut rivals = compared.flat_map(|block| &block.rows);
    let mut lines = Vec::new();
    let is_short = |row: &Row<'_>| matches!(row.relation, Some(Relation::TooFewPairs(_)));
    if rivals.any(is_short) {
        lines.push(format!("No ratio with fewer than {FEWEST_ROUNDS} rounds of both."));
    }
    let is_mixed = |block: &&Block<'_>| {
        let alone = block.rows.iter().filter(|row| row.relation.is_some());
        let mut alone = alone.map(|row| is_timed_alone(row.cell));
        let first = alone.next();
        alone.any(|other| Some(other) != first)
    };
    let mixed = blocks().filter(is_mixed).flat_map(|block| &block.rows);
    let clock = mixed.map(|row| clock_share(row.cell, &tables.set.clock)).fold(0.0, f64::max);
    if clock > 0.0 {
        lines.push(format!(
            "Figures without ^ include up to {} of reading the clock, which makes no difference to one that has ^.",
            figures::nanos(clock)
        ));
    }
    lines
}
