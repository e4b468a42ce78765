//! A result set on a terminal: ranked tables, what was not measured, findings, and the sentences of a survey.

use crate::Style;
use crate::advice::{caution, has_places};
use crate::answers::answers;
use crate::chapters::{Chapter, Row, Section, chapters, keep_top, unmeasured};
use crate::columns::{self, Column};
use crate::figures;
use crate::grid::Grid;
use crate::judge::MetricKind;
use crate::page::Page;
use crate::{Specs, calls, pipelines, text};
use ipcperf_core::result::{Finding, Host, Kernel, Noise, ResultSet, Severity, Status};
use ipcperf_render::doc::Tone;
use ipcperf_render::terminal;
use std::io;

mod legend;

pub(crate) use legend::legend_lines;

#[cfg(test)]
mod tests;

/// Most findings shown without `verbose`.
const FINDINGS: usize = 5;

/// Left edge of what stands under a heading.
const INDENT: usize = 2;

pub(crate) fn render(
    set: &ResultSet,
    specs: &Specs,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(out, style);
    for line in masthead(set) {
        page.paragraph(Tone::Quiet, "", &line)?;
    }
    let mut chapters = chapters(set, specs);
    keep_top(&mut chapters, style.top);
    let same = |a: &Chapter, b: &Chapter| (a.pattern, a.kind) == (b.pattern, b.kind);
    let mut shown = Vec::new();
    for group in chapters.chunk_by(same) {
        shown.extend(tables(&mut page, group)?);
    }
    if set.pipelines.is_empty() || !set.cells.is_empty() {
        legend(&mut page, set, &chapters, &shown)?;
    }
    system_calls(&mut page, set)?;
    terminal::blocks(&mut page, &pipelines::blocks(set, style.verbose), "")?;
    not_measured(&mut page, set)?;
    findings(&mut page, set)?;
    sentences(&mut page, set, specs)
}

/// What ran, when and on what.
pub(crate) fn masthead(set: &ResultSet) -> Vec<String> {
    let plan = &set.invocation.plan;
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok).count();
    let command = if plan.command.is_empty() { "result" } else { &plan.command };
    let what = if set.cells.is_empty() && !set.pipelines.is_empty() {
        pipelines::tally(set)
    } else {
        let all = text::counted(set.cells.len() as u64, "cell");
        format!("{measured} of {all} measured")
    };
    let mut first = format!("ipcperf {} {command}, {}: {what}", set.tool.version, set.started_utc);
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
            None => format!("{} ms", figures::plain(plan.slice_ms)),
        };
        let each = match plan.batch {
            Some(batch) if batch > 1 => format!(" in batches of {}", text::grouped(batch)),
            _ => String::new(),
        };
        first.push_str(&format!(", {rounds} of {slice}{each}, {all} s"));
    }
    vec![first, machine(&set.host, &set.kernel)]
}

/// A machine by its facts.
pub(crate) fn machine(host: &Host, kernel: &Kernel) -> String {
    let mut parts = vec![
        host.cpu_model.clone(),
        text::counted(host.cpus_allowed.len() as u64, "CPU"),
        format!("Linux {}", kernel.release),
    ];
    parts.extend(host.hypervisor.iter().map(|name| format!("hypervisor {name}")));
    parts.extend(host.container.iter().map(|name| format!("container {name}")));
    parts.join(", ")
}

/// The heading of a chapter. Where it matters it says whether replies hold back what is sent next.
pub(crate) fn title(chapter: &Chapter) -> String {
    let blocks = chapter.sections.iter().flat_map(|section| &section.blocks);
    let is_loaded = blocks.flat_map(|block| &block.rows).any(|row| !row.cell.key.load.is_plain());
    let facts = chapter.pattern.facts();
    let what = match chapter.kind {
        MetricKind::Cpu => format!("CPU per {}", facts.cost_of),
        MetricKind::Primary(_) if is_loaded => format!("{}{}", facts.title, facts.when_loaded),
        MetricKind::Primary(_) | MetricKind::P99 | MetricKind::Above(_) => facts.title.to_owned(),
    };
    let who = match chapter.is_spinning {
        false => "blocking mechanisms",
        true => "spinning mechanisms (each end burns a CPU)",
    };
    format!("{what}, {who}")
}

/// One grid for chapters of one pattern and kind, so that their columns stand under each other. Returns the columns
/// that are shown.
fn tables(page: &mut Page, chapters: &[Chapter]) -> io::Result<Vec<Column>> {
    let Some(Chapter { pattern, kind, .. }) = chapters.first() else { return Ok(Vec::new()) };
    let (pattern, kind) = (*pattern, *kind);
    let style = *page.style;
    let all = columns::all(&chapters.iter().collect::<Vec<_>>(), &style);
    let mut grid = Grid {
        heads: all.iter().map(|column| column.head(pattern, &style)).collect(),
        right: all.iter().map(|column| column.is_number()).collect(),
        rows: Vec::new(),
    };
    let blocks =
        chapters.iter().flat_map(|chapter| &chapter.sections).flat_map(|section| &section.blocks);
    for block in blocks {
        for (at, row) in block.rows.iter().enumerate() {
            for line in lines_of(row, &all, at == 0) {
                grid.rows.push(line.iter().map(|cell| text::clean(cell, style.unicode)).collect());
            }
        }
    }
    let has_cpus = all.contains(&Column::Cpus);
    let position = |column: &Column| all.iter().position(|other| other == column);
    let always: Vec<usize> = columns::always(kind).iter().filter_map(position).collect();
    // A column without any figure gives its room to the next.
    let has_figures: Vec<bool> = (0..all.len())
        .map(|at| grid.rows.iter().any(|row| row[at] != figures::NONE && !row[at].is_empty()))
        .collect();
    let wanted: Vec<usize> =
        columns::wanted(kind).iter().filter_map(position).filter(|at| has_figures[*at]).collect();
    let flexible = position(&Column::Mechanism).unwrap_or_default();
    let room = style.width.saturating_sub(INDENT);
    for spread in [Column::Spread, Column::CpuSpread].iter().filter_map(position) {
        abbreviate(&mut grid, spread, |grid| grid.choose(&always, &wanted, room));
    }
    let chosen = grid.fit(&always, &wanted, flexible, room, style.unicode);
    // On a narrow page a note has more use for the room than for the edge.
    let edge = (INDENT + grid.left_edge(&chosen, flexible)).min(style.width / 4);
    let note = " ".repeat(edge);
    let (head, lines) = grid.lines(&chosen);
    let mut lines = lines.into_iter();
    for chapter in chapters {
        page.blank()?;
        page.paragraph(Tone::Title, "", &title(chapter).to_uppercase())?;
        let mut before: Option<&Section> = None;
        for section in &chapter.sections {
            let is_like = |other: &Section| section.way.differs_in_named_cpus(&other.way);
            if !before.is_some_and(|before| has_cpus && is_like(before)) {
                if before.is_some() {
                    page.blank()?;
                }
                let is_one_of_many = has_cpus && chapter.sections.iter().any(is_like);
                let way = match is_one_of_many {
                    true => format!("lead and follow on these CPUs, {}", section.way.conditions()),
                    false => section.way.words(),
                };
                page.paragraph(Tone::Plain, "", &way)?;
                page.row(Tone::Quiet, "  ", &head)?;
            }
            before = Some(section);
            for row in section.blocks.iter().flat_map(|block| &block.rows) {
                for line in lines.by_ref().take(if row.is_two_mode() { 2 } else { 1 }) {
                    page.row(tone(row), "  ", &line)?;
                }
                let remark = row.remark(style.verbose);
                if let Some(remark) = remark.filter(|_| kind != MetricKind::Cpu) {
                    page.paragraph(Tone::Doubt, &note, &remark)?;
                }
            }
        }
    }
    let hidden: Vec<&str> = (0..grid.heads.len())
        .filter(|at| !chosen.contains(at) && has_figures[*at])
        .map(|at| grid.heads[at].as_str())
        .collect();
    if !hidden.is_empty() {
        let words = format!("hidden at {} columns: {}", style.width, hidden.join(", "));
        page.paragraph(Tone::Quiet, "  ", &words)?;
    }
    Ok(chosen.into_iter().map(|at| all[at]).collect())
}

/// Puts a short word in place of the intervals in a column where these would cost the table another column.
fn abbreviate(grid: &mut Grid, column: usize, choose: impl Fn(&Grid) -> Vec<usize>) {
    let with_intervals = choose(grid);
    let cells = grid.rows.iter_mut().map(|row| &mut row[column]);
    let intervals: Vec<(usize, String)> = cells
        .enumerate()
        .filter(|(_, cell)| figures::is_interval(cell))
        .map(|(at, cell)| (at, std::mem::replace(cell, figures::WIDE.to_owned())))
        .collect();
    if choose(grid) == with_intervals {
        for (at, interval) in intervals {
            grid.rows[at][column] = interval;
        }
    }
}

/// A row, and a second line where its rounds fell into two modes.
pub(crate) fn lines_of(row: &Row, columns: &[Column], is_first: bool) -> Vec<Vec<String>> {
    let mut lines = vec![columns.iter().map(|column| column.cell(row, is_first)).collect()];
    if row.is_two_mode() {
        lines.push(columns.iter().map(|column| column.second(row)).collect());
    }
    lines
}

fn tone(row: &Row) -> Tone {
    match row.rank {
        Some(rank) if rank.place == 1 => Tone::Best,
        None if !row.cell.key.pattern.facts().is_open => Tone::Quiet,
        Some(_) | None => Tone::Plain,
    }
}

fn legend(
    page: &mut Page,
    set: &ResultSet,
    chapters: &[Chapter],
    shown: &[Column],
) -> io::Result<()> {
    let lines = legend_lines(set, chapters, shown, page.style);
    if lines.is_empty() {
        page.blank()?;
        return page.paragraph(Tone::Plain, "", "No cell was measured.");
    }
    page.blank()?;
    for line in lines {
        page.paragraph(Tone::Quiet, "", &line)?;
    }
    Ok(())
}

fn system_calls(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    let lines = calls::lines(set);
    if lines.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Tone::Title, &calls::TITLE.to_uppercase())?;
    for (at, line) in lines.iter().enumerate() {
        page.paragraph(Tone::Plain, if at == 0 { "" } else { "- " }, line)?;
    }
    Ok(())
}

/// Why cells and pipelines have no figure.
pub(crate) fn reasons(set: &ResultSet) -> Vec<(Status, String)> {
    let groups = unmeasured(set).into_iter();
    let cells = groups.map(|group| (group.status, format!("{}: {}", group.who(set), group.reason)));
    cells.chain(pipelines::unmeasured(set)).collect()
}

fn not_measured(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    let reasons = reasons(set);
    if reasons.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Tone::Title, "NOT MEASURED")?;
    for (status, words) in reasons {
        let tone = match status {
            Status::Failed | Status::Deadline => Tone::Bad,
            Status::Rejected => Tone::Doubt,
            _ => Tone::Plain,
        };
        page.paragraph(tone, "- ", &words)?;
    }
    Ok(())
}

/// Findings and how many each stands for, the worst first: those of the same code as one, or each by itself. What is
/// only to be known of the machine is the same in every run, so that it is left to `-v` and `ipcperf doctor`.
pub(crate) fn counted_findings(noise: &Noise, is_verbose: bool) -> Vec<(&Finding, usize)> {
    let mut merged: Vec<(&Finding, usize)> = Vec::new();
    let of_machine = noise.machine.iter();
    let of_machine = of_machine.filter(|finding| is_verbose || finding.severity != Severity::Info);
    for finding in noise.findings.iter().chain(of_machine) {
        match merged.iter_mut().find(|(first, _)| !is_verbose && first.code == finding.code) {
            Some((_, count)) => *count += 1,
            None => merged.push((finding, 1)),
        }
    }
    merged.sort_by_key(|(finding, _)| finding.severity);
    merged
}

/// What stands behind the text of a finding that stands for others, too.
pub(crate) fn more_like_it(count: usize) -> String {
    if count > 1 { format!(" ({} more like it)", count - 1) } else { String::new() }
}

/// `error W-STEAL: text. remedy (and 3 more like it)`.
pub(crate) fn finding_words(finding: &Finding, count: usize) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let more = more_like_it(count);
    let remedy = if finding.remedy.is_empty() {
        String::new()
    } else {
        format!(" Remedy: {}.", finding.remedy.trim_end_matches('.'))
    };
    let text = finding.text.trim_end_matches('.');
    format!("{severity} {}: {text}{more}.{remedy}", finding.code)
}

/// `Noise grade D: steal 9.1 % (A is quiet, F is too noisy to compare; not known: load, speed).`
pub(crate) fn grade_words(noise: &Noise) -> String {
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
    format!("Noise grade {grade}{causes} (A is quiet, F is too noisy to compare{unread}).")
}

fn findings(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    page.blank()?;
    page.line(Tone::Title, "FINDINGS")?;
    disturbance(page, &set.noise)
}

/// The grade, and the findings behind it.
pub(crate) fn disturbance(page: &mut Page, noise: &Noise) -> io::Result<()> {
    page.paragraph(Tone::Plain, "", &grade_words(noise))?;
    let merged = counted_findings(noise, page.style.verbose);
    let shown = if page.style.verbose { merged.len() } else { merged.len().min(FINDINGS) };
    for (finding, count) in &merged[..shown] {
        let tone = match finding.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Doubt,
            Severity::Info => Tone::Plain,
        };
        page.paragraph(tone, "- ", &finding_words(finding, *count))?;
    }
    if merged.len() > shown || merged.iter().any(|(_, count)| *count > 1) {
        let all: u64 = merged.iter().map(|(_, count)| *count as u64).sum();
        let all = text::counted(all, "finding");
        let hint = format!("All {all} with their cells: --format json.");
        page.paragraph(Tone::Quiet, "", &hint)?;
    }
    Ok(())
}

fn sentences(page: &mut Page, set: &ResultSet, specs: &Specs) -> io::Result<()> {
    if set.invocation.plan.command != "survey" {
        return Ok(());
    }
    let answers = answers(set, specs);
    if answers.is_empty() && has_places(set) {
        return Ok(());
    }
    page.blank()?;
    page.line(Tone::Title, "WHAT TO USE")?;
    if let Some(caution) = caution(set) {
        page.paragraph(Tone::Doubt, "", &caution)?;
    }
    for answer in answers {
        page.paragraph(Tone::Plain, "- ", &answer.sentence)?;
    }
    Ok(())
}
