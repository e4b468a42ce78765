//! A document for people: blocks, which every renderer draws in its own way and none of which knows a format.

use crate::svg;
use crate::text;

/// What a line is, for the colour that repeats it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// What is not one of the others.
    #[default]
    Plain,
    /// A heading.
    Title,
    /// The best of a ranking.
    Best,
    /// Of lesser weight: legends, floors, column heads.
    Quiet,
    /// An error finding or a failed cell.
    Bad,
    /// A warning.
    Doubt,
}

/// What a command has to say.
#[derive(Clone, Debug, Default)]
pub struct Doc {
    /// The title of a page; the headline where it is empty.
    pub title: String,
    /// That what the document is about was stopped early. It comes before everything else.
    pub stopped: Option<String>,
    /// The answer in one line.
    pub headline: String,
    /// What shows the answer: a page has it below the headline, as wide as the screen; other formats say it in words.
    pub picture: Option<Chart>,
    /// Everything below the headline.
    pub body: Blocks,
    /// What it comes to: said first on a page and last elsewhere, where a reader sees the end.
    pub conclusion: Vec<Line>,
    /// Where it all comes from: the last lines of a page.
    pub foot: Vec<String>,
}

/// Blocks from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Blocks(pub Vec<Block>);

/// A part of a document.
#[derive(Clone, Debug)]
pub enum Block {
    /// A sentence or a few.
    Say(Line),
    /// Items.
    List(Vec<Line>),
    /// Names with their values.
    Facts(Vec<(String, String)>),
    /// Rows under heads.
    Table(Table),
    /// A picture.
    Chart(Chart),
    /// Blocks under a heading.
    Section(Section),
    /// An empty line on a terminal.
    Space,
}

/// Words with the tone in which they are said.
#[derive(Clone, Debug)]
pub struct Line {
    /// How it looks.
    pub tone: Tone,
    /// Its beginning, below the end of which further lines begin on a terminal.
    pub lead: String,
    /// The rest of it.
    pub words: String,
    /// The anchor that it leads to in a page; with a beginning, that does.
    pub link: Option<String>,
    /// It takes at most so many lines of a terminal.
    pub most: Option<usize>,
    /// The number itself, by which a page sorts.
    pub value: Option<f64>,
    /// What a page draws as a small picture in place of the words.
    pub spark: Vec<f64>,
}

/// Blocks under a heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its address in a page; made from the title where it is empty.
    pub anchor: String,
    /// A page shows it when it is asked for.
    pub is_folded: bool,
    /// What it says.
    pub body: Blocks,
}

/// A picture for a page. Other formats show its figures.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// What is drawn; a page has only the figures where it is missing.
    pub picture: Option<Picture>,
    /// The file that has the picture, for Markdown.
    pub file: Option<String>,
    /// The same in figures.
    pub figures: Blocks,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Picture {
    /// Lines or bars over heads.
    Chart(svg::Chart),
    /// Two logarithmic axes.
    Plane(svg::Plane),
    /// Rounds of several rows.
    Strip(svg::Strip),
    /// Figures with their intervals.
    Ranges(svg::Ranges),
    /// A figure for each pair.
    Matrix(svg::Matrix),
    /// Channels between names.
    Flow(svg::Flow),
}

/// Rows under heads.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it is a table of, for those who do not see it.
    pub label: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What a terminal does where it is too wide.
    pub layout: Layout,
    /// The column whose texts are the first to go on in the next line.
    pub flexible: usize,
    /// What the groups of its rows are, where they have groups.
    pub groups: String,
    /// A page lets its rows be sorted and filtered. A document has one such table at most.
    pub is_searched: bool,
}

/// What a terminal does with a table that is too wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Columns give way, those with the highest rank first.
    #[default]
    GiveWay,
    /// All columns, in blocks below each other, each behind so many of the first columns.
    Blocks(usize),
    /// All columns, with texts over several lines; cards where even that is too wide.
    Flow,
    /// Each row is a paragraph.
    Cards,
}

/// A column of a table.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// It has numbers, which stand at its right edge.
    pub is_number: bool,
    /// It has figures, whose lines are broken last.
    pub is_whole: bool,
    /// The higher, the sooner it gives way; one of rank 0 never does.
    pub rank: usize,
    /// A terminal with bars draws one next to each figure that has a value, from 0 to the largest of them.
    pub is_drawn: bool,
    /// What it means, said below the table wherever it is shown.
    pub legend: String,
    /// Where it is shown.
    pub place: Place,
}

/// Where a column is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// As a column.
    #[default]
    Column,
    /// On a terminal as a line of its own above the row.
    Above,
    /// The same below the row.
    Below,
    /// Drawn in characters: a page has a picture instead.
    Characters,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// How it looks.
    pub tone: Tone,
    /// The heading that it stands under, with the rows before it that have the same.
    pub group: String,
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// The same as a paragraph; made from the cells where it is empty.
    pub card: Vec<Line>,
    /// Its address in a page.
    pub anchor: String,
}

/// Lines of a row in one column.
#[derive(Clone, Debug, Default)]
pub struct Cell(pub Vec<Line>);

impl Doc {
    /// With a headline, and nothing else yet.
    pub fn new(headline: impl Into<String>) -> Self {
        Self { headline: headline.into(), ..Self::default() }
    }
}

impl Blocks {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a sentence.
    pub fn say(&mut self, tone: Tone, words: impl Into<String>) {
        self.0.push(Block::Say(Line::new(tone, words)));
    }

    /// Adds sentences, each with a line of its own.
    pub fn lines(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.0.extend(lines.into_iter().map(Block::Say));
    }

    /// Adds a list; nothing where there are no items.
    pub fn list(&mut self, items: impl IntoIterator<Item: Into<Line>>) {
        let items: Vec<Line> = items.into_iter().map(Into::into).collect();
        if !items.is_empty() {
            self.0.push(Block::List(items));
        }
    }

    /// Adds names with their values; nothing where there are none.
    pub fn facts(
        &mut self,
        facts: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) {
        let facts: Vec<(String, String)> =
            facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        if !facts.is_empty() {
            self.0.push(Block::Facts(facts));
        }
    }

    /// Adds a table; nothing where it has no rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.0.push(Block::Table(table));
        }
    }

    /// Adds a picture.
    pub fn chart(&mut self, chart: Chart) {
        self.0.push(Block::Chart(chart));
    }

    /// Adds a section; nothing where it says nothing.
    pub fn section(&mut self, title: impl Into<String>, fill: impl FnOnce(&mut Self)) {
        self.add(Section::new(title, fill));
    }

    /// Adds a section that a page shows when it is asked for.
    pub fn fold(&mut self, title: impl Into<String>, fill: impl FnOnce(&mut Self)) {
        self.add(Section { is_folded: true, ..Section::new(title, fill) });
    }

    /// Adds a section, unless it says nothing.
    pub fn add(&mut self, section: Section) {
        if !section.body.is_empty() {
            self.0.push(Block::Section(section));
        }
    }

    /// How many blocks come before the first section that a page shows at once.
    #[must_use]
    pub fn top(&self) -> usize {
        self.0.iter().position(Block::is_section).unwrap_or(self.0.len())
    }

    /// Adds other blocks.
    pub fn append(&mut self, blocks: Self) {
        self.0.extend(blocks.0);
    }

    /// Adds an empty line on a terminal.
    pub fn space(&mut self) {
        self.0.push(Block::Space);
    }
}

impl Block {
    /// Whether a page shows it at once under a heading of its own.
    pub(crate) const fn is_section(&self) -> bool {
        matches!(self, Self::Section(one) if !one.is_folded)
    }
}

impl Section {
    /// A heading and what stands under it.
    pub fn new(title: impl Into<String>, fill: impl FnOnce(&mut Blocks)) -> Self {
        let mut body = Blocks::default();
        fill(&mut body);
        Self { title: title.into(), body, ..Self::default() }
    }
}

impl Line {
    /// Words in a tone.
    pub fn new(tone: Tone, words: impl Into<String>) -> Self {
        let (lead, spark) = (String::new(), Vec::new());
        Self { tone, lead, words: words.into(), link: None, most: None, value: None, spark }
    }

    /// The same behind a beginning, below the end of which further lines begin on a terminal.
    #[must_use]
    pub fn after(self, lead: impl Into<String>) -> Self {
        Self { lead: lead.into(), ..self }
    }

    /// The same, which leads to an anchor in a page.
    #[must_use]
    pub fn to(self, anchor: impl Into<String>) -> Self {
        Self { link: Some(anchor.into()), ..self }
    }

    /// The same with the number by which a page sorts.
    #[must_use]
    pub fn worth(self, value: Option<f64>) -> Self {
        Self { value, ..self }
    }

    /// The same, in at most so many lines of a terminal.
    #[must_use]
    pub fn most(self, lines: usize) -> Self {
        Self { most: Some(lines), ..self }
    }

    /// All of it.
    #[must_use]
    pub fn whole(&self) -> String {
        format!("{}{}", self.lead, self.words)
    }
}

impl<T: Into<String>> From<T> for Line {
    fn from(words: T) -> Self {
        Self::new(Tone::Plain, words)
    }
}

impl Cell {
    /// The same with a line below it; without one where it is empty.
    #[must_use]
    pub fn below(mut self, tone: Tone, words: impl Into<String>) -> Self {
        let line = Line::new(tone, words);
        self.0.extend(Some(line).filter(|line| !line.words.is_empty()));
        self
    }

    /// All lines as one text.
    #[must_use]
    pub fn text(&self, between: &str) -> String {
        let lines: Vec<String> = self.0.iter().map(Line::whole).collect();
        lines.join(between)
    }
}

impl<T: Into<Line>> From<T> for Cell {
    fn from(line: T) -> Self {
        let line = line.into();
        Self(if line.words.is_empty() && line.lead.is_empty() { vec![] } else { vec![line] })
    }
}

impl Column {
    /// Of texts.
    pub fn text(head: impl Into<String>) -> Self {
        Self { head: head.into(), ..Self::default() }
    }

    /// Of numbers.
    pub fn number(head: impl Into<String>) -> Self {
        Self { head: head.into(), is_number: true, ..Self::default() }
    }

    /// Of figures whose lines are broken last.
    pub fn whole(head: impl Into<String>) -> Self {
        Self { head: head.into(), is_whole: true, ..Self::default() }
    }

    /// The same, which gives way the sooner the higher its rank is.
    #[must_use]
    pub fn rank(self, rank: usize) -> Self {
        Self { rank, ..self }
    }

    /// The same with bars next to its figures, on a terminal with bars.
    #[must_use]
    pub fn drawn(self) -> Self {
        Self { is_drawn: true, ..self }
    }

    /// The same with what it means.
    #[must_use]
    pub fn legend(self, legend: impl Into<String>) -> Self {
        Self { legend: legend.into(), ..self }
    }

    /// The same at another place.
    #[must_use]
    pub fn place(self, place: Place) -> Self {
        Self { place, ..self }
    }
}

impl Row {
    /// Of cells, one for each column.
    pub fn new(cells: impl IntoIterator<Item: Into<Cell>>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same in a tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// The same under a heading.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        Self { group: group.into(), ..self }
    }

    /// The same with what a terminal says where it has no table.
    #[must_use]
    pub fn card(self, card: impl IntoIterator<Item = Line>) -> Self {
        Self { card: card.into_iter().collect(), ..self }
    }
}

impl Table {
    /// Columns and rows.
    pub fn new(
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        let (columns, rows) = (columns.into_iter().collect(), rows.into_iter().collect());
        Self { columns, rows, ..Self::default() }
    }

    /// The same with another layout on a terminal.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The rows by their groups.
    pub fn grouped(&self) -> impl Iterator<Item = (&str, &[Row])> {
        let groups = self.rows.chunk_by(|a, b| a.group == b.group);
        groups.map(|rows| (rows[0].group.as_str(), rows))
    }

    /// Whether its rows have groups.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.rows.iter().any(|row| !row.group.is_empty())
    }

    /// What columns mean whose heads are not enough.
    #[must_use]
    pub fn legend(&self, is_shown: impl Fn(usize) -> bool) -> Option<String> {
        let explained = self.columns.iter().enumerate();
        let explained = explained.filter(|(at, column)| !column.legend.is_empty() && is_shown(*at));
        let words: Vec<String> =
            explained.map(|(_, column)| format!("{}: {}", column.head, column.legend)).collect();
        (!words.is_empty()).then(|| format!("{}.", words.join("; ")))
    }
}

impl Picture {
    /// A part of a page, for a telephone or a column of a wider screen.
    #[must_use]
    pub fn narrow(&self) -> String {
        self.inline(svg::NARROW)
    }

    /// The same for the whole width of a screen.
    #[must_use]
    pub fn wide(&self) -> String {
        self.inline(svg::WIDTH)
    }

    fn inline(&self, width: f64) -> String {
        match self {
            Self::Chart(chart) => chart.inline(width),
            Self::Plane(plane) => plane.inline(width),
            Self::Strip(strip) => strip.inline(width),
            Self::Ranges(ranges) => ranges.inline(width),
            Self::Matrix(matrix) => matrix.inline(width),
            Self::Flow(flow) => flow.inline(width),
        }
    }
}

/// An address in a page: letters and digits, whatever the text says.
#[must_use]
pub fn anchor(text: &str) -> String {
    let fit =
        |sign: char| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' };
    let signs: String = text::clean(text, false).chars().take(64).map(fit).collect();
    let words: Vec<&str> = signs.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "part".to_owned() } else { words.join("-") }
}
