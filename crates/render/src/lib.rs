//! Rendering: what a document says, drawn for a terminal, as Markdown or as a page.
//!
//! Nothing here knows what ipcperf measures. Every text may come from a file that somebody else wrote, so none is trusted
//! to be short, printable or free of markup.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect"))]

pub mod csv;
pub mod doc;
mod format;
mod grid;
mod html;
pub mod json;
pub mod markdown;
mod output;
mod page;
pub mod svg;
mod terminal;
#[cfg(test)]
mod tests;

pub use format::{Format, Style};
pub use ipcperf_core::text;
pub use output::Output;

use std::io;

impl doc::Blocks {
    /// Lines that they take on a terminal.
    #[must_use]
    pub fn height(&self, style: &Style) -> usize {
        doc::Doc { body: self.clone(), ..doc::Doc::default() }.height(style)
    }
}

impl doc::Doc {
    /// Lines that it takes on a terminal.
    #[must_use]
    pub fn height(&self, style: &Style) -> usize {
        let mut lines = Vec::new();
        // A vector takes whatever it is given.
        let _ = terminal::write(self, style, &mut lines);
        lines.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Draws it for people: for a terminal, where the format is none of Markdown or a page.
    ///
    /// # Errors
    /// `out` refuses the bytes.
    pub fn write(&self, format: Format, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
        match format {
            Format::Markdown => markdown::write(self, style, out),
            Format::Html => html::write(self, out),
            _ => terminal::write(self, style, out),
        }
    }
}
