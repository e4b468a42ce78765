//! What a word of the output means, for a terminal and as a document.

use crate::grid::Grid;
use crate::markdown;
use crate::page::{Page, Tone};
use crate::words::{Kind, Word, all, find};
use crate::{Format, Style};
use std::io;

/// The text with a capital at its beginning.
fn sentence(text: &str) -> String {
    let mut signs = text.chars();
    let first = signs.next().into_iter().flat_map(char::to_uppercase);
    first.chain(signs).chain(['.']).collect()
}

/// Writes what a word means and what to do about it; of none, all words.
///
/// # Errors
/// `out` refuses the bytes.
pub fn explain_word(
    given: Option<&str>,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(out, style);
    let found = given.map(find).unwrap_or_default();
    for (at, word) in found.iter().enumerate() {
        if at > 0 {
            page.blank()?;
        }
        let title = format!("{}: {}", word.name, word.kind.names().0);
        page.paragraph(Tone::Title, "", &title)?;
        page.paragraph(Tone::Plain, "", &sentence(&word.meaning))?;
        page.paragraph(Tone::Plain, "What to do: ", &sentence(&word.advice))?;
    }
    if !found.is_empty() {
        return Ok(());
    }
    if format == Format::Markdown {
        return reference(style, out);
    }
    for kind in Kind::ALL {
        page.line(Tone::Title, kind.names().1)?;
        for word in all().filter(|word| word.kind == kind) {
            page.paragraph(Tone::Plain, &format!("  {:<14}  ", word.name), &word.meaning)?;
        }
    }
    page.paragraph(Tone::Quiet, "", "What to do about one of them: ipcperf explain WORD")
}

/// All words as a document.
fn reference(style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "# Words\n")?;
    writeln!(
        out,
        "Every mark, finding, grade, verdict, status, column and word of a table: what it means and what to do about it.\n\
         `ipcperf explain WORD` says the same; this file is written from its table (`cargo xtask docs`)."
    )?;
    for kind in Kind::ALL {
        writeln!(out, "\n## {}\n", kind.names().1)?;
        let words = all().filter(|word| word.kind == kind);
        let row = |word: &Word| {
            vec![word.name.to_owned(), sentence(&word.meaning), sentence(&word.advice)]
        };
        let heads = ["word", "what it says", "what to do"].map(|head| (head, false));
        markdown::grid(&Grid::of(&heads, words.map(row).collect()), style, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::to_text;

    /// A sentence begins with a capital, and no command does.
    #[test]
    fn no_advice_begins_with_a_command() {
        let commands = ["ipcperf", "sysctl", "docker", "echo", "ulimit", "cpupower"];
        for word in all() {
            let first = word.advice.split([' ', '=']).next().unwrap_or_default();
            assert!(!commands.contains(&first), "{}: {}", word.name, word.advice);
        }
    }

    #[test]
    fn a_word_is_two_sentences_and_fits() {
        for word in all() {
            let (name, style) = (Some(word.name), Style::default());
            let text = to_text(|out| explain_word(name, Format::Table, &style, out));
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
            assert!(text.starts_with(&format!("{}: ", word.name)), "{text}");
            assert!(text.contains("\nWhat to do: "), "{text}");
            assert!(text.trim_end().ends_with('.') && !text.contains(".."), "{text}");
        }
    }
}
