//! What is behind the first screen of a study: the original, its tables, every figure of every claim, errata and notes.

use super::words::{
    accepted, errata, errata_words, formula, is_artefact, rows_of, together, with_interval,
};
use crate::replication::{ClaimResult, Published, StudyResult, TestResult};
use ipcperf_ask::results::table;
use ipcperf_render::doc::Line;
use ipcperf_render::text;

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

/// Lines under a title of their own.
pub(super) type Part = (&'static str, Vec<Line>);

/// What disturbed its run.
pub(super) fn findings(study: &StudyResult, is_verbose: bool) -> Part {
    let found =
        study.noise.iter().flat_map(|noise| table::counted_findings(noise, is_verbose, is_verbose));
    let found = found.map(|(one, count)| table::finding_words(one, count));
    ("Findings", found.map(Line::from).collect())
}

/// The errata by the numbers that claims refer to, what a reader must know of the arms, and the notes.
pub(super) fn endings(study: &StudyResult) -> [Part; 3] {
    let errata = (1..).zip(&study.errata).map(|(number, one)| {
        let words = format!("{}: {}", one.claims.join(", "), one.text);
        Line::from(words).after(format!("{number}. "))
    });
    let facts = study
        .arms
        .iter()
        .flat_map(|arm| arm.facts.iter().map(move |(name, fact)| ((name, fact), arm.id.as_str())));
    let facts = text::in_groups(facts).into_iter();
    let facts = facts.map(|((name, fact), arms)| format!("{}: {name}: {fact}", together(&arms)));
    [
        ("Errata of the original", errata.collect()),
        ("Facts of the arms", facts.map(Line::from).collect()),
        ("Notes", study.notes.iter().cloned().map(Line::from).collect()),
    ]
}
