//! What of a text stands on one line of a page: a number with its unit, an interval, a flag.

use super::Html;

/// Units that follow a number after a space.
const UNITS: [&str; 26] = [
    "%", "ns", "us", "ms", "s", "min", "h", "d", "B", "KB", "MB", "GB", "KiB", "MiB", "GiB", "B/s",
    "KB/s", "MB/s", "GB/s", "MiB/s", "GiB/s", "/s", "k/s", "M/s", "CPUs", "CPU",
];
/// Letters of a flag or a date that is not broken: what is longer might not fit on a line of a telephone.
const LONGEST: usize = 24;

/// A space at which no line ends.
const NO_BREAK: char = '\u{a0}';

/// Whether no line ends between two words that follow each other.
fn belongs(before: &str, word: &str) -> bool {
    let before = before.trim_start_matches(['(', '[', '~', '+', '-']);
    let is_number = before.starts_with(|sign: char| sign.is_ascii_digit())
        && before.ends_with(|sign: char| sign.is_ascii_digit());
    let unit = word.trim_end_matches(['.', ',', ';', ':', ')', ']']);
    let is_interval = word.ends_with([']', ')', '.', ',', ';', ':'])
        && word.contains(']')
        && before.ends_with(',')
        && before.starts_with(|sign: char| sign.is_ascii_digit());
    is_number && UNITS.contains(&unit) || is_interval
}

/// Whether a word has hyphens at which a line would end: `--size`, `2026-11-30`, `W-LOAD`.
fn is_broken_at_hyphens(word: &str) -> bool {
    let first = word.trim_start_matches(['(', '[', '\'']).chars().next();
    let is_flag = first == Some('-') && word.contains(|sign: char| sign.is_ascii_alphanumeric());
    let is_of_date = |sign: char| sign.is_ascii_digit() || "-:TZ.,;()'".contains(sign);
    let is_date = first.is_some_and(|sign| sign.is_ascii_digit())
        && word.contains('-')
        && word.chars().all(is_of_date);
    let is_code = word.contains('-')
        && first.is_some_and(|sign| sign.is_ascii_uppercase())
        && !word.contains(|sign: char| sign.is_ascii_lowercase());
    (is_flag || is_date || is_code) && word.len() <= LONGEST
}

impl Html {
    /// A text, with what belongs together on one line.
    pub(super) fn words(&mut self, words: &str) {
        let mut before = "";
        let mut line = String::with_capacity(words.len());
        for (at, word) in words.split(' ').enumerate() {
            if at > 0 {
                line.push(if belongs(before, word) { NO_BREAK } else { ' ' });
            }
            if is_broken_at_hyphens(word) {
                self.plain(&line);
                line.clear();
                self.within_line("span", "w", word);
            } else {
                line.push_str(word);
            }
            before = word;
        }
        self.plain(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(words: &str) -> String {
        let mut html = Html::default();
        html.words(words);
        html.into_text()
    }

    #[test]
    fn a_number_keeps_its_unit_and_an_interval_its_ends() {
        for (words, expected) in [
            ("13 % near 8.56 us, and 2 more", "13~% near 8.56~us, and 2 more"),
            ("4 KiB.", "4~KiB."),
            ("(28.9 us) [1.1, 1.5] of", "(28.9~us) [1.1,~1.5] of"),
            ("7 of 35 cells", "7 of 35 cells"),
            ("x1 us in grade A, s", "x1 us in grade A, s"),
            ("1,  2 %", "1,  2~%"),
        ] {
            assert_eq!(written(words).replace(NO_BREAK, "~"), expected);
        }
    }

    #[test]
    fn a_flag_and_a_date_are_not_broken_and_markup_stays_text() {
        for (words, expected) in [
            ("try --idle poll", "try <span class=\"w\">--idle</span> poll"),
            ("on 2026-11-30.", "on <span class=\"w\">2026-11-30.</span>"),
            ("(W-LOAD) X-Ray", "<span class=\"w\">(W-LOAD)</span> X-Ray"),
            ("a 64-byte unix-stream - or ->", "a 64-byte unix-stream - or -&gt;"),
            ("--<b>", "<span class=\"w\">--&lt;b&gt;</span>"),
        ] {
            assert_eq!(written(words), expected);
        }
        let long = format!("--{}", "x".repeat(LONGEST));
        assert_eq!(written(&long), long);
    }
}
