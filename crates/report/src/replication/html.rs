//! A replication as a page: what holds here, every figure of the original drawn again, every table and claim.

use super::conclusion::conclusion;
use super::detail::{endings, findings, original, remarks};
use super::plots::chart;
use super::words::{
    FOUND, TESTED, TOLD, Told, course, failures, found, groups, heading, here, legend, table_notes,
    table_title, tested, total, with_interval,
};
use crate::grid::Grid;
use crate::html::{Html, Page};
use crate::stopped::Stopped;
use crate::table;
use ipcperf_core::result::{
    ClaimResult, Published, Replication, StudyResult, TableResult, Verdict,
};
use std::io;

/// Writes it.
pub(super) fn write(document: &Replication, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::default();
    page.begin(document.stopped().as_deref());
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
    for (title, group) in groups(study) {
        claims(html, study, &title, &group, number);
    }
    html.say("p", &[("class", "soft")], &course(study).join(" "));
    html.list(&failures(study));
    for line in legend(study) {
        html.say("p", &[("class", "soft")], line);
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
    let [errata, facts, notes] = endings(study);
    for (title, lines) in [errata, findings(study, true), facts, notes] {
        if !lines.is_empty() {
            let lines: Vec<String> = lines.into_iter().map(|line| line.words).collect();
            html.fold(title, false, |html| html.list(&lines));
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

/// Claims of one kind.
fn claims(
    html: &mut Html,
    study: &StudyResult,
    title: &str,
    claims: &[&ClaimResult],
    number: usize,
) {
    let is_published = claims.iter().any(|claim| claim.kind.is_published());
    let heads = if is_published { &TOLD[..] } else { &FOUND[..] };
    // Four columns of text are too many for a telephone: there a row stands one cell below the other.
    let class = if is_published { "stack" } else { "" };
    html.fold(title, is_published, |html| {
        html.within("div", &[("class", class)], |html| {
            let head = |html: &mut Html| {
                heads.iter().for_each(|head| html.say("th", &[("scope", "col")], head));
            };
            html.rows(title, head, |html| {
                for claim in claims {
                    html.within("tr", &[], |html| match is_published {
                        true => beside_author(html, claim, study, number),
                        false => of_ours(html, claim, study, number),
                    });
                }
            });
        });
    });
}

/// What became of a claim, beside what its author says.
fn beside_author(html: &mut Html, claim: &ClaimResult, study: &StudyResult, number: usize) {
    let told = Told::of(claim, study);
    let why = told.why(true);
    let Told { claim: text, figure, author, here, verdict, .. } = told;
    html.within("td", &[("class", "t told")], |html| {
        link(html, claim, number);
        html.words(&format!(" {text}"));
        if !figure.is_empty() {
            html.say("div", &[("class", "was")], &figure);
        }
    });
    let cell = |head: usize, class| [("class", class), ("data-head", TOLD[head])];
    html.say("td", &cell(1, "t"), &author);
    html.within("td", &cell(2, "whole"), |html| {
        html.words(&here);
        html.say("div", &[("class", class(claim.verdict))], &verdict);
    });
    html.say("td", &cell(3, "t"), &why);
}

fn of_ours(html: &mut Html, claim: &ClaimResult, study: &StudyResult, number: usize) {
    let [verdict, _, words] = found(claim, study);
    html.say("td", &[("class", class(claim.verdict))], &verdict);
    html.within("td", &[], |html| link(html, claim, number));
    html.say("td", &[("class", "t long")], &words);
}

/// To every figure of a claim.
fn link(html: &mut Html, claim: &ClaimResult, number: usize) {
    let to = format!("#{}", address(number, &claim.id));
    html.say("a", &[("href", &to)], &claim.id);
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
        html.list(&table_notes(shown));
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
                            html.say("div", &[("class", "was")], &format!("published {was}"));
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
    let rows = claim.tests.iter().map(|test| tested(test).to_vec()).collect();
    let Grid { heads, right, rows } = Grid::of(&TESTED, rows);
    if !rows.is_empty() {
        html.table(&claim.id, &heads, &right, &rows);
    }
    html.list(&remarks(claim, study));
}
