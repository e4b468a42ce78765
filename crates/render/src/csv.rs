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
    match at(row, path).and_then(|value| value.is_f64().then(|| value.as_f64())?) {
        Some(number) if number.fract() == 0.0 => number.to_string(),
        Some(number) => six_digits(number).to_string(),
        None => whole(row, path),
    }
}

/// Rounds to six digits. Powers of ten up to the 22nd are exact, so that a division gives the number nearest to the
/// decimal.
fn six_digits(number: f64) -> f64 {
    let places = 5 - number.abs().log10().floor() as i32;
    match places {
        0..=22 => (number * 10f64.powi(places)).round() / 10f64.powi(places),
        -22..0 => (number / 10f64.powi(-places)).round() * 10f64.powi(-places),
        _ => number,
    }
}

/// What `Value::pointer` finds, without its copies of each name: none here has a slash or a tilde.
fn at<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').skip(1).try_fold(row, |value, name| match value {
        Value::Object(keys) => keys.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A value as it is; several words have a space between them.
fn whole(row: &Value, path: &str) -> String {
    match at(row, path) {
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
    let mut row = String::new();
    for (at, field) in fields.into_iter().enumerate() {
        let field = field.as_ref();
        row += if at > 0 { "," } else { "" };
        // As nearly all are.
        if field.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'.') {
            row += field;
        } else {
            row += &cell(field);
        }
    }
    row
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_have_six_digits_and_counts_all_digits() {
        for (value, told) in [
            (json!(1.0 / 3.0), "0.333333"),
            (json!(20_000.0 / 3.0), "6666.67"),
            (json!(-2e-5 / 3.0), "-0.00000666667"),
            (json!(999_999.6), "1000000"),
            (json!(12_345_678.9), "12345700"),
            (json!(0.1), "0.1"),
            (json!(12_345_678), "12345678"),
            (json!(123_456_789.0), "123456789"),
            (json!(null), ""),
        ] {
            assert_eq!(seen(&json!({ "a": value }), &("a", "/a")), told);
        }
        for exponent in -17..17 {
            let number = 1.234_567_89 * 10f64.powi(exponent);
            let told = format!("{number:.5e}").parse::<f64>().expect("a number");
            assert_eq!(six_digits(number).to_string(), told.to_string());
        }
    }
}
