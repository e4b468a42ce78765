//! What a study comes to on this machine, in a few sentences made from its verdicts and errata.

use super::words::{brief, done, errata, errata_words, is_artefact};
use crate::text;
use ipcperf_core::result::{ClaimKind, ClaimResult, Replication, StudyResult, Verdict};

/// Letters of one list of claims: with the head of the page, three of them fit into twelve lines of 80 columns.
const ROOM: usize = 130;

/// As many as there is room for, and how many more there are.
fn listed(items: &[String]) -> String {
    let mut text = String::new();
    let mut count = 0;
    for item in items {
        if count > 0 && text.len() + item.len() + 2 > ROOM {
            break;
        }
        if count > 0 {
            text += "; ";
        }
        text += &text::clip(item, ROOM, false);
        count += 1;
    }
    match items.len() - count {
        0 => text,
        rest => format!("{text}; and {rest} more"),
    }
}

/// The conclusion.
pub(super) fn conclusion(document: &Replication, study: &StudyResult) -> String {
    let claims: Vec<&ClaimResult> =
        study.claims.iter().filter(|claim| claim.kind == ClaimKind::Claim).collect();
    let mut sentences = Vec::new();
    if document.interrupted && done(study) < study.rounds {
        sentences.push(format!("Interrupted after {} of {} rounds.", done(study), study.rounds));
    }
    if study.noise.as_ref().is_some_and(|noise| noise.grade == "F") {
        sentences.push("This machine was too disturbed to judge any claim.".to_owned());
        return sentences.join(" ");
    }
    let is_genuine = |claim: &&&ClaimResult| !is_artefact(claim);
    let with_erratum = |claim: &ClaimResult| match errata_words(&errata(claim, study)) {
        words if words.is_empty() => brief(claim),
        words => format!("{} ({words})", brief(claim)),
    };
    let of = |verdict: Verdict| claims.iter().filter(move |claim| claim.verdict == verdict);
    let mut holds: Vec<String> =
        of(Verdict::Reproduced).filter(is_genuine).map(|claim| with_erratum(claim)).collect();
    let direction = of(Verdict::Direction).filter(is_genuine);
    holds.extend(
        direction.map(|claim| format!("{} (its direction, not its size)", with_erratum(claim))),
    );
    let fails: Vec<String> = of(Verdict::NotReproduced).map(|claim| brief(claim)).collect();
    let artefacts = study.claims.iter().filter(|claim| is_artefact(claim));
    let artefacts = text::each_once(artefacts.filter_map(|claim| claim.artefact.clone()));
    for (head, items) in [
        ("What holds here", &holds),
        ("What does not hold", &fails),
        ("What was an artefact", &artefacts),
    ] {
        if !items.is_empty() {
            sentences.push(format!("{head}: {}.", listed(items).trim_end_matches('.')));
        }
    }
    if holds.is_empty() && fails.is_empty() && artefacts.is_empty() {
        sentences.push(match claims.len() {
            0 => "It has no claim to judge.".to_owned(),
            count => format!("Nothing is decided here: {}.", open(&claims, count)),
        });
    }
    sentences.join(" ")
}

/// Why no claim is decided.
fn open(claims: &[&ClaimResult], count: usize) -> String {
    let untestable = claims.iter().filter(|claim| claim.verdict == Verdict::Untestable).count();
    let all = text::counted(count as u64, "claim");
    match untestable {
        0 => format!("the figures leave {all} open"),
        some if some == count => format!("{all} could not be tested"),
        some => format!("of {all}, {some} could not be tested and the others are left open"),
    }
}
