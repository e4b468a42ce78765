//! The first screen of a study: this machine, the conclusion, and the claims in a line each.

use super::conclusion::conclusion;
use super::words::{
    course, errata, errata_words, failures, finding, group, heading, here, is_artefact, tally,
};
use crate::page::{Page, Tone};
use crate::text;
use ipcperf_core::result::{ClaimKind, ClaimResult, Replication, StudyResult, Verdict};
use std::io;

/// Lines of a first screen.
const MOST: usize = 60;

/// Where the text of a claim begins: after the longest verdict.
const TEXT: usize = 16;

/// Reasons of missing arms that are told here.
const FAILURES: usize = 3;

pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Best,
        Verdict::NotReproduced | Verdict::Fails => Tone::Bad,
        Verdict::Inconclusive => Tone::Doubt,
        Verdict::Direction | Verdict::Measured | Verdict::Holds => Tone::Plain,
        Verdict::Untestable => Tone::Quiet,
    }
}

/// Lines of a paragraph, at most so many.
fn clipped(first: &str, words: &str, page: &Page<'_>, most: usize) -> Vec<String> {
    let words = text::clean(words, page.style.unicode);
    let mut lines = text::wrap(first, &words, page.style.width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = text::clip(&format!("{last} ..."), page.style.width, page.style.unicode);
        }
    }
    lines
}

/// The claims of one kind: a heading with the tally, and the lines of each.
struct Group {
    title: String,
    claims: Vec<(Tone, Vec<String>)>,
}

impl Group {
    fn of(kind: ClaimKind, study: &StudyResult, page: &Page<'_>, most: usize) -> Option<Self> {
        let all: Vec<&ClaimResult> = study.claims.iter().collect();
        let tally = tally(&all, kind);
        let lines = |claim: &&ClaimResult| {
            let first = format!("{:TEXT$}", claim.verdict);
            let mut words = format!("{} {}", claim.id, finding(claim));
            let mut most = most;
            if let Some(cause) = claim.artefact.as_ref().filter(|_| is_artefact(claim)) {
                words += &format!("; an artefact: {cause}");
                // A verdict that is none of the mechanisms must not be read without this.
                most = 4;
            }
            let errata = errata_words(&errata(claim, study));
            if !errata.is_empty() {
                words += &format!("; {errata}");
            }
            (tone(claim.verdict), clipped(&first, &words, page, most))
        };
        let claims: Vec<_> = all.iter().filter(|claim| claim.kind == kind).map(lines).collect();
        (!claims.is_empty()).then(|| Self { title: format!("{}: {tally}", group(kind)), claims })
    }

    fn lines(&self) -> usize {
        1 + self.claims.iter().map(|(_, lines)| lines.len()).sum::<usize>()
    }
}

/// All groups, in as many lines as are left: first what is ours is kept to one line each, then everything, and what still
/// does not fit is left out, of ours first.
fn groups(study: &StudyResult, page: &Page<'_>, room: usize) -> Vec<Group> {
    let make = |of_author: usize, of_ours: usize| -> Vec<Group> {
        let most = |kind: ClaimKind| match kind {
            ClaimKind::Extension | ClaimKind::Check => of_ours,
            _ => of_author,
        };
        let all = ClaimKind::ALL.iter();
        all.filter_map(|kind| Group::of(*kind, study, page, most(*kind))).collect()
    };
    let height = |groups: &[Group]| groups.iter().map(Group::lines).sum::<usize>();
    let mut best = Vec::new();
    for (of_author, of_ours) in [(3, 2), (2, 2), (2, 1), (1, 1)] {
        best = make(of_author, of_ours);
        if height(&best) <= room {
            return best;
        }
    }
    while height(&best) > room {
        let Some(last) = best.iter_mut().rev().find(|group| group.claims.len() > 1) else { break };
        last.claims.pop();
    }
    best
}

/// Writes it.
pub(super) fn write(
    document: &Replication,
    study: &StudyResult,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let mut above: Vec<(Tone, Vec<String>)> = vec![
        (Tone::Title, clipped("", &heading(study), page, 2)),
        (Tone::Quiet, clipped("", &here(document, study), page, 3)),
        (Tone::Plain, vec![String::new()]),
        (Tone::Plain, clipped("", &conclusion(document, study), page, usize::MAX)),
        (Tone::Plain, vec![String::new()]),
    ];
    above.extend(course(study).iter().map(|words| (Tone::Quiet, clipped("", words, page, 3))));
    let failures = failures(study);
    let told = failures.iter().take(FAILURES);
    above.extend(told.map(|words| (Tone::Quiet, clipped("- ", words, page, 2))));
    if failures.len() > FAILURES {
        let more = format!("- and {} reasons more, for other arms", failures.len() - FAILURES);
        above.push((Tone::Quiet, vec![more]));
    }
    let below = if page.style.verbose { String::new() } else { more(study) };
    let below = clipped("", &below, page, 2);
    let used: usize = above.iter().map(|(_, lines)| lines.len()).sum();
    // A blank line before the claims and one after them.
    let room = MOST.saturating_sub(used + below.len() + 2);
    let groups = groups(study, page, room);
    let shown: usize = groups.iter().map(|group| group.claims.len()).sum();
    for (tone, lines) in &above {
        lines.iter().try_for_each(|line| page.line(*tone, line))?;
    }
    page.blank()?;
    for group in &groups {
        page.line(Tone::Title, &group.title)?;
        for (tone, lines) in &group.claims {
            lines.iter().try_for_each(|line| page.line(*tone, line))?;
        }
    }
    if page.style.verbose {
        return Ok(());
    }
    page.blank()?;
    if shown < study.claims.len() {
        let rest = study.claims.len() - shown;
        page.line(Tone::Quiet, &format!("{rest} more claims: -v, or --format markdown."))
    } else {
        below.iter().try_for_each(|line| page.line(Tone::Quiet, line))
    }
}

/// What else there is to read.
fn more(study: &StudyResult) -> String {
    let findings = study.noise.as_ref().map_or(0, |noise| noise.findings.len());
    let parts = [
        (study.tables.len(), "table"),
        (study.errata.len(), "erratum"),
        (findings, "finding"),
        (study.notes.len(), "note"),
    ];
    let counted = |(count, noun): (usize, &str)| match (count, noun) {
        (0, _) => None,
        (count, "erratum") if count > 1 => Some(format!("{count} errata")),
        (count, noun) => Some(text::counted(count as u64, noun)),
    };
    let mut parts: Vec<String> = parts.into_iter().filter_map(counted).collect();
    parts.push("every figure with its formula".to_owned());
    format!("Also {}: -v, or --format markdown.", text::join(&parts))
}
