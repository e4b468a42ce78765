//! The first screen of a study: this machine, the conclusion, and the author's claims beside what became of them.

use super::conclusion::conclusion;
use super::words::{self, TOLD, Told, course, failures, finding, heading, here, legend, mark};
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::stopped::Stopped;
use crate::text;
use ipcperf_core::result::{ClaimKind, ClaimResult, Replication, StudyResult, Verdict};
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

/// How much the table of the author's claims says, where there are lines for it: what each figure is with the cause of an
/// artefact, which the conclusion has, too; and the author's words where there is no figure. The least says only which of
/// several figures it is.
const DETAILS: [(bool, bool); 3] = [(true, true), (true, false), (false, false)];

/// The columns of the table are no narrower, and the table itself has none on a screen that is.
const CLAIM: usize = 20;
const HERE: usize = 22;
const WHY: usize = 13;

/// Parts of the screen, one below the other.
type Block = Vec<(Tone, Vec<String>)>;

/// Claims of one kind below their title.
type Group<'a> = (String, Vec<&'a ClaimResult>);

/// The claims of some groups as a table, each group below its title; none where it does not fit into the width.
fn table(
    groups: &[Group<'_>],
    study: &StudyResult,
    page: &Page<'_>,
    (has_figures, has_words): (bool, bool),
) -> Block {
    let clean = |words: &str| text::clean(words, page.style.unicode);
    let row = |claim: &ClaimResult| {
        let told = Told::of(claim, study);
        let (figure, number) = match told.figure.rsplit_once(" (") {
            _ if has_figures => (told.figure.as_str(), String::new()),
            Some((_, number)) if claim.tests.len() > 1 => ("", format!("({number}")),
            _ => ("", String::new()),
        };
        let claim = format!("{} {}", claim.id, told.claim);
        let is_long = told.author.starts_with('\'') && !has_words;
        let author = if is_long { "stated" } else { &told.author };
        let below = |first: &str, second: &str| match second {
            "" => clean(first),
            _ => format!("{}\n{}", clean(first), clean(second)),
        };
        vec![
            below(&claim, figure),
            below(author, &number),
            below(&told.here, &told.verdict),
            clean(&told.why(has_figures)),
        ]
    };
    let claims = || groups.iter().flat_map(|(_, claims)| claims);
    let mut grid =
        Grid::of(&TOLD.map(|head| (head, false)), claims().map(|one| row(one)).collect());
    let widest = |at: usize, of: fn(&str) -> Vec<&str>| {
        let cells = grid.rows.iter().map(|row| row[at].as_str()).chain([TOLD[at]]);
        cells.flat_map(of).map(text::width).max().unwrap_or(0)
    };
    let word = |at: usize| widest(at, |cell| cell.split_whitespace().collect());
    // A figure and its interval stay in one line, but for very small ones.
    let least = [
        word(0).clamp(CLAIM, 2 * CLAIM),
        word(1).min(WHY),
        widest(2, |cell| cell.lines().collect()).min(HERE),
        WHY,
    ];
    let all: Vec<usize> = (0..TOLD.len()).collect();
    let is_table = grid.flow(&least, page.style.width);
    let (head, rows) = grid.lines(&all);
    let mut rows = rows.into_iter();
    let mut block = Block::new();
    if is_table && !groups.is_empty() {
        block.push((Tone::Quiet, head));
    }
    for (title, claims) in groups {
        block.push((Tone::Title, clipped("", title, page, 2)));
        for claim in claims {
            let lines =
                rows.next().filter(|_| is_table).unwrap_or_else(|| told(claim, study, page));
            block.push((tone(claim.verdict), lines));
        }
    }
    block
}

/// A claim without a table.
fn told(claim: &ClaimResult, study: &StudyResult, page: &Page<'_>) -> Vec<String> {
    let told = Told::of(claim, study);
    let why = told.why(true);
    let Told { claim: text, figure, author, here, verdict, .. } = told;
    let parts = [("", figure), ("author: ", author), ("here: ", here), ("", verdict), ("", why)];
    let parts = parts.into_iter().filter(|(_, words)| !words.is_empty());
    let parts: Vec<String> = parts.map(|(first, words)| format!("{first}{words}")).collect();
    clipped("", &format!("{} {text}: {}", claim.id, parts.join("; ")), page, usize::MAX)
}

fn height(block: &Block) -> usize {
    block.iter().map(|(_, lines)| lines.len()).sum()
}

/// Lines that each of our own claims may take, most first.
const LINES: [usize; 3] = [usize::MAX, 2, 1];

/// Claims that are not the author's, in so many lines each.
fn ours(claims: &[&ClaimResult], study: &StudyResult, page: &Page<'_>, most: usize) -> Block {
    let lines = |claim: &&ClaimResult| {
        let first = format!("{:TEXT$}", format!("{}{}", claim.verdict, mark(claim, study)));
        let words = format!("{} {}", claim.id, finding(claim));
        (tone(claim.verdict), clipped(&first, &words, page, most))
    };
    claims.iter().map(lines).collect()
}

/// Writes it.
pub(super) fn write(
    document: &Replication,
    study: &StudyResult,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let mut above: Block = vec![
        (Tone::Title, clipped("", &heading(study), page, 2)),
        (Tone::Quiet, clipped("", &here(document, study), page, 4)),
        (Tone::Plain, vec![String::new()]),
        (Tone::Plain, clipped("", &conclusion(document, study), page, usize::MAX)),
        (Tone::Plain, vec![String::new()]),
    ];
    let mut below: Block = Vec::new();
    below.extend(legend(study).iter().map(|line| (Tone::Quiet, clipped("", line, page, 2))));
    below.push((Tone::Plain, vec![String::new()]));
    below.extend(course(study).iter().map(|words| (Tone::Quiet, clipped("", words, page, 3))));
    let failures = failures(study);
    let told = failures.iter().take(FAILURES);
    let most = if failures.len() < FAILURES { 2 } else { 1 };
    below.extend(told.map(|words| (Tone::Quiet, clipped("- ", words, page, most))));
    if failures.len() > FAILURES {
        let more = format!("- and {} reasons more, for other arms", failures.len() - FAILURES);
        below.push((Tone::Quiet, vec![more]));
    }
    if !page.style.is_whole() {
        below.push((Tone::Quiet, clipped("", &more(study), page, 2)));
    }
    let stopped = document.stopped().map_or(0, |words| clipped("", &words, page, usize::MAX).len());
    let room = MOST.saturating_sub(stopped + height(&above) + height(&below));
    above.extend(middle(study, page, room));
    for (tone, lines) in above.iter().chain(&below) {
        lines.iter().try_for_each(|line| page.line(*tone, line))?;
    }
    Ok(())
}

/// All claims of the author, each with as many words as there are lines for; then what was read off the author's tables,
/// and ours, as far as there is room: else how many came out how.
fn middle(study: &StudyResult, page: &Page<'_>, room: usize) -> Block {
    let has =
        |group: &Group<'_>, is: fn(ClaimKind) -> bool| group.1.iter().any(|claim| is(claim.kind));
    let (all, own): (Vec<Group<'_>>, Vec<Group<'_>>) =
        words::groups(study).into_iter().partition(|group| has(group, ClaimKind::is_published));
    let (of_author, read): (Vec<Group<'_>>, Vec<Group<'_>>) =
        all.iter().cloned().partition(|group| has(group, |kind| kind == ClaimKind::Claim));
    let titles: Vec<Vec<String>> =
        own.iter().map(|(title, _)| clipped("", title, page, 2)).collect();
    let titles_height: usize = titles.iter().map(Vec::len).sum();
    let fits = |block: &Block, more: usize| height(block) + more <= room;
    let whole = DETAILS.iter().map(|details| table(&all, study, page, *details));
    let mut block =
        whole.into_iter().find(|block| fits(block, titles_height)).unwrap_or_else(|| {
            let tallies: Block =
                read.iter().map(|(title, _)| (Tone::Title, clipped("", title, page, 2))).collect();
            let alone = || DETAILS.iter().map(|details| table(&of_author, study, page, *details));
            let fitting = alone().find(|block| fits(block, titles_height + height(&tallies)));
            let mut block = fitting.or_else(|| alone().next_back()).unwrap_or_default();
            block.extend(tallies);
            block
        });
    let mut left = room.saturating_sub(height(&block) + titles_height);
    for ((_, claims), title) in own.iter().zip(titles) {
        block.push((Tone::Title, title));
        let mut shorter = LINES.iter().map(|most| ours(claims, study, page, *most));
        if let Some(fitting) = shorter.find(|lines| height(lines) <= left) {
            left -= height(&fitting);
            block.extend(fitting);
        }
    }
    block
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
