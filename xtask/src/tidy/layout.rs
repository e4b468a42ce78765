//! Files: what each is for, and how long it may be.

use super::file::{File, Violation};

/// Lines of a Rust file: a hint that it is two.
const MOST: usize = 700;

/// Missing module documents and files that are too long.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    let rust = files.iter().filter(|file| file.is_rust());
    rust.flat_map(|file| [document(file), length(file)]).flatten().collect()
}

fn document(file: &File) -> Option<Violation> {
    let missing = file.is_below(&["crates", "xtask"]) && !file.text.starts_with("//!");
    missing.then(|| Violation::new(&file.path, 1, "does not start with a //! document"))
}

fn length(file: &File) -> Option<Violation> {
    let lines = file.text.lines().count();
    let what = || format!("{lines} lines, at most {MOST} are allowed");
    (lines > MOST).then(|| Violation::new(&file.path, 0, what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> usize {
        check(&[File::new(path, text)]).len()
    }

    fn lines(first: &str, count: usize) -> String {
        format!("{first}\n{}", "//\n".repeat(count - 1))
    }

    #[test]
    fn a_module_without_a_document_is_a_violation() {
        assert_eq!(violations("crates/core/src/a.rs", "//! What a is for.\n"), 0);
        assert_eq!(violations("crates/core/src/a.rs", "use std::fmt;\n"), 1);
        assert_eq!(violations("xtask/src/a.rs", ""), 1);
        assert_eq!(violations("examples/out_of_tree/src/main.rs", "fn main() {}\n"), 0);
    }

    #[test]
    fn a_file_has_a_limit() {
        let path = "crates/mech/src/stream/pipe.rs";
        assert_eq!(violations(path, &lines("//! Doc.", 700)), 0);
        assert_eq!(violations(path, &lines("//! Doc.", 701)), 1);
    }
}
