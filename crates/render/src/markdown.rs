//! A document as Markdown, with the tables of GitHub.

use crate::Style;
use crate::doc::Tone;
use crate::doc::{Block, Blocks, Doc, Line, Row, Table};
use crate::text;
use std::io::{self, Write};

/// A text that cannot end a table cell, open a tag or start an emphasis.
#[must_use]
pub fn escape(words: &str, unicode: bool) -> String {
    let mut escaped = String::new();
    for sign in text::clean(words, unicode).chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '|' | '*' | '`' | '[' | ']' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(sign);
            }
            sign => escaped.push(sign),
        }
    }
    escaped
}

/// Writes it, without empty lines at its end.
pub(crate) fn write(doc: &Doc, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    if let Some(stopped) = &doc.stopped {
        writeln!(text, "**{}**\n", escape(stopped, style.unicode))?;
    }
    if !doc.headline.is_empty() {
        writeln!(text, "# {}\n", escape(&doc.headline, style.unicode))?;
    }
    blocks(&doc.body, 2, style, &mut text)?;
    let said = doc.conclusion.iter().cloned().map(Block::Say);
    said.into_iter().try_for_each(|line| block(&line, 2, style, &mut text))?;
    let end = text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
    out.write_all(&text[..end])?;
    writeln!(out)
}

/// Writes blocks; `depth` is that of the headings of their sections.
///
/// # Errors
/// `out` refuses the bytes.
pub fn blocks(blocks: &Blocks, depth: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    blocks.0.iter().try_for_each(|block| self::block(block, depth, style, out))
}

fn block(block: &Block, depth: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let plain = |words: &str| escape(words, style.unicode);
    let heading = |title: &str, out: &mut dyn Write| {
        writeln!(out, "{} {}\n", "#".repeat(depth.min(6)), plain(title))
    };
    match block {
        Block::Say(line) => match line.tone {
            Tone::Title | Tone::Best => writeln!(out, "**{}**\n", plain(line.whole().trim())),
            _ => writeln!(out, "{}\n", plain(line.whole().trim())),
        },
        Block::List(items) => {
            items.iter().try_for_each(|item| writeln!(out, "- {}", plain(&item.whole())))?;
            writeln!(out)
        }
        Block::Facts(facts) => {
            let item = |(name, value): &(String, String)| format!("{name}: {value}");
            facts.iter().try_for_each(|fact| writeln!(out, "- {}", plain(&item(fact))))?;
            writeln!(out)
        }
        // Groups without a name for what they are have tables of their own.
        Block::Table(table) if table.has_groups() && table.groups.is_empty() => {
            for (group, rows) in table.grouped() {
                heading(group, out)?;
                let rows = rows.iter().map(|row| Row { group: String::new(), ..row.clone() });
                self::table(&Table { rows: rows.collect(), ..table.clone() }, style, out)?;
            }
            Ok(())
        }
        Block::Table(table) => self::table(table, style, out),
        Block::Chart(chart) if chart.figures.is_empty() && chart.file.is_none() => Ok(()),
        Block::Chart(chart) => {
            heading(&chart.title, out)?;
            if let Some(file) = &chart.file {
                writeln!(out, "![{}](<{}>)\n", plain(&chart.title), link(file))?;
            }
            blocks(&chart.figures, depth + 1, style, out)
        }
        Block::Section(section) => {
            heading(&section.title, out)?;
            blocks(&section.body, depth + 1, style, out)
        }
        Block::Space => Ok(()),
    }
}

fn table(table: &Table, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let has_groups = table.has_groups();
    let line = |first: &str, cells: &mut dyn Iterator<Item = String>, out: &mut dyn Write| {
        let first = has_groups.then(|| escape(first, style.unicode));
        let cells: Vec<String> = first.into_iter().chain(cells).collect();
        writeln!(out, "| {} |", cells.join(" | "))
    };
    let heads = table.columns.iter().map(|column| escape(&column.head, style.unicode));
    line(&table.groups, &mut heads.into_iter(), out)?;
    let mark = |is_number: bool| if is_number { "---:" } else { "---" };
    let marks = table.columns.iter().map(|column| mark(column.is_number).to_owned());
    line("---", &mut marks.into_iter(), out)?;
    for row in &table.rows {
        let Row { group, cells, .. } = row;
        let cells = cells.iter().map(|cell| escape(&cell.text("; "), style.unicode));
        line(group, &mut cells.into_iter(), out)?;
    }
    writeln!(out)?;
    table
        .legend(|_| true)
        .map_or(Ok(()), |words| block(&Block::Say(Line::new(Tone::Quiet, words)), 0, style, out))
}

/// A path that ends no link and begins no other.
fn link(path: &str) -> String {
    let mut safe = String::new();
    for sign in path.chars() {
        match sign {
            '<' | '>' | '\\' => safe.push_str(&format!("%{:02X}", u32::from(sign))),
            sign if text::is_unprinted(sign) => safe.push('?'),
            sign => safe.push(sign),
        }
    }
    safe
}
