//! Which trials the command line asks for.

use libtest_mimic::Arguments;

/// All words must be part of a name: `pipe C09` is the ninth case of every mechanism with `pipe` in its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    words: Vec<String>,
    skip: Vec<String>,
    is_exact: bool,
}

/// Options of a test program that take a value as their next argument.
const WITH_VALUE: [&str; 5] = ["--test-threads", "--logfile", "--skip", "--color", "--format"];

impl Filter {
    /// Takes the words out of the arguments; what is left is for the test runner, which knows only one word.
    pub(crate) fn of_command_line() -> (Self, Arguments) {
        let mut arguments = std::env::args();
        let program = arguments.next().unwrap_or_default();
        let (words, rest) = split(arguments);
        let arguments = Arguments::from_iter(std::iter::once(program).chain(rest));
        let filter = Self { words, skip: arguments.skip.clone(), is_exact: arguments.exact };
        (filter, arguments)
    }

    pub(crate) fn takes(&self, name: &str) -> bool {
        let is_hit = |word: &String| if self.is_exact { name == word } else { name.contains(word) };
        let is_wanted = if self.is_exact {
            self.words.is_empty() || self.words.iter().any(is_hit)
        } else {
            self.words.iter().all(is_hit)
        };
        is_wanted && !self.skip.iter().any(is_hit)
    }
}

/// Words, and everything else.
fn split(arguments: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let (mut words, mut rest) = (Vec::new(), Vec::new());
    let mut is_value = false;
    for argument in arguments {
        if is_value || argument.starts_with('-') {
            is_value = !is_value && (WITH_VALUE.contains(&argument.as_str()) || argument == "-Z");
            rest.push(argument);
        } else {
            words.push(argument);
        }
    }
    (words, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options_are_no_words() {
        let given =
            ["pipe", "--test-threads", "1", "C09", "--skip=spin", "--format", "terse", "-q"];
        let (words, rest) = split(given.map(String::from).into_iter());
        assert_eq!(words, ["pipe", "C09"]);
        assert_eq!(rest, ["--test-threads", "1", "--skip=spin", "--format", "terse", "-q"]);
    }

    #[test]
    fn all_words_must_be_in_a_name_and_an_exact_one_must_be_it() {
        let filter = |words: &[&str], is_exact| Filter {
            words: words.iter().map(ToString::to_string).collect(),
            skip: vec!["spin".into()],
            is_exact,
        };
        assert!(filter(&["pipe", "C09"], false).takes("conformance::pipe::C09_x"));
        assert!(!filter(&["pipe", "C09"], false).takes("conformance::pipe::C08_x"));
        assert!(!filter(&["pipe"], false).takes("conformance::pipe/spin::C08_x"));
        assert!(filter(&["a::b"], true).takes("a::b"));
        assert!(!filter(&["a::b"], true).takes("a::b::c"));
        assert!(filter(&[], true).takes("a"));
    }
}
