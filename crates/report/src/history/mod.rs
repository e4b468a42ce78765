//! Documents that are kept: what their index knows of them, the list of them, and how a cell fared from one to the next.

mod list;
mod summary;
#[cfg(test)]
pub(crate) mod tests;
mod trend;

pub use list::{Kept, kept};
pub use summary::{CellFigure, CellFigures, Summary, summary};
pub use trend::{Trend, trend};

use crate::grid::Grid;
use crate::{Format, Style};
use crate::{csv, json, markdown};
use serde::Serialize;
use std::io::{self, Write};

/// Rows in a format for programs or for a page; `None` for a terminal, where more than rows is to be said.
fn rows<T: Serialize>(
    all: &[T],
    columns: &[csv::Column],
    grid: &Grid,
    (format, style): (Format, &Style),
    out: &mut dyn Write,
) -> io::Result<Option<()>> {
    match format {
        Format::Table | Format::Html => return Ok(None),
        Format::Json => json::document(&all, out)?,
        Format::Ndjson => all.iter().try_for_each(|one| json::object(one, out))?,
        Format::Csv => csv::render_values(all, columns, out)?,
        Format::Markdown => markdown::grid(grid, style, out)?,
    }
    Ok(Some(()))
}
