//! `schema`: the JSON Schemas of the documents and the types of rows, for programs that read them.

use crate::command::{CommandArgs, CommandGroup, Context};
use crate::error::{Stop, unknown};
use crate::{output, packed};
use ipcperf_report::Rows;
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    // The names are those of the files in `schema`.
    #[arg(default_value = "result", help = concat!(
        "The document: ",
        env!("IPCPERF_SCHEMAS"),
        "; or CSV rows, as DuckDB's column types: rows (of cells), rows-rounds, rows-runs"
    ))]
    document: String,
}

impl CommandArgs for SchemaArgs {
    const NAME: &'static str = "schema";
    const GROUP: CommandGroup = CommandGroup::Results;
    const ABOUT: &'static str =
        "Print the JSON Schema of a document, or the column types of CSV rows";
    const EXAMPLES: &'static str = "Examples:
  ipcperf schema
  ipcperf schema comparison
  ipcperf schema rows-rounds                    for DuckDB: read_csv('rounds.csv', $(...))";

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        run(&self.document)
    }
}

/// The rows of CSV, which have types for DuckDB.
const ROWS: [(&str, Rows); 3] =
    [("rows", Rows::Cells), ("rows-rounds", Rows::Rounds), ("rows-runs", Rows::Runs)];

fn run(document: &str) -> Result<ExitCode, Stop> {
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
