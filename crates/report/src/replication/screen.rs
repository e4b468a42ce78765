//! The first screen of a study: this machine, the conclusion, and the claims in a line each.

use super::conclusion::conclusion;
use super::words::{
    self, MARKED, course, errata, errata_words, failures, finding, has_marks, heading, here,
    is_artefact, mark,
};
use crate::page::{Page, Tone};
use crate::stopped::Stopped;
use crate::text;
use ipcperf_core::result::{ClaimResult, Replication, StudyResult, Verdict};
use std::io;

/// Lines of a first screen.
const MOST: usize = 60;

/// Where the text of a claim begins: after the longest verdict and its mark.
const TEXT: usize = 16;

/// What stands where words were left out.
const CUT: &str = " ...";

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

/// Lines of a paragraph, at most so many; what is left out is left out by whole words.
fn clipped(first: &str, words: &str, page: &Page<'_>, most: usize) -> Vec<String> {
    let words = text::clean(words, page.style.unicode);
    let mut lines = text::wrap(first, &words, page.style.width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let room = page.style.width.saturating_sub(CUT.len());
            while text::width(last) > room
                && let Some((kept, _)) = last.trim_end().rsplit_once(' ')
            {
                *last = kept.trim_end().to_owned();
            }
            *last = text::clip(&format!("{last}{CUT}"), page.style.width, page.style.unicode);
        }
    }
    lines
}

/// A claim on the screen.
struct Entry {
    tone: Tone,
    /// With its mark: behind the words of the claim it would be cut off with them.
    verdict: String,
    words: String,
    /// Lines that it has.
    most: usize,
    /// Lines that it takes to say all of it.
    whole: usize,
}

impl Entry {
    fn of(claim: &ClaimResult, study: &StudyResult, page: &Page<'_>) -> Self {
        let mut words = format!("{} {}", claim.id, finding(claim));
        let artefact = claim.artefact.as_ref().filter(|_| is_artefact(claim));
        if let Some(cause) = artefact {
            words += &format!("; an artefact: {cause}");
        }
        let errata = errata_words(&errata(claim, study));
        if !errata.is_empty() {
            words += &format!("; {errata}");
        }
        // A verdict that is none of the mechanisms must not be read without its cause.
        let most = if artefact.is_some() { 4 } else { 1 };
        let mut entry = Self {
            tone: tone(claim.verdict),
            verdict: format!("{}{}", claim.verdict, mark(claim, study)),
            words,
            most: usize::MAX,
            whole: 0,
        };
        entry.whole = entry.lines(page).len();
        entry.most = most.min(entry.whole);
        entry
    }

    fn lines(&self, page: &Page<'_>) -> Vec<String> {
        clipped(&format!("{:TEXT$}", self.verdict), &self.words, page, self.most)
    }
}

/// The claims of one kind: a heading with the tally, and the lines of each.
struct Group {
    is_of_author: bool,
    title: Vec<String>,
    claims: Vec<Entry>,
}

impl Group {
    fn of(title: &str, claims: &[&ClaimResult], study: &StudyResult, page: &Page<'_>) -> Self {
        Self {
            is_of_author: claims.iter().any(|claim| claim.kind.is_published()),
            title: clipped("", title, page, 2),
            claims: claims.iter().map(|claim| Entry::of(claim, study, page)).collect(),
        }
    }

    fn lines(&self) -> usize {
        self.title.len() + self.claims.iter().map(|claim| claim.most).sum::<usize>()
    }
}

/// All groups, in as many lines as are left: a line each, then more for the author's claims, for ours, and again for the
/// author's. What does not fit at all is left out, of ours first.
fn groups(study: &StudyResult, page: &Page<'_>, room: usize) -> Vec<Group> {
    let of = |(title, claims): &(String, Vec<&ClaimResult>)| Group::of(title, claims, study, page);
    let mut groups: Vec<Group> = words::groups(study).iter().map(of).collect();
    let height = |groups: &[Group]| groups.iter().map(Group::lines).sum::<usize>();
    while height(&groups) > room {
        let Some(last) = groups.iter_mut().rev().find(|group| group.claims.len() > 1) else {
            break;
        };
        last.claims.pop();
    }
    let mut left = room.saturating_sub(height(&groups));
    for (of_author, most) in [(true, 2), (false, 2), (true, 3)] {
        let chosen = groups.iter_mut().filter(|group| group.is_of_author == of_author);
        for claim in chosen.flat_map(|group| &mut group.claims) {
            if left > 0 && claim.most < most.min(claim.whole) {
                claim.most += 1;
                left -= 1;
            }
        }
    }
    groups
}

/// Writes it.
pub(super) fn write(
    document: &Replication,
    study: &StudyResult,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let mut above: Vec<(Tone, Vec<String>)> = vec![
        (Tone::Title, clipped("", &heading(study), page, 2)),
        (Tone::Quiet, clipped("", &here(document, study), page, 4)),
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
    let below = if page.style.is_whole() { String::new() } else { more(study) };
    let below = clipped("", &below, page, 2);
    let legend = if has_marks(study) { clipped("", MARKED, page, 2) } else { Vec::new() };
    let stopped = document.stopped().map_or(0, |words| clipped("", &words, page, usize::MAX).len());
    let used: usize = stopped + above.iter().map(|(_, lines)| lines.len()).sum::<usize>();
    // A blank line before the claims and one after them.
    let room = MOST.saturating_sub(used + legend.len() + below.len() + 2);
    let groups = groups(study, page, room);
    let shown: usize = groups.iter().map(|group| group.claims.len()).sum();
    for (tone, lines) in &above {
        lines.iter().try_for_each(|line| page.line(*tone, line))?;
    }
    page.blank()?;
    for group in &groups {
        group.title.iter().try_for_each(|line| page.line(Tone::Title, line))?;
        for claim in &group.claims {
            claim.lines(page).iter().try_for_each(|line| page.line(claim.tone, line))?;
        }
    }
    legend.iter().try_for_each(|line| page.line(Tone::Quiet, line))?;
    if page.style.is_whole() {
        return Ok(());
    }
    page.blank()?;
    if shown < study.claims.len() {
        let rest = study.claims.len() - shown;
        page.paragraph(Tone::Quiet, "", &format!("{rest} more claims: -v, or --format markdown."))
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
