//! `schema`: the JSON Schemas of the documents, for whoever reads them by program.

use crate::error::{Stop, unknown};
use crate::output;
use flate2::read::GzDecoder;
use std::io::Read;
use std::process::ExitCode;

/// Packed by `build.rs`.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));

pub(crate) fn run(document: &str) -> Result<ExitCode, Stop> {
    let mut text = String::new();
    GzDecoder::new(PACKED)
        .read_to_string(&mut text)
        .map_err(|error| Stop::internal(format!("schemas: {error}")))?;
    let schemas: Vec<(&str, &str)> =
        text.split('\0').filter_map(|part| part.split_once('\n')).collect();
    match schemas.iter().find(|(name, _)| *name == document) {
        Some((_, schema)) => output::to_stdout(schema.as_bytes()),
        None => {
            let names = || schemas.iter().map(|(name, _)| *name);
            let known = format!("known: {}", names().collect::<Vec<_>>().join(", "));
            Err(unknown("document", document, names(), &known))
        }
    }
}
