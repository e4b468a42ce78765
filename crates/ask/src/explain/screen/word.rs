//! What a word of the output means, for a terminal and as a document.

use ipcperf_kit::word::{Vocabulary, Word, WordKind};
use ipcperf_render::doc::{Column, Doc, Layout, Line, Row, Table, Tone};
use ipcperf_render::{Format, Style};
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
pub(crate) fn explain_word(
    vocabulary: &Vocabulary,
    given: Option<&str>,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match given.map(|given| vocabulary.find(given)).unwrap_or_default().as_slice() {
        [] => every(vocabulary),
        found => some(found),
    }
    .write(format, style, out)
}

/// What a few words mean.
fn some(found: &[&Word]) -> Doc {
    let mut doc = Doc::default();
    for word in found {
        doc.body.space();
        doc.body.say(Tone::Title, format!("{}: {}", word.name, word.kind.names().0));
        doc.body.say(Tone::Plain, sentence(&word.meaning));
        let advice = Line::new(Tone::Plain, sentence(&word.advice)).after("What to do: ");
        doc.body.lines([advice]);
    }
    doc
}

/// All words.
fn every(vocabulary: &Vocabulary) -> Doc {
    let mut doc = Doc::new("Words");
    doc.body.say(
        Tone::Quiet,
        "Every mark, finding, grade, verdict, status, column and word of a table: what it means and what to do about it. \
         'ipcperf explain WORD' explains one of them.",
    );
    for kind in WordKind::ALL {
        let row = |word: &Word| {
            let card = Line::new(Tone::Plain, &*word.meaning).after(format!("{:<14}  ", word.name));
            let meaning = [word.name.to_owned(), sentence(&word.meaning), sentence(&word.advice)];
            Row::new(meaning).card([card])
        };
        let rows = vocabulary.words().filter(|word| word.kind == kind).map(row);
        let columns = ["word", "what it says", "what to do"].map(Column::text);
        let table = Table::new(columns, rows).layout(Layout::Cards);
        doc.body.section(kind.names().1, |body| body.table(table));
    }
    doc
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_kit::command::vocabulary;
    use ipcperf_testing::to_text;

    /// A sentence begins with a capital, and no command does.
    #[test]
    fn no_advice_begins_with_a_command() {
        let commands = ["ipcperf", "sysctl", "docker", "echo", "ulimit", "cpupower"];
        for word in vocabulary(crate::COMMANDS).words() {
            let first = word.advice.split([' ', '=']).next().unwrap_or_default();
            assert!(!commands.contains(&first), "{}: {}", word.name, word.advice);
        }
    }

    #[test]
    fn a_word_is_two_sentences_and_fits() {
        let vocabulary = vocabulary(crate::COMMANDS);
        for word in vocabulary.words() {
            let (name, style) = (Some(word.name), Style::default());
            let text = to_text(|out| explain_word(&vocabulary, name, Format::Table, &style, out));
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
            assert!(text.starts_with(&format!("{}: ", word.name)), "{text}");
            assert!(text.contains("\nWhat to do: "), "{text}");
            assert!(text.trim_end().ends_with('.') && !text.contains(".."), "{text}");
        }
    }
}
