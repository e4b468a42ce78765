//! The one way by which text for people leaves this crate: clean, within the width, painted last.

use crate::Style;
use crate::doc::Tone;
use crate::text;
use anstyle::{AnsiColor, Effects};
use std::io;

fn paint(tone: Tone) -> anstyle::Style {
    let plain = anstyle::Style::new();
    match tone {
        Tone::Plain => plain,
        Tone::Title => plain.effects(Effects::BOLD),
        Tone::Best => plain.fg_color(Some(AnsiColor::Green.into())),
        Tone::Quiet => plain.effects(Effects::DIMMED),
        Tone::Bad => plain.fg_color(Some(AnsiColor::Red.into())),
        Tone::Doubt => plain.fg_color(Some(AnsiColor::Yellow.into())),
    }
}

/// Lines on their way out.
pub(crate) struct Page<'a> {
    out: &'a mut dyn io::Write,
    /// How it is laid out.
    pub(crate) style: &'a Style,
    /// Something was written, and no empty line after it.
    has_line: bool,
}

impl<'a> Page<'a> {
    /// On which `out` gets lines of this style.
    pub(crate) fn new(out: &'a mut dyn io::Write, style: &'a Style) -> Self {
        Self { out, style, has_line: false }
    }

    /// One line, clipped where it is too wide.
    pub(crate) fn line(&mut self, tone: Tone, line: &str) -> io::Result<()> {
        let line = text::clean(line.trim_end(), self.style.unicode);
        let line = text::clip(&line, self.style.width, self.style.unicode);
        self.has_line = !line.is_empty();
        if self.style.color && tone != Tone::Plain && !line.is_empty() {
            let paint = paint(tone);
            writeln!(self.out, "{paint}{line}{paint:#}")
        } else {
            writeln!(self.out, "{line}")
        }
    }

    /// The lines of one row of a table, behind its edge.
    pub(crate) fn row(&mut self, tone: Tone, edge: &str, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(tone, &format!("{edge}{line}")))
    }

    /// An empty line, unless there is one or nothing stands above it.
    ///
    /// # Errors
    /// The page refuses the bytes.
    pub(crate) fn gap(&mut self) -> io::Result<()> {
        if self.has_line { self.blank() } else { Ok(()) }
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.has_line = false;
        writeln!(self.out)
    }

    /// A text over as many lines as it takes, hanging under the end of `first`.
    pub(crate) fn paragraph(&mut self, tone: Tone, first: &str, words: &str) -> io::Result<()> {
        let words = text::clean(words, self.style.unicode);
        for line in text::wrap(first, &words, self.style.width) {
            self.line(tone, &line)?;
        }
        Ok(())
    }
}
