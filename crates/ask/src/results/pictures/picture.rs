//! What all pictures of a page have in common: their frame, and how names and numbers are written in them.

use crate::results::chapters::name;
use crate::results::fittest::FAMILIAR;
use ipcperf_core::Figure;
use ipcperf_core::result::Cell;
use ipcperf_judge::figures;
use ipcperf_judge::figures::Unit;
use ipcperf_render::doc::{Blocks, Chart, Column, Picture, Row, Table};

/// Traces that have a colour and a name.
const NAMED: usize = 6;

/// A picture with what stands around it, and the same in figures: a name and numbers in each row.
pub(super) fn chart(
    title: String,
    note: String,
    picture: Picture,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
) -> Chart {
    let columns = heads.into_iter().enumerate();
    let columns = columns.map(|(at, head)| Column { is_number: at > 0, ..Column::text(head) });
    let table = Table::new(columns, rows.into_iter().map(Row::new));
    let mut figures = Blocks::default();
    figures.table(Table { label: title.clone(), ..table });
    Chart { title, note, picture: Some(picture), figures, file: None }
}

/// What a row of a ranking is called: of an open loop with what was asked for. What all rows share is in the title.
pub(super) fn called(cell: &Cell) -> String {
    match cell.key.load.rate.filter(|_| cell.key.pattern.facts().is_open) {
        Some(rate) => format!("{} at {rate}", name(cell)),
        None => name(cell),
    }
}

/// A number at an axis in the unit that suits it: `20 us`.
fn in_unit(value: f64, unit: Unit) -> String {
    let (scale, name) = figures::suited(value, unit);
    let digits = format!("{:.3}", value / scale);
    format!("{} {name}", digits.trim_end_matches('0').trim_end_matches('.'))
}

pub(super) fn nanos(value: f64) -> String {
    in_unit(value, figures::NANOS)
}

fn bytes_per_second(value: f64) -> String {
    in_unit(value, figures::BYTES_PER_SECOND)
}

pub(super) fn per_second(value: f64) -> String {
    in_unit(value, figures::PER_SECOND)
}

/// How figures of cells of this size are written at an axis.
pub(super) fn axis_words(figure: Figure, size: u64) -> fn(f64) -> String {
    match figure {
        Figure::Time => nanos,
        Figure::Throughput if size > 0 => bytes_per_second,
        Figure::Throughput | Figure::Requests => per_second,
    }
}

/// How figures are written at an axis, by the name that their metric has in the document.
pub(crate) fn axis_of(metric: &str) -> fn(f64) -> String {
    match metric {
        "figure" => figures::plain,
        "bytes_per_second" => bytes_per_second,
        time if time.starts_with("rtt_ns") || time.ends_with("_ns") => nanos,
        _ => per_second,
    }
}

/// Those that get a name: the first ones, then those that most programs are written with, then the next best.
pub(super) fn prominent(rows: &[&Cell], first: &[usize]) -> Vec<usize> {
    let is_familiar = |at: &usize| FAMILIAR.contains(&name(rows[*at]).as_str());
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| (!first.contains(at), !is_familiar(at)));
    order.truncate(NAMED);
    order.sort_unstable();
    order
}
