//! What one sees first: the answer, the mechanisms that people choose between, and the machine with its grade.

use super::cells::Anchors;
use crate::advice::{caution, has_places};
use crate::answers::answers;
use crate::chapters::{Block, Chapter, Row, label};
use crate::fittest::fitness;
use crate::html::{Html, blocks};
use crate::judge::MetricKind;
use crate::{Specs, crossover, figures, overview, table, text};
use ipcperf_core::result::{Finding, ResultSet, Severity, Spread};

/// Most rankings whose best is shown.
const RANKINGS: usize = 6;

/// The best of a ranking: of which one, its name and figure, and what one should know.
struct Card {
    purpose: String,
    name: String,
    link: Option<String>,
    figure: String,
    notes: Vec<String>,
}

/// What to use, and the answer to each question in a sentence.
pub(super) fn survey(html: &mut Html, set: &ResultSet, specs: &Specs, anchors: &Anchors) {
    let doc = overview::doc(set, specs, &|cell| anchors.link(cell));
    html.headline(&doc.headline);
    blocks(html, &doc.body);
    let all: Vec<String> = answers(set, specs).into_iter().map(|answer| answer.sentence).collect();
    if !all.is_empty() {
        html.fold("The same in sentences", false, |html| html.list(&all));
    }
}

/// What a run says, and the best of its rankings.
pub(super) fn run(
    html: &mut Html,
    set: &ResultSet,
    specs: &Specs,
    chapters: &[Chapter],
    anchors: &Anchors,
) {
    let sentences = crossover::answer(set, specs);
    let headline = sentences.first().map_or("What was measured", |one| one.trim_end_matches('.'));
    html.headline(headline);
    sentences.iter().skip(1).for_each(|sentence| html.say("p", &[], sentence));
    masthead(html, set);
    if let Some(caution) = caution(set) {
        html.say("p", &[("class", "alarm")], &caution);
    }
    let best = chapters.iter().filter(|_| has_places(set));
    let cards: Vec<Card> =
        best.filter_map(|chapter| self::best(chapter, specs, anchors)).take(RANKINGS).collect();
    if !cards.is_empty() {
        html.within("dl", &[("class", "answers")], |html| {
            cards.iter().for_each(|card| card.put(html))
        });
    }
}

/// What ran where.
pub(super) fn masthead(html: &mut Html, set: &ResultSet) {
    for line in table::masthead(set) {
        html.say("p", &[("class", "soft")], &line);
    }
}

/// The best of a chapter's first ranking of messages; of wake-ups, where it has no other. Of those that tie, the fittest.
fn best(chapter: &Chapter, specs: &Specs, anchors: &Anchors) -> Option<Card> {
    let MetricKind::Primary(_) = chapter.kind else { return None };
    let section = chapter.sections.first()?;
    let is_first = |row: &Row<'_>| row.rank.is_some_and(|rank| rank.place == 1);
    let blocks = || section.blocks.iter().filter(|block| block.rows.iter().any(is_first));
    let has_payload = |block: &&Block| block.rows.iter().any(|row| row.cell.key.size_bytes > 0);
    let block = blocks().find(has_payload).or(blocks().next())?;
    let firsts = || block.rows.iter().filter(|row| is_first(row));
    let row = firsts().min_by_key(|row| fitness(specs(&row.cell.key.mechanism)))?;
    let value = row.metric()?.value?;
    let ties = Some(firsts().count()).filter(|ties| *ties > 1);
    let size = figures::size(row.cell.key.size_bytes);
    let tie = ties.map(|ties| format!("{} as fast", text::counted(ties as u64 - 1, "other")));
    Some(Card {
        purpose: table::title(chapter),
        name: label(row.cell),
        link: anchors.link(row.cell),
        figure: chapter.kind.words(value, row.cell.key.size_bytes),
        notes: [size, section.way.words()].into_iter().chain(tie).collect(),
    })
}

impl Card {
    fn put(&self, html: &mut Html) {
        html.within("div", &[], |html| {
            html.say("dt", &[], &self.purpose);
            html.say("dd", &[("class", "figure")], &self.figure);
            html.within("dd", &[("class", "name")], |html| {
                anchored(html, self.link.as_deref(), &self.name)
            });
            html.say("dd", &[("class", "notes")], &self.notes.join("; "));
        });
    }
}

/// A name that leads to its cell.
fn anchored(html: &mut Html, link: Option<&str>, words: &str) {
    match link {
        Some(link) => html.say("a", &[("href", &format!("#{link}"))], words),
        None => html.words(words),
    }
}

pub(super) fn machine(html: &mut Html, set: &ResultSet, anchors: &Anchors) {
    html.within("div", &[("class", "machine")], |html| {
        html.within("dl", &[("class", "facts")], |html| facts(html, set));
        html.within("div", &[], |html| grade(html, set, anchors));
    });
    let settings = set.kernel.mitigations.iter().chain(&set.kernel.sysctl);
    let settings: Vec<Vec<String>> =
        settings.map(|(name, value)| vec![name.clone(), value.clone()]).collect();
    if !settings.is_empty() {
        html.fold("Settings of the kernel", false, |html| {
            let heads = ["setting", "value"].map(ToOwned::to_owned);
            html.table("Settings of the kernel", &heads, &[false; 2], &settings);
        });
    }
}

/// A pair of a name and a value in a list of facts; nothing where there is no value.
fn fact(html: &mut Html, name: &str, value: &str) {
    if !value.is_empty() {
        html.say("dt", &[], name);
        html.say("dd", &[], value);
    }
}

fn facts(html: &mut Html, set: &ResultSet) {
    let (host, kernel) = (&set.host, &set.kernel);
    let optional = |value: &Option<String>| value.clone().unwrap_or_default();
    let spread = |spread: &Option<Spread>| spread.as_ref().map(|one| figures::nanos(one.median));
    fact(html, "CPU", &host.cpu_model);
    let cpus = text::counted(host.cpus_allowed.len() as u64, "CPU");
    let cores = text::counted(host.cores, "core");
    let caches = text::counted(host.last_level_caches, "last-level cache");
    let nodes = text::counted(host.nodes, "node");
    fact(html, "Topology", &format!("{cpus}, {cores}, {caches}, {nodes}"));
    let memory = host.memory_bytes as f64 / f64::from(1 << 30);
    fact(html, "Memory", &format!("{memory:.1} GiB"));
    fact(html, "Kernel", &format!("Linux {} ({})", kernel.release, host.arch));
    fact(html, "Hypervisor", &optional(&host.hypervisor));
    fact(html, "Container", &optional(&host.container));
    fact(html, "CPU limit", &optional(&host.cpu_limit));
    fact(html, "Frequency", &optional(&host.frequency));
    fact(html, "Idle", &optional(&host.idle));
    fact(html, "Clock", &set.clock.source);
    fact(html, "System call", &spread(&set.bounds.null_syscall_ns).unwrap_or_default());
    for pair in &set.bounds.pairs {
        let cpus: Vec<String> = pair.cpus.iter().map(ToString::to_string).collect();
        let name = format!("CPU {} ({})", text::join(&cpus), pair.placement);
        let line = spread(&pair.cacheline_rtt_ns).map(|ns| format!("cache-line round trip {ns}"));
        let wake =
            spread(&pair.futex_wake_rtt_ns).map(|ns| format!("futex wake-up round trip {ns}"));
        let both: Vec<String> = line.into_iter().chain(wake).collect();
        fact(html, &name, &both.join(", "));
    }
}

fn grade(html: &mut Html, set: &ResultSet, anchors: &Anchors) {
    let grade = set.noise.grade.as_str();
    html.within("div", &[("class", "grade")], |html| {
        let known = ["A", "B", "C", "D", "F"].into_iter().find(|known| *known == grade);
        if let Some(known) = known {
            html.say("b", &[("class", &format!("g-{known}")), ("aria-hidden", "true")], known);
        }
        html.say("p", &[], &table::grade_words(&set.noise));
    });
    let findings = table::counted_findings(&set.noise, false);
    let severe = findings.iter().filter(|(one, _)| one.severity != Severity::Info).count();
    let (first, rest) = findings.split_at(severe.clamp(1, 6).min(findings.len()));
    let machine = set.noise.machine.iter().filter(|finding| finding.severity == Severity::Info);
    let machine: Vec<_> = machine.map(|finding| (finding, 1)).collect();
    list(html, set, first, anchors);
    for (what, of, folded) in [("more finding", "", rest), ("note", " on the machine", &machine)] {
        let count: usize = folded.iter().map(|(_, count)| count).sum();
        if count > 0 {
            let title = text::counted(count as u64, what);
            html.fold(&(title + of), false, |html| list(html, set, folded, anchors));
        }
    }
}

fn list(html: &mut Html, set: &ResultSet, findings: &[(&Finding, usize)], anchors: &Anchors) {
    if findings.is_empty() {
        return;
    }
    html.within("ul", &[("class", "findings")], |html| {
        for (finding, count) in findings {
            let class = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            html.within("li", &[("class", class)], |html| {
                html.say("span", &[("class", "code")], &finding.code);
                html.words(&format!(" {}", finding.text.trim_end_matches('.')));
                html.words(&table::more_like_it(*count));
                html.words(".");
                if !finding.remedy.is_empty() {
                    html.say(
                        "span",
                        &[("class", "soft")],
                        &format!(" Remedy: {}.", finding.remedy.trim_end_matches('.')),
                    );
                }
                let alike = set.noise.findings.iter().filter(|one| one.code == finding.code);
                let cells: Vec<&String> = alike.flat_map(|one| &one.cells).collect();
                for id in cells.iter().take(8) {
                    html.words(" ");
                    anchored(html, anchors.by_id(id), id);
                }
                if cells.len() > 8 {
                    html.words(&format!(" and {} more", cells.len() - 8));
                }
            });
        }
    });
}
