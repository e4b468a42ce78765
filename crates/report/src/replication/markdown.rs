//! A replication for an issue or a wiki: all that the terminal has with `--verbose`, as GitHub tables.

use super::conclusion::conclusion;
use super::detail::{erratum_words, facts, grid, original, remarks};
use super::plots::file_name;
use super::words::{
    MARKED, TESTED, course, failures, finding, group, has_marks, heading, here, is_artefact, lacks,
    mark, modes, table_title, tally, tested, tested_rows, total,
};
use crate::format::Style;
use crate::grid::Grid;
use crate::markdown::{self, escape};
use crate::table;
use ipcperf_core::result::{ClaimKind, ClaimResult, Replication, StudyResult};
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
    writeln!(out, "{}\n", plain(&course(study).join(" ")))?;
    list(&failures(study), out)?;
    let all: Vec<&ClaimResult> = study.claims.iter().collect();
    for kind in ClaimKind::ALL {
        let claims = all.iter().filter(|claim| claim.kind == *kind);
        let rows = claims.map(|claim| {
            let cause = claim.artefact.as_ref().filter(|_| is_artefact(claim));
            let cause = cause.map_or_else(String::new, |cause| format!("; an artefact: {cause}"));
            let verdict = format!("{}{}", claim.verdict, mark(claim, study));
            vec![verdict, claim.id.clone(), finding(claim) + &cause]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            continue;
        }
        writeln!(out, "### {}: {}\n", group(*kind), tally(&all, *kind))?;
        let heads = ["verdict", "claim", "what was found"].map(ToOwned::to_owned).to_vec();
        markdown::grid(&Grid { heads, right: vec![false; 3], rows }, style, out)?;
        writeln!(out)?;
    }
    if has_marks(study) {
        writeln!(out, "{}\n", plain(MARKED))?;
    }
    writeln!(out, "### The original\n")?;
    original(study).iter().try_for_each(|line| writeln!(out, "{}\n", plain(line)))?;
    if let Some(noise) = &study.noise {
        let found = table::counted_findings(noise, style.verbose);
        let found: Vec<String> =
            found.iter().map(|(one, count)| table::finding_words(one, *count)).collect();
        if !found.is_empty() {
            writeln!(out, "### Findings\n")?;
        }
        list(&found, out)?;
    }
    for shown in &study.tables {
        writeln!(out, "### {}\n", plain(&table_title(shown)))?;
        if let (Some(folder), Some(name)) = (pictures, file_name(study, shown)) {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            writeln!(out, "![{}](<{}>)\n", plain(&shown.title), link(&path))?;
        }
        markdown::grid(&grid(shown, style), style, out)?;
        writeln!(out)?;
        let missing = lacks(shown).into_iter().map(|reason| format!("Missing: {reason}"));
        let lines = modes(shown).into_iter().chain(missing).chain(tested_rows(shown));
        list(&lines.collect::<Vec<_>>(), out)?;
    }
    writeln!(out, "### Every figure of every claim\n")?;
    for claim in &study.claims {
        let words = format!("{} {}: {}", claim.verdict, claim.id, claim.text);
        writeln!(out, "**{}**\n", plain(&words))?;
        if !claim.tests.is_empty() {
            let columns = [&[("", true)], &TESTED[..]].concat();
            let (heads, right): (Vec<String>, Vec<bool>) =
                columns.into_iter().map(|(head, right)| (head.to_owned(), right)).unzip();
            let tests = (1..).zip(&claim.tests);
            let rows = tests.map(|(at, test)| [&[at.to_string()], &tested(test)[..]].concat());
            markdown::grid(&Grid { heads, right, rows: rows.collect() }, style, out)?;
            writeln!(out)?;
        }
        list(&remarks(claim, study), out)?;
    }
    if !study.errata.is_empty() {
        writeln!(out, "### Errata of the original\n")?;
        for number in 1..=study.errata.len() {
            writeln!(out, "{number}. {}", plain(&erratum_words(number, study)))?;
        }
        writeln!(out)?;
    }
    for (title, lines) in [("Facts of the arms", &facts(study)), ("Notes", &study.notes)] {
        if !lines.is_empty() {
            writeln!(out, "### {title}\n")?;
        }
        list(lines, out)?;
    }
    Ok(())
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
