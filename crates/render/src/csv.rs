//! Rows of columns that are always the same, for a spreadsheet, a data frame or a database. Quoting follows RFC 4180; lines
//! end in a newline alone, as every other text here, and no cell has one.

use crate::text;
use serde::Serialize;
use serde_json::Value;
use std::io;

/// A column: its name, and where its value is (RFC 6901).
pub type Column = (&'static str, &'static str);

/// Objects as rows.
///
/// # Errors
/// `out` refuses the bytes.
pub fn render_values(
    values: impl IntoIterator<Item = impl Serialize>,
    columns: &[Column],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    line(columns.iter().map(|(name, _)| (*name).to_owned()), out)?;
    values.into_iter().try_for_each(|one| {
        let row = serde_json::to_value(one)?;
        line(columns.iter().map(|column| seen(&row, column)), out)
    })
}

/// A value in six digits, which is more than any interval supports; a count in all of its digits.
#[must_use]
pub fn seen(row: &Value, (_, path): &Column) -> String {
    match row.pointer(path).and_then(|value| value.is_f64().then(|| value.as_f64())?) {
        Some(number) if number.fract() == 0.0 => number.to_string(),
        Some(number) => {
            format!("{number:.5e}").parse::<f64>().map_or_else(|_| String::new(), |n| n.to_string())
        }
        None => whole(row, path),
    }
}

/// A value as it is; several words have a space between them.
#[must_use]
pub fn whole(row: &Value, path: &str) -> String {
    match row.pointer(path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let words = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
            words.collect::<Vec<_>>().join(" ")
        }
        Some(value) => value.to_string(),
    }
}

/// A figure in all of its digits; nothing where there is none.
#[must_use]
pub fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// One row.
///
/// # Errors
/// `out` refuses the bytes.
pub fn line(fields: impl IntoIterator<Item = String>, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{}", row(fields))
}

/// The cells of one row, whatever is in them.
#[must_use]
pub fn row(fields: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<String> = fields.into_iter().map(|field| cell(field.as_ref())).collect();
    cells.join(",")
}

/// A cell of a CSV file: one clean line, quoted where it must be. A text that a spreadsheet would take for a formula
/// gets an apostrophe in front; a number stays one.
#[must_use]
pub fn cell(text: &str) -> String {
    let mut cell = text::clean(text, true);
    if cell.starts_with(['=', '@', '+', '-']) && cell.parse::<f64>().is_err() {
        cell.insert(0, '\'');
    }
    // Some spreadsheets part cells at semicolons.
    if cell.contains([',', ';', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}
