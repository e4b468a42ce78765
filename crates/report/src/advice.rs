//! What the noise and the length of a run let its reader conclude.

use crate::rank::has_too_few_rounds;
use ipcperf_core::result::{ResultSet, Severity, Status};
use ipcperf_stats::LEAST_ROUNDS;

/// Whether cells have places and answers are given: not at grade F.
pub(crate) fn has_places(set: &ResultSet) -> bool {
    set.noise.grade != "F"
}

/// Why no cell has a place, where that is the noise.
pub(crate) fn no_places(set: &ResultSet) -> Option<String> {
    (!has_places(set)).then(|| format!("No places: noise grade F supports no claim{}.", cause(set)))
}

/// What stands before the answers of a survey, or in their place.
pub(crate) fn caution(set: &ResultSet) -> Option<String> {
    let mut measured = set.cells.iter().filter(|cell| cell.status == Status::Ok);
    match set.noise.grade.as_str() {
        "F" => Some(format!("No advice: noise grade F supports no claim{}.", cause(set))),
        _ if measured.all(has_too_few_rounds) => Some(format!(
            "With so few rounds no order can be given: below {LEAST_ROUNDS} rounds all cells tie."
        )),
        "D" => Some(format!(
            "This advice is weak: at noise grade D only large differences are certain{}.",
            cause(set)
        )),
        _ => None,
    }
}

/// ` (steal 20 %)`: what gave the grade its value; of a document that does not say so, the first finding.
fn cause(set: &ResultSet) -> String {
    let first = set.noise.findings.iter().find(|finding| finding.severity != Severity::Info);
    let first = first.map(|finding| finding.text.trim_end_matches('.').to_owned());
    let causes = match set.noise.causes.as_slice() {
        [] => first.into_iter().collect(),
        causes => causes.to_vec(),
    };
    if causes.is_empty() { String::new() } else { format!(" ({})", causes.join("; ")) }
}
