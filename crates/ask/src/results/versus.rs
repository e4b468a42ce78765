//! What a table says of a cell relative to the reference, for programs that read rows.

use crate::results::chapters::{Row, chapters};
use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_judge::MetricKind;
use ipcperf_kit::document::Specs;
use serde::Serialize;
use std::collections::HashMap;

/// A cell relative to the reference of its table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Versus {
    /// Identity of the reference.
    pub(crate) reference: String,
    /// Median over rounds of how many times worse the cell is; above 1 is worse, of times and of rates. 1 of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Interval of the ratio; all intervals of a table hold together at 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci95: Option<[f64; 2]>,
    /// Rounds in which both have a figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<usize>,
    /// `reference`, `slower`, `faster`, `as-fast`, `undecided` or `screen-only`.
    statement: &'static str,
    /// Whether the 90 % interval of this cell alone lies within the margin.
    within_margin: bool,
}

impl Versus {
    /// Of all cells that can be compared, by the primary figure of their pattern.
    pub(crate) fn all(set: &ResultSet, specs: &Specs) -> HashMap<*const Cell, Self> {
        let chapters = chapters(set, specs);
        let by_figure = chapters.iter().filter(|chapter| chapter.kind != MetricKind::Cpu);
        let sections = by_figure.flat_map(|chapter| &chapter.sections);
        let blocks = sections.flat_map(|section| &section.blocks);
        let rows = blocks.filter_map(|block| Some((block.reference?, &block.rows)));
        let rows = rows.flat_map(|(reference, rows)| rows.iter().map(move |row| (reference, row)));
        rows.filter_map(|(reference, row)| {
            Some((std::ptr::from_ref(row.cell), Self::of(reference, row)?))
        })
        .collect()
    }

    fn of(reference: &Cell, row: &Row<'_>) -> Option<Self> {
        let relation = row.relation?;
        let relative = relation.relative();
        let interval = relative.and_then(|relative| relative.joint);
        Some(Self {
            reference: reference.id.clone(),
            ratio: relation.ratio(),
            ci95: interval.map(|one| [one.low, one.high]),
            pairs: relative.map(|relative| relative.pairs),
            statement: relation.word(),
            within_margin: relation.is_within(),
        })
    }
}
