//! Rendering: a result set in, bytes out.
//!
//! Everything here is pure. No clock, no file, no terminal: the caller says how wide the output is
//! and whether it may be coloured. A result set may be a file that somebody else wrote, so
//! no figure, name or text of it is trusted to be short, printable or complete.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect"))]

mod advice;
mod answers;
mod bars;
mod calls;
mod chapters;
mod choose;
mod columns;
mod compare;
mod crossover;
mod csv;
mod describe;
mod doctor;
mod document;
mod explain;
mod fittest;
mod json;
mod list;
mod machine;
mod marks;
mod overview;
mod pictures;
mod pipelines;
mod reference;
mod result;
pub mod snippet;
mod specs;
mod table;
#[cfg(test)]
mod testing;
mod trend;
mod versus;
mod words;

pub use answers::{Answer, Question, answers};
pub use choose::{chosen, is_met, lacking};
pub use compare::{ComparisonDocument, comparison};
pub use csv::Rows;
pub use describe::describe;
pub use doctor::doctor;
pub use document::{Document, Show, interrupted_after, is_a};
pub use explain::{BURSTS, Needed, explain_word, needed};
pub use fittest::{by_custom, by_fitness};
pub use list::{ListRow, list};
pub use marks::TWO_MODES;
pub use reference::reference;
pub use result::{ResultDocument, render};
pub use specs::Specs;
pub use table::{counted_findings, finding_text, finding_words, grade_words, machine};
pub use trend::{CellFigure, CellFigures, DatedResult, Trend, figures_of, trend, trends};
pub use words::{Vocabulary, Word, WordKind, word};

pub use ipcperf_judge::{
    Arms, Incomparable, Limit, LoadError, Outcome, ProgramFigure, Programs, Recorded, Repeatable,
    Slower, Terms, at_once, beside, compare_files, compare_live, compare_programs, damaged,
    factor_names, is_document, is_of, load, metric_of, once, run_key, winner,
};
pub use ipcperf_render::csv::row as csv_row;
pub use ipcperf_render::text::{clean, counted, in_groups, wrap};
pub use ipcperf_render::{Format, Style};

use ipcperf_core::result::{Comparison, ResultSet};
use ipcperf_judge::{self as judge, figures};
use ipcperf_render::{svg, text};
use std::io;

/// Writes a page of two documents: what the second is beside the first, then all of the second.
///
/// # Errors
/// `out` refuses the bytes.
pub fn before_and_after(
    document: &Comparison,
    after: &ResultSet,
    specs: &Specs,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let style = Style::default().within(Format::Html);
    let mut doc = compare::doc(document, &style);
    result::put_below(&mut doc, after, specs, &style);
    doc.write(Format::Html, &style, out)
}
