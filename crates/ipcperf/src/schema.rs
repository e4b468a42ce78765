//! `schema`: the JSON Schemas of the documents and the types of rows, for programs that read them.

use crate::error::{Stop, unknown};
use crate::{output, packed};
use ipcperf_report::Rows;
use std::process::ExitCode;

pub(crate) const EXAMPLES: &str = "Examples:
  ipcperf schema
  ipcperf schema comparison
  ipcperf schema rows-rounds                    for DuckDB: read_csv('rounds.csv', $(...))";

/// The rows of CSV, which have types for DuckDB.
const ROWS: [(&str, Rows); 3] =
    [("rows", Rows::Cells), ("rows-rounds", Rows::Rounds), ("rows-runs", Rows::Runs)];

pub(crate) fn run(document: &str) -> Result<ExitCode, Stop> {
    if let Some((_, rows)) = ROWS.iter().find(|(name, _)| *name == document) {
        return output::to_stdout(rows.duckdb().as_bytes());
    }
    let schemas = packed::schemas();
    match schemas.iter().find(|(name, _)| name == document) {
        Some((_, schema)) => output::to_stdout(schema.as_bytes()),
        None => {
            let rows = ROWS.iter().map(|(name, _)| *name);
            let names = || schemas.iter().map(|(name, _)| name.as_str()).chain(rows.clone());
            let known = format!("known: {}", names().collect::<Vec<_>>().join(", "));
            Err(unknown("document", document, names(), &known))
        }
    }
}
