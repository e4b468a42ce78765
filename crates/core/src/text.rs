//! Text that fits: cleaned of what a terminal would obey, measured, clipped and wrapped.

pub use crate::units::counted;
pub use crate::units::grouped;

/// The one gate for text from outside (names and sentences of result, job and study files, paths, words that were
/// typed): everything that prints or writes text for people passes it through here. Replaces controls, what turns the
/// direction of text, and (without `unicode`) everything outside ASCII, so that no text can command the terminal, move
/// the cursor, reverse the line or break the layout. What comes out is one line.
#[must_use]
pub fn clean(text: &str, unicode: bool) -> String {
    // As nearly all is.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .map(|sign| match sign {
            '\t' | '\n' | '\r' => ' ',
            sign if is_unprinted(sign) => '?',
            sign if !unicode && !sign.is_ascii() => '?',
            sign => sign,
        })
        .collect()
}

/// Control characters, C1 codes among them, and invisible formatting characters. Text for people shows them as `?`,
/// JSON as escapes.
pub fn is_unprinted(sign: char) -> bool {
    sign.is_control() || is_invisible(sign)
}

/// Zero-width and direction-changing characters (Unicode general category Cf and the combining marks in use), whose
/// display width cannot be relied on.
fn is_invisible(sign: char) -> bool {
    matches!(u32::from(sign), 0xAD | 0x300..=0x36F | 0x600..=0x605 | 0x61C | 0x180E | 0x200B..=0x200F
        | 0x2028..=0x202E | 0x2060..=0x206F | 0xFE00..=0xFE0F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE0FFF)
}

/// Columns a character takes at most. East Asian and emoji blocks count as two (Unicode Standard Annex 11, rounded to
/// whole blocks: too much leaves a gap, too little breaks a line).
fn columns(sign: char) -> usize {
    match u32::from(sign) {
        0x1100..=0x115F | 0x231A..=0x23FF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x2E80..=0xFFE6 => {
            2
        }
        high if high >= 0x1F000 => 2,
        _ => 1,
    }
}

/// Columns a text takes at most.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(columns).sum()
}

/// The text, or its beginning with a mark that something is missing.
pub fn clip(text: &str, limit: usize, unicode: bool) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mark = if unicode { '…' } else { '~' };
    let mut kept = String::new();
    let mut taken = 1;
    for sign in text.chars() {
        taken += columns(sign);
        if taken > limit {
            break;
        }
        kept.push(sign);
    }
    if limit > 0 {
        kept.push(mark);
    }
    kept
}

/// Breaks a text at spaces into lines of at most `limit` columns, the first after `first`, the others after as many
/// spaces. A word that is longer than a line is cut. What stands before is broken with the text where it takes more than a line
/// itself.
pub fn wrap(first: &str, text: &str, limit: usize) -> Vec<String> {
    let edge = first.len() - first.trim_start().len();
    if width(first) > limit && edge < first.len() {
        return wrap(&first[..edge], &format!("{} {text}", first.trim()), limit);
    }
    let hang = " ".repeat(width(first).min(limit / 2));
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let mut word = word;
        if !is_empty && !fits(word, limit.saturating_sub(width(&line) + 1)) {
            lines.push(std::mem::replace(&mut line, hang.clone()));
            is_empty = true;
        }
        while !fits(word, limit.saturating_sub(width(&line) + usize::from(!is_empty))) {
            let room = limit.saturating_sub(width(&line));
            let cut = fitting(word, room.max(1));
            line.push_str(&word[..cut]);
            word = &word[cut..];
            lines.push(std::mem::replace(&mut line, hang.clone()));
            is_empty = true;
            if word.is_empty() {
                break;
            }
        }
        if word.is_empty() {
            continue;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    if !is_empty || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Whether a text takes at most so many columns, without looking at what is beyond them.
fn fits(text: &str, room: usize) -> bool {
    let mut taken = 0;
    text.chars().all(|sign| {
        taken += columns(sign);
        taken <= room
    })
}

/// Bytes of the longest beginning of `word` within `room` columns; at least one character.
fn fitting(word: &str, room: usize) -> usize {
    let mut taken = 0;
    for (at, sign) in word.char_indices() {
        taken += columns(sign);
        if taken > room && at > 0 {
            return at;
        }
    }
    word.len()
}

/// `a`, `a and b`, `a, b and c`.
pub fn join(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

/// Each item once, in the order in which they come first.
pub fn each_once<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Values by their keys, in the order in which the keys come first.
pub fn in_groups<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// A bar of so many columns, to an eighth of one where there are signs for that.
#[must_use]
pub fn bar(columns: f64, unicode: bool) -> String {
    let eighths = (columns * 8.0).round() as usize;
    if !unicode {
        return "#".repeat((eighths + 4) / 8);
    }
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_survives_cleaning() {
        assert_eq!(clean("a\x1b[31mb\u{202e}c\nd\u{7f}", true), "a?[31mb?c d?");
        assert_eq!(clean("µs ±", false), "?s ?");
    }

    #[test]
    fn counts_have_groups_of_digits_and_one_is_no_plural() {
        assert_eq!(
            [0, 1, 2, 999, 1000, 30_000, 1_234_567].map(|number| counted(number, "cell")),
            [
                "0 cells",
                "1 cell",
                "2 cells",
                "999 cells",
                "1,000 cells",
                "30,000 cells",
                "1,234,567 cells"
            ]
        );
    }

    #[test]
    fn clipped_text_has_a_mark_and_fits() {
        assert_eq!(clip("shm-ring/spin", 13, true), "shm-ring/spin");
        assert_eq!(clip("shm-ring/spin", 6, true), "shm-r…");
        assert_eq!(clip("shm-ring/spin", 6, false), "shm-r~");
        assert_eq!(clip("日本語", 4, true), "日…");
        assert_eq!(clip("abc", 0, true), "");
    }

    #[test]
    fn wrapped_lines_hang_under_the_first_word_and_long_words_are_cut() {
        assert_eq!(wrap("- ", "one two three", 9), ["- one two", "  three"]);
        assert_eq!(wrap("", "abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("x: ", "", 9), ["x: "]);
        for limit in 1..40 {
            for line in wrap(
                "- ",
                "a somewhat longer sentence of 日本語 words, unbreakablyunbreakably",
                limit,
            ) {
                assert!(width(&line) <= limit.max(4), "{limit}: {line}");
            }
        }
    }
}
