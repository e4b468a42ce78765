//! Files in the original's own format.

use crate::error::Stop;
use crate::output;
use ipcperf_core::result::Replication;
use ipcperf_report::csv_row;
use ipcperf_study::{Study, csv_files};
use std::path::Path;

/// Writes every file that the studies describe.
pub(crate) fn write(folder: &Path, studies: &[Study], document: &Replication) -> Result<(), Stop> {
    for (study, result) in studies.iter().zip(&document.studies) {
        for (name, rows) in csv_files(study, result) {
            let text: String = rows.iter().map(|row| csv_row(row) + "\n").collect();
            output::beside(&folder.join(name), text.as_bytes())?;
        }
    }
    Ok(())
}
