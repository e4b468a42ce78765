//! What a column is: all that the program knows of it.

use super::field::CsvField;
use crate::results::chapters::{Chapter, Row};
use ipcperf_core::result::{Cell, CpuCost, ResultSet};
use ipcperf_core::{PatternFacts, PatternKind};
use ipcperf_judge::{MetricKind, figures};
use ipcperf_render::Style;

/// Whether a table has room for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// No table of the kind has it.
    Absent,
    /// It is never dropped.
    Always,
    /// It is shown while it fits. Columns with lower numbers are given room first.
    Rank(usize),
}

/// The tables of a screen, which a legend follows.
pub(crate) struct Tables<'a> {
    pub(crate) set: &'a ResultSet,
    pub(crate) chapters: &'a [Chapter<'a>],
    pub(crate) style: &'a Style,
    /// The names of the columns that any of them shows.
    pub(super) shown: Vec<&'static str>,
}

impl<'a> Tables<'a> {
    /// Whether any of them shows the column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.shown.contains(&name)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a Row<'a>> {
        self.chapters.iter().flat_map(Chapter::blocks).flat_map(|block| &block.rows)
    }

    /// The first cost of the tables of CPU time, and the pattern that it belongs to.
    pub(crate) fn first_cost(&self) -> Option<(PatternKind, &'a CpuCost)> {
        let mut rows = self.rows().filter(|row| row.kind == MetricKind::Cpu);
        rows.find_map(|row| Some((row.cell.key.pattern, row.cell.cpu_ns_per_message.as_ref()?)))
    }
}

/// Makes the sentences that explain a part of tables.
pub(crate) type Explains = fn(&Tables<'_>) -> Vec<String>;

/// A sentence, where it is so.
pub(crate) fn sentence(is_so: bool, words: &str) -> Vec<String> {
    is_so.then(|| words.to_owned()).into_iter().collect()
}

/// The beginning of a list, as the place of an entry.
pub(crate) const FIRST: &str = "the beginning";
/// The place behind the entry of the column before it.
pub(crate) const NEXT: &str = "";

/// A word of the glossary: its name, what it means, and what to do about it, both without the stop at their end.
pub(crate) type Entry = (&'static str, &'static str, &'static str);

/// A column of the tables of results, and what CSV files, glossary and legends have of it. A row names the fields in which it
/// differs from [`COLUMN`].
#[derive(Clone, Copy)]
pub(crate) struct Column {
    /// Its name, which is its heading in all tables unless `head` gives one.
    pub(crate) name: &'static str,
    pub(crate) head: Option<fn(&Chapter<'_>, &Style) -> String>,
    /// Numbers stand at the right edge.
    pub(crate) is_number: bool,
    /// It names the cell: a page links it, and it is clipped where there is little room.
    pub(crate) is_name: bool,
    /// A terminal with bars draws one next to each of its figures.
    pub(crate) is_drawn: bool,

    /// Its number, as the document has it.
    pub(crate) value: fn(&Cell) -> Option<f64>,
    /// How the number is written.
    pub(crate) unit: fn(f64) -> String,
    /// What stands in a row, if that is something else than the number.
    pub(crate) text: Option<fn(&Row<'_>) -> String>,
    /// The second line of a row; empty where it has none.
    pub(crate) second: fn(&Row<'_>) -> String,
    /// Whether it stands only in the first row of those that are compared.
    pub(crate) is_once: fn(&PatternFacts) -> bool,

    /// Which patterns have it.
    pub(crate) patterns: fn(&PatternFacts) -> bool,
    /// Which tables of these patterns have it.
    pub(crate) is_shown: fn(&Chapter<'_>, &Style) -> bool,
    /// Its room in tables of what a pattern is about.
    pub(crate) figures: Room,
    /// Its room in tables of CPU time.
    pub(crate) costs: Room,
    /// Whether the list of all cells of a page has it.
    pub(crate) is_listed: bool,

    /// The word of the glossary that its name follows there, or [`FIRST`], or [`NEXT`].
    pub(crate) word_after: &'static str,
    /// What its name means, without the stop at its end; empty if the glossary has another entry for it.
    pub(crate) meaning: &'static str,
    /// What to do about it, without the stop at its end.
    pub(crate) advice: &'static str,
    /// Headings that it has besides its name, each with the word that it follows.
    pub(crate) headings: &'static [(&'static str, Entry)],

    /// The field that its own follow in the rows of cells, or [`NEXT`].
    pub(crate) csv_after: &'static str,
    /// Its fields in the rows of cells.
    pub(crate) csv: &'static [CsvField],

    /// The part of the legend that its own follows, or [`NEXT`].
    pub(crate) legend_after: &'static str,
    /// Its sentences continue the line before them.
    pub(crate) is_joined: bool,
    /// What is said below tables that show it.
    pub(crate) legend: Option<Explains>,
}

/// A column that no table has.
pub(super) const COLUMN: Column = Column {
    name: "",
    head: None,
    is_number: true,
    is_name: false,
    is_drawn: false,
    value: |_| None,
    unit: figures::nanos,
    text: None,
    second: |_| String::new(),
    is_once: |_| false,
    patterns: |_| true,
    is_shown: |_, _| true,
    figures: Room::Absent,
    costs: Room::Absent,
    is_listed: false,
    word_after: NEXT,
    meaning: "",
    advice: "",
    headings: &[],
    csv_after: NEXT,
    csv: &[],
    legend_after: NEXT,
    is_joined: false,
    legend: None,
};

impl Column {
    /// Its heading.
    pub(crate) fn head(&self, chapter: &Chapter<'_>, style: &Style) -> String {
        self.head.map_or_else(|| self.name.to_owned(), |head| head(chapter, style))
    }

    /// The number of a cell in words.
    pub(crate) fn number(&self, cell: &Cell) -> String {
        figures::or_none((self.value)(cell), self.unit)
    }

    /// What a row shows in it.
    pub(crate) fn cell(&self, row: &Row<'_>) -> String {
        self.text.map_or_else(|| self.number(row.cell), |text| text(row))
    }

    /// Its room in tables whose rows are compared by this.
    pub(crate) const fn room(&self, kind: MetricKind) -> Room {
        match kind {
            MetricKind::Primary(_) | MetricKind::P99 | MetricKind::P999 | MetricKind::Above(_) => {
                self.figures
            }
            MetricKind::Cpu => self.costs,
        }
    }

    /// Its headings in the glossary, each with the word that it follows.
    pub(crate) fn headings(&self) -> impl Iterator<Item = (&'static str, Entry)> {
        let own = (self.word_after, (self.name, self.meaning, self.advice));
        let own = (!self.meaning.is_empty()).then_some(own);
        own.into_iter().chain(self.headings.iter().copied())
    }
}
