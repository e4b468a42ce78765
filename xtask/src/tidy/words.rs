//! Words that must not stand where they stand: unsafe code, prints, unfinished business, places on
//! somebody's machine.

use super::file::{File, Violation, needle};
use super::source::lines_with;

/// Where `unsafe` may be written.
const UNSAFE: &[&str] = &["crates/ring", "crates/sys", "xtask"];
/// Where text may go to the terminal.
const PRINT: &[&str] = &["crates/report", "crates/ipcperf", "xtask", "crates/conformance"];

/// Every forbidden word of every file.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .flat_map(|file| [unsafe_code(file), prints(file), unfinished(file), places(file)])
        .flatten()
        .collect()
}

fn unsafe_code(file: &File) -> Vec<Violation> {
    if !file.is_rust() || file.is_below(UNSAFE) {
        return vec![];
    }
    let line = |line| Violation::new(&file.path, line, "unsafe outside ring, sys and xtask");
    lines_with(&file.code, "unsafe").map(line).collect()
}

/// What a test harness or a build script prints is read by its runner, not by a user.
fn prints(file: &File) -> Vec<Violation> {
    let harness = file.path.contains("/tests/") || file.path.ends_with("/build.rs");
    if !file.is_rust() || !file.is_below(&["crates"]) || file.is_below(PRINT) || harness {
        return vec![];
    }
    let macros = ["println!", "eprintln!", "print!", "eprint!"];
    let lines = macros.iter().flat_map(|name| lines_with(&file.code, name));
    let what = "prints; only report, conformance, ipcperf and xtask may";
    lines.map(|line| Violation::new(&file.path, line, what)).collect()
}

/// Macros and attributes in Rust; marks in every file, since a script or a manual can carry one.
fn unfinished(file: &File) -> Vec<Violation> {
    let in_code =
        [needle(&["to", "do!"]), needle(&["unimple", "mented!"]), needle(&["#[ig", "nore"])];
    let marks = [needle(&["FIX", "ME"]), needle(&["X", "XX"])];
    let rust = in_code.iter().filter(|_| file.is_rust());
    let mut violations = Vec::new();
    for word in rust.chain(&marks) {
        let line = |line| Violation::new(&file.path, line, format!("unfinished: {word}"));
        violations.extend(lines_with(&file.text, word).map(line));
    }
    violations
}

/// Paths that exist on one machine only.
fn places(file: &File) -> Vec<Violation> {
    let anywhere = [needle(&["../sh", "ared"])];
    let at_start = [needle(&["/ro", "ot/"]), needle(&["/wo", "rk/"])];
    let mut violations = Vec::new();
    for (index, text) in file.text.lines().enumerate() {
        // In the middle of a path or an address it is only a folder of that name.
        let absolute = |place: &str| {
            text.match_indices(place).any(|(at, _)| {
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}~*".contains(c))
            })
        };
        let inside = anywhere.iter().filter(|place| text.contains(place.as_str()));
        for place in inside.chain(at_start.iter().filter(|place| absolute(place))) {
            let what = format!("names a place of the build machine: {place}");
            violations.push(Violation::new(&file.path, index + 1, what));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[File::new(path, text)]).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn unsafe_code_is_found_outside_its_crates_and_not_in_prose() {
        let text = "//! unsafe\n#![forbid(unsafe_code)]\nunsafe { f() }\n";
        assert_eq!(lines("crates/mech/src/a.rs", text), [3]);
        assert_eq!(lines("examples/a.rs", text), [3]);
        assert_eq!(lines("crates/sys/src/a.rs", text), [0; 0]);
    }

    #[test]
    fn prints_are_found_in_code_that_has_no_business_printing() {
        let text = "//! println!\nfn f() { println!() }\nfn g() { print!() }\n\
                    fn h() { eprintln!() }\nfn i() { eprint!() }\nfn j() { writeln!(out) }\n";
        let mut found = lines("crates/engine/src/a.rs", text);
        found.sort();
        assert_eq!(found, [2, 3, 4, 5]);
        assert_eq!(lines("crates/report/src/a.rs", text), [0; 0]);
        assert_eq!(lines("crates/ring/tests/loom.rs", text), [0; 0]);
    }

    #[test]
    fn unfinished_business_is_found_in_comments_too() {
        let unfinished = [needle(&["to", "do!()"]), needle(&["#[ig", "nore = \"slow\"]"])];
        for word in &unfinished {
            assert_eq!(lines("crates/core/src/a.rs", &format!("\n{word}\n")), [2], "{word}");
            assert_eq!(lines("docs/a.md", word), [0; 0], "a manual may speak of it");
        }
        let mark = needle(&["X", "XX"]);
        assert_eq!(lines("crates/core/src/a.rs", &format!("// {mark} later")), [1]);
        assert_eq!(lines(".ci/run", &format!("# {}", needle(&["FIX", "ME"]))), [1]);
        assert_eq!(lines("crates/core/src/a.rs", &format!("\"/tmp/{mark}{mark}\"")), [0; 0]);
    }

    #[test]
    fn places_of_one_machine_are_found() {
        for (text, found) in [
            (needle(&["see ../sh", "ared/docs"]), true),
            (needle(&["`/ro", "ot/.cargo`"]), true),
            (needle(&["cd /wo", "rk/main"]), true),
            (needle(&["https://example.org/wo", "rk/x"]), false),
            (needle(&["/home/runner/wo", "rk/x"]), false),
        ] {
            assert_eq!(!lines("docs/a.md", &text).is_empty(), found, "{text}");
        }
    }
}
