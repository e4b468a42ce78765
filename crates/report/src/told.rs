//! What is told in answer to a question: a headline, and parts with a table and lines each. It is put together once; a
//! terminal draws it here, a page in [`crate::web`], and [`crate::markdown`] writes it.

use crate::grid::Grid;
use crate::page::{Page, Tone};
use crate::svg;
use std::io;

/// One sentence.
pub(crate) struct Line {
    pub(crate) tone: Tone,
    /// What a terminal has before it.
    pub(crate) first: String,
    pub(crate) words: String,
}

impl Line {
    pub(crate) fn new(tone: Tone, first: impl Into<String>, words: impl Into<String>) -> Self {
        Self { tone, first: first.into(), words: words.into() }
    }
}

/// A table of which some columns are always shown.
pub(crate) struct Table {
    pub(crate) grid: Grid,
    /// The first so many.
    pub(crate) always: usize,
    /// The first row is the best.
    pub(crate) is_best_first: bool,
}

/// What has a heading of its own.
#[derive(Default)]
pub(crate) struct Part {
    /// Its heading in a page, which leaves it out where there is none.
    pub(crate) name: String,
    /// The line above it on a terminal; none where its table says it in the first head.
    pub(crate) title: String,
    pub(crate) table: Option<Table>,
    /// The same as the table, in a page.
    pub(crate) chart: Option<svg::Chart>,
    pub(crate) lines: Vec<Line>,
}

/// All of it.
pub(crate) struct Told {
    /// The answer, for a page.
    pub(crate) headline: String,
    /// Under it. A title or the best among them is what the headline says.
    pub(crate) lead: Vec<Line>,
    pub(crate) parts: Vec<Part>,
    /// What a terminal has before all that stands under a title.
    pub(crate) edge: &'static str,
}

impl Part {
    /// The heads of its table below its name, which says what a terminal has in the first head where there is no title.
    pub(crate) fn heads(&self, table: &Table) -> Vec<String> {
        let mut heads = table.grid.heads.clone();
        if let Some(first) = heads.first_mut().filter(|_| self.title.is_empty()) {
            first.clear();
        }
        heads
    }
}

impl Told {
    /// What stands under the headline, which says itself what a title alone says, and that nobody won.
    pub(crate) fn under_headline(&self) -> impl Iterator<Item = &Line> {
        let titles = self.lead.iter().filter(|line| line.tone == Tone::Title).count();
        let (best, others): (Vec<&Line>, Vec<&Line>) =
            self.lead.iter().partition(|line| line.tone == Tone::Best);
        best.into_iter().chain(others).filter(move |line| match line.tone {
            Tone::Title => titles > 1,
            Tone::Bad => false,
            _ => !line.words.is_empty(),
        })
    }

    /// The parts that have a name.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| !part.name.is_empty())
    }

    /// Draws it for a terminal.
    pub(crate) fn draw(&self, page: &mut Page<'_>) -> io::Result<()> {
        lines(page, &self.lead)?;
        for part in &self.parts {
            page.blank()?;
            if !part.title.is_empty() {
                page.paragraph(Tone::Title, "", &part.title)?;
            }
            if let Some(table) = &part.table {
                self.table(page, table)?;
            }
            lines(page, &part.lines)?;
        }
        Ok(())
    }

    fn table(&self, page: &mut Page<'_>, table: &Table) -> io::Result<()> {
        let Table { grid, always, is_best_first } = table;
        let all: Vec<usize> = (0..grid.heads.len()).collect();
        let (always, wanted) = all.split_at(*always);
        let room = page.style.width.saturating_sub(self.edge.len());
        let mut grid = grid.clone();
        let columns = grid.fit(always, wanted, 0, room, page.style.unicode);
        let (head, rows) = grid.lines(&columns);
        page.row(Tone::Quiet, self.edge, &head)?;
        for (at, row) in rows.iter().enumerate() {
            let tone = if at == 0 && *is_best_first { Tone::Best } else { Tone::Plain };
            page.row(tone, self.edge, row)?;
        }
        let hidden = all.iter().filter(|at| !columns.contains(at));
        let hidden: Vec<&str> = hidden.map(|at| grid.heads[*at].as_str()).collect();
        match hidden.as_slice() {
            [] => Ok(()),
            hidden => {
                let words = format!("(no room here for {})", hidden.join(", "));
                page.paragraph(Tone::Quiet, self.edge, &words)
            }
        }
    }
}

pub(crate) fn lines(page: &mut Page<'_>, lines: &[Line]) -> io::Result<()> {
    lines.iter().try_for_each(|line| page.paragraph(line.tone, &line.first, &line.words))
}
