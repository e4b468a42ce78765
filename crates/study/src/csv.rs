//! Readings in the original's own format.

use crate::study::{CsvFile, Study};
use ipcperf_core::result::StudyResult;

/// Name and text of every file that a study describes; of a study that describes none, one file with all readings.
pub fn files(study: &Study, result: &StudyResult) -> Vec<(String, String)> {
    if study.files.is_empty() {
        return vec![(format!("{}.csv", study.head.name), readings(result))];
    }
    study.files.iter().map(|file| (file.file.clone(), lines(file, study, result))).collect()
}

fn lines(file: &CsvFile, study: &Study, result: &StudyResult) -> String {
    let mut text = file.header.join(",") + "\n";
    let arms = study.arms.iter().zip(&result.arms);
    for (arm, found) in arms.filter(|(arm, _)| file.arms.contains(&arm.base)) {
        for round in &found.rounds {
            let value = |word: &String| match word.as_str() {
                "round" => (round.round + 1).to_string(),
                "each" => arm.each.clone(),
                "arm" => arm.id.clone(),
                metric => round.values.get(metric).map(ToString::to_string).unwrap_or_default(),
            };
            text += &file.values.iter().map(value).collect::<Vec<_>>().join(",");
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
                let (id, number, order) = (&arm.id, round.round + 1, round.order + 1);
                text +=
                    &format!("\"{}\",{number},{order},{metric},{value}\n", id.replace('"', "\"\""));
            }
        }
    }
    text
}
