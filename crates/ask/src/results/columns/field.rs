//! What a field of a row is.

use ipcperf_render::csv::Column;

/// A field of a row: its name, where its value is, and what it holds in the words of SQL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CsvField {
    pub(crate) column: Column,
    pub(crate) holds: &'static str,
}

const fn field(name: &'static str, path: &'static str, holds: &'static str) -> CsvField {
    CsvField { column: (name, path), holds }
}

/// A number, which may have a fraction.
pub(crate) const fn float(name: &'static str, path: &'static str) -> CsvField {
    field(name, path, "DOUBLE")
}

/// A whole number.
pub(crate) const fn count(name: &'static str, path: &'static str) -> CsvField {
    field(name, path, "BIGINT")
}

/// A text.
pub(crate) const fn text(name: &'static str, path: &'static str) -> CsvField {
    field(name, path, "VARCHAR")
}

/// Yes or no.
pub(crate) const fn flag(name: &'static str, path: &'static str) -> CsvField {
    field(name, path, "BOOLEAN")
}

/// A date with its time of day.
pub(crate) const fn time(name: &'static str, path: &'static str) -> CsvField {
    field(name, path, "TIMESTAMP")
}
