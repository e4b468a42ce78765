//! A document on a terminal.

use crate::Style;
use crate::doc::Tone;
use crate::doc::{Block, Blocks, Cell, Doc, Layout, Line, Place, Row, Table};
use crate::grid::Grid;
use crate::page::Page;
use crate::text;
use std::io;

/// Before all that stands under a heading.
const EDGE: &str = "  ";

/// Before what stands above a row, and below one.
const ABOVE: &str = "  -- ";
const BELOW: &str = "       ";

/// What stands where words were left out.
const CUT: &str = " ...";

/// The least widths of columns that flow: of the first, of figures, of other texts.
const FIRST: usize = 20;
const FIGURE: usize = 22;
const TEXT: usize = 13;

/// The least width of the last fixed column of a table in blocks.
const FIXED: usize = 18;

/// Writes it.
pub(crate) fn write(doc: &Doc, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::new(out, style);
    if let Some(stopped) = &doc.stopped {
        page.paragraph(Tone::Bad, "", stopped)?;
    }
    if !doc.headline.is_empty() {
        page.paragraph(Tone::Title, "", &doc.headline)?;
    }
    blocks(&mut page, &doc.body, "")?;
    if !doc.conclusion.is_empty() {
        page.gap()?;
    }
    doc.conclusion.iter().try_for_each(|line| say(&mut page, "", line))
}

fn blocks(page: &mut Page<'_>, blocks: &Blocks, edge: &str) -> io::Result<()> {
    blocks.0.iter().try_for_each(|block| self::block(page, block, edge))
}

fn block(page: &mut Page<'_>, block: &Block, edge: &str) -> io::Result<()> {
    match block {
        Block::Say(line) => say(page, edge, line),
        Block::List(items) => {
            items.iter().try_for_each(|item| say(page, &format!("{edge}- "), item))
        }
        Block::Facts(facts) => {
            let names = facts.iter().map(|(name, _)| text::width(name));
            let widest = names.max().unwrap_or(0).min(page.style.width / 3);
            facts.iter().try_for_each(|(name, value)| {
                page.paragraph(Tone::Plain, &format!("{edge}{name:widest$}  "), value)
            })
        }
        Block::Table(table) => self::table(page, table, edge),
        Block::Chart(chart) if chart.figures.is_empty() => Ok(()),
        Block::Chart(chart) => {
            page.gap()?;
            page.paragraph(Tone::Title, edge, &chart.title)?;
            blocks(page, &chart.figures, edge)
        }
        Block::Section(section) => {
            page.gap()?;
            page.paragraph(Tone::Title, "", &section.title)?;
            blocks(page, &section.body, EDGE)
        }
        Block::Space => page.gap(),
    }
}

/// A line behind an edge, as many lines as it may take.
fn say(page: &mut Page<'_>, edge: &str, line: &Line) -> io::Result<()> {
    let first = format!("{edge}{}", line.lead);
    let Some(most) = line.most else { return page.paragraph(line.tone, &first, &line.words) };
    let style = *page.style;
    let mut lines = text::wrap(&first, &text::clean(&line.words, style.unicode), style.width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let room = style.width.saturating_sub(CUT.len());
            while text::width(last) > room
                && let Some((kept, _)) = last.trim_end().rsplit_once(' ')
            {
                *last = kept.trim_end().to_owned();
            }
            last.push_str(CUT);
        }
    }
    lines.iter().try_for_each(|words| page.line(line.tone, words))
}

/// The columns that stand side by side.
fn beside(table: &Table) -> Vec<usize> {
    let all = 0..table.columns.len();
    let is_beside = |at: &usize| !matches!(table.columns[*at].place, Place::Above | Place::Below);
    all.filter(is_beside).collect()
}

/// Columns of the longest bar next to a figure.
const BAR: usize = 10;

/// Puts a bar behind each figure of a column that has a value: from 0, and as long as all others allow.
fn draw(grid: &mut Grid, table: &Table, unicode: bool) {
    let drawn = (0..table.columns.len()).filter(|at| table.columns[*at].is_drawn);
    for at in drawn {
        let value = |row: &Row| {
            let value = row.cells.get(at)?.0.first()?.value?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let most = table.rows.iter().filter_map(value).fold(0.0, f64::max);
        if most <= 0.0 {
            continue;
        }
        for (row, cells) in table.rows.iter().zip(&mut grid.rows) {
            let bar = |line: usize| match value(row).filter(|_| line == 0) {
                Some(value) => text::bar(value / most * BAR as f64, unicode),
                None => String::new(),
            };
            let lines = cells[at].split('\n').enumerate();
            let lines = lines.map(|(line, words)| {
                let bar = bar(line);
                let rest = " ".repeat(BAR.saturating_sub(text::width(&bar)));
                format!("{words} {bar}{rest}")
            });
            cells[at] = lines.collect::<Vec<_>>().join("\n");
        }
        let room = " ".repeat(BAR + 1);
        grid.heads[at].push_str(&room);
    }
}

/// Clean texts, in which a newline is one of ours.
fn grid(table: &Table, unicode: bool) -> Grid {
    let clean = |words: &str| text::clean(words, unicode);
    let of =
        |cell: &Cell| cell.0.iter().map(|line| clean(&line.whole())).collect::<Vec<_>>().join("\n");
    let row = |row: &Row| {
        let mut cells: Vec<String> = row.cells.iter().map(of).collect();
        cells.resize(table.columns.len(), String::new());
        cells
    };
    Grid {
        heads: table.columns.iter().map(|column| clean(&column.head)).collect(),
        right: table.columns.iter().map(|column| column.is_number).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

fn table(page: &mut Page<'_>, table: &Table, edge: &str) -> io::Result<()> {
    let style = *page.style;
    let mut grid = grid(table, style.unicode);
    if style.bars {
        draw(&mut grid, table, style.unicode);
    }
    let all = beside(table);
    let (always, mut wanted): (Vec<usize>, Vec<usize>) =
        all.iter().partition(|at| table.columns[**at].rank == 0);
    let room = style.width.saturating_sub(edge.len());
    // A table that flows or has little room needs its columns more than an edge.
    let is_roomy = match table.layout {
        Layout::Flow => false,
        Layout::GiveWay => grid.width(&always) + EDGE.len() <= room,
        Layout::Blocks(_) | Layout::Cards => true,
    };
    let is_inside = is_roomy && table.has_groups();
    let inner = if is_inside { format!("{edge}{EDGE}") } else { edge.to_owned() };
    let room = style.width.saturating_sub(inner.len());
    match table.layout {
        Layout::GiveWay => {
            wanted.sort_by_key(|at| table.columns[*at].rank);
            let columns = grid.narrow(&always, &wanted, table.flexible, room);
            rows(page, table, &grid, &columns, [edge, &inner])?;
            let hidden = all.iter().filter(|at| !columns.contains(at));
            let hidden: Vec<&str> = hidden.map(|at| table.columns[*at].head.as_str()).collect();
            if !hidden.is_empty() {
                let words = format!("hidden at {} columns: {}", style.width, hidden.join(", "));
                page.paragraph(Tone::Quiet, edge, &words)?;
            }
            legend(page, table, &columns, edge)
        }
        Layout::Blocks(fixed) => {
            let spare = if fixed > 1 { FIXED } else { 0 };
            for mut columns in grid.blocks(fixed, room.saturating_sub(spare)) {
                columns.splice(1..1, 1..fixed);
                let mut block = grid.clone();
                block.narrow(&columns, &[], fixed - 1, room);
                rows(page, table, &block, &columns, [edge, &inner])?;
            }
            legend(page, table, &all, edge)
        }
        Layout::Flow => {
            let least = least(table, &grid);
            if !grid.flow(&least, room) {
                return cards(page, table, [edge, &inner]);
            }
            rows(page, table, &grid, &all, [edge, &inner])?;
            legend(page, table, &all, edge)
        }
        Layout::Cards => cards(page, table, [edge, &inner]),
    }
}

fn legend(page: &mut Page<'_>, table: &Table, columns: &[usize], edge: &str) -> io::Result<()> {
    let words = table.legend(|at| columns.contains(&at));
    words.map_or(Ok(()), |words| page.paragraph(Tone::Quiet, edge, &words))
}

/// The least widths with which a table can be read. A figure stays in one line, but for a very long one.
fn least(table: &Table, grid: &Grid) -> Vec<usize> {
    let widest = |at: usize, split: fn(&str) -> Vec<&str>| {
        let cells = grid.rows.iter().map(|row| row[at].as_str()).chain([grid.heads[at].as_str()]);
        cells.flat_map(split).map(text::width).max().unwrap_or(0)
    };
    let word = |at: usize| widest(at, |cell| cell.split_whitespace().collect());
    let columns = table.columns.iter().enumerate();
    let of = columns.map(|(at, column)| match at {
        _ if column.is_number || column.is_whole => {
            widest(at, |cell| cell.lines().collect()).min(FIGURE)
        }
        0 => word(at).clamp(FIRST, 2 * FIRST),
        _ => word(at).min(TEXT),
    });
    of.collect()
}

/// The head and the rows of these columns, each group below its heading.
fn rows(
    page: &mut Page<'_>,
    table: &Table,
    grid: &Grid,
    columns: &[usize],
    [edge, inner]: [&str; 2],
) -> io::Result<()> {
    let (head, lines) = grid.lines(columns);
    if columns.iter().any(|at| !table.columns[*at].head.is_empty()) {
        page.row(Tone::Quiet, inner, &head)?;
    }
    let mut lines = lines.iter();
    for (group, rows) in table.grouped() {
        if !group.is_empty() {
            page.paragraph(Tone::Title, edge, group)?;
        }
        for (row, lines) in rows.iter().zip(lines.by_ref()) {
            let alone = |page: &mut Page<'_>, place, lead: &str| {
                let cells = table.columns.iter().zip(&row.cells);
                let cells = cells.filter(|(column, _)| column.place == place);
                cells.flat_map(|(_, cell)| &cell.0).try_for_each(|line| {
                    page.paragraph(line.tone, &format!("{inner}{lead}"), &line.whole())
                })
            };
            alone(page, Place::Above, ABOVE)?;
            page.row(row.tone, inner, lines)?;
            alone(page, Place::Below, BELOW)?;
        }
    }
    Ok(())
}

/// Each row as a paragraph.
fn cards(page: &mut Page<'_>, table: &Table, [edge, inner]: [&str; 2]) -> io::Result<()> {
    for (group, rows) in table.grouped() {
        if !group.is_empty() {
            page.gap()?;
            page.paragraph(Tone::Title, edge, group)?;
        }
        for row in rows {
            if row.card.len() > 1 {
                page.gap()?;
            }
            row.card.iter().try_for_each(|line| say(page, inner, line))?;
            if row.card.is_empty() {
                page.paragraph(row.tone, inner, &card(table, row))?;
            }
        }
    }
    Ok(())
}

/// `first cell: second head: second cell; ...`.
fn card(table: &Table, row: &Row) -> String {
    let cells = table.columns.iter().zip(&row.cells).filter(|(_, cell)| !cell.0.is_empty());
    let words = cells.enumerate().map(|(at, (column, cell))| match column.head.as_str() {
        "" => cell.text("; "),
        _ if at == 0 => cell.text("; "),
        head => format!("{head}: {}", cell.text("; ")),
    });
    words.collect::<Vec<_>>().join("; ")
}
