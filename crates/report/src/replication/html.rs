//! A replication as a page: what holds here, every figure of the original drawn again, every table and claim.

use super::conclusion::conclusion;
use super::detail::{erratum_words, facts, original, remarks};
use super::plots::chart;
use super::words::{
    MARKED, TESTED, course, failures, finding, group, has_marks, heading, here, is_artefact, lacks,
    mark, modes, published, table_title, tally, tested, tested_rows, total, with_interval,
};
use crate::html::{Html, Page};
use crate::table;
use ipcperf_core::result::{
    ClaimKind, ClaimResult, Published, Replication, StudyResult, TableResult, Verdict,
};
use std::io;

/// Writes it.
pub(super) fn write(document: &Replication, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::default();
    page.head(|html| {
        let names: Vec<&str> = document.studies.iter().map(|study| study.name.as_str()).collect();
        html.headline(&format!("Measured again: {}", names.join(", ")));
        html.say("p", &[], &total(document));
        let machine = table::machine(&document.host, &document.kernel);
        html.say("p", &[("class", "soft")], &format!("{machine}; {}", document.started_utc));
    });
    for (number, study) in (1..).zip(&document.studies) {
        page.section(&format!("s{number}"), &study.name, |html| one(html, document, study, number));
    }
    let title = format!("ipcperf replicate: {}, {}", document.host.cpu_model, document.started_utc);
    let foot = [
        format!(
            "Asked for: {} (seed {})",
            document.invocation.argv.join(" "),
            document.invocation.seed
        ),
        format!("Measured by {} {}", document.tool.name, document.tool.version),
        "This page is one file and asks nobody for anything.".to_owned(),
    ];
    page.write(&title, &foot, out)
}

fn one(html: &mut Html, document: &Replication, study: &StudyResult, number: usize) {
    let full = heading(study);
    let title = full.strip_prefix(&format!("{}: ", study.name)).unwrap_or(&full);
    html.say("h3", &[], title);
    html.say("p", &[("class", "soft")], &here(document, study));
    html.say("p", &[], &conclusion(document, study));
    html.say("p", &[("class", "soft")], &course(study).join(" "));
    html.list(&failures(study));
    for kind in ClaimKind::ALL {
        claims(html, study, *kind, number);
    }
    if has_marks(study) {
        html.say("p", &[("class", "soft")], MARKED);
    }
    html.within("div", &[("class", "charts wide")], |html| {
        for shown in &study.tables {
            picture(html, document, study, shown);
        }
    });
    html.fold("Every figure of every claim", false, |html| {
        study.claims.iter().for_each(|claim| tests(html, claim, study, number));
    });
    html.fold("The original", false, |html| {
        original(study).iter().for_each(|line| html.say("p", &[], line));
    });
    let errata: Vec<String> =
        (1..=study.errata.len()).map(|number| erratum_words(number, study)).collect();
    let findings = study.noise.iter().flat_map(|noise| table::counted_findings(noise, true));
    let findings: Vec<String> =
        findings.map(|(one, count)| table::finding_words(one, count)).collect();
    for (title, lines) in [
        ("Errata of the original", &errata),
        ("Findings", &findings),
        ("Facts of the arms", &facts(study)),
        ("Notes", &study.notes),
    ] {
        if !lines.is_empty() {
            html.fold(title, false, |html| html.list(lines));
        }
    }
}

/// How a verdict looks; it is always there in words.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced | Verdict::Holds => "verdict good",
        Verdict::NotReproduced | Verdict::Fails => "verdict bad",
        Verdict::Direction | Verdict::Inconclusive => "verdict doubt",
        Verdict::Measured | Verdict::Untestable => "verdict",
    }
}

fn claims(html: &mut Html, study: &StudyResult, kind: ClaimKind, number: usize) {
    let all: Vec<&ClaimResult> = study.claims.iter().collect();
    let claims: Vec<&&ClaimResult> = all.iter().filter(|claim| claim.kind == kind).collect();
    if claims.is_empty() {
        return;
    }
    let title = format!("{}: {}", group(kind), tally(&all, kind));
    let is_seen = matches!(kind, ClaimKind::Claim | ClaimKind::Reading);
    html.fold(&title, is_seen, |html| {
        let head = |html: &mut Html| {
            for head in ["verdict", "claim", "what was found"] {
                html.say("th", &[("scope", "col")], head);
            }
        };
        html.rows(&title, head, |html| {
            for claim in claims {
                html.within("tr", &[], |html| {
                    let verdict = format!("{}{}", claim.verdict, mark(claim, study));
                    html.say("td", &[("class", class(claim.verdict))], &verdict);
                    html.within("td", &[], |html| {
                        let to = format!("#{}", address(number, &claim.id));
                        html.say("a", &[("href", &to)], &claim.id);
                    });
                    let cause = claim.artefact.as_ref().filter(|_| is_artefact(claim));
                    let cause = cause.map(|cause| format!("; an artefact: {cause}"));
                    let words = finding(claim) + &cause.unwrap_or_default();
                    html.say("td", &[("class", "t long")], &words);
                });
            }
        });
    });
}

/// Where the figures of a claim are.
fn address(number: usize, id: &str) -> String {
    let fit = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '-' };
    format!("s{number}-{}", id.chars().take(64).map(fit).collect::<String>())
}

/// A figure of the original drawn again, or only its table.
fn picture(html: &mut Html, document: &Replication, study: &StudyResult, shown: &TableResult) {
    let table = |html: &mut Html| {
        beside(html, shown);
        let missing = lacks(shown).into_iter().map(|reason| format!("Missing: {reason}"));
        let lines = modes(shown).into_iter().chain(missing).chain(tested_rows(shown));
        html.list(&lines.collect::<Vec<_>>());
    };
    let title = table_title(shown);
    match chart(document, study, shown).filter(|chart| !chart.series.is_empty()) {
        Some(chart) => {
            let note = chart.notes.first().map_or("", String::as_str);
            html.figure(&title, note, &chart.inline(), |html| {
                html.fold("In figures", false, table)
            });
        }
        None => html.within("figure", &[("class", "full")], |html| {
            html.within("figcaption", &[], |html| html.say("h3", &[], &title));
            table(html);
        }),
    }
}

/// What was measured, and under each figure what was published.
fn beside(html: &mut Html, shown: &TableResult) {
    let head = |html: &mut Html| {
        html.say("th", &[("scope", "col")], "");
        for head in &shown.columns {
            html.say("th", &[("scope", "col"), ("class", "n")], head);
        }
    };
    html.rows(&shown.title, head, |html| {
        for row in &shown.rows {
            html.within("tr", &[], |html| {
                html.say("th", &[("scope", "row")], &row.label);
                for (at, metric) in row.measured.iter().enumerate() {
                    html.within("td", &[("class", "n")], |html| {
                        html.words(&with_interval(metric));
                        let was = row.published.get(at);
                        if let Some(was) = was.filter(|was| **was != Published::Nothing) {
                            let words = format!("published {}", published(was));
                            html.say("div", &[("class", "was")], &words);
                        }
                    });
                }
            });
        }
    });
}

fn tests(html: &mut Html, claim: &ClaimResult, study: &StudyResult, number: usize) {
    html.say(
        "h3",
        &[("id", &address(number, &claim.id))],
        &format!("{}: {}", claim.id, claim.text),
    );
    html.say("p", &[("class", class(claim.verdict))], claim.verdict.name());
    let rows: Vec<Vec<String>> = claim.tests.iter().map(|test| tested(test).to_vec()).collect();
    if !rows.is_empty() {
        html.table(
            &claim.id,
            &TESTED.map(|(head, _)| head.to_owned()),
            &TESTED.map(|(_, right)| right),
            &rows,
        );
    }
    html.list(&remarks(claim, study));
}
