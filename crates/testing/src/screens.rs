//! What holds of every screen: no text is lost, and every head of a table is a word that can be explained.

use ipcperf_core::text::width;

/// No line of a text for a terminal is wider than `columns`, and no word is cut off.
///
/// # Panics
/// One is.
pub fn fits(name: &str, text: &str, columns: usize) {
    for line in text.lines() {
        assert!(width(line) <= columns, "{name} at {columns}: {line}");
        // What is cut off ends with the sign that also marks what spins before it sleeps, behind a blank.
        let cut = line.match_indices('~').find(|(at, _)| {
            let before = line[..*at].chars().next_back();
            let after = line[at + 1..].chars().next();
            before.is_some_and(char::is_alphanumeric) && after.is_none_or(|one| one == ' ')
        });
        assert!(cut.is_none(), "{name} at {columns}: {line}");
    }
}

/// A document that was stopped says so first, in this format, and one that was not does not.
///
/// # Panics
/// It does not.
pub fn says_that_it_was_stopped(name: &str, format: &str, stopped: &str, whole: &str) {
    let (main, begins) = match format {
        "html" => ("<main", "<main id=\"main\"><p class=\"alarm\">INTERRUPTED"),
        "markdown" => ("", "**INTERRUPTED"),
        _ => ("", "INTERRUPTED"),
    };
    let from = stopped.find(main).unwrap_or_default();
    let begin: String = stopped[from..].chars().take(200).collect();
    assert!(begin.starts_with(begins), "{name} as {format}: {begin}");
    assert!(!whole.contains("INTERRUPTED"), "{name} as {format}: {whole}");
}

/// Heads of the tables of Markdown and of pages.
#[must_use]
pub fn heads(text: &str) -> Vec<String> {
    match text.trim_start().starts_with('<') {
        false => {
            let lines: Vec<&str> = text.lines().collect();
            let is_head = |pair: &&[&str]| pair[1].starts_with("| ---");
            let cells = lines.windows(2).filter(is_head).flat_map(|pair| pair[0].split(" | "));
            cells.map(|cell| cell.trim_matches(['|', ' ']).replace('\\', "")).collect()
        }
        true => {
            let cells = text.split("<th scope=\"col\"").skip(1);
            let words = cells.filter_map(|rest| rest.split_once('>')?.1.split('<').next());
            words.map(|words| words.replace('\u{a0}', " ").replace("&lt;", "<")).collect()
        }
    }
}

/// The word that a head is explained by: without a size before it, and what is said of it behind it.
#[must_use]
pub fn word_of(head: &str) -> String {
    let head = head.trim_end_matches(" (95 %)");
    let units = [" B ", " KiB ", " MiB "];
    let head = units.iter().find_map(|unit| Some(head.split_once(unit)?.1)).unwrap_or(head);
    let head = head.trim_start_matches("paused ");
    let head = if head.starts_with("B/A ") { "B/A" } else { head };
    let head = head.trim_end_matches(" in the last document");
    // `vs pipe`, `within 10 %`: what is named is of the document.
    if let Some(word @ ("vs" | "within")) = head.split(' ').next() {
        return word.to_owned();
    }
    // `p99 send`, `service p50`: either part is a word.
    let is_quantile = |word: &&str| ["max", "p50", "p90", "p99", "p99.9"].contains(word);
    let parts: Vec<&str> = head.split(' ').collect();
    match parts.as_slice() {
        [quantile, rest] | [rest, quantile] if is_quantile(quantile) => (*rest).to_owned(),
        _ => head.to_owned(),
    }
}
