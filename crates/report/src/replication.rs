//! A replication for people and programs: every study's tables beside the published ones, then claim by claim.

use crate::csv::cell as csv_cell;
use crate::format::{Format, Style};
use crate::grid::Grid;
use crate::json;
use crate::markdown::{escape, row, rule};
use crate::page::{Page, Tone};
use crate::{table, text};
use ipcperf_core::result::{
    ClaimKind, ClaimResult, Metric, Published, Replication, RowResult, StudyResult, TableResult,
    Verdict,
};
use std::io::{self, Write};

/// Writes a replication in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub fn replication(
    document: &Replication,
    format: Format,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Json => json::document(document, out),
        Format::Ndjson => document.studies.iter().try_for_each(|study| json::object(study, out)),
        Format::Csv => csv(document, out),
        Format::Markdown => markdown(document, style, out),
        Format::Table => page(document, &mut Page::new(out, style)),
    }
}

/// A figure with as many digits as are read: four at most, and no more than the original would have printed.
fn figure(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".into()
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else if size >= 0.01 {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

fn measured(metric: &Metric) -> String {
    metric.value.map_or_else(|| "-".into(), figure)
}

fn with_interval(metric: &Metric) -> String {
    match (metric.value, metric.ci95) {
        (Some(value), Some([low, high])) => {
            format!("{} [{}, {}]", figure(value), figure(low), figure(high))
        }
        (Some(value), None) => figure(value),
        (None, _) => "-".into(),
    }
}

fn published(published: &Published) -> String {
    match published {
        Published::Nothing => String::new(),
        Published::Number(number) => number.to_string(),
        other => other.to_string(),
    }
}

/// How figures of a table were formed, in words.
fn statistic(table: &TableResult) -> &str {
    match table.statistic.as_str() {
        "median" => "median over rounds",
        "mean" => "mean over rounds",
        "least" => "smallest of all rounds",
        "merged" => "all rounds together",
        "runs" => "single rounds",
        other => other,
    }
}

fn heading(study: &StudyResult) -> String {
    let date = if study.date.is_empty() { String::new() } else { format!(" ({})", study.date) };
    format!("{}: {}{date}", study.name, study.title)
}

fn course(study: &StudyResult) -> String {
    format!(
        "Scale {}: {} rounds, {:.0} s. Here: {} arms, {} of them measured.",
        study.scale,
        study.rounds,
        study.duration_s,
        study.arms.len(),
        study.arms.iter().filter(|arm| arm.reason.is_none()).count(),
    )
}

/// How many claims of each kind got which verdict: "4 REPRODUCED, 1 DIRECTION; extensions: 2 MEASURED". Those that
/// the original makes come first: what is read off its tables it did not say, and what is ours is no replication.
fn tally(claims: &[ClaimResult]) -> String {
    let of = |kind: ClaimKind| {
        let count = |verdict: Verdict| {
            let alike = |claim: &&ClaimResult| claim.kind == kind && claim.verdict == verdict;
            claims.iter().filter(alike).count()
        };
        let counts = Verdict::ALL.iter().map(|verdict| (count(*verdict), verdict));
        let words = counts.filter(|(count, _)| *count > 0);
        words.map(|(count, verdict)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
    };
    let others = [
        ("readings of its tables", ClaimKind::Reading),
        ("extensions", ClaimKind::Extension),
        ("self-checks", ClaimKind::Check),
    ];
    let others = others.map(|(name, kind)| (name, of(kind)));
    let claims = Some(of(ClaimKind::Claim)).filter(|words| !words.is_empty());
    let mut parts = vec![claims.unwrap_or_else(|| "none".into())];
    let told = others.iter().filter(|(_, words)| !words.is_empty());
    parts.extend(told.map(|(name, words)| format!("{name}: {words}")));
    parts.join("; ")
}

/// Reasons of figures that are missing in a table, each once; where many have one remark in parentheses, it stands for
/// them.
fn lacks(table: &TableResult) -> Vec<String> {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for metric in table.rows.iter().flat_map(|row| &row.measured) {
        let (None, Some(reason)) = (metric.value, &metric.reason) else { continue };
        let remark = reason.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
        let reason = remark.unwrap_or(reason);
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason.to_owned(), 1)),
        }
    }
    let told = |(reason, count): (String, usize)| match count {
        1 => reason,
        _ => format!("{reason} ({count} figures)"),
    };
    reasons.into_iter().map(told).collect()
}

/// Figures of a claim that are all shown; of more, the one that decided.
const FIGURES: usize = 6;

/// The figures of a claim; of very many only the one that decided.
fn here(claim: &ClaimResult, is_verbose: bool) -> String {
    if claim.tests.len() > FIGURES
        && !is_verbose
        && let Some(measured) = &claim.measured
    {
        return format!("{}, one of {}", with_interval(measured), claim.tests.len());
    }
    let all = claim.tests.iter().map(|test| with_interval(&test.measured));
    all.collect::<Vec<_>>().join(", ")
}

/// What is accepted, each range once.
fn accepted(claim: &ClaimResult) -> String {
    let mut ranges: Vec<&str> = Vec::new();
    for test in claim.tests.iter().filter(|test| !test.accept.is_empty()) {
        if !ranges.contains(&test.accept.as_str()) {
            ranges.push(&test.accept);
        }
    }
    ranges.join(", ")
}

/// What was found for a claim, in one line.
fn finding(claim: &ClaimResult, is_verbose: bool) -> String {
    if claim.tests.is_empty() {
        return String::new();
    }
    let mut parts = Vec::new();
    match claim.kind {
        ClaimKind::Claim | ClaimKind::Reading => parts.push(match published(&claim.published) {
            text if text.is_empty() => "published n/a".to_owned(),
            text => format!("published {text}"),
        }),
        ClaimKind::Extension => parts.push("not published".to_owned()),
        ClaimKind::Check => {}
    }
    parts.push(format!("here {}", here(claim, is_verbose)));
    match accepted(claim) {
        text if text.is_empty() => {}
        text => parts.push(format!("accepted {text}")),
    }
    parts.join("; ")
}

/// The head of a row's second line.
const PUBLISHED: &str = "  published";

/// Two lines for each row: what was measured, and under it what was published.
fn grid(table: &TableResult, style: &Style) -> Grid {
    let clean = |words: &str| text::clean(words, style.unicode);
    let mut heads = vec![String::new()];
    heads.extend(table.columns.iter().map(|head| clean(head)));
    let mut rows = Vec::new();
    for RowResult { label, published: was, measured: is } in &table.rows {
        let mut line = vec![clean(label)];
        line.extend(is.iter().map(measured));
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

/// Where the text of a claim begins: after the longest verdict.
const TEXT: usize = 16;

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Best,
        Verdict::NotReproduced | Verdict::Fails => Tone::Bad,
        Verdict::Inconclusive => Tone::Doubt,
        Verdict::Direction | Verdict::Measured | Verdict::Holds => Tone::Plain,
        Verdict::Untestable => Tone::Quiet,
    }
}

fn told(claim: &ClaimResult, study: &StudyResult, page: &mut Page<'_>) -> io::Result<()> {
    let verdict = format!("{:TEXT$}", claim.verdict);
    page.paragraph(tone(claim.verdict), &verdict, &format!("{}: {}", claim.id, claim.text))?;
    let errata = study.errata.iter().filter(|one| one.claims.contains(&claim.id));
    let more = [finding(claim, page.style.verbose), claim.reason.clone()]
        .into_iter()
        .chain(claim.note.clone())
        .chain(errata.map(|erratum| format!("Erratum: {}", erratum.text)));
    let indent = " ".repeat(TEXT);
    for words in more.filter(|words| !words.is_empty()) {
        page.paragraph(Tone::Plain, &indent, &words)?;
    }
    Ok(())
}

fn page(document: &Replication, page: &mut Page<'_>) -> io::Result<()> {
    for (index, study) in document.studies.iter().enumerate() {
        if index > 0 {
            page.blank()?;
        }
        page.paragraph(Tone::Title, "", &heading(study))?;
        if !study.url.is_empty() {
            page.paragraph(Tone::Quiet, "", &study.url)?;
        }
        page.blank()?;
        page.paragraph(Tone::Plain, "", &study.summary)?;
        for (first, words) in
            [("Original machine: ", &study.machine), ("Original figures: ", &study.statistic)]
        {
            if !words.is_empty() {
                page.paragraph(Tone::Plain, "", &format!("{first}{words}."))?;
            }
        }
        page.paragraph(Tone::Plain, "", &course(study))?;
        if let Some(noise) = &study.noise {
            table::disturbance(page, noise)?;
        }
        for table in &study.tables {
            page.blank()?;
            let title = format!("{}, {} ({})", table.title, table.unit, statistic(table));
            page.paragraph(Tone::Title, "", &title)?;
            blocks(&grid(table, page.style), page)?;
            for reason in lacks(table) {
                page.paragraph(Tone::Quiet, "- ", &reason)?;
            }
        }
        page.blank()?;
        page.paragraph(Tone::Title, "", &format!("Claims: {}", tally(&study.claims)))?;
        for claim in &study.claims {
            told(claim, study, page)?;
        }
        if page.style.verbose {
            page.blank()?;
            for arm in &study.arms {
                for (name, fact) in &arm.facts {
                    page.paragraph(Tone::Plain, "- ", &format!("{}: {name}: {fact}", arm.id))?;
                }
            }
        }
        if !study.notes.is_empty() {
            page.blank()?;
        }
        for note in &study.notes {
            page.paragraph(Tone::Plain, "- ", note)?;
        }
    }
    if document.studies.len() > 1 {
        let all: Vec<ClaimResult> =
            document.studies.iter().flat_map(|study| study.claims.clone()).collect();
        let claims = all.iter().filter(|claim| claim.kind == ClaimKind::Claim).count();
        page.blank()?;
        page.paragraph(Tone::Title, "", &format!("All {claims} claims: {}", tally(&all)))?;
    }
    Ok(())
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

fn markdown(document: &Replication, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let plain = |words: &str| escape(words, style.unicode);
    for study in &document.studies {
        writeln!(out, "## {}\n", plain(&heading(study)))?;
        for text in [&study.summary, &course(study)] {
            writeln!(out, "{}\n", plain(text))?;
        }
        if let Some(noise) = &study.noise {
            writeln!(out, "{}\n", plain(&table::grade_words(noise)))?;
            for (finding, count) in table::counted_findings(noise, style.verbose) {
                writeln!(out, "- {}", plain(&table::finding_words(finding, count)))?;
            }
            writeln!(out)?;
        }
        for table in &study.tables {
            let title = format!("{}, {} ({})", table.title, table.unit, statistic(table));
            writeln!(out, "### {}\n", plain(&title))?;
            let grid = grid(table, style);
            row(&grid.heads, style, out)?;
            rule(&grid.right, out)?;
            for line in &grid.rows {
                row(line, style, out)?;
            }
            for reason in lacks(table) {
                writeln!(out, "\n{}", plain(&format!("Missing: {reason}")))?;
            }
            writeln!(out)?;
        }
        writeln!(out, "### Claims: {}\n", tally(&study.claims))?;
        let heads = ["claim", "verdict", "text", "published", "here", "accepted", "why"];
        row(&heads.map(ToOwned::to_owned), style, out)?;
        rule(&[false; 7], out)?;
        for claim in &study.claims {
            let mut why = claim.reason.clone();
            for erratum in study.errata.iter().filter(|one| one.claims.contains(&claim.id)) {
                why += &format!(" Erratum: {}", erratum.text);
            }
            let cells = [
                claim.id.clone(),
                claim.verdict.to_string(),
                claim.text.clone(),
                published(&claim.published),
                here(claim, style.verbose),
                accepted(claim),
                why,
            ];
            row(&cells, style, out)?;
        }
        writeln!(out)?;
        for note in &study.notes {
            writeln!(out, "{}\n", plain(note))?;
        }
    }
    Ok(())
}

/// One line for each reading of each round.
fn csv(document: &Replication, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "study,arm,status,round,order,metric,value")?;
    for study in &document.studies {
        for arm in &study.arms {
            let status = serde_json::to_string(&arm.status)?;
            let start = format!("{},{},{status}", csv_cell(&study.name), csv_cell(&arm.id));
            for round in &arm.rounds {
                for (metric, value) in &round.values {
                    let (metric, number, order) = (csv_cell(metric), round.round, round.order);
                    writeln!(out, "{start},{number},{order},{metric},{value}")?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
