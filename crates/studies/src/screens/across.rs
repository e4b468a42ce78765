//! Claims by machines: which hold where, and which turned.

use super::words::{bare, brief, deciding, is_artefact, with_interval};
use crate::replication::{ClaimKind, ClaimResult, Replication, StudyResult, Verdict};
use ipcperf_ask::results::table;
use ipcperf_render::doc::{Column, Doc, Layout, Line, Row, Table, Tone};
use ipcperf_render::{Format, Style, csv, text};
use std::io::{self, Write};

/// What the words of the table mean.
const LEGEND: &str = "yes: REPRODUCED; size: the direction holds, the size differs or is not shown (DIRECTION); no: \
                      NOT REPRODUCED; open: INCONCLUSIVE; artefact: as published, for a cause that is not a property of the \
                      mechanisms; untested: no figure there; empty: not part of that run. A machine at grade F judges nothing.";

/// A study over the machines that ran it.
struct Over<'a> {
    heading: String,
    /// One for each machine that ran it: its place among all, and what came of it.
    studies: Vec<(usize, &'a StudyResult)>,
    /// Ids of all claims.
    ids: Vec<&'a str>,
}

impl<'a> Over<'a> {
    fn all(documents: &'a [Replication]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (at, document) in documents.iter().enumerate() {
            for study in &document.studies {
                let known = all.iter().position(|one| one.studies[0].1.name == study.name);
                let known = known.unwrap_or_else(|| {
                    let heading = format!("{}: {}", study.name, study.title);
                    all.push(Self { heading, studies: Vec::new(), ids: Vec::new() });
                    all.len() - 1
                });
                let over = &mut all[known];
                over.studies.push((at, study));
                for claim in &study.claims {
                    if !over.ids.contains(&claim.id.as_str()) {
                        over.ids.push(&claim.id);
                    }
                }
            }
        }
        all
    }

    /// The claim on each machine, as far as that has it.
    fn claims(&self, id: &str) -> Vec<(usize, &'a ClaimResult)> {
        let of = |(at, study): &(usize, &'a StudyResult)| {
            study.claims.iter().find(|claim| claim.id == id).map(|claim| (*at, claim))
        };
        self.studies.iter().filter_map(of).collect()
    }

    /// The noise grade of each machine during this study.
    fn grade(&self, at: usize) -> Option<&'a str> {
        let study = self.studies.iter().find(|(of, _)| *of == at)?.1;
        Some(study.noise.as_ref().map_or("?", |noise| noise.grade.as_str()))
    }
}

/// The name of a machine in the tables: a letter, and from the 27th on a number.
fn name(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => format!("M{}", at + 1),
    }
}

/// A machine by its own facts, and when it ran.
fn machine(document: &Replication) -> String {
    let day = document.started_utc.split('T').next().unwrap_or_default();
    let stopped = if document.interrupted { ", INTERRUPTED" } else { "" };
    format!("{}, {day}{stopped}", table::machine(&document.host, &document.kernel))
}

fn word(claim: &ClaimResult) -> String {
    match claim.verdict {
        Verdict::Reproduced | Verdict::Direction if is_artefact(claim) => "artefact".into(),
        Verdict::Reproduced => "yes".into(),
        Verdict::Direction => "size".into(),
        Verdict::NotReproduced => "no".into(),
        Verdict::Inconclusive => "open".into(),
        Verdict::Untestable => "untested".into(),
        Verdict::Measured => {
            deciding(claim).map_or_else(|| "-".into(), |test| bare(&test.measured))
        }
        Verdict::Holds => "holds".into(),
        Verdict::Fails => "fails".into(),
    }
}

/// Whether a claim holds on one machine and does not on another.
fn has_turned(claims: &[(usize, &ClaimResult)]) -> bool {
    let any =
        |verdicts: &[Verdict]| claims.iter().any(|(_, claim)| verdicts.contains(&claim.verdict));
    any(&[Verdict::Reproduced, Verdict::Direction, Verdict::Holds])
        && any(&[Verdict::NotReproduced, Verdict::Fails])
}

/// A claim that turned: its figure on each machine.
fn turned(id: &str, claims: &[(usize, &ClaimResult)]) -> String {
    let text = claims.first().map(|(_, claim)| brief(claim)).unwrap_or_default();
    let of = |(at, claim): &(usize, &ClaimResult)| {
        let test = deciding(claim);
        let label = test.map(|test| test.label.as_str()).filter(|label| !label.is_empty());
        let label = label.map(|label| format!("{label} ")).unwrap_or_default();
        let found = test.map_or_else(|| "-".into(), |test| with_interval(&test.measured));
        format!("{}: {label}{found} ({})", name(*at), claim.verdict)
    };
    let all: Vec<String> = claims.iter().map(of).collect();
    format!("{id} {text}. {}", all.join("; "))
}

/// How many claims of authors came out how, over all machines.
fn tally(all: &[Over<'_>]) -> String {
    let [mut holds, mut fails, mut turned, mut artefacts, mut open] = [0_u64; 5];
    for over in all {
        for id in &over.ids {
            let claims = over.claims(id);
            if claims.iter().all(|(_, claim)| claim.kind != ClaimKind::Claim) {
                continue;
            }
            let every = |verdicts: &[Verdict]| {
                claims.iter().all(|(_, claim)| verdicts.contains(&claim.verdict))
            };
            if has_turned(&claims) {
                turned += 1;
            } else if claims.iter().any(|(_, claim)| is_artefact(claim)) {
                artefacts += 1;
            } else if every(&[Verdict::Reproduced, Verdict::Direction]) {
                holds += 1;
            } else if every(&[Verdict::NotReproduced]) {
                fails += 1;
            } else {
                open += 1;
            }
        }
    }
    let count = holds + fails + turned + artefacts + open;
    if count == 0 {
        return "No claim of an author was part of these runs.".to_owned();
    }
    let all = text::counted(count, "claim");
    let parts = [
        (holds, "on every machine that ran it"),
        (fails, "on none"),
        (turned, "on one and not on another"),
        (artefacts, "by an artefact"),
        (open, "left open on some"),
    ];
    let told = parts.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, how)| format!("{count} {how}")).collect();
    format!("Which of {all} hold: {}.", told.join("; "))
}

/// The claims of a study by machines.
fn by_machines(over: &Over<'_>, machines: usize) -> Table {
    let head = |at: usize| match over.grade(at) {
        Some(grade) => format!("{} ({grade})", name(at)),
        None => name(at),
    };
    let columns = ["claim".to_owned(), String::new()].into_iter().chain((0..machines).map(head));
    let row = |id: &&str| {
        let claims = over.claims(id);
        let mark = if has_turned(&claims) { "turned: " } else { "" };
        let text = claims.first().map(|(_, claim)| brief(claim)).unwrap_or_default();
        let mut line = vec![(*id).to_owned(), format!("{mark}{text}")];
        line.resize(2 + machines, String::new());
        for (at, claim) in claims {
            line[2 + at] = word(claim);
        }
        Row::new(line)
    };
    let table = Table::new(columns.map(Column::text), over.ids.iter().map(row));
    table.layout(Layout::Blocks(2))
}

/// Writes claims by machines: for people, or as a line for each claim of each machine.
///
/// # Errors
/// `out` refuses the bytes.
pub fn across(
    documents: &[Replication],
    format: Format,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = Over::all(documents);
    match format {
        Format::Csv => csv(documents, &all, out),
        _ => doc(documents, &all).write(format, style, out),
    }
}

fn doc(documents: &[Replication], all: &[Over<'_>]) -> Doc {
    let mut doc = Doc::new(tally(all));
    let body = &mut doc.body;
    let machines = documents.iter().enumerate();
    body.list(machines.map(|(at, document)| format!("{}: {}", name(at), machine(document))));
    let turns = all
        .iter()
        .flat_map(|over| over.ids.iter().map(|id| (*id, over.claims(id))))
        .filter(|(_, claims)| has_turned(claims))
        .map(|(id, claims)| Line::new(Tone::Doubt, turned(id, &claims)));
    body.section("What turned", |body| body.list(turns));
    for over in all {
        let table = by_machines(over, documents.len());
        body.section(over.heading.as_str(), |body| body.table(table));
    }
    body.space();
    body.say(Tone::Quiet, LEGEND);
    doc
}

/// A line for each claim of each machine, with the figure that decided.
fn csv(documents: &[Replication], all: &[Over<'_>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "study,claim,machine,date,verdict,value,low,high")?;
    for over in all {
        for id in &over.ids {
            for (at, claim) in over.claims(id) {
                let document = &documents[at];
                let machine = table::machine(&document.host, &document.kernel);
                let measured = deciding(claim).map(|test| &test.measured);
                let interval = measured.and_then(|metric| metric.ci95);
                let row = [
                    over.studies[0].1.name.clone(),
                    (*id).to_owned(),
                    machine,
                    document.started_utc.clone(),
                    claim.verdict.to_string(),
                    csv::number(measured.and_then(|metric| metric.value)),
                    csv::number(interval.map(|[low, _]| low)),
                    csv::number(interval.map(|[_, high]| high)),
                ];
                csv::line(row, out)?;
            }
        }
    }
    Ok(())
}
