//! `schema`: the JSON Schemas of the documents, for programs that read them.

use crate::error::{Stop, unknown};
use crate::{output, packed};
use std::process::ExitCode;

pub(crate) const EXAMPLES: &str = "Examples:
  ipcperf schema
  ipcperf schema comparison";

pub(crate) fn run(document: &str) -> Result<ExitCode, Stop> {
    let schemas = packed::schemas();
    match schemas.iter().find(|(name, _)| name == document) {
        Some((_, schema)) => output::to_stdout(schema.as_bytes()),
        None => {
            let names = || schemas.iter().map(|(name, _)| name.as_str());
            let known = format!("known: {}", names().collect::<Vec<_>>().join(", "));
            Err(unknown("document", document, names(), &known))
        }
    }
}
