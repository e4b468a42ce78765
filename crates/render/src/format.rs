//! What the output looks like: its format, width and colours.

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// For a terminal: ranked tables, then sentences.
    Table,
    /// For an issue or a wiki: GitHub tables.
    Markdown,
    /// For a spreadsheet: one row for each cell.
    Csv,
    /// For a program: the document itself.
    Json,
    /// For a stream processor: one object on each line.
    Ndjson,
    /// For a browser: one file, with charts where there are any.
    Html,
}

ipcperf_core::words! {
    "format" Format {
        Table = "table",
        Markdown = "markdown",
        Csv = "csv",
        Json = "json",
        Ndjson = "ndjson",
        Html = "html",
    }
}

impl Format {
    /// What files in this format end in, the usual ending first.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Table => &["txt"],
            Self::Markdown => &["md", "markdown"],
            Self::Csv => &["csv"],
            Self::Json => &["json"],
            Self::Ndjson => &["ndjson", "jsonl"],
            Self::Html => &["html", "htm"],
        }
    }

    /// Whether people read it as text: documents can follow each other in it.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Table | Self::Markdown)
    }

    /// Whether it is for a browser: a file of one document.
    #[must_use]
    pub const fn is_browsed(self) -> bool {
        matches!(self, Self::Html)
    }

    /// Whether people read it; the others are for programs.
    #[must_use]
    pub const fn is_for_people(self) -> bool {
        self.is_text() || self.is_browsed()
    }

    /// The format of a file that ends so.
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<Self> {
        let is_of = |known: &str| known.eq_ignore_ascii_case(ending);
        Self::ALL.iter().copied().find(|format| format.endings().iter().any(|known| is_of(known)))
    }
}

/// How text for people is laid out. The machine formats ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal. No line of a table, list or description is wider.
    pub width: usize,
    /// Colours and bold letters. They repeat what the text says and never carry a meaning of their own.
    pub color: bool,
    /// Signs outside ASCII (`±`).
    pub unicode: bool,
    /// Show each row as a multiple of its bound.
    pub versus_bound: bool,
    /// Every finding by itself instead of the worst five with equal codes as one.
    pub verbose: bool,
    /// All tables of a survey or a study instead of one screen.
    pub full: bool,
    /// Pictures, and rows that are looked up: what only a browser can show.
    pub pictures: bool,
    /// Rows shown of each ranking; none: all.
    pub top: Option<usize>,
    /// Bars next to the figures of tables on a terminal.
    pub bars: bool,
}

impl Style {
    /// The same with the room that a format has: a browser has it for everything, and for pictures, too.
    #[must_use]
    pub fn within(self, format: Format) -> Self {
        match format {
            Format::Html => {
                let usual = Self::default();
                Self { unicode: true, verbose: true, full: true, pictures: true, ..usual }
            }
            _ => self,
        }
    }

    /// The same of all that there is, but for a screen that nobody asked it for.
    #[must_use]
    pub fn whole(self, format: Format) -> Self {
        Self { full: self.full || format != Format::Table, ..self }
    }

    /// Whether more than one screen was asked for.
    pub fn is_whole(&self) -> bool {
        self.full || self.verbose
    }
}

impl Default for Style {
    /// 80 columns of plain ASCII: what every terminal, pipe and log can take.
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            unicode: false,
            versus_bound: false,
            verbose: false,
            full: false,
            pictures: false,
            top: None,
            bars: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_parses_to_itself_and_a_wrong_one_names_the_list() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(*format));
        }
        let error = "xml".parse::<Format>().expect_err("not a format");
        assert_eq!(
            error.to_string(),
            "unknown format 'xml' (known: table, markdown, csv, json, ndjson, html)"
        );
    }
}
