//! The tables of a result set, and what is said of it beside them: what ran, what was not measured, what was found.

use crate::results::chapters::{Block, Chapter, Row as Ranked, unmeasured};
use crate::results::columns::{Column, Room};
use crate::results::pictures::Anchors;
use crate::results::{columns, pipelines};
use ipcperf_core::result::{Finding, Host, Kernel, Noise, ResultSet, Severity, Status};
use ipcperf_judge::{MetricKind, Relation, figures};
use ipcperf_render::doc::{self, Cell, Layout, Line, Place, Row, Section, Table, Tone};
use ipcperf_render::{Style, text};

mod legend;

pub(crate) use legend::legend_lines;

#[cfg(test)]
mod tests;

/// Findings that are shown at once.
const FINDINGS: usize = 5;

/// A default screen shows at most this many findings.
pub const ON_A_SCREEN: usize = 3;

/// Cells that a finding names.
const NAMED: usize = 8;

/// What ran, when and on what.
pub(crate) fn masthead(set: &ResultSet) -> Vec<String> {
    let plan = &set.invocation.plan;
    let command = if plan.command.is_empty() { "result" } else { &plan.command };
    let first =
        format!("ipcperf {} {command}, {}: {}", set.tool.version, set.started_utc, amount(set));
    vec![first, machine(&set.host, &set.kernel)]
}

/// What ran and on which machine, in one line.
pub(crate) fn masthead_in_short(set: &ResultSet) -> String {
    let cpus = text::counted(set.host.cpus_allowed.len() as u64, "CPU");
    format!("{}; {}, {cpus}", amount(set), set.host.cpu_model)
}

/// How many cells were measured, and in how many rounds.
fn amount(set: &ResultSet) -> String {
    let plan = &set.invocation.plan;
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok).count();
    let mut first = if set.cells.is_empty() && !set.pipelines.is_empty() {
        pipelines::tally(set)
    } else {
        let all = text::counted(set.cells.len() as u64, "cell");
        format!("{measured} of {all} measured")
    };
    // Those that were measured: a budget or an interruption may have ended the run before its plan.
    let rounds = set.cells.iter().map(|cell| cell.by_round().count()).max().unwrap_or(0);
    let runs = set.pipelines.iter().map(|one| one.rounds.len()).max().unwrap_or(0);
    if runs > 0 {
        let rounds = text::counted(runs as u64, "round");
        first.push_str(&format!(", {rounds}, {} s", figures::plain(set.duration_s)));
    }
    if rounds > 0 {
        let all = figures::plain(set.duration_s);
        let rounds = text::counted(rounds as u64, "round");
        let slice = match plan.samples {
            Some(samples) => text::counted(samples, "sample"),
            None => slices(set),
        };
        let each = match plan.batch {
            Some(batch) if batch > 1 => format!(" in batches of {}", text::grouped(batch)),
            _ => String::new(),
        };
        first.push_str(&format!(", {rounds} of {slice}{each}, {all} s"));
    }
    first
}

/// `3.00 ms`, or `3.00 to 86.6 ms` where some slices were planned longer than the shortest.
fn slices(set: &ResultSet) -> String {
    let rounds = set.cells.iter().flat_map(|cell| &cell.rounds);
    let longest = rounds.filter_map(|round| round.planned_ns).fold(0.0, f64::max) / 1e6;
    let shortest = set.invocation.plan.slice_ms;
    let is_one = longest < 1.5 * shortest;
    let to = if is_one { String::new() } else { format!(" to {}", figures::plain(longest)) };
    format!("{}{to} ms", figures::plain(shortest))
}

/// A machine by its facts.
#[must_use]
pub fn machine(host: &Host, kernel: &Kernel) -> String {
    let mut parts = vec![
        host.cpu_model.clone(),
        text::counted(host.cpus_allowed.len() as u64, "CPU"),
        format!("Linux {}", kernel.release),
    ];
    parts.extend(host.hypervisor.iter().map(|name| format!("hypervisor {name}")));
    parts.extend(host.container.iter().map(|name| format!("container {name}")));
    parts.join(", ")
}

/// The table of a chapter. Cells of each place and way are a group.
pub(crate) fn of(chapter: &Chapter, style: &Style, anchors: &Anchors) -> Table {
    let kind = chapter.kind;
    let shown = columns::shown(chapter, style);
    let has_cpus = columns::has_many_named_cpus(&chapter.sections);
    let column = |column: &&Column| doc::Column {
        head: column.head(chapter, style),
        is_number: column.is_number,
        rank: match column.room(kind) {
            Room::Rank(rank) => rank,
            Room::Absent | Room::Always => 0,
        },
        is_drawn: column.is_drawn,
        ..doc::Column::default()
    };
    let mut rows = Vec::new();
    for section in &chapter.sections {
        let is_like = |other: &crate::results::chapters::Section| {
            section.way.differs_in_named_cpus(&other.way)
        };
        let way = match has_cpus && chapter.sections.iter().any(is_like) {
            true => format!("lead and follow on these CPUs, {}", section.way.conditions()),
            false => section.way.words(),
        };
        for (at, row) in section.blocks.iter().flat_map(|block| block.rows.iter().enumerate()) {
            let cells = shown.iter().map(|column| {
                let is_shown = at == 0 || !(column.is_once)(chapter.pattern.facts());
                let line = Line::from(if is_shown { column.cell(row) } else { String::new() });
                let figure = || kind.of_cell(row.cell).and_then(|metric| metric.value);
                let line = line.worth((style.bars && column.is_drawn).then(figure).flatten());
                let link = anchors.link(row.cell).filter(|_| column.is_name);
                Cell::from(Line { link, ..line }).below(Tone::Plain, (column.second)(row))
            });
            let remark = row.remark(style.verbose).filter(|_| kind != MetricKind::Cpu);
            let remark = Line::new(Tone::Doubt, remark.unwrap_or_default());
            let row = Row::new(cells.chain([Cell::from(remark)])).tone(tone(row));
            rows.push(row.group(way.as_str()));
        }
    }
    let mut columns: Vec<doc::Column> = shown.iter().map(column).collect();
    if rows.iter().any(|row| row.cells.last().is_some_and(|remark| !remark.0.is_empty())) {
        columns.push(doc::Column::text("remarks").place(Place::Below));
    }
    rows.iter_mut().for_each(|row| row.cells.truncate(columns.len()));
    let flexible = shown.iter().position(|column| column.is_name);
    Table {
        label: chapter.title(),
        flexible: flexible.unwrap_or_default(),
        ..Table::new(columns, rows)
    }
}

fn tone(row: &Ranked) -> Tone {
    match row.relation {
        _ if row.is_best => Tone::Best,
        None | Some(Relation::Unconfirmed) if !row.cell.key.pattern.facts().is_open => Tone::Quiet,
        Some(_) | None => Tone::Plain,
    }
}

/// Notes on the ratios of a chapter: how their references were chosen, and why a ratio differs from the quotient of the
/// figures.
pub(crate) fn notes(chapter: &Chapter) -> Vec<&'static str> {
    let compared = || chapter.blocks().filter(|block| block.reference.is_some());
    let has_ratio = |row: &&Ranked| row.relation.is_some_and(|one| one.relative().is_some());
    let of_modes = |block: &Block| {
        let is_split = block.rows.iter().any(|row| row.relation.is_some() && row.is_two_mode());
        is_split && block.rows.iter().any(|row| has_ratio(&row))
    };
    let same_rounds = compared().any(|block| block.is_chosen_by_same_rounds).then_some(
        "The reference was chosen by the same rounds as the ratios, which may favour it.",
    );
    let modes = compared().any(of_modes).then_some(
        "A ratio is the median of the ratios within rounds: where rounds fall into two modes, it may differ from the ratio \
         of the figures shown.",
    );
    same_rounds.into_iter().chain(modes).collect()
}

/// Why cells and pipelines have no figure.
pub(crate) fn reasons(set: &ResultSet) -> Vec<Line> {
    let groups = unmeasured(set).into_iter();
    let cells = groups.map(|group| (group.status, format!("{}: {}", group.who(set), group.reason)));
    let line = |(status, words)| {
        let tone = match status {
            Status::Failed | Status::Deadline => Tone::Bad,
            Status::Rejected => Tone::Doubt,
            _ => Tone::Plain,
        };
        Line::new(tone, words)
    };
    cells.chain(pipelines::unmeasured(set)).map(line).collect()
}

/// Findings and how many each stands for, the worst first: those of the same code as one, or each by itself. What is
/// only to be known of the machine is the same in every run, so that it is left to `-v` and `ipcperf doctor`.
#[must_use]
pub fn counted_findings(noise: &Noise, is_each: bool, has_notes: bool) -> Vec<(&Finding, usize)> {
    let mut merged: Vec<(&Finding, usize)> = Vec::new();
    let of_machine = noise.machine.iter();
    let of_machine = of_machine.filter(|finding| has_notes || finding.severity != Severity::Info);
    for finding in noise.findings.iter().chain(of_machine) {
        match merged.iter_mut().find(|(first, _)| !is_each && first.code == finding.code) {
            Some((_, count)) => *count += 1,
            None => merged.push((finding, 1)),
        }
    }
    merged.sort_by_key(|(finding, _)| finding.severity);
    merged
}

/// The text of a finding, with how many more it stands for.
fn said(finding: &Finding, count: usize) -> String {
    let more = if count > 1 { format!(" ({} more like it)", count - 1) } else { String::new() };
    format!("{}{more}.", finding.text.trim_end_matches('.'))
}

fn remedy(finding: &Finding) -> String {
    match finding.remedy.trim_end_matches('.') {
        "" => String::new(),
        remedy => format!(" Remedy: {remedy}."),
    }
}

/// `error W-STEAL: text (3 more like it). Remedy: remedy.`
#[must_use]
pub fn finding_words(finding: &Finding, count: usize) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    format!("{severity} {}", finding_text(finding, count))
}

/// `W-STEAL: text (3 more like it). Remedy: remedy.`
#[must_use]
pub fn finding_text(finding: &Finding, count: usize) -> String {
    format!("{}: {}{}", finding.code, said(finding, count), remedy(finding))
}

/// `Noise grade D: steal 9.1 % (A is quiet, at F only ratios hold; not known: load, speed).`
#[must_use]
pub fn grade_words(noise: &Noise) -> String {
    let causes = match text::join(&noise.causes) {
        causes if causes.is_empty() => String::new(),
        causes => format!(": {causes}"),
    };
    let grade = match noise.grade.as_str() {
        "none" if causes.is_empty() => return "No noise grade: no cell was measured.".to_owned(),
        "none" => return format!("No noise grade{causes}."),
        "" => "unknown",
        grade => grade,
    };
    let unread = match noise.unread.as_slice() {
        [] => String::new(),
        unread => format!("; not known: {}", unread.join(", ")),
    };
    format!("Noise grade {grade}{causes} (A is quiet, at F only ratios hold{unread}).")
}

/// The grade, and the findings behind it.
pub(crate) fn findings(set: &ResultSet, style: &Style, anchors: &Anchors) -> Section {
    // A browser has the cells of all that are alike beside the first.
    let is_each = style.verbose && !style.pictures;
    let mut first = counted_findings(&set.noise, is_each, style.verbose);
    let count = |some: &[(&Finding, usize)]| some.iter().map(|(_, count)| *count as u64).sum();
    let all: u64 = count(&first);
    let rest = first.split_off(first.len().min(FINDINGS));
    let is_less = !style.verbose && all > first.len() as u64;
    let table = |some: &[(&Finding, usize)]| {
        let rows = some.iter().map(|(one, count)| finding(set, one, *count, is_each, anchors));
        let has_cells = some.iter().any(|(one, _)| !one.cells.is_empty());
        let cells = if has_cells { "cell" } else { "" };
        let table = Table::new(["", "", cells].map(doc::Column::text), rows);
        Table { label: "Findings".to_owned(), ..table.layout(Layout::Cards) }
    };
    Section::new("Findings", |body| {
        body.say(Tone::Plain, grade_words(&set.noise));
        body.table(table(&first));
        if style.verbose {
            let title = text::counted(count(&rest), "more finding");
            body.fold(title, |body| body.table(table(&rest)));
        }
        if is_less {
            let all = text::counted(all, "finding");
            let hint = format!("All {all} with their cells: --format json.");
            body.say(Tone::Quiet, hint);
        }
    })
}

/// The worst findings in a line each, and how many more there are.
pub(crate) fn findings_in_short(set: &ResultSet) -> (Vec<Line>, u64) {
    let all = counted_findings(&set.noise, false, false);
    let (shown, rest) = all.split_at(all.len().min(ON_A_SCREEN));
    let line =
        |(one, count): &(&Finding, usize)| Line::new(tone_of(one), finding_in_short(one, *count));
    (shown.iter().map(line).collect(), rest.len() as u64)
}

/// `W-STEAL: text (3 more like it).`: the first clause of the text, without a remedy.
#[must_use]
pub fn finding_in_short(finding: &Finding, count: usize) -> String {
    let short = Finding { text: clause(&finding.text).to_owned(), ..finding.clone() };
    // What invalidates a figure keeps its remedy.
    let remedy = if finding.severity == Severity::Error { remedy(finding) } else { String::new() };
    format!("{}: {}{remedy}", short.code, said(&short, count))
}

/// What was found: what follows a colon or a semicolon outside of brackets explains it.
fn clause(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(at, sign)| {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(sign, ':' | ';') && text[at + 1..].starts_with(' ')
    });
    end.map_or(text, |(at, _)| &text[..at])
}

fn tone_of(finding: &Finding) -> Tone {
    match finding.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Doubt,
        Severity::Info => Tone::Plain,
    }
}

/// A finding with its cells. Where it stands for several like it, with the cells of all of them.
fn finding(set: &ResultSet, one: &Finding, count: usize, is_each: bool, anchors: &Anchors) -> Row {
    let tone = tone_of(one);
    let alike = set.noise.findings.iter().filter(|other| match is_each {
        true => std::ptr::eq(*other, one),
        false => other.code == one.code,
    });
    let cells: Vec<&String> = alike.flat_map(|one| &one.cells).collect();
    let of = |id: &&String| Line { link: anchors.by_id(id).map(Into::into), ..Line::from(*id) };
    let mut named = Cell(cells.iter().take(NAMED).map(of).collect());
    if cells.len() > NAMED {
        named = named.below(Tone::Plain, format!("and {} more", cells.len() - NAMED));
    }
    let what = Cell::from(said(one, count)).below(Tone::Plain, remedy(one).trim_start());
    Row::new([Cell::from(Line::new(tone, &one.code)), what, named]).card([Line::new(
        tone,
        finding_words(one, count),
    )
    .after("- ")])
}
