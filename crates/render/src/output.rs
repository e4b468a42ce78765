//! What a command writes: a document for programs, its rows, or the same for people.

use crate::doc::Doc;
use crate::{Format, Style, csv, json};
use serde::Serialize;
use std::io;

/// A document for programs, and its rows.
pub struct Output<'a, D, R> {
    /// All of it.
    pub document: &'a D,
    /// One object for each line of NDJSON and each row of CSV.
    pub rows: &'a [R],
    /// The columns of CSV.
    pub columns: &'a [csv::Column],
}

impl<D: Serialize, R: Serialize> Output<'_, D, R> {
    /// Writes it; `doc` says it to people in the room that the format has.
    ///
    /// # Errors
    /// `out` refuses the bytes.
    pub fn write(
        &self,
        format: Format,
        style: &Style,
        out: &mut dyn io::Write,
        doc: impl FnOnce(&Style) -> Doc,
    ) -> io::Result<()> {
        match format {
            Format::Json => json::document(self.document, out),
            Format::Ndjson => self.rows.iter().try_for_each(|row| json::object(row, out)),
            Format::Csv => csv::render_values(self.rows, self.columns, out),
            Format::Table | Format::Markdown | Format::Html => {
                doc(&style.within(format)).write(format, style, out)
            }
        }
    }
}
