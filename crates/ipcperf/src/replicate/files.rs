//! Files in the original's own format.

use crate::error::Stop;
use crate::output;
use ipcperf_core::result::Replication;
use ipcperf_report::csv_cell;
use ipcperf_study::{Study, csv_files};
use std::fs;
use std::path::Path;

/// Makes the folder now rather than after all measuring, if it cannot be made.
pub(crate) fn prepare(folder: &Path) -> Result<(), Stop> {
    fs::create_dir_all(folder).map_err(|error| {
        let shown = folder.display();
        Stop::usage(format!("--csv: cannot make the folder '{shown}': {}", output::words(&error)))
    })
}

/// Writes every file that the studies describe.
pub(crate) fn write(folder: &Path, studies: &[Study], document: &Replication) -> Result<(), Stop> {
    for (study, result) in studies.iter().zip(&document.studies) {
        for (name, rows) in csv_files(study, result) {
            let line = |row: &Vec<String>| {
                row.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\n"
            };
            let text: String = rows.iter().map(line).collect();
            output::to_file(&folder.join(name), |out| out.write_all(text.as_bytes()))?;
        }
    }
    Ok(())
}
