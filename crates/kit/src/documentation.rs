//! The documents that are part of the program: `ipcperf help ends` prints `docs/ENDS.md`.

use std::ffi::OsString;

/// Their names as they are typed, the most useful first.
pub const NAMES: [&str; 16] = [
    "recipes",
    "bisect",
    "reading",
    "ends",
    "plugins",
    "programs",
    "fleet",
    "libraries",
    "mechanisms",
    "words",
    "method",
    "performance",
    "results",
    "plots",
    "studies",
    "invariants",
];

/// The line of the help that names them.
pub(crate) fn line() -> String {
    format!("Documents: ipcperf help NAME prints one of {}.", NAMES.join(", "))
}

/// The document that these words ask for: `help ends`, `help ENDS.md`, `help docs/ENDS.md`.
pub(crate) fn asked(words: &[OsString]) -> Option<&'static str> {
    let [help, word] = words else { return None };
    let word = word.to_str().filter(|_| help == "help")?.to_lowercase();
    let word = word.strip_prefix("docs/").unwrap_or(&word);
    let word = word.strip_suffix(".md").unwrap_or(word);
    NAMES.into_iter().find(|name| *name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_found_by_its_name_and_by_that_of_its_file() {
        let asked = |words: &str| asked(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        for words in ["help ends", "help ENDS", "help ENDS.md", "help docs/ENDS.md"] {
            assert_eq!(asked(words), Some("ends"), "{words}");
        }
        for words in ["help", "help run", "help ends method", "explain ends", "help end"] {
            assert_eq!(asked(words), None, "{words}");
        }
    }
}
