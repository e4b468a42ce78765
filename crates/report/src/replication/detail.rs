//! What is behind the first screen of a study: the original, its tables, every figure of every claim, errata and notes.

use super::screen::tone;
use super::words::{
    accepted, errata, errata_words, formula, is_artefact, lacks, modes, published, rows_of,
    table_title, tested_rows, with_interval,
};
use crate::format::Style;
use crate::grid::Grid;
use crate::page::{Page, Tone};
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
            line.extend(was.iter().map(|one| clean(&published(one))));
            line.resize(heads.len(), String::new());
            rows.push(line);
        }
    }
    let right = (0..heads.len()).map(|at| at > 0).collect();
    Grid { heads, right, rows }
}

/// The grid, in as many blocks of columns as its width takes: no column of an original is left out.
fn blocks(grid: &Grid, page: &mut Page<'_>) -> io::Result<()> {
    let mut next = 1;
    while next < grid.heads.len() {
        let wanted: Vec<usize> = (next..grid.heads.len()).collect();
        let mut columns = grid.choose(&[0], &wanted, page.style.width);
        if columns.len() < 2 {
            columns = vec![0, next];
        }
        next = columns.last().copied().unwrap_or(next) + 1;
        let (head, rows) = grid.lines(&columns);
        page.line(Tone::Quiet, &head)?;
        for (cells, line) in grid.rows.iter().zip(rows) {
            let is_published = line.starts_with(PUBLISHED);
            let is_empty =
                columns.iter().skip(1).all(|at| cells.get(*at).is_none_or(String::is_empty));
            if !(is_published && is_empty) {
                page.line(if is_published { Tone::Quiet } else { Tone::Plain }, &line)?;
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
        Published::Text(words) => format!("Stated: {words}."),
        _ => String::new(),
    };
    let artefact = match &claim.artefact {
        Some(cause) if is_artefact(claim) => format!("An artefact: {cause}."),
        _ => String::new(),
    };
    let rows = rows_of(claim, study);
    let rows = if rows.is_empty() { rows } else { format!("In the tables: {rows}.") };
    let errata = errata_words(&errata(claim, study));
    let errata = if errata.is_empty() { errata } else { format!("See {errata}.") };
    let why =
        if claim.reason.is_empty() { String::new() } else { format!("Why: {}.", claim.reason) };
    let note = claim.note.clone().unwrap_or_default();
    let all = [stated, why, artefact, note, rows, errata];
    all.into_iter().filter(|words| !words.is_empty()).collect()
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

/// One erratum with the claims it concerns.
pub(super) fn erratum_words(number: usize, study: &StudyResult) -> String {
    let erratum = &study.errata[number - 1];
    format!("{}: {}", erratum.claims.join(", "), erratum.text)
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
    if !study.errata.is_empty() {
        page.blank()?;
        page.line(Tone::Title, "ERRATA OF THE ORIGINAL")?;
    }
    for number in 1..=study.errata.len() {
        let words = erratum_words(number, study);
        page.paragraph(Tone::Plain, &format!("{number}. "), &words)?;
    }
    let facts: Vec<String> = facts(study);
    for (title, lines) in [("FACTS OF THE ARMS", &facts), ("NOTES", &study.notes)] {
        if !lines.is_empty() {
            page.blank()?;
            page.line(Tone::Title, title)?;
        }
        for line in lines {
            page.paragraph(Tone::Plain, "- ", line)?;
        }
    }
    Ok(())
}

/// What a reader must know of the arms.
pub(super) fn facts(study: &StudyResult) -> Vec<String> {
    let of = |arm: &ipcperf_core::result::ArmResult| -> Vec<String> {
        arm.facts.iter().map(|(name, fact)| format!("{}: {name}: {fact}", arm.id)).collect()
    };
    study.arms.iter().flat_map(of).collect()
}
