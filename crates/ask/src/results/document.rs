//! A result set as a document: the answer to what was asked, all tables, and what a browser shows beyond them.

use crate::results::advice::{has_places, limits};
use crate::results::chapters::{Chapter, Row as Ranked, chapters, keep_top, label};
use crate::results::pictures::{Anchors, Gallery, cells};
use crate::results::sentence::{sentences, sentences_of_page};
use crate::results::{bars, calls, csv, json, machine, pipelines, scaling, table};
use crate::work::of_result;
use ipcperf_core::result::{Origin, ResultSet, SCHEMA, Stage};
use ipcperf_judge::{LoadError, MetricKind, Relation, beside, figures, percent};
use ipcperf_kit::document::{Document, Show, interrupted_after};
use ipcperf_kit::work::MeasuredWork;
use ipcperf_render::doc::{Blocks, Cell, Column, Doc, Layout, Line, Row, Section, Table, Tone};
use ipcperf_render::{Format, Style, text};
use std::io::{self, Write};

/// The most tables whose best cell is named.
const RANKINGS: usize = 6;

/// Writes a result set in one of the formats.
///
/// # Errors
/// `out` refuses the bytes.
pub fn render(set: &ResultSet, show: &Show<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Show { specs, format, style, .. } = *show;
    match format {
        Format::Csv => csv::render(set, specs, out),
        Format::Json => json::render(set, out),
        Format::Ndjson => json::render_lines(set, specs, out),
        _ => {
            let style_of_format = style.within(format).whole(format);
            let doc = doc(set, &Show { style: &style_of_format, ..*show });
            doc.write(format, style, out)
        }
    }
}

/// A result as a document that is read and shown: what `survey`, `run`, `choose` and `explain` write.
#[derive(Debug)]
pub struct ResultDocument(pub ResultSet);

impl Document for ResultDocument {
    fn schema() -> &'static str {
        SCHEMA
    }

    /// Older results lack the comparisons of each cell with its counterpart; they are added.
    fn load(text: &str) -> Result<Self, LoadError> {
        let mut set = ipcperf_judge::load(text)?;
        beside(&mut set, |_| None);
        Ok(Self(set))
    }

    fn command(&self) -> &str {
        &self.0.invocation.plan.command
    }

    fn work(&self) -> MeasuredWork {
        of_result(&self.0)
    }

    fn origin(&self) -> &Origin {
        &self.0.origin
    }

    fn is_interrupted(&self) -> bool {
        self.0.interrupted
    }

    fn stopped(&self) -> Option<String> {
        stopped(&self.0)
    }

    fn show(&self, show: &Show<'_>, out: &mut dyn Write) -> io::Result<()> {
        render(&self.0, show, out)
    }
}

/// That a result was stopped before its plan was done, and how far it came.
pub(crate) fn stopped(set: &ResultSet) -> Option<String> {
    if let Some(words) = stage(set).filter(|_| set.interrupted) {
        return Some(words);
    }
    let cells = set.cells.iter().map(|cell| cell.by_round().count());
    let rounds = cells.chain(set.pipelines.iter().map(|one| one.rounds.len()));
    let done = rounds.max().unwrap_or(0) as u64;
    set.interrupted.then(|| interrupted_after(done, set.invocation.plan.rounds))
}

/// Which stage a run with stages reached; `None` of one without.
fn stage(set: &ResultSet) -> Option<String> {
    let reached = set.questions.iter().filter_map(|one| one.stage).max()?;
    let confirmed = set.questions.iter().filter(|one| one.stage == Some(Stage::Confirm)).count();
    let all = text::counted(set.questions.len() as u64, "question");
    let rest = match reached {
        Stage::Screen | Stage::Focus => "nothing is confirmed".to_owned(),
        Stage::Confirm => format!("confirmed are the rounds so far of {confirmed} of {all}"),
    };
    Some(format!("INTERRUPTED in the {} stage: {rest}.", reached.name()))
}

/// One screen where that answers what was asked, or else everything.
pub(crate) fn doc(set: &ResultSet, show: &Show<'_>) -> Doc {
    let Show { specs, style, screens, .. } = *show;
    let anchors = Anchors::of(set, style);
    let mut answers = screens.iter().filter_map(|screen| {
        let answer = (screen.answer)(set, specs, style)?;
        Some((answer, (screen.has_tables)(style)))
    });
    let answer = answers.next();
    let is_answered = answer.is_some();
    let (mut doc, has_tables) = answer.unwrap_or((Doc::default(), true));
    doc.title = title(set);
    doc.stopped = stopped(set);
    doc.foot = foot(set);
    if !has_tables {
        return doc;
    }
    let mut chapters = chapters(set, specs);
    keep_top(&mut chapters, style.top);
    if !is_answered {
        let blocks = chapters.first().into_iter().flat_map(Chapter::blocks);
        let first = blocks.flat_map(|block| &block.rows).next().map(|row| row.cell);
        let words = match style.pictures {
            true => sentences_of_page(set, specs, first),
            false => sentences(set, specs),
        };
        doc.conclusion = words.into_iter().map(Line::from).collect();
    }
    let body = &mut doc.body;
    if !is_answered && !style.is_whole() {
        body.say(Tone::Quiet, table::masthead_in_short(set));
        on_one_screen(body, set, &chapters, style, &anchors);
        return doc;
    }
    let mut gallery = style.pictures.then(|| Gallery::of(set, &chapters, &anchors));
    if doc.picture.is_none() {
        doc.picture = gallery.as_mut().and_then(Gallery::take_answer).or_else(|| {
            let is_page = style.pictures && !is_answered;
            is_page.then(|| pipelines::picture(set)).flatten()
        });
    }
    let body = &mut doc.body;
    if !is_answered {
        body.lines(table::masthead(set).into_iter().map(|line| Line::new(Tone::Quiet, line)));
        body.lines(limits(set).map(|words| Line::new(Tone::Doubt, words)));
        if style.pictures && has_places(set) {
            body.table(best(&chapters, &anchors));
        }
    }
    body.add(measured(set, &chapters, style, &anchors, is_answered));
    if style.full && !style.pictures {
        body.add(bars::section(set, style));
    }
    body.append(scaling::blocks(set, true));
    body.append(pipelines::blocks(set, style.verbose));
    body.section(calls::TITLE, |body| body.list(calls::lines(set)));
    body.section("Not measured", |body| body.list(table::reasons(set)));
    body.add(table::findings(set, style, &anchors));
    if style.verbose {
        body.add(machine::section(set));
    }
    if let Some(gallery) = gallery {
        gallery.add_to(body);
        body.section("All cells", |body| body.table(cells::table(set, &anchors)));
    }
    doc
}

/// The tables of what was asked for, what doubts them in a line each, and what `-v` adds.
fn on_one_screen(
    body: &mut Blocks,
    set: &ResultSet,
    chapters: &[Chapter],
    style: &Style,
    anchors: &Anchors,
) {
    // CPU time is a column of the other tables, too.
    let is_cost = |chapter: &&Chapter| chapter.kind == MetricKind::Cpu;
    let is_all_cost = chapters.iter().all(|chapter| is_cost(&chapter));
    let (costs, shown): (Vec<_>, Vec<_>) =
        chapters.iter().partition(|chapter| is_cost(chapter) && !is_all_cost);
    for chapter in shown {
        body.section(chapter.title(), |body| body.table(table::of(chapter, style, anchors)));
    }
    if chapters.is_empty() && (set.pipelines.is_empty() || !set.cells.is_empty()) {
        body.space();
        body.say(Tone::Plain, "No cell was measured.");
    }
    body.append(scaling::blocks(set, style.verbose));
    body.append(pipelines::blocks(set, style.verbose));
    body.section(calls::TITLE, |body| body.list(calls::lines(set)));
    body.section("Not measured", |body| body.list(table::reasons(set)));
    body.space();
    body.say(Tone::Doubt, limits(set).unwrap_or_else(|| table::grade_words(&set.noise)));
    let (findings, more) = table::findings_in_short(set);
    let remedies = (!findings.is_empty()).then(|| "remedies".to_owned());
    body.list(findings);
    let more = (more > 0).then(|| text::counted(more, "more finding"));
    let costs = costs.first().map(|chapter| format!("CPU per {}", chapter.pattern.facts().cost_of));
    let legend = (!chapters.is_empty()).then(|| "how to read the columns".to_owned());
    let hidden: Vec<String> = more.into_iter().chain(remedies).chain(costs).chain(legend).collect();
    if !hidden.is_empty() {
        body.say(Tone::Quiet, format!("{}: -v", text::join(&hidden)));
    }
}

fn title(set: &ResultSet) -> String {
    let command = match set.invocation.plan.command.as_str() {
        "" => "result",
        command => command,
    };
    format!("ipcperf {command}: {}, {}", set.host.cpu_model, set.started_utc)
}

/// Where the figures come from.
fn foot(set: &ResultSet) -> Vec<String> {
    let tool = &set.tool;
    // Some values say themselves what they are: `rustc 1.96.0`, `glibc 2.36`.
    let fact = |(name, value): (&String, &String)| match value.contains(name.as_str()) {
        true => value.clone(),
        false => format!("{name} {value}"),
    };
    let build: Vec<String> = tool.build.iter().map(fact).collect();
    let cells = text::counted(set.cells.len() as u64, "cell");
    vec![
        format!("Asked for: {} (seed {})", set.invocation.argv.join(" "), set.invocation.seed),
        format!("Measured by {} {}: {}", tool.name, tool.version, build.join(", ")),
        format!("From a document of schema {} with {cells}.", set.schema),
    ]
}

/// All tables, and how their columns are to be read. They are folded where something above them is the answer.
fn measured(
    set: &ResultSet,
    chapters: &[Chapter],
    style: &Style,
    anchors: &Anchors,
    is_folded: bool,
) -> Section {
    Section::new("What was measured", |body| {
        for chapter in chapters {
            let ranking = table::of(chapter, style, anchors);
            let notes =
                table::notes(chapter).into_iter().map(|words| Line::new(Tone::Quiet, words));
            let section = Section::new(chapter.title(), |body| {
                body.table(ranking);
                body.lines(notes);
            });
            body.add(Section { is_folded, ..section });
        }
        let is_empty = chapters.is_empty();
        if is_empty && (set.pipelines.is_empty() || !set.cells.is_empty()) {
            body.say(Tone::Plain, "No cell was measured.");
        }
        let legend = table::legend_lines(set, chapters, style);
        let legend = legend.into_iter().map(|line| Line::new(Tone::Quiet, line));
        body.fold("How to read the columns", |body| body.lines(legend));
    })
}

/// What to use by each table.
fn best(chapters: &[Chapter], anchors: &Anchors) -> Table {
    let columns = [
        Column::text(""),
        Column::text("mechanism"),
        Column::number("figure"),
        Column::number("size"),
        Column::text("where"),
    ];
    let rows = chapters.iter().filter_map(|chapter| best_of(chapter, anchors));
    let table = Table::new(columns, rows.take(RANKINGS));
    Table { label: "What to use by each table".to_owned(), ..table.layout(Layout::Flow) }
}

/// What to use by a chapter's first table of messages; of wake-ups, where it has no other.
fn best_of(chapter: &Chapter, anchors: &Anchors) -> Option<Row> {
    let MetricKind::Primary(_) = chapter.kind else { return None };
    let section = chapter.sections.first()?;
    let is_first = |row: &Ranked<'_>| row.is_best;
    let blocks = || section.blocks.iter().filter(|block| block.rows.iter().any(is_first));
    let has_payload = |rows: &[Ranked<'_>]| rows.iter().any(|row| row.cell.key.size_bytes > 0);
    let block = blocks().find(|block| has_payload(&block.rows)).or(blocks().next())?;
    let row = block.rows.iter().find(|row| is_first(row))?;
    let (value, size) = (row.metric()?.value?, row.cell.key.size_bytes);
    // The others are as fast as the reference, which is the one to use unless another is faster.
    let is_as_fast = |row: &&Ranked<'_>| row.relation.is_some_and(Relation::is_as_fast);
    let is_reference = row.relation.is_none_or(|one| one == Relation::Reference);
    let others = if is_reference { block.rows.iter().filter(is_as_fast).count() as u64 } else { 0 };
    let within = percent(row.margin);
    let as_fast = format!("{} as fast (within {within})", text::counted(others, "other"));
    let name = Line { link: anchors.link(row.cell), ..Line::from(label(row.cell)) };
    let name =
        Cell::from(name).below(Tone::Plain, if others > 0 { as_fast } else { String::new() });
    Some(Row::new([
        Cell::from(chapter.title()),
        name,
        Cell::from(chapter.kind.words(value, size)),
        Cell::from(figures::size(size)),
        Cell::from(section.way.words()),
    ]))
}

/// Puts all of another result under a document about it.
pub(crate) fn put_below(doc: &mut Doc, set: &ResultSet, show: &Show<'_>) {
    let mut all = self::doc(set, show);
    (doc.title, doc.foot) = (all.title, all.foot);
    let top = Blocks(all.body.0.drain(..all.body.top()).collect());
    let headline = Some(all.headline).filter(|words| !words.is_empty());
    doc.body.section(headline.unwrap_or_else(|| "The second result".to_owned()), |body| {
        body.lines(all.conclusion);
        body.append(top);
    });
    doc.body.append(all.body);
}

#[cfg(test)]
mod tests;
