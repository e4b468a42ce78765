//! `schema`: the JSON Schemas of the documents and the types of rows, for programs that read them.

use crate::results::csv::Rows;
use ipcperf_kit::command::{Command, CommandArgs, CommandGroup, Context, documents};
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::output;
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    // The help is made of the documents of all commands.
    #[arg(default_value = "result", help = "")]
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

    fn declare(command: clap::Command, commands: &[Command]) -> clap::Command {
        let names = names(commands).join(", ");
        let help = format!(
            "The document: {names}; or CSV rows, as DuckDB's column types: rows (of cells), rows-rounds, rows-runs"
        );
        command.mut_arg("document", |document| document.help(help))
    }

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context.commands, &self.document)
    }
}

/// The rows of CSV, which have types for DuckDB.
const ROWS: [(&str, Rows); 3] =
    [("rows", Rows::Cells), ("rows-rounds", Rows::Rounds), ("rows-runs", Rows::Runs)];

/// The names of all kinds of documents, in alphabetical order.
fn names(commands: &[Command]) -> Vec<&'static str> {
    let mut names: Vec<&str> = documents(commands).iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names
}

fn run(commands: &[Command], document: &str) -> Result<ExitCode, Stop> {
    if let Some((_, rows)) = ROWS.iter().find(|(name, _)| *name == document) {
        return output::to_stdout(rows.duckdb().as_bytes());
    }
    match documents(commands).iter().find(|kind| kind.name == document) {
        Some(kind) => output::to_stdout((kind.json_schema)().as_bytes()),
        None => {
            let rows = ROWS.iter().map(|(name, _)| *name);
            let known: Vec<&str> = names(commands).into_iter().chain(rows).collect();
            let listed = format!("known: {}", known.join(", "));
            Err(unknown("document", document, known, &listed))
        }
    }
}
