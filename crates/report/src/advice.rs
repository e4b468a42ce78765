//! What the noise and the length of a run let its reader conclude.

use crate::rank::has_too_few_rounds;
use ipcperf_core::result::{ResultSet, Severity, Status};
use ipcperf_stats::LEAST_ROUNDS;

/// Most findings named as the cause of a grade.
const CAUSES: usize = 3;

/// Codes of findings about what a grade is made of; `E-` is a rejected slice.
const GRADED: [&str; 4] = ["E-", "W-STEAL", "W-LOAD", "W-UNSTABLE"];

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

/// ` (W-STEAL: the hypervisor took 20 % of the CPU time)`: the findings behind a grade, or what else was found first.
fn cause(set: &ResultSet) -> String {
    let findings = &set.noise.findings;
    let is_graded = |code: &str| GRADED.iter().any(|graded| code.starts_with(graded));
    let mut causes: Vec<_> = findings.iter().filter(|finding| is_graded(&finding.code)).collect();
    if causes.is_empty() {
        causes.extend(findings.iter().find(|finding| finding.severity != Severity::Info));
    }
    let words = |finding: &&ipcperf_core::result::Finding| {
        format!("{}: {}", finding.code, finding.text.trim_end_matches('.'))
    };
    let causes: Vec<String> = causes.iter().take(CAUSES).map(words).collect();
    if causes.is_empty() { String::new() } else { format!(" ({})", causes.join("; ")) }
}
