//! A replication for an issue or a wiki: all that the terminal has with `--verbose`, as GitHub tables.

use super::conclusion::conclusion;
use super::detail::{Part, endings, findings, grid, original, remarks};
use super::plots::file_name;
use super::words::{
    FOUND, TESTED, TOLD, Told, course, failures, found, groups, heading, here, legend, table_notes,
    table_title, tested, total,
};
use crate::Style;
use crate::grid::Grid;
use crate::markdown::{self, escape};
use ipcperf_core::result::{ClaimResult, Replication, StudyResult};
use std::io::{self, Write};

/// Writes it.
pub(super) fn write(
    document: &Replication,
    style: &Style,
    pictures: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for study in &document.studies {
        one(document, study, style, pictures, out)?;
    }
    if document.studies.len() > 1 {
        writeln!(out, "{}", escape(&total(document), style.unicode))?;
    }
    Ok(())
}

fn one(
    document: &Replication,
    study: &StudyResult,
    style: &Style,
    pictures: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let plain = |words: &str| escape(words, style.unicode);
    let list = |lines: &[String], out: &mut dyn Write| -> io::Result<()> {
        lines.iter().try_for_each(|line| writeln!(out, "- {}", plain(line)))?;
        if lines.is_empty() { Ok(()) } else { writeln!(out) }
    };
    writeln!(out, "## {}\n", plain(&heading(study)))?;
    writeln!(out, "{}\n", plain(&here(document, study)))?;
    writeln!(out, "**{}**\n", plain(&conclusion(document, study)))?;
    for (title, claims) in groups(study) {
        writeln!(out, "### {title}\n")?;
        let is_published = claims.iter().any(|claim| claim.kind.is_published());
        let heads = if is_published { &TOLD[..] } else { &FOUND[..] };
        let heads: Vec<_> = heads.iter().map(|head| (*head, false)).collect();
        let row = |claim: &ClaimResult| match is_published {
            true => beside_author(claim, study).to_vec(),
            false => found(claim, study).to_vec(),
        };
        markdown::grid(&Grid::of(&heads, claims.into_iter().map(row).collect()), style, out)?;
        writeln!(out)?;
    }
    for line in legend(study) {
        writeln!(out, "{}\n", plain(line))?;
    }
    writeln!(out, "{}\n", plain(&course(study).join(" ")))?;
    list(&failures(study), out)?;
    writeln!(out, "### The original\n")?;
    original(study).iter().try_for_each(|line| writeln!(out, "{}\n", plain(line)))?;
    part(&findings(study, style.verbose), style, out)?;
    for shown in &study.tables {
        writeln!(out, "### {}\n", plain(&table_title(shown)))?;
        if let (Some(folder), Some(name)) = (pictures, file_name(study, shown)) {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            writeln!(out, "![{}](<{}>)\n", plain(&shown.title), link(&path))?;
        }
        markdown::grid(&grid(shown, style), style, out)?;
        writeln!(out)?;
        list(&table_notes(shown), out)?;
    }
    writeln!(out, "### Every figure of every claim\n")?;
    for claim in &study.claims {
        let words = format!("{} {}: {}", claim.verdict, claim.id, claim.text);
        writeln!(out, "**{}**\n", plain(&words))?;
        if !claim.tests.is_empty() {
            let columns = [&[("", true)], &TESTED[..]].concat();
            let tests = (1..).zip(&claim.tests);
            let rows = tests.map(|(at, test)| [&[at.to_string()], &tested(test)[..]].concat());
            markdown::grid(&Grid::of(&columns, rows.collect()), style, out)?;
            writeln!(out)?;
        }
        list(&remarks(claim, study), out)?;
    }
    endings(study).iter().try_for_each(|one| part(one, style, out))
}

/// What became of a claim, beside what its author says.
fn beside_author(claim: &ClaimResult, study: &StudyResult) -> [String; 4] {
    let told = Told::of(claim, study);
    let why = told.why(true);
    let Told { claim: text, figure, author, here, verdict, .. } = told;
    let figure = if figure.is_empty() { figure } else { format!(" ({figure})") };
    [format!("{} {text}{figure}", claim.id), author, format!("{here} {verdict}"), why]
}

fn part((title, lines): &Part, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "### {title}\n")?;
    for line in lines {
        writeln!(out, "{}{}", line.first, escape(&line.words, style.unicode))?;
    }
    writeln!(out)
}

/// A path that ends no link and begins no other.
fn link(path: &str) -> String {
    let mut safe = String::new();
    for sign in path.chars() {
        match sign {
            '<' | '>' | '\\' => safe.push_str(&format!("%{:02X}", u32::from(sign))),
            sign if crate::text::is_unprinted(sign) => safe.push('?'),
            sign => safe.push(sign),
        }
    }
    safe
}
