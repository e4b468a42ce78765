//! A result set on a terminal: ranked tables, what was not measured, findings, and the sentences of a survey.

use crate::answers::{answers, caution};
use crate::chapters::{Chapter, Row, chapters, is_touched, unmeasured};
use crate::columns::{self, Column};
use crate::figures;
use crate::format::Style;
use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::rank::Yardstick;
use crate::{Specs, text};
use ipcperf_core::result::{Finding, ResultSet, Severity, Status};
use ipcperf_core::{PatternKind, Wait};
use std::io;

#[cfg(test)]
mod rules;
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
    let chapters = chapters(set, specs);
    let same = |a: &Chapter, b: &Chapter| (a.pattern, a.yardstick) == (b.pattern, b.yardstick);
    for group in chapters.chunk_by(same) {
        tables(&mut page, group)?;
    }
    legend(&mut page, &chapters)?;
    not_measured(&mut page, set)?;
    findings(&mut page, set)?;
    sentences(&mut page, set, specs)
}

/// What ran, when and on what.
pub(crate) fn masthead(set: &ResultSet) -> Vec<String> {
    let plan = &set.invocation.plan;
    let measured = set.cells.iter().filter(|cell| cell.status == Status::Ok).count();
    let command = if plan.command.is_empty() { "result" } else { &plan.command };
    let mut first = format!(
        "ipcperf {} {command}, {}: {measured} of {} measured",
        set.tool.version,
        set.started_utc,
        text::counted(set.cells.len() as u64, "cell"),
    );
    // Those that were measured: a budget or an interruption may have ended the run before its plan.
    let rounds = set.cells.iter().map(|cell| cell.rounds.len()).max().unwrap_or(0);
    if rounds > 0 {
        let (slice, all) = (figures::plain(plan.slice_ms), figures::plain(set.duration_s));
        let rounds = text::counted(rounds as u64, "round");
        first.push_str(&format!(", {rounds} of {slice} ms, {all} s"));
    }
    if set.interrupted {
        first.push_str(", INTERRUPTED before the plan was done");
    }
    let mut machine = vec![
        set.host.cpu_model.clone(),
        text::counted(set.host.cpus_allowed.len() as u64, "CPU"),
        format!("Linux {}", set.kernel.release),
    ];
    machine.extend(set.host.hypervisor.iter().map(|name| format!("hypervisor {name}")));
    machine.extend(set.host.container.iter().map(|name| format!("container {name}")));
    vec![first, machine.join(", ")]
}

/// The heading of a chapter. Where it matters it says whether replies hold back what is sent next.
pub(crate) fn title(chapter: &Chapter) -> String {
    let blocks = chapter.sections.iter().flat_map(|section| &section.blocks);
    let is_loaded = blocks.flat_map(|block| &block.rows).any(|row| !row.cell.load.is_plain());
    let what = match (chapter.pattern, chapter.yardstick) {
        (PatternKind::PingPong, Yardstick::Cpu) => "CPU per message of a round trip",
        (PatternKind::Stream, Yardstick::Cpu) => "CPU per message of a stream",
        (PatternKind::FanIn, Yardstick::Cpu) => "CPU per message of several producers",
        (PatternKind::FanOut, Yardstick::Cpu) => "CPU per message of several consumers",
        (PatternKind::Burst, Yardstick::Cpu) => "CPU per message of a burst",
        (PatternKind::Connect, Yardstick::Cpu) => "CPU per request",
        (PatternKind::Connect, _) => "A connection for each request",
        (PatternKind::PingPong, _) if is_loaded => "Round trip in a closed loop",
        (PatternKind::PingPong, _) => "Round trip",
        (PatternKind::Stream, _) => "Throughput",
        (PatternKind::FanIn, _) => "Several producers, one consumer",
        (PatternKind::FanOut, _) => "One producer, several consumers",
        (PatternKind::Rate, _) => "Response time in an open loop",
        (PatternKind::Burst, _) => "Bursts in a closed loop",
    };
    let who = match chapter.is_spinning {
        false => "blocking mechanisms",
        true => "spinning mechanisms (each end burns a CPU)",
    };
    format!("{what}, {who}")
}

/// One grid for chapters of one pattern and yardstick, so that their columns stand under each other.
fn tables(page: &mut Page, chapters: &[Chapter]) -> io::Result<()> {
    let Some(Chapter { pattern, yardstick, .. }) = chapters.first() else { return Ok(()) };
    let (pattern, yardstick) = (*pattern, *yardstick);
    let style = *page.style;
    let all = columns::all(yardstick, &chapters.iter().collect::<Vec<_>>(), &style);
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
    let position = |column: &Column| all.iter().position(|other| other == column);
    let always: Vec<usize> = columns::always(yardstick).iter().filter_map(position).collect();
    // A column without any figure gives its room to the next.
    let has_figures =
        |at: &usize| grid.rows.iter().any(|row| row[*at] != figures::NONE && !row[*at].is_empty());
    let wanted: Vec<usize> =
        columns::wanted(yardstick).iter().filter_map(position).filter(has_figures).collect();
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
        for (at, section) in chapter.sections.iter().enumerate() {
            if at > 0 {
                page.blank()?;
            }
            page.paragraph(Tone::Plain, "", &section.way.words())?;
            page.line(Tone::Quiet, &format!("  {head}"))?;
            for row in section.blocks.iter().flat_map(|block| &block.rows) {
                for line in lines.by_ref().take(if row.is_two_mode() { 2 } else { 1 }) {
                    page.line(tone(row), &format!("  {line}"))?;
                }
                let remark = row.remark(style.verbose);
                if let Some(remark) = remark.filter(|_| yardstick != Yardstick::Cpu) {
                    page.paragraph(Tone::Doubt, &note, &remark)?;
                }
            }
        }
    }
    Ok(())
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
fn lines_of(row: &Row, columns: &[Column], is_first: bool) -> Vec<Vec<String>> {
    let mut lines = vec![columns.iter().map(|column| column.cell(row, is_first)).collect()];
    if row.is_two_mode() {
        lines.push(columns.iter().map(|column| column.second(row)).collect());
    }
    lines
}

fn tone(row: &Row) -> Tone {
    match row.rank {
        Some(rank) if rank.place == 1 => Tone::Best,
        None if row.cell.pattern != PatternKind::Rate => Tone::Quiet,
        Some(_) | None => Tone::Plain,
    }
}

/// What the signs and columns mean; only those that occur.
pub(crate) fn legend_lines(chapters: &[Chapter], style: &Style) -> Vec<String> {
    let rows: Vec<&Row> = chapters
        .iter()
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|section| &section.blocks)
        .flat_map(|block| &block.rows)
        .collect();
    let mut lines = Vec::new();
    if rows.is_empty() {
        return lines;
    }
    let spread = Column::Spread.head(PatternKind::PingPong, style);
    lines.push(format!(
        "A round trip is there and back, never halved. {spread} is half of the 95 % interval over rounds. CPU/msg is \
         the CPU time of both ends for one message in one direction."
    ));
    lines.extend(costs(chapters));
    if rows.iter().any(|row| row.cell.pattern.is_fan()) {
        lines.push(
            "Peers share one object, each in a process of its own; a message of a fan-out goes to exactly one of them. \
             Jain's index is 1 where all peers moved the same and 1/n where one moved everything; least is the smallest \
             share. A send or recv is one call of a peer, waiting included. CPU/msg is of all processes."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.cell.connect.is_some()) {
        lines.push(
            "A request makes a socket, connects, reads an answer of the size to its end, and closes; the server closes \
             first. CPU/req is the CPU time of both sides. Errors are requests that failed; quantiles count them as \
             the slowest."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.rank.is_some_and(|rank| rank.is_shared)) {
        lines.push(
            "1= is a tie with the best of that place: the intervals (below 6 rounds: the ranges) overlap or the figures \
             are less than 3 % apart."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| has_wide_spread(row)) {
        lines.push(format!(
            "{spread} above 50 % is the 95 % interval itself, or {} where that does not fit.",
            figures::WIDE
        ));
    }
    if rows.iter().any(|row| !is_touched(row.cell.touch)) {
        lines.push(
            "Touch none and header are not ranked: a payload that is not touched costs nothing to move by reference."
                .to_owned(),
        );
    }
    lines.extend(special(&rows));
    if rows.iter().any(|row| row.cell.wait == Wait::SpinThenBlock) {
        lines.push(
            "~ spins briefly before it sleeps: as fast as spinning where the peer is quick."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.is_two_mode()) {
        lines.push(
            "* The rounds fall into two modes: both figures are shown, the one of more rounds first, never an average."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| Column::Figure.cell(row, true).ends_with('^')) {
        lines.push(
            "^ is the mean of batches: one round trip is too short to be timed alone.".to_owned(),
        );
    }
    let is_saturated = |row: &&Row| Column::Figure.cell(row, true) == columns::SATURATED;
    if rows.iter().any(|row| row.cell.pattern == PatternKind::Rate) {
        lines.push(
            "In an open loop p50 to max count from when a message was due, service counts from when it was sent; \
             saturated: messages came faster than they were answered."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.cell.pattern == PatternKind::Burst) {
        lines.push(
            "A burst lasts until the answer to its last message; messages are those of all bursts per second."
                .to_owned(),
        );
    }
    let is_unsupported =
        |row: &&Row| Column::Quantile("p99").cell(row, true) == figures::NONE && !is_saturated(row);
    if rows
        .iter()
        .any(|row| (row.cell.rtt_ns.is_some() || row.cell.connect.is_some()) && is_unsupported(row))
    {
        lines.push("- in a quantile: the sample is too small to support one.".to_owned());
    }
    if style.versus_bound {
        lines.extend(bounds(&rows));
    }
    lines
}

/// What timed ways and changed messages mean.
fn special(rows: &[&Row]) -> Vec<String> {
    let mut lines = Vec::new();
    let timed = rows.iter().filter_map(|row| row.cell.one_way_ns.as_ref());
    if timed.into_iter().any(|way| way.bound_ns.is_some() && way.reason.is_none()) {
        lines.push(
            "one way is from lead to follow, median; +- is how well the difference of the two CPUs' counters is known. The \
             other figures of such a cell contain the reading of two more clocks."
                .to_owned(),
        );
    }
    let mut refused: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| row.yardstick != Yardstick::Cpu) {
        let way = row.cell.one_way_ns.as_ref();
        let Some(reason) = way.and_then(|way| way.reason.as_deref()) else { continue };
        match refused.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, who)) => who.push(row.cell.id.clone()),
            None => refused.push((reason, vec![row.cell.id.clone()])),
        }
    }
    lines.extend(refused.iter().map(|(reason, who)| match who.as_slice() {
        [one] => format!("No one-way figure for {one}: {reason}."),
        all => format!("No one-way figure for {} cells: {reason}.", all.len()),
    }));
    let mut named: Vec<String> = Vec::new();
    for cost in rows.iter().filter_map(|row| row.cell.transform.as_ref()) {
        let size = figures::plain(cost.ratio);
        let words =
            format!("{} by {} makes messages {size} times shorter", cost.name, cost.library);
        if !named.contains(&words) {
            named.push(words);
        }
    }
    if !named.is_empty() {
        lines.push(format!(
            "transform is the time that changing a message and changing it back take by themselves; all other figures \
             contain it. Half of the bytes of every message are random: {}.",
            named.join("; ")
        ));
    }
    lines
}

/// How the rankings by CPU time are to be read.
fn costs(chapters: &[Chapter]) -> Option<String> {
    let mut rows = chapters
        .iter()
        .filter(|chapter| chapter.yardstick == Yardstick::Cpu)
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|section| &section.blocks)
        .flat_map(|block| &block.rows)
        .filter_map(|row| row.cell.cpu_ns_per_message.as_ref());
    let cost = rows.next()?;
    let split = if cost.split_is_approximate {
        " (an estimate: this kernel divides CPU time by ticks)"
    } else {
        ""
    };
    let guest = if cost.excludes_hypervisor {
        " What the hypervisor does for this machine is in no figure."
    } else {
        ""
    };
    Some(format!(
        "user and system are the parts of CPU/msg{split}. machine is the busy time of all CPUs for one message, less \
         what they are busy anyway; it needs longer slices than the rest.{guest}"
    ))
}

fn has_wide_spread(row: &Row) -> bool {
    let column = match row.yardstick {
        Yardstick::Cpu => Column::CpuSpread,
        _ => Column::Spread,
    };
    let words = column.cell(row, true);
    words == figures::WIDE || figures::is_interval(&words)
}

/// What the bound columns are multiples of.
fn bounds(rows: &[&Row]) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for row in rows {
        let Some(bound) = &row.cell.bound else { continue };
        let value = match row.cell.pattern {
            PatternKind::PingPong | PatternKind::Rate | PatternKind::Burst => {
                figures::nanos(bound.value)
            }
            PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut => {
                figures::bytes_per_second(bound.value)
            }
            PatternKind::Connect => figures::per_second(bound.value),
        };
        let words = match bound.name.as_str() {
            "cacheline_rtt_ns" => {
                format!("a cache line there and back on {} {value}", row.cell.placement)
            }
            "futex_wake_rtt_ns" => {
                format!("a futex wake there and back on {} {value}", row.cell.placement)
            }
            name => format!("{name} {value}"),
        };
        if !named.contains(&words) {
            named.push(words);
        }
    }
    (!named.is_empty()).then(|| format!("Bounds of this machine: {}.", named.join(", ")))
}

fn legend(page: &mut Page, chapters: &[Chapter]) -> io::Result<()> {
    let lines = legend_lines(chapters, page.style);
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

fn not_measured(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    let groups = unmeasured(set);
    if groups.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Tone::Title, "NOT MEASURED")?;
    for group in groups {
        let tone = match group.status {
            Status::Failed | Status::Deadline => Tone::Bad,
            Status::Rejected => Tone::Doubt,
            _ => Tone::Plain,
        };
        page.paragraph(tone, "- ", &format!("{}: {}", group.who(set), group.reason))?;
    }
    Ok(())
}

/// Findings and how many each stands for, the worst first: those of the same code as one, or each by itself.
pub(crate) fn counted_findings(set: &ResultSet, is_verbose: bool) -> Vec<(&Finding, usize)> {
    let mut merged: Vec<(&Finding, usize)> = Vec::new();
    for finding in &set.noise.findings {
        match merged.iter_mut().find(|(first, _)| !is_verbose && first.code == finding.code) {
            Some((_, count)) => *count += 1,
            None => merged.push((finding, 1)),
        }
    }
    merged.sort_by_key(|(finding, _)| finding.severity);
    merged
}

/// `error W-STEAL: text. remedy (and 3 more like it)`.
pub(crate) fn finding_words(finding: &Finding, count: usize) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let more = if count > 1 { format!(" ({} more like it)", count - 1) } else { String::new() };
    let remedy = if finding.remedy.is_empty() {
        String::new()
    } else {
        format!(" Remedy: {}.", finding.remedy.trim_end_matches('.'))
    };
    let text = finding.text.trim_end_matches('.');
    format!("{severity} {}: {text}{more}.{remedy}", finding.code)
}

/// `Noise grade B (A is quiet, F supports no claim).`
pub(crate) fn grade_words(set: &ResultSet) -> String {
    let grade = if set.noise.grade.is_empty() { "unknown" } else { &set.noise.grade };
    format!("Noise grade {grade} (A is quiet, F supports no claim).")
}

fn findings(page: &mut Page, set: &ResultSet) -> io::Result<()> {
    page.blank()?;
    page.line(Tone::Title, "FINDINGS")?;
    page.paragraph(Tone::Plain, "", &grade_words(set))?;
    let merged = counted_findings(set, page.style.verbose);
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
        let all = text::counted(set.noise.findings.len() as u64, "finding");
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
    if answers.is_empty() {
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
