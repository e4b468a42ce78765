//! Files in the original's own format.

use super::study::{CsvFile, Study};
use crate::error::Stop;
use crate::output;
use ipcperf_core::result::{Replication, StudyResult};
use ipcperf_report::csv_cell;
use std::fs;
use std::path::Path;

/// Makes the folder now rather than after all measuring, if it cannot be made.
pub(crate) fn prepare(folder: &Path) -> Result<(), Stop> {
    fs::create_dir_all(folder).map_err(|error| {
        let shown = folder.display();
        Stop::usage(format!("--csv: cannot make the folder '{shown}': {}", output::words(&error)))
    })
}

/// Writes every file that the studies describe; of a study that describes none, one file with all readings.
pub(crate) fn write(folder: &Path, studies: &[Study], document: &Replication) -> Result<(), Stop> {
    for (study, result) in studies.iter().zip(&document.studies) {
        for file in &study.files {
            save(&folder.join(&file.file), &lines(file, study, result))?;
        }
        if study.files.is_empty() {
            let name = format!("{}.csv", study.head.name);
            save(&folder.join(name), &readings(result))?;
        }
    }
    Ok(())
}

fn save(path: &Path, text: &str) -> Result<(), Stop> {
    output::to_file(path, |out| out.write_all(text.as_bytes()))
}

fn lines(file: &CsvFile, study: &Study, result: &StudyResult) -> String {
    let row =
        |cells: &[String]| cells.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",");
    let mut text = row(&file.header) + "\n";
    let arms = study.arms.iter().zip(&result.arms);
    for (arm, found) in arms.filter(|(arm, _)| file.arms.contains(&arm.base)) {
        for round in &found.rounds {
            let value = |word: &String| match word.as_str() {
                "round" => (round.round + 1).to_string(),
                "each" => arm.each.clone(),
                "arm" => arm.id.clone(),
                metric => round.values.get(metric).map(ToString::to_string).unwrap_or_default(),
            };
            text += &row(&file.values.iter().map(value).collect::<Vec<_>>());
            text.push('\n');
        }
    }
    text
}

fn readings(result: &StudyResult) -> String {
    let mut text = "arm,round,order,metric,value\n".to_owned();
    for arm in &result.arms {
        for round in &arm.rounds {
            for (metric, value) in &round.values {
                let (id, metric) = (csv_cell(&arm.id), csv_cell(metric));
                let (number, order) = (round.round + 1, round.order + 1);
                text += &format!("{id},{number},{order},{metric},{value}\n");
            }
        }
    }
    text
}
