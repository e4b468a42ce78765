//! A document as a page.

use super::{Html, HtmlPage};
use crate::doc::Tone;
use crate::doc::{
    Block, Cell, Chart, Column, Doc, Layout, Line, Picture, Place, Row, Section, Table, anchor,
};
use crate::svg::spark;
use crate::text::width;
use std::io;

/// Writes it.
pub(crate) fn write(doc: &Doc, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = HtmlPage::default();
    fill(&mut page, doc);
    let title = if doc.title.is_empty() { &doc.headline } else { &doc.title };
    let mut foot = doc.foot.clone();
    foot.push("This page is one file and loads nothing.".to_owned());
    page.write(title, &foot, out)
}

fn fill(page: &mut HtmlPage, doc: &Doc) {
    page.begin(doc.stopped.as_deref());
    let (top, rest) = doc.body.0.split_at(doc.body.top());
    page.head(|html| {
        let mut conclusion = doc.conclusion.iter();
        let first = match doc.headline.is_empty() {
            true => conclusion.next().map(|line| line.whole().trim_end_matches('.').to_owned()),
            false => Some(doc.headline.clone()),
        };
        html.say("h1", &[], first.as_ref().unwrap_or(&doc.title));
        if let Some(chart) = &doc.picture {
            html.within("div", &[("class", "lead-picture")], |html| self::chart(html, chart, true));
        }
        conclusion.for_each(|line| block(html, &Block::Say(line.clone())));
        draw(html, top);
    });
    let parts = rest.chunk_by(|a, b| !a.is_section() && !b.is_section());
    parts.for_each(|blocks| add(page, blocks));
}

fn add(page: &mut HtmlPage, blocks: &[Block]) {
    match blocks {
        [block @ Block::Section(section)] if block.is_section() => {
            let id = page.free(&address(section));
            page.section(&id, &section.title, |html| draw(html, &section.body.0));
        }
        others => page.head(|html| draw(html, others)),
    }
}

fn address(section: &Section) -> String {
    if section.anchor.is_empty() { anchor(&section.title) } else { anchor(&section.anchor) }
}

/// Charts that follow each other stand side by side.
fn draw(html: &mut Html, blocks: &[Block]) {
    let are_charts = |a: &Block, b: &Block| matches!((a, b), (Block::Chart(_), Block::Chart(_)));
    for blocks in blocks.chunk_by(are_charts) {
        if let Some(Block::Chart(first)) = blocks.first() {
            let class = if is_wide(first) { "charts wide" } else { "charts" };
            html.within("div", &[("class", class)], |html| {
                blocks.iter().for_each(|one| block(html, one));
            });
        } else {
            blocks.iter().for_each(|one| block(html, one));
        }
    }
}

fn block(html: &mut Html, block: &Block) {
    match block {
        Block::Say(line) if line.tone == Tone::Title => html.say("h3", &[], &line.whole()),
        Block::Say(line) => {
            let class = match line.tone {
                Tone::Bad | Tone::Doubt => "alarm",
                tone => class(tone),
            };
            html.within("p", &classed(class), |html| words(html, line));
        }
        Block::List(items) => html.within("ul", &[], |html| {
            for item in items {
                html.within("li", &classed(class(item.tone)), |html| words(html, item));
            }
        }),
        Block::Facts(facts) => html.within("dl", &[("class", "facts")], |html| {
            for (name, value) in facts {
                html.say("dt", &[], name);
                html.say("dd", &[], value);
            }
        }),
        Block::Table(table) => self::table(html, table),
        Block::Chart(chart) => self::chart(html, chart, is_wide(chart)),
        Block::Section(section) if section.is_folded => {
            html.fold(&section.title, false, |html| draw(html, &section.body.0));
        }
        Block::Section(section) => {
            html.say("h3", &[("id", &address(section))], &section.title);
            draw(html, &section.body.0);
        }
        Block::Space => {}
    }
}

/// How a tone looks in a list or a table.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Title => "",
        Tone::Best => "good",
        Tone::Quiet => "soft",
        Tone::Bad => "bad",
        Tone::Doubt => "doubt",
    }
}

/// The attribute of a class; none where it has no name.
fn classed(class: &str) -> Vec<(&'static str, &str)> {
    if class.is_empty() { Vec::new() } else { vec![("class", class)] }
}

/// All of a line; where it leads somewhere, its beginning does.
fn words(html: &mut Html, line: &Line) {
    if let Some(drawn) = spark(&line.spark, &line.whole()) {
        return html.picture(&drawn);
    }
    let Some(link) = &line.link else { return html.words(&line.whole()) };
    let to = format!("#{}", anchor(link));
    if line.lead.is_empty() {
        return html.say("a", &[("href", &to)], &line.words);
    }
    html.say("a", &[("href", &to)], line.lead.trim_end());
    html.words(&format!(" {}", line.words));
}

/// Whether a chart has the whole width wherever it stands.
fn is_wide(chart: &Chart) -> bool {
    matches!(chart.picture, None | Some(Picture::Chart(_)))
}

fn chart(html: &mut Html, chart: &Chart, is_wide: bool) {
    let Some(picture) = &chart.picture else {
        return html.within("figure", &[("class", "full")], |html| {
            html.within("figcaption", &[], |html| html.say("h3", &[], &chart.title));
            draw(html, &chart.figures.0);
        });
    };
    let narrow = picture.narrow();
    let drawn = if is_wide { vec![picture.wide(), narrow] } else { vec![narrow] };
    html.figure(&chart.title, &chart.note, &drawn, |html| {
        if !chart.figures.is_empty() {
            html.fold("In figures", false, |html| draw(html, &chart.figures.0));
        }
    });
}

fn table(html: &mut Html, table: &Table) {
    // What a terminal draws in characters is a picture of the page.
    let is_shown = |column: &Column| !matches!(column.place, Place::Characters | Place::Above);
    // Columns of text are too many for a telephone: there a row stands one cell below the other.
    let is_text = matches!(table.layout, Layout::Flow | Layout::Cards);
    let columns = || table.columns.iter().filter(|column| is_shown(column));
    let count = columns().count().to_string();
    let side = |column: &Column| match column {
        Column { is_number: true, .. } => "n",
        Column { is_whole: true, .. } => "whole",
        _ => "t",
    };
    let head = |html: &mut Html| {
        for column in columns() {
            html.say("th", &[("scope", "col"), ("class", side(column))], &column.head);
        }
    };
    let heading = |html: &mut Html, words: &str| {
        let attributes = [("colspan", count.as_str()), ("scope", "rowgroup")];
        html.within("tr", &[], |html| {
            html.within("th", &attributes, |html| html.say("span", &[("class", "g")], words));
        });
    };
    let row = |html: &mut Html, row: &Row| {
        let cells = table.columns.iter().zip(&row.cells);
        for (_, cell) in cells.filter(|(column, _)| column.place == Place::Above) {
            let words = cell.text(" ");
            if !words.is_empty() {
                heading(html, &words);
            }
        }
        // Elsewhere the cells have tones of their own.
        let class = match row.tone {
            Tone::Best if table.layout == Layout::GiveWay => "best",
            Tone::Best | Tone::Bad | Tone::Doubt => "",
            tone => class(tone),
        };
        let id = anchor(&row.anchor);
        let mut attributes = classed(class);
        attributes.extend(Some(("id", id.as_str())).filter(|_| !row.anchor.is_empty()));
        html.within("tr", &attributes, |html| {
            let cells = table.columns.iter().zip(&row.cells);
            for (column, cell) in cells.filter(|(column, _)| is_shown(column)) {
                let value = cell.0.first().and_then(|line| line.value).map(|one| one.to_string());
                // A short text stays on one line of a telephone too: the rest of its row may be out of sight.
                let is_short = !column.is_number && !column.is_whole && is_short(cell);
                // The name of a mechanism is not broken at its hyphen.
                let is_word = is_short && !cell.text(" ").trim().contains(' ');
                let mut attributes = classed(match (is_word, is_short) {
                    (true, _) => "t short whole",
                    (false, true) => "t short",
                    (false, false) => side(column),
                });
                attributes.extend(value.as_deref().map(|value| ("data-v", value)));
                if !column.head.is_empty() && is_text {
                    attributes.push(("data-head", &column.head));
                }
                html.within("td", &attributes, |html| self::cell(html, cell));
            }
        });
    };
    let body = |html: &mut Html| {
        for (group, rows) in table.grouped() {
            if !group.is_empty() {
                heading(html, group);
            }
            rows.iter().for_each(|one| row(html, one));
        }
    };
    let class = if is_text { "stack" } else { "rows" };
    html.within("div", &classed(class), |html| {
        html.rows(&table.label, table.is_searched, head, body);
    });
    if let Some(words) = table.legend(|_| true) {
        html.say("p", &[("class", "soft small")], &words);
    }
}

/// Letters of a text that is short.
const SHORT: usize = 32;

fn is_short(cell: &Cell) -> bool {
    cell.0.iter().all(|line| width(&line.whole()) <= SHORT)
}

/// The first line as it is, others smaller below it.
fn cell(html: &mut Html, cell: &Cell) {
    for (at, line) in cell.0.iter().enumerate() {
        match (at, line.tone) {
            (0, Tone::Plain) => words(html, line),
            (0, tone) => {
                let class = format!("verdict {}", class(tone));
                html.within("span", &[("class", &class)], |html| words(html, line));
            }
            (_, tone) => {
                let class = if tone == Tone::Plain { "was" } else { class(tone) };
                html.within("div", &[("class", class)], |html| words(html, line));
            }
        }
    }
}
