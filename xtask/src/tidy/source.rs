//! Just enough of Rust's lexical grammar to tell code from comments and literals.

/// The text with every comment and the inside of every literal replaced by spaces; line breaks
/// stay, so line numbers hold.
pub(crate) fn blanked(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(first) = rest.chars().next() {
        let after_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            quoted(rest, 1)
        } else if first == '\'' {
            character(rest)
        } else if !after_word {
            literal_with_prefix(rest)
        } else {
            0
        };
        let (taken, blank) = if skipped > 0 { (skipped, true) } else { (first.len_utf8(), false) };
        let (piece, tail) = rest.split_at(taken);
        if blank {
            code.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            code.push_str(piece);
        }
        rest = tail;
    }
    code
}

/// Length of a block comment, nested ones included.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of a string whose opening quote ends at `open`.
fn quoted(text: &str, open: usize) -> usize {
    let mut letters = text[open..].char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return open + at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal, 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => {
            letters.next();
            letters.find(|(_, letter)| *letter == '\'').map_or(0, |(at, _)| at + 1)
        }
        Some(_) => match letters.next() {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        None => 0,
    }
}

/// Length of `r"…"`, `r#"…"#`, `b"…"`, `c"…"`, `br"…"` and the like, 0 for anything else.
fn literal_with_prefix(text: &str) -> usize {
    let letters = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    if letters == 0 || letters > 2 {
        return 0;
    }
    let raw = text[..letters].contains('r');
    let hashes =
        if raw { text[letters..].len() - text[letters..].trim_start_matches('#').len() } else { 0 };
    let open = letters + hashes + 1;
    if text.as_bytes().get(open - 1) != Some(&b'"') {
        return 0;
    }
    if !raw {
        return quoted(text, open);
    }
    let close = format!("\"{}", "#".repeat(hashes));
    text[open..].find(&close).map_or(text.len(), |at| open + at + close.len())
}

/// The numbers of the lines in which `word` stands as a whole word: no letter, digit or underscore
/// on a side on which the word itself has one.
pub(crate) fn lines_with<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let (head, tail) = (word.starts_with(in_word), word.ends_with(in_word));
    let alone = move |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = head && line[..at].ends_with(in_word);
            let after = tail && line[at + word.len()..].starts_with(in_word);
            !before && !after
        })
    };
    text.lines().enumerate().filter(move |(_, line)| alone(line)).map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        let text = "a // b\n/* c /* d */ e\n*/ f \"g\\\" h\" r#\"i \" j\"# 'k' '\\'' l b\"m\"";
        let words: Vec<_> = blanked(text).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["a", "f", "l"]);
        assert_eq!(blanked(text).lines().count(), text.lines().count());
    }

    #[test]
    fn a_lifetime_is_not_a_literal_and_a_name_is_not_a_prefix() {
        let text = "fn f<'a>(x: &'a str, car\"s\") -> &'a str { bar }";
        let code = blanked(text);
        assert!(code.contains("str { bar }") && code.contains("<'a>"), "{code}");
    }

    #[test]
    fn an_unfinished_literal_ends_the_file_and_nothing_worse() {
        for text in ["\"abc", "/* abc", "r##\"abc\"#", "'", "'\\", "b", "\"\\"] {
            assert_eq!(blanked(text).chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn only_whole_words_are_found() {
        let text = "unsafe_code\nnot_unsafe\n(unsafe)\nunsafe {";
        assert_eq!(lines_with(text, "unsafe").collect::<Vec<_>>(), [3, 4]);
    }
}
