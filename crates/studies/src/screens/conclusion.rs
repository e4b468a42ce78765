//! What a study comes to on this machine, in a few sentences made from its verdicts: first what became of its first claim,
//! which the file of a study has for its headline, then of how many others.

use super::words::{done, is_artefact, outcome};
use crate::replication::{ClaimKind, ClaimResult, Replication, StudyResult, Verdict};
use ipcperf_render::text;

/// The same as a heading: of how many claims, or what became of the only one.
pub(super) fn answer(study: &StudyResult) -> String {
    let name = &study.name;
    if is_too_disturbed(study) {
        return format!("{name}: {DISTURBED}").trim_end_matches('.').to_owned();
    }
    let words = match judged(study) {
        None => NO_CLAIM.to_owned(),
        Some((_, claims)) if claims.len() == 1 => outcome(claims[0], study),
        Some((kind, claims)) => counts(&claims, kind),
    };
    let mut words = words.trim_end_matches('.').to_owned();
    words.get_mut(..1).into_iter().for_each(str::make_ascii_lowercase);
    format!("{name}: {words}")
}

const DISTURBED: &str = "This machine was too disturbed to judge any claim.";
const NO_CLAIM: &str = "It has no claim to judge.";

fn is_too_disturbed(study: &StudyResult) -> bool {
    study.noise.as_ref().is_some_and(|noise| noise.grade == "F")
}

/// The claims of the author; readings of the author's tables stand for them only where there are none.
fn judged(study: &StudyResult) -> Option<(ClaimKind, Vec<&ClaimResult>)> {
    let of_kind = |kind: ClaimKind| -> Vec<&ClaimResult> {
        study.claims.iter().filter(|claim| claim.kind == kind).collect()
    };
    let kinds = [ClaimKind::Claim, ClaimKind::Reading].map(|kind| (kind, of_kind(kind)));
    kinds.into_iter().find(|(_, claims)| !claims.is_empty())
}

/// The conclusion.
pub(super) fn conclusion(document: &Replication, study: &StudyResult) -> String {
    let mut sentences = Vec::new();
    if document.interrupted && done(study) < study.rounds {
        sentences.push(format!("Interrupted after {} of {} rounds.", done(study), study.rounds));
    }
    if is_too_disturbed(study) {
        sentences.push(DISTURBED.to_owned());
        return sentences.join(" ");
    }
    let Some((kind, claims)) = judged(study) else {
        sentences.push(NO_CLAIM.to_owned());
        return sentences.join(" ");
    };
    sentences.extend(claims.first().map(|headline| outcome(headline, study)));
    if claims.len() > 1 {
        sentences.push(counts(&claims, kind));
    }
    let artefacts = study.claims.iter().filter(|claim| is_artefact(claim));
    for cause in text::each_once(artefacts.filter_map(|claim| claim.artefact.as_deref())) {
        if !sentences.iter().any(|told| told.contains(cause)) {
            sentences.push(format!("An artefact: {}.", cause.trim_end_matches('.')));
        }
    }
    sentences.join(" ")
}

/// How many claims came out how.
fn counts(claims: &[&ClaimResult], kind: ClaimKind) -> String {
    let count = |is: &dyn Fn(&ClaimResult) -> bool| claims.iter().filter(|claim| is(claim)).count();
    let plain = |claim: &ClaimResult, verdict| claim.verdict == verdict && !is_artefact(claim);
    let in_direction = count(&|claim| plain(claim, Verdict::Direction));
    let holds = in_direction + count(&|claim| plain(claim, Verdict::Reproduced));
    let artefacts = count(&is_artefact);
    let fails = count(&|claim| claim.verdict == Verdict::NotReproduced);
    let untestable = count(&|claim| claim.verdict == Verdict::Untestable);
    let open = claims.len() - holds - artefacts - fails - untestable;
    let part = |count: usize, one: &str, many: &str, more: &str| {
        let how = if count == 1 { one } else { many };
        (count > 0).then(|| format!("{count} {how}{more}"))
    };
    let only = match in_direction {
        0 => String::new(),
        some if some == holds => ", in direction only".to_owned(),
        some => format!(", {some} of them in direction only"),
    };
    let parts = [
        part(holds, "holds here", "hold here", &only),
        part(artefacts, "does by an artefact", "do by an artefact", ""),
        part(fails, "does not", "do not", ""),
        part(open, "is left open", "are left open", ""),
        part(untestable, "cannot be tested", "cannot be tested", ""),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    let all = claims.len();
    let whose = match kind {
        ClaimKind::Claim => format!("the author's {all} claims"),
        _ => format!("{all} readings of the author's tables"),
    };
    format!("Of {whose} {}.", told.join("; "))
}
