//! Files: what each is for, and how long it may be.

use super::{File, Violation, registry};

/// Lines of any Rust file, of a mechanism, and of a hot loop. A mechanism that needs more is two;
/// a hot loop must be read in one sitting.
const ANY: usize = 500;
const MECHANISM: usize = 200;
const HOT: usize = 150;

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
    let limit = if file.is_below(&["crates/engine/src/hot"]) {
        HOT
    } else if registry::is_mechanism(file) {
        MECHANISM
    } else {
        ANY
    };
    let lines = file.text.lines().count();
    let what = || format!("{lines} lines, at most {limit} are allowed here");
    (lines > limit).then(|| Violation::new(&file.path, 0, what()))
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
    fn each_kind_of_file_has_its_own_limit() {
        let hot = "crates/engine/src/hot/stream.rs";
        assert_eq!(violations(hot, &lines("//! Doc.", 150)), 0);
        assert_eq!(violations(hot, &lines("//! Doc.", 151)), 1);
        let mechanism = format!("//! Doc.\n{}", "impl Mechanism for Pipe {}");
        assert_eq!(violations("crates/mech/src/stream/pipe.rs", &lines(&mechanism, 199)), 0);
        assert_eq!(violations("crates/mech/src/stream/pipe.rs", &lines(&mechanism, 200)), 1);
        assert_eq!(violations("crates/mech/src/stream/fd.rs", &lines("//! Doc.", 500)), 0);
        assert_eq!(violations("crates/mech/src/stream/fd.rs", &lines("//! Doc.", 501)), 1);
    }
}
