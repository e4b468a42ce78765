//! What the noise and the length of a run let its reader conclude.

use ipcperf_core::result::{Cell, ResultSet, Severity, Status};
use ipcperf_render::text;
use ipcperf_stats::FEWEST_ROUNDS;

/// Whether equality, tails and absolute figures hold: not at grade F.
pub(crate) fn has_places(set: &ResultSet) -> bool {
    set.noise.grade != "F"
}

/// What the noise and the length of a run do not allow to conclude. Ratios with an interval hold at any grade.
pub(crate) fn limits(set: &ResultSet) -> Option<String> {
    let mut measured = set.cells.iter().filter(|cell| cell.status == Status::Ok).peekable();
    match set.noise.grade.as_str() {
        "F" => Some(format!(
            "At noise grade F ratios with an interval hold; absolute figures, tails and equality do not{}.",
            cause(set)
        )),
        _ if measured.peek().is_some() && measured.all(has_few_rounds) => Some(format!(
            "Too few rounds: with fewer than {FEWEST_ROUNDS} nothing is said of what is faster."
        )),
        "D" => Some(format!(
            "At noise grade D ratios with an interval hold; absolute figures and tails are rough{}.",
            cause(set)
        )),
        _ => None,
    }
}

/// Whether a cell was measured in few rounds. One that was saturated in many has no figures either, for another reason.
fn has_few_rounds(cell: &Cell) -> bool {
    cell.rounds.iter().filter(|round| round.rejected.is_none()).count() < FEWEST_ROUNDS
}

/// What noise of grade F takes away from an answer.
pub(crate) fn at_grade_f(set: &ResultSet) -> Option<String> {
    (!has_places(set)).then(|| {
        format!(
            "Noise grade F{}: figures, tails and equality are not certain; ratios with an interval hold.",
            cause(set)
        )
    })
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

/// The longest slice that is named as a remedy, ms.
const LONGEST_MS: f64 = 60_000.0;

/// Budgets that are named as remedies: what is typed, and its seconds.
const BUDGETS: [(&str, f64); 11] = [
    ("30s", 30.0),
    ("1m", 60.0),
    ("2m", 120.0),
    ("3m", 180.0),
    ("5m", 300.0),
    ("10m", 600.0),
    ("20m", 1200.0),
    ("30m", 1800.0),
    ("1h", 3600.0),
    ("2h", 7200.0),
    ("5h", 18_000.0),
];

/// Samples needed and had: `needs 2000 samples, has 1500`.
pub(crate) fn samples(reason: &str) -> Option<(u64, u64)> {
    let (needed, had) = reason.strip_prefix("needs ")?.split_once(" samples, has ")?;
    Some((needed.parse().ok()?, had.parse().ok()?))
}

/// What to type for so many samples where a run like this had fewer. Of a budget only a part is timed, and that part
/// grows with it, so that one that grows like the samples is enough.
pub(crate) fn for_samples(set: &ResultSet, needed: u64, had: u64) -> String {
    let plan = &set.invocation.plan;
    let more = needed as f64 / had.max(1) as f64;
    if matches!(plan.command.as_str(), "run" | "compare") {
        if let Some(samples) = plan.samples {
            return format!("--samples {:.0}", (samples as f64 * more).ceil());
        }
        let slice = (plan.slice_ms * more / 10.0).ceil() * 10.0;
        return match slice.is_finite() && slice <= LONGEST_MS {
            true => format!("--slice {slice:.0}ms"),
            false => "a longer --slice".to_owned(),
        };
    }
    match BUDGETS.iter().find(|(_, seconds)| *seconds >= set.duration_s * more) {
        Some((budget, _)) => format!("--budget {budget}"),
        None => "a longer --budget, or 'ipcperf run --slice'".to_owned(),
    }
}

/// Why some of these cells have no p99, and what would give it; `None` where too few samples are no reason.
pub(crate) fn without_p99<'a>(
    set: &ResultSet,
    cells: impl IntoIterator<Item = &'a Cell>,
) -> Option<String> {
    let mut all = 0_u64;
    let mut short = Vec::new();
    for cell in cells {
        all += 1;
        let reason = cell.times().and_then(|times| times.get("p99")?.reason.as_deref());
        short.extend(reason.and_then(samples));
    }
    short.sort_unstable();
    let (needed, had) = *short.get(short.len() / 2)?;
    let who = match short.len() as u64 {
        some if some == all => "p99".to_owned(),
        some => format!("p99 of {some} of {all}"),
    };
    let remedy = for_samples(set, needed, had);
    let (needed, had) = (text::grouped(needed), text::grouped(had));
    Some(format!("{who} needs {needed} samples (had {had}): use {remedy}"))
}
