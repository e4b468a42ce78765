//! A command as one types it, split into words like a shell does, but by no shell.

/// What only a shell understands.
const OPERATORS: [&str; 9] = ["|", "||", "&", "&&", ";", "<", ">", ">>", "2>"];

/// The words of a command. Quotes and backslashes work as in a shell; nothing is expanded.
///
/// # Errors
/// A quote that is not closed, or an operator of a shell.
pub fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut signs = command.chars();
    let open = |quote: char| format!("the quote {quote} is not closed");
    loop {
        let sign = signs.next();
        match sign {
            Some('\'') => {
                is_quoted = true;
                let text = word.get_or_insert_default();
                loop {
                    match signs.next().ok_or_else(|| open('\''))? {
                        '\'' => break,
                        sign => text.push(sign),
                    }
                }
            }
            Some('"') => {
                is_quoted = true;
                let text = word.get_or_insert_default();
                loop {
                    match signs.next().ok_or_else(|| open('"'))? {
                        '"' => break,
                        '\\' => {
                            let next = signs.next().ok_or_else(|| open('"'))?;
                            if !['"', '\\', '$', '`'].contains(&next) {
                                text.push('\\');
                            }
                            text.push(next);
                        }
                        sign => text.push(sign),
                    }
                }
            }
            Some('\\') => {
                is_quoted = true;
                let next = signs.next().ok_or("nothing follows the last backslash")?;
                word.get_or_insert_default().push(next);
            }
            Some(sign) if !sign.is_whitespace() => word.get_or_insert_default().push(sign),
            Some(_) | None => {
                if let Some(word) = word.take() {
                    if !is_quoted && OPERATORS.contains(&word.as_str()) {
                        return Err(format!(
                            "'{word}' means something to a shell only, and no shell reads this; each program of a \
                             pipeline takes an argument of its own (in quotes it is passed on)"
                        ));
                    }
                    words.push(word);
                }
                is_quoted = false;
                if sign.is_none() {
                    return Ok(words);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (command, words) in [
            ("head -c 1G /dev/zero", &["head", "-c", "1G", "/dev/zero"][..]),
            ("  a\t b\n", &["a", "b"]),
            ("sh -c 'a | b; c' \"d e\"", &["sh", "-c", "a | b; c", "d e"]),
            (r#"a"b c"'d "e' f\ g"#, &["ab cd \"e", "f g"]),
            (r#""a\"b\$c\n" '\n' '' "" \|"#, &["a\"b$c\\n", "\\n", "", "", "|"]),
            ("x '|' a|b $HOME *", &["x", "|", "a|b", "$HOME", "*"]),
            ("", &[]),
        ] {
            let found = split(command).expect(command);
            assert_eq!(found, words, "{command}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_refused() {
        for (command, part) in [
            ("a 'b", "the quote ' is not closed"),
            ("a \"b\\", "the quote \" is not closed"),
            ("a \\", "backslash"),
            ("a | b", "'|' means something to a shell only"),
            ("a > b", "'>' means something to a shell only"),
        ] {
            assert!(split(command).is_err_and(|error| error.contains(part)), "{command}");
        }
    }
}
