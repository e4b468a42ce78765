//! Words that must not stand where they stand: unsafe code, prints, unfinished business, places on
//! somebody's machine.

use super::file::{File, Violation, needle};
use super::source::lines_with;

/// Where `unsafe` may be written.
const UNSAFE: &[&str] = &["crates/ring", "crates/sys", "crates/plugin", "crates/programs", "xtask"];

/// Declarations of libraries in C and C++, in a workspace of its own.
const FOREIGN: &str = "extras/src/ffi.rs";

/// Where text may go to the terminal.
const PRINT: &[&str] =
    &["crates/kit", "crates/ipcperf", "xtask", "crates/conformance", "crates/ask/snippets"];

/// Every forbidden word of every file.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .flat_map(|file| [unsafe_code(file), prints(file), unfinished(file), places(file)])
        .flatten()
        .collect()
}

fn unsafe_code(file: &File) -> Vec<Violation> {
    if !file.is_rust() || file.is_below(UNSAFE) || file.path == FOREIGN {
        return vec![];
    }
    let line = |line| {
        Violation::new(&file.path, line, "unsafe outside ring, sys, plugin, programs and xtask")
    };
    lines_with(&file.code, "unsafe").map(line).collect()
}

/// How many unsafe blocks there are below each place that may have any: `ring 25, sys 264, xtask 28`. That each says why it
/// is sound is a lint of the compiler's (`undocumented_unsafe_blocks`), which these packages deny.
pub(crate) fn unsafe_blocks(files: &[File]) -> String {
    let count = |place: &&str| -> usize {
        let rust = files.iter().filter(|file| file.is_rust() && file.is_below(&[place]));
        rust.map(|file| file.code.matches("unsafe {").count()).sum()
    };
    let name = |place: &&str| place.trim_start_matches("crates/").to_owned();
    let all = UNSAFE.iter().map(|place| format!("{} {}", name(place), count(place)));
    all.collect::<Vec<_>>().join(", ")
}

/// Packages with unsafe code that the lint does not hold to say why it is sound.
pub(crate) fn unexplained(files: &[File]) -> Vec<Violation> {
    let manifest = |place: &&str| {
        let path = format!("{place}/Cargo.toml");
        let file = files.iter().find(|file| file.path == path);
        let is_held =
            file.is_some_and(|file| file.text.contains("undocumented_unsafe_blocks = \"deny\""));
        (!is_held).then(|| {
            Violation::new(
                &path,
                0,
                "does not deny undocumented_unsafe_blocks, and has unsafe code",
            )
        })
    };
    UNSAFE.iter().filter_map(manifest).collect()
}

/// What a test harness or a build script prints is read by its runner, not by a user.
fn prints(file: &File) -> Vec<Violation> {
    let harness = file.path.contains("/tests/") || file.path.ends_with("/build.rs");
    if !file.is_rust() || !file.is_below(&["crates"]) || file.is_below(PRINT) || harness {
        return vec![];
    }
    let macros = ["println!", "eprintln!", "print!", "eprint!"];
    let lines = macros.iter().flat_map(|name| lines_with(&file.code, name));
    let what = "prints; only kit, conformance, ipcperf and xtask may";
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
    fn unsafe_blocks_are_counted_where_they_may_be_and_their_packages_must_explain_them() {
        let manifest = "[lints.clippy]\nundocumented_unsafe_blocks = \"deny\"\n";
        let files = [
            File::new(
                "crates/sys/src/a.rs",
                "// unsafe {\nfn f() { unsafe { g() }; unsafe { h() } }\n",
            ),
            File::new("crates/sys/Cargo.toml", manifest),
            File::new(
                "crates/ring/src/lib.rs",
                "unsafe impl Send for A {}\nfn f() { unsafe { g() } }\n",
            ),
            File::new("crates/ring/Cargo.toml", "[lints.clippy]\n"),
            File::new("crates/plugin/Cargo.toml", manifest),
            File::new("crates/programs/Cargo.toml", manifest),
            File::new("xtask/Cargo.toml", manifest),
        ];
        assert_eq!(unsafe_blocks(&files), "ring 1, sys 2, plugin 0, programs 0, xtask 0");
        let found: Vec<_> = unexplained(&files).into_iter().map(|one| one.file).collect();
        assert_eq!(found, ["crates/ring/Cargo.toml"]);
    }

    #[test]
    fn prints_are_found_in_code_that_has_no_business_printing() {
        let text = "//! println!\nfn f() { println!() }\nfn g() { print!() }\n\
                    fn h() { eprintln!() }\nfn i() { eprint!() }\nfn j() { writeln!(out) }\n";
        let mut found = lines("crates/engine/src/a.rs", text);
        found.sort();
        assert_eq!(found, [2, 3, 4, 5]);
        assert_eq!(lines("crates/kit/src/a.rs", text), [0; 0]);
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
