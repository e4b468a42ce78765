//! What is behind the first screen of a study: the original, its tables, every figure of every claim, errata and notes.

use super::screen::tone;
use super::words::{
    accepted, errata, errata_words, formula, is_artefact, lacks, modes, rows_of, table_title,
    tested_rows, together, with_interval,
};
use crate::Style;
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::told::{self, Line};
use crate::{table, text};
use ipcperf_core::result::{
    ClaimResult, Published, RowResult, StudyResult, TableResult, TestResult,
};
use std::io;

/// The head of a row's second line.
const PUBLISHED: &str = "  published";

/// Two lines for each row: what was measured, and under it what was published.
pub(super) fn grid(table: &TableResult, style: &Style) -> Grid {
    let clean = |words: &str| text::clean(words, style.unicode);
    let mut heads = vec![String::new()];
    heads.extend(table.columns.iter().map(|head| clean(head)));
    let mut rows = Vec::new();
    for RowResult { label, published: was, measured: is, .. } in &table.rows {
        let mut line = vec![clean(label)];
        line.extend(is.iter().map(with_interval));
        line.resize(heads.len(), String::new());
        rows.push(line);
        if was.iter().any(|one| *one != Published::Nothing) {
            let mut line = vec![PUBLISHED.to_owned()];
            line.extend(was.iter().map(|one| clean(&one.to_string())));
            line.resize(heads.len(), String::new());
            rows.push(line);
        }
    }
    let right = (0..heads.len()).map(|at| at > 0).collect();
    Grid { heads, right, rows }
}

/// The grid, in as many blocks of columns as its width takes.
fn blocks(grid: &Grid, page: &mut Page<'_>) -> io::Result<()> {
    for columns in grid.blocks(1, page.style.width) {
        let mut block = grid.clone();
        block.fit(&columns, &[], 0, page.style.width, page.style.unicode);
        let (head, rows) = block.lines(&columns);
        page.row(Tone::Quiet, "", &head)?;
        for (cells, row) in grid.rows.iter().zip(rows) {
            let is_published = cells.first().is_some_and(|first| first == PUBLISHED);
            let is_empty =
                columns.iter().skip(1).all(|at| cells.get(*at).is_none_or(String::is_empty));
            if !(is_published && is_empty) {
                page.row(if is_published { Tone::Quiet } else { Tone::Plain }, "", &row)?;
            }
        }
    }
    Ok(())
}

/// One figure of a claim: what it is, how it is formed, what was found, published and accepted.
pub(super) fn test_words(test: &TestResult) -> String {
    let label = match test.label.as_str() {
        "" => String::new(),
        label => format!("{label} = "),
    };
    let mut parts = vec![format!("{label}{}: {}", formula(test), with_interval(&test.measured))];
    if let Some(number) = test.published {
        parts.push(format!("published {number}"));
    }
    if !test.accept.is_empty() {
        parts.push(format!("accepted {}", accepted(test)));
    }
    parts.push(test.verdict.to_string());
    parts.join("; ")
}

/// What is said of a claim beside its verdict and its figures.
pub(super) fn remarks(claim: &ClaimResult, study: &StudyResult) -> Vec<String> {
    let stated = match &claim.published {
        Published::Text(words) => Some(format!("Stated: {words}.")),
        _ => None,
    };
    let cause = claim.artefact.as_ref().filter(|_| is_artefact(claim));
    let unless_empty =
        |first: &str, words: &str| (!words.is_empty()).then(|| format!("{first}{words}."));
    let all = [
        stated,
        unless_empty("Why: ", &claim.reason),
        cause.map(|cause| format!("An artefact: {cause}.")),
        claim.note.clone().filter(|note| !note.is_empty()),
        unless_empty("In the tables: ", &rows_of(claim, study)),
        unless_empty("See ", &errata_words(&errata(claim, study))),
    ];
    all.into_iter().flatten().collect()
}

/// About the original: where it is, what it did, on what, and what it printed.
pub(super) fn original(study: &StudyResult) -> Vec<String> {
    let mut lines = vec![study.summary.clone()];
    for (first, words) in
        [("Original machine: ", &study.machine), ("Original figures: ", &study.statistic)]
    {
        if !words.is_empty() {
            lines.push(format!("{first}{}.", words.trim_end_matches('.')));
        }
    }
    lines.push(study.url.clone());
    lines.retain(|line| !line.is_empty());
    lines
}

/// Lines under a title of their own, which is left out where there are none.
pub(super) type Part = (&'static str, Vec<Line>);

/// What disturbed its run.
pub(super) fn findings(study: &StudyResult, is_verbose: bool) -> Part {
    let found = study.noise.iter().flat_map(|noise| table::counted_findings(noise, is_verbose));
    let found = found.map(|(one, count)| table::finding_words(one, count));
    ("Findings", found.map(|words| Line::new(Tone::Plain, "- ", words)).collect())
}

/// The errata by the numbers that claims refer to, what a reader must know of the arms, and the notes.
pub(super) fn endings(study: &StudyResult) -> [Part; 3] {
    let errata = (1..).zip(&study.errata).map(|(number, one)| {
        let words = format!("{}: {}", one.claims.join(", "), one.text);
        Line::new(Tone::Plain, format!("{number}. "), words)
    });
    let facts = study
        .arms
        .iter()
        .flat_map(|arm| arm.facts.iter().map(move |(name, fact)| ((name, fact), arm.id.as_str())));
    let facts = text::in_groups(facts).into_iter();
    let facts = facts.map(|((name, fact), arms)| format!("{}: {name}: {fact}", together(&arms)));
    let item = |words: String| Line::new(Tone::Plain, "- ", words);
    [
        ("Errata of the original", errata.collect()),
        ("Facts of the arms", facts.map(item).collect()),
        ("Notes", study.notes.iter().cloned().map(item).collect()),
    ]
}

/// Writes it.
pub(super) fn write(study: &StudyResult, page: &mut Page<'_>) -> io::Result<()> {
    page.blank()?;
    page.line(Tone::Title, "THE ORIGINAL")?;
    for line in original(study) {
        page.paragraph(Tone::Plain, "", &line)?;
    }
    if let Some(noise) = &study.noise {
        page.blank()?;
        page.line(Tone::Title, "FINDINGS")?;
        table::disturbance(page, noise)?;
    }
    for table in &study.tables {
        page.blank()?;
        page.paragraph(Tone::Title, "", &table_title(table))?;
        blocks(&grid(table, page.style), page)?;
        for line in modes(table).into_iter().chain(lacks(table)).chain(tested_rows(table)) {
            page.paragraph(Tone::Quiet, "- ", &line)?;
        }
    }
    page.blank()?;
    page.line(Tone::Title, "CLAIMS")?;
    for claim in &study.claims {
        let verdict = format!("{}  ", claim.verdict);
        page.paragraph(tone(claim.verdict), &verdict, &format!("{}: {}", claim.id, claim.text))?;
        for (number, test) in (1..).zip(&claim.tests) {
            page.paragraph(Tone::Plain, &format!("  {number}. "), &test_words(test))?;
        }
        for words in remarks(claim, study) {
            page.paragraph(Tone::Quiet, "  ", &words)?;
        }
    }
    for (title, lines) in endings(study).iter().filter(|(_, lines)| !lines.is_empty()) {
        page.blank()?;
        page.line(Tone::Title, &title.to_uppercase())?;
        told::lines(page, lines)?;
    }
    Ok(())
}
