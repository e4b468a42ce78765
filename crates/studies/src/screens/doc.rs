//! A replication for people: what became of each study, claim by claim, and where all is asked for everything behind it.

use super::conclusion::{answer, conclusion};
use super::detail::{Part, endings, findings, original, remarks, test_words};
use super::plots::{chart, file_name};
use super::words::{
    ClaimWords, FOUND, TESTED, TOLD, failures, finding, found, groups, heading, here, how_measured,
    legend, mark, table_notes, table_title, tested, total, with_interval,
};
use crate::replication::{
    ClaimKind, ClaimResult, Published, Replication, RowResult, StudyResult, TableResult,
    TestResult, Verdict,
};
use ipcperf_kit::document::Document;
use ipcperf_render::doc::{
    Block, Blocks, Cell, Chart, Column, Doc, Layout, Line, Picture, Row, Section, Table, Tone,
};
use ipcperf_render::svg::{Point, Series};
use ipcperf_render::{Style, svg, text};

/// Lines of a first screen.
const MOST: usize = 60;

/// Where the text of a claim begins: after the longest verdict and its mark.
const TEXT: usize = 16;

/// Reasons of missing arms that a first screen has.
const FAILURES: usize = 3;

/// Whether the table of the author's claims has the author's words where there is no figure, if there are lines for them.
const WORDS: [bool; 2] = [true, false];

/// Lines that each claim of the author may take where a table of them has too many, most first. A terminal of fewer columns shows
/// all words, since its screen has more lines anyway.
const LINES_OF_CLAIM: [Option<usize>; 3] = [None, Some(3), Some(2)];
const COLUMNS: usize = 80;

/// Lines that each of our own claims may take, most first.
const LINES: [Option<usize>; 3] = [None, Some(2), Some(1)];

/// A replication. `pictures` says where its [`plots`](super::plots()) are.
pub(super) fn doc(document: &Replication, style: &Style, pictures: Option<&str>) -> Doc {
    let names: Vec<&str> = document.studies.iter().map(|study| study.name.as_str()).collect();
    let mut doc = match document.studies.as_slice() {
        [one] => Doc::new(heading(one)),
        _ => Doc::new(format!("Measured again: {}", names.join(", "))),
    };
    doc.title = format!("ipcperf replicate: {}, {}", document.host.cpu_model, document.started_utc);
    doc.stopped = document.stopped();
    let invocation = &document.invocation;
    doc.foot = vec![
        format!("Asked for: {} (seed {})", invocation.argv.join(" "), invocation.seed),
        format!("Measured by {} {}", document.tool.name, document.tool.version),
    ];
    if let [one] = document.studies.as_slice() {
        let above = doc.height(style);
        let mut shown = ShownStudy { document, study: one, number: 1, pictures, begins_with: None };
        if style.pictures {
            doc.headline = answer(one);
            shown.begins_with = shown.first_drawn();
            doc.picture = shown.begins_with.map(|at| shown.figure(&one.tables[at]));
        }
        doc.body = shown.blocks(style, MOST.saturating_sub(above));
        if style.pictures {
            doc.body.0.insert(0, Block::Say(Line::new(Tone::Quiet, heading(one))));
        }
        return doc;
    }
    match style.pictures {
        true => {
            doc.headline = total(document);
            doc.picture = verdicts(document);
        }
        false => doc.body.say(Tone::Plain, total(document)),
    }
    for (number, study) in (1..).zip(&document.studies) {
        let shown = ShownStudy { document, study, number, pictures, begins_with: None };
        doc.body.add(Section {
            title: heading(study),
            anchor: format!("s{number}"),
            body: shown.blocks(style, MOST),
            ..Section::default()
        });
    }
    doc
}

pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Best,
        Verdict::NotReproduced | Verdict::Fails => Tone::Bad,
        Verdict::Inconclusive => Tone::Doubt,
        Verdict::Direction | Verdict::Measured | Verdict::Holds => Tone::Plain,
        Verdict::Untestable => Tone::Quiet,
    }
}

/// Claims of one kind below their title.
type Group<'a> = (String, Vec<&'a ClaimResult>);

/// A study of a document.
#[derive(Clone, Copy)]
struct ShownStudy<'a> {
    document: &'a Replication,
    study: &'a StudyResult,
    /// From 1.
    number: usize,
    pictures: Option<&'a str>,
    /// The table whose picture the page begins with.
    begins_with: Option<usize>,
}

/// How many claims of each study came out how, as bars; `None` where there is none.
fn verdicts(document: &Replication) -> Option<Chart> {
    let count = |study: &StudyResult, verdict| {
        study.claims.iter().filter(|claim| claim.verdict == verdict).count() as f64
    };
    let series = Verdict::ALL.iter().map(|verdict| Series {
        label: verdict.to_string(),
        points: document
            .studies
            .iter()
            .map(|study| Point { here: Some(count(study, *verdict)), ..Point::default() })
            .collect(),
    });
    let has_any = |series: &Series| series.points.iter().any(|point| point.here > Some(0.0));
    let series: Vec<Series> = series.filter(has_any).collect();
    let title = "Claims of each study by their verdict".to_owned();
    (!series.is_empty()).then(|| Chart {
        picture: Some(Picture::Chart(svg::Chart {
            kind: svg::ChartKind::Bars,
            title: title.clone(),
            unit: "claims".to_owned(),
            heads: document.studies.iter().map(|study| study.name.clone()).collect(),
            series,
            ..svg::Chart::default()
        })),
        title,
        ..Chart::default()
    })
}

impl<'a> ShownStudy<'a> {
    /// All of it, or a first screen of so many lines.
    fn blocks(&self, style: &Style, most: usize) -> Blocks {
        let study = self.study;
        let mut blocks = Blocks::default();
        blocks.lines([Line::new(Tone::Quiet, here(self.document, study)).most(4)]);
        blocks.space();
        blocks.say(Tone::Plain, conclusion(self.document, study));
        blocks.space();
        let mut below = Blocks::default();
        below.lines(legend(study).into_iter().map(|line| Line::new(Tone::Quiet, line).most(2)));
        below.space();
        below.lines(
            how_measured(study).into_iter().map(|words| Line::new(Tone::Quiet, words).most(3)),
        );
        let failures = failures(study);
        if style.is_whole() {
            below.list(failures);
            blocks.append(self.claims());
            blocks.append(below);
            self.details(&mut blocks, style.verbose);
            return blocks;
        }
        let lines = if failures.len() < FAILURES { 2 } else { 1 };
        let told =
            failures.iter().take(FAILURES).map(|words| Line::new(Tone::Quiet, words).most(lines));
        let more = failures.len().saturating_sub(FAILURES);
        let more = (more > 0)
            .then(|| Line::new(Tone::Quiet, format!("and {more} reasons more, for other arms")));
        below.list(told.chain(more));
        below.lines([Line::new(Tone::Quiet, more_to_read(study)).most(2)]);
        // Two empty lines stand between the parts.
        let room = most.saturating_sub(blocks.height(style) + below.height(style) + 2);
        blocks.append(self.fitting(style, room));
        blocks.append(below);
        blocks
    }

    /// All claims of the author, each with as many words as there are lines for; then what was read off the author's
    /// tables, and ours, as far as there is room: else how many came out how.
    fn fitting(&self, style: &Style, room: usize) -> Blocks {
        let (all, own) = self.groups();
        let is_of_author =
            |group: &Group<'_>| group.1.iter().any(|claim| claim.kind == ClaimKind::Claim);
        let (of_author, read): (Vec<Group<'_>>, Vec<Group<'_>>) =
            all.iter().cloned().partition(is_of_author);
        let titles = |groups: &[Group<'_>]| {
            let mut titles = Blocks::default();
            titles.lines(groups.iter().map(|(title, _)| Line::new(Tone::Title, title).most(2)));
            titles
        };
        let of = |groups: &[Group<'_>], tallied: &[Group<'_>], has_words| {
            let mut blocks = Blocks::default();
            blocks.table(self.table(groups, has_words));
            blocks.append(titles(tallied));
            blocks
        };
        let height = |blocks: &Blocks| blocks.height(style);
        let titles_height = height(&titles(&own));
        let whole = WORDS.iter().map(|has_words| of(&all, &[], *has_words));
        let only_claims = WORDS.iter().map(|has_words| of(&of_author, &read, *has_words));
        let mut last = Blocks::default();
        let limits = LINES_OF_CLAIM.iter().take(if style.width < COLUMNS { 1 } else { 3 });
        let shortest = limits.map(|most| self.brief(&of_author, &read, *most));
        let fits = whole.chain(only_claims).chain(shortest).find(|blocks| {
            last = blocks.clone();
            height(blocks) + titles_height <= room
        });
        let mut blocks = fits.unwrap_or(last);
        let mut left = room.saturating_sub(height(&blocks) + titles_height);
        for group in own {
            let shorter = LINES.iter().map(|most| self.ours(&group, *most));
            let mut shorter = shorter.map(|section| (section.body.height(style) + 1, section));
            match shorter.find(|(height, _)| *height <= left) {
                Some((height, section)) => {
                    left -= height;
                    blocks.add(section);
                }
                None => blocks.append(titles(&[group])),
            }
        }
        blocks
    }

    /// Claims with few words: the figure that decided with its name, then what was claimed. Of `tallied` only titles.
    fn brief(&self, groups: &[Group<'_>], tallied: &[Group<'_>], most: Option<usize>) -> Blocks {
        let line = |claim: &&ClaimResult| {
            let first =
                format!("{:TEXT$}", format!("{}{}", claim.verdict, mark(claim, self.study)));
            let words = Line::new(tone(claim.verdict), brief_words(claim, self.study));
            Line { most, ..words.to(self.address(claim)).after(first) }
        };
        let mut blocks = Blocks::default();
        for (title, claims) in groups {
            blocks.lines([Line::new(Tone::Title, title).most(2)]);
            blocks.lines(claims.iter().map(line));
        }
        blocks.lines(tallied.iter().map(|(title, _)| Line::new(Tone::Title, title).most(2)));
        blocks
    }

    /// All claims with all words.
    fn claims(&self) -> Blocks {
        let (all, own) = self.groups();
        let mut blocks = Blocks::default();
        blocks.table(self.table(&all, true));
        own.iter().for_each(|group| blocks.add(self.ours(group, None)));
        blocks
    }

    /// Those of the author, and ours.
    fn groups(&self) -> (Vec<Group<'a>>, Vec<Group<'a>>) {
        let is_published =
            |group: &Group<'_>| group.1.iter().any(|claim| claim.kind.is_published());
        groups(self.study).into_iter().partition(is_published)
    }

    /// The claims of some groups, beside what their author says.
    fn table(&self, groups: &[Group<'_>], has_words: bool) -> Table {
        let row = |claim: &ClaimResult| {
            let words = ClaimWords::with_few(claim, self.study);
            let is_long = !has_words && words.author.iter().any(|words| words.starts_with('\''));
            let author = if is_long { &["stated".to_owned()] } else { words.author.as_slice() };
            let text = Line::from(words.claim.as_str()).after(format!("{} ", claim.id));
            Row::new([
                Cell::from(text.to(self.address(claim))).below(Tone::Quiet, &words.figure),
                lines(author),
                lines(&words.here).below(tone(claim.verdict), &words.verdict),
                Cell::from(words.why()),
            ])
            .tone(tone(claim.verdict))
            .card([card(claim, words)])
        };
        let rows = groups.iter().flat_map(|(title, claims)| {
            claims.iter().map(move |claim| row(claim).group(title.as_str()))
        });
        let [claim, author, here, why] = TOLD;
        let columns =
            [Column::text(claim), Column::text(author), Column::whole(here), Column::text(why)];
        Table::new(columns, rows).layout(Layout::Flow)
    }

    /// Claims that are not the author's, in so many lines each.
    fn ours(&self, (title, claims): &Group<'_>, most: Option<usize>) -> Section {
        let row = |claim: &&ClaimResult| {
            let [verdict, id, words] = found(claim, self.study);
            let first =
                format!("{:TEXT$}", format!("{}{}", claim.verdict, mark(claim, self.study)));
            let card = Line::new(tone(claim.verdict), format!("{} {}", claim.id, finding(claim)));
            Row::new([
                Line::new(tone(claim.verdict), verdict),
                Line::from(id).to(self.address(claim)),
                Line::from(words),
            ])
            .card([Line { most, ..card.after(first) }])
        };
        let table = Table::new(FOUND.map(Column::text), claims.iter().map(row));
        let section = Section::new(title, |body| body.table(table.layout(Layout::Cards)));
        Section { is_folded: true, ..section }
    }

    /// Where the figures of a claim are.
    fn address(&self, claim: &ClaimResult) -> String {
        format!("s{}-{}", self.number, claim.id)
    }

    /// The original, its tables measured again, every figure of every claim, errata and notes.
    fn details(&self, blocks: &mut Blocks, is_verbose: bool) {
        let study = self.study;
        blocks.section("The tables and figures of the original", |body| {
            for (at, table) in study.tables.iter().enumerate() {
                let mut shown = self.figure(table);
                // The page begins with its picture.
                shown.picture = shown.picture.filter(|_| self.begins_with != Some(at));
                body.chart(shown);
            }
        });
        blocks.fold("Every figure of every claim", |body| {
            study.claims.iter().for_each(|claim| body.add(self.tests(claim)));
        });
        blocks.fold("The original", |body| body.lines(original(study).into_iter().map(Line::from)));
        let [errata, facts, notes] = endings(study);
        let part = |(title, lines): Part| Section {
            is_folded: true,
            ..Section::new(title, |body| body.list(lines))
        };
        for one in [findings(study, is_verbose), errata, facts, notes] {
            blocks.add(part(one));
        }
    }

    /// The first table with a picture.
    fn first_drawn(&self) -> Option<usize> {
        let is_drawn = |table: &TableResult| {
            chart(self.document, self.study, table).is_some_and(|one| !one.series.is_empty())
        };
        self.study.tables.iter().position(is_drawn)
    }

    /// A table with what was published under each figure, and its picture if it has one.
    fn figure(&self, shown: &TableResult) -> Chart {
        let drawn = chart(self.document, self.study, shown).filter(|one| !one.series.is_empty());
        let file = self.pictures.zip(file_name(self.study, shown));
        let mut figures = Blocks::default();
        let row = |row: &RowResult| {
            let cell = |(at, metric)| {
                let cell = Cell::from(with_interval(metric));
                match row.published.get(at).filter(|was| **was != Published::Nothing) {
                    Some(was) => cell.below(Tone::Quiet, format!("published {was}")),
                    None => cell,
                }
            };
            let measured = row.measured.iter().enumerate().map(cell);
            Row::new(std::iter::once(Cell::from(row.label.as_str())).chain(measured))
        };
        let columns = shown.columns.iter().map(Column::number);
        let columns = std::iter::once(Column::text("")).chain(columns);
        let table = Table::new(columns, shown.rows.iter().map(row)).layout(Layout::Blocks(1));
        figures.table(Table { label: shown.title.clone(), ..table });
        figures.list(table_notes(shown));
        Chart {
            title: table_title(shown),
            note: drawn.as_ref().and_then(|one| one.notes.first().cloned()).unwrap_or_default(),
            picture: drawn.map(Picture::Chart),
            file: file.map(|(folder, name)| format!("{}/{name}", folder.trim_end_matches('/'))),
            figures,
        }
    }

    /// Every figure of a claim.
    fn tests(&self, claim: &ClaimResult) -> Section {
        let row = |(number, test): (usize, &TestResult)| {
            let card = Line::from(test_words(test)).after(format!("{number}. "));
            let cells = tested(test).map(Cell::from);
            Row::new(std::iter::once(Cell::from(number.to_string())).chain(cells)).card([card])
        };
        let columns = TESTED.map(|(head, is_number)| match is_number {
            true => Column::number(head),
            false => Column::text(head),
        });
        let columns = std::iter::once(Column::number("")).chain(columns);
        let rows = (1..).zip(&claim.tests).map(row);
        let table = Table::new(columns, rows).layout(Layout::Cards);
        let title = format!("{} {}: {}", claim.verdict, claim.id, claim.text);
        let section = Section::new(title, |body| {
            body.table(Table { label: claim.id.clone(), ..table });
            body.list(remarks(claim, self.study));
        });
        Section { anchor: self.address(claim), ..section }
    }
}

/// A cell with these lines.
fn lines(all: &[String]) -> Cell {
    let (first, rest) = all.split_first().map_or(("", all), |(first, rest)| (first, rest));
    rest.iter().fold(Cell::from(first), |cell, line| cell.below(Tone::Plain, line))
}

/// A claim without a table.
fn card(claim: &ClaimResult, words: ClaimWords) -> Line {
    let why = words.why();
    let [author, here] = [words.published(), words.measured()];
    let ClaimWords { claim: text, figure, verdict, .. } = words;
    let parts = [("", figure), ("author: ", author), ("here: ", here), ("", verdict), ("", why)];
    let parts = parts.into_iter().filter(|(_, words)| !words.is_empty());
    let parts: Vec<String> = parts.map(|(first, words)| format!("{first}{words}")).collect();
    Line::new(tone(claim.verdict), format!("{} {text}: {}", claim.id, parts.join("; ")))
}

/// A claim in a line or two: `s2.c2 UDP / pipe, 4 (1 of 30): 1.28 [0.98, 1.63]; UDP has the highest latency`.
fn brief_words(claim: &ClaimResult, study: &StudyResult) -> String {
    let words = ClaimWords::with_few(claim, study);
    let [author, here] = [words.published(), words.measured()];
    let is_number = !author.is_empty() && !author.starts_with('\'');
    let published = if is_number { format!(", published {author}") } else { String::new() };
    let found = match (claim.verdict, words.figure.as_str()) {
        (Verdict::Untestable, _) => words.why(),
        (_, "") => format!("{here}{published}"),
        (_, figure) => format!("{figure}: {here}{published}"),
    };
    let why =
        if claim.verdict == Verdict::Untestable { String::new() } else { words.why_briefly() };
    let parts = [found.as_str(), &why, &words.claim].into_iter().filter(|part| !part.is_empty());
    format!("{} {}", claim.id, parts.collect::<Vec<_>>().join("; "))
}

/// What else there is to read.
fn more_to_read(study: &StudyResult) -> String {
    let findings = study.noise.as_ref().map_or(0, |noise| noise.findings.len());
    let parts = [
        (study.tables.len(), "table"),
        (study.errata.len(), "erratum"),
        (findings, "finding"),
        (study.notes.len(), "note"),
    ];
    let counted = |(count, noun): (usize, &str)| match (count, noun) {
        (0, _) => None,
        (count, "erratum") if count > 1 => Some(format!("{count} errata")),
        (count, noun) => Some(text::counted(count as u64, noun)),
    };
    let mut parts: Vec<String> = parts.into_iter().filter_map(counted).collect();
    parts.push("every figure with its formula".to_owned());
    format!("-v or --format markdown also shows {}.", text::join(&parts))
}
