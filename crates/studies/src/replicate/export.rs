//! The file of a study, to be read or changed.

use crate::claims::{Study, csv_files};
use crate::packed::{self, STUDY_NAMES};
use crate::replication::Replication;
use ipcperf_kit::error::{Stop, note, unknown};
use ipcperf_kit::output;
use ipcperf_render::csv::row as csv_row;
use std::path::Path;
use std::process::ExitCode;

/// Writes it to `STUDY.toml` here, if nothing has that name; to the file that is named, whatever is there; or to standard
/// output.
pub(crate) fn export(name: &str, to: Option<&Path>, is_quiet: bool) -> Result<ExitCode, Stop> {
    let Some(text) = packed::study(name) else {
        let list = format!("known: {}", STUDY_NAMES.join(", "));
        return Err(unknown("study", name, STUDY_NAMES, &list));
    };
    let said = |words: &str| {
        if !is_quiet {
            note(words);
        }
    };
    match to {
        Some(path) if path.as_os_str() == "-" => return output::to_stdout(text.as_bytes()),
        Some(path) => {
            let more = if path.exists() { ", in place of what was there" } else { "" };
            output::to_file(path, |out| out.write_all(text.as_bytes()))?;
            said(&format!("Study: {}{more}", path.display()));
        }
        None => {
            let file = format!("{name}.toml");
            output::to_new_file(&file, |out| out.write_all(text.as_bytes()))?;
            said(&format!("Study: {file}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

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
