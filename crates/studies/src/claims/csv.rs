//! Readings in the original's own format.

use crate::claims::study::{CsvFile, Study};
use crate::replication::StudyResult;

/// Name and rows of every file that a study describes; of a study that describes none, one file with all readings. The
/// cells are as the study says, not yet fit for a file.
pub fn files(study: &Study, result: &StudyResult) -> Vec<(String, Vec<Vec<String>>)> {
    if study.files.is_empty() {
        return vec![(format!("{}.csv", study.head.name), readings(result))];
    }
    study.files.iter().map(|file| (file.file.clone(), rows(file, study, result))).collect()
}

fn rows(file: &CsvFile, study: &Study, result: &StudyResult) -> Vec<Vec<String>> {
    let mut rows = vec![file.header.clone()];
    let arms = study.arms.iter().zip(&result.arms);
    for (arm, found) in arms.filter(|(arm, _)| file.arms.contains(&arm.base)) {
        for round in &found.rounds {
            let value = |word: &String| match word.as_str() {
                "round" => (round.round + 1).to_string(),
                "each" => arm.each.clone(),
                "arm" => arm.id.clone(),
                metric => round.values.get(metric).map(ToString::to_string).unwrap_or_default(),
            };
            rows.push(file.values.iter().map(value).collect());
        }
    }
    rows
}

fn readings(result: &StudyResult) -> Vec<Vec<String>> {
    let mut rows = vec![["arm", "round", "order", "metric", "value"].map(Into::into).to_vec()];
    for arm in &result.arms {
        for round in &arm.rounds {
            let (number, order) = ((round.round + 1).to_string(), (round.order + 1).to_string());
            for (metric, value) in &round.values {
                let (id, metric, value) = (arm.id.clone(), metric.clone(), value.to_string());
                rows.push(vec![id, number.clone(), order.clone(), metric, value]);
            }
        }
    }
    rows
}
