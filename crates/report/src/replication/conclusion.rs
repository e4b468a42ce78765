//! What a study comes to on this machine, in a few sentences made from its verdicts and errata.

use super::words::{brief, done, errata, errata_words, is_artefact};
use crate::text;
use ipcperf_core::result::{ClaimKind, ClaimResult, Replication, StudyResult, Verdict};

/// Letters of one list of claims: with the head of the page, three of them fit into twelve lines of 80 columns.
const ROOM: usize = 130;

/// Words, and a remark behind them that is not cut off with them.
type Item = (String, String);

/// As many as there is room for, and how many more there are.
fn listed(items: &[Item]) -> String {
    let mut text = String::new();
    let mut count = 0;
    for (words, remark) in items {
        let item = text::clip(words, ROOM.saturating_sub(remark.len()), false) + remark;
        if count > 0 && text.len() + item.len() + 2 > ROOM {
            break;
        }
        if count > 0 {
            text += "; ";
        }
        text += &item;
        count += 1;
    }
    match items.len() - count {
        0 => text,
        rest => format!("{text}; and {rest} more"),
    }
}

/// The conclusion.
pub(super) fn conclusion(document: &Replication, study: &StudyResult) -> String {
    let of_kind = |kind: ClaimKind| -> Vec<&ClaimResult> {
        study.claims.iter().filter(|claim| claim.kind == kind).collect()
    };
    // Readings stand for the author's words only where none of these are part of it.
    let kinds = [ClaimKind::Claim, ClaimKind::Reading];
    let kind = kinds.into_iter().find(|kind| !of_kind(*kind).is_empty());
    let claims = kind.map(of_kind).unwrap_or_default();
    let mut sentences = Vec::new();
    if document.interrupted && done(study) < study.rounds {
        sentences.push(format!("Interrupted after {} of {} rounds.", done(study), study.rounds));
    }
    if study.noise.as_ref().is_some_and(|noise| noise.grade == "F") {
        sentences.push("This machine was too disturbed to judge any claim.".to_owned());
        return sentences.join(" ");
    }
    let is_genuine = |claim: &&&ClaimResult| !is_artefact(claim);
    let told = |claim: &ClaimResult, size: &str| -> Item {
        let remark = match errata_words(&errata(claim, study)) {
            words if words.is_empty() => words,
            words => format!(" ({words})"),
        };
        (brief(claim), remark + size)
    };
    let plain = |words: String| -> Item { (words, String::new()) };
    let of = |verdict: Verdict| claims.iter().filter(move |claim| claim.verdict == verdict);
    let mut holds: Vec<Item> =
        of(Verdict::Reproduced).filter(is_genuine).map(|claim| told(claim, "")).collect();
    let direction = of(Verdict::Direction).filter(is_genuine);
    holds.extend(direction.map(|claim| told(claim, " (its direction, not its size)")));
    let fails: Vec<Item> = of(Verdict::NotReproduced).map(|claim| plain(brief(claim))).collect();
    let artefacts = study.claims.iter().filter(|claim| is_artefact(claim));
    let artefacts = artefacts.filter_map(|claim| claim.artefact.clone().map(plain));
    let artefacts = text::each_once(artefacts);
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
        sentences.push(match kind {
            None => "It has no claim to judge.".to_owned(),
            Some(kind) => format!("Nothing is decided here: {}.", open(&claims, kind)),
        });
    }
    sentences.join(" ")
}

/// Why no claim is decided, of those that there are of a kind.
fn open(claims: &[&ClaimResult], kind: ClaimKind) -> String {
    let untestable = claims.iter().filter(|claim| claim.verdict == Verdict::Untestable).count();
    let all = text::counted(claims.len() as u64, kind.name());
    match untestable {
        0 => format!("the figures leave {all} open"),
        some if some == claims.len() => format!("{all} could not be tested"),
        some => format!("of {all}, {some} could not be tested and the others are left open"),
    }
}
