//! The report of a worker's panic to its coordinator: the place, and the first line of the message.

use std::panic::{self, PanicHookInfo};
use std::path::Path;

/// Bytes of it at most.
const MOST: usize = 300;

/// How the process ends then: as Rust programs do.
const CODE: i32 = 101;

/// From now on a panic of this process, in whichever thread, is told to `tell` and ends it: also where panics unwind, and
/// threads that wait for the one that panicked would wait for ever.
pub(crate) fn end_with(tell: impl Fn(String) + Send + Sync + 'static) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        tell(words(panic));
        usual(panic);
        std::process::exit(CODE);
    }));
}

fn words(panic: &PanicHookInfo<'_>) -> String {
    let place = panic.location().map(|place| (place.file(), place.line()));
    let payload = panic.payload();
    let message = match payload.downcast_ref::<String>() {
        Some(message) => message.as_str(),
        None => payload.downcast_ref::<&str>().copied().unwrap_or_default(),
    };
    told(message, place)
}

fn told(message: &str, place: Option<(&str, u32)>) -> String {
    let place = place.map(|(file, line)| format!(" at {}:{line}", of_crate(file)));
    let message = message.lines().next().unwrap_or_default();
    let text = format!("panicked{}: {message}", place.unwrap_or_default());
    let is_printed =
        |sign: char| matches!(sign, '"' | '\'' | '\\') || sign.escape_debug().count() == 1;
    let mut text: String =
        text.chars().map(|sign| if is_printed(sign) { sign } else { '?' }).collect();
    let end = (0..=MOST.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or_default());
    text
}

/// A source file as its crate or workspace names it. The compiler gives others than those of the workspace by whole paths,
/// which say where somebody's home directory is.
fn of_crate(file: &str) -> String {
    let path = Path::new(file);
    if path.is_relative() {
        return file.to_owned();
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    // `.../registry/src/index.crates.io-.../serde-1.0.1/src/de.rs`, `/rustc/.../library/core/src/num/mod.rs`.
    let source = parts.iter().rposition(|part| part == "src").filter(|at| *at > 1);
    let is_registry = |at: &usize| parts[at - 1] == "registry";
    let from = source.filter(|at| !is_registry(at)).map_or(parts.len() - 1, |at| at - 1);
    parts[from..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_file_is_named_within_its_crate() {
        for (file, named) in [
            ("crates/engine/src/hot/stream.rs", "crates/engine/src/hot/stream.rs"),
            ("src/main.rs", "src/main.rs"),
            ("/rustc/1a2b/library/core/src/num/mod.rs", "core/src/num/mod.rs"),
            ("/home/me/.cargo/registry/src/index.crates.io-1/a-1.0/src/b/c.rs", "a-1.0/src/b/c.rs"),
            ("/home/me/.cargo/registry/src/index.crates.io-1/a-1.0/lib.rs", "lib.rs"),
            ("/home/me/.cargo/git/checkouts/a-1/2b/src/lib.rs", "2b/src/lib.rs"),
            ("/src/lib.rs", "lib.rs"),
        ] {
            assert_eq!(of_crate(file), named, "{file}");
        }
    }

    #[test]
    fn a_panic_is_told_in_one_short_printable_line() {
        let place = Some(("crates/a/src/b.rs", 35));
        assert_eq!(
            told("left == right \"it's\"\n  left: 1", place),
            "panicked at crates/a/src/b.rs:35: left == right \"it's\""
        );
        assert_eq!(told("", None), "panicked: ");
        let odd = told(&format!("\u{1b}[31m\u{202e}ü{}", "ü".repeat(400)), place);
        assert!(odd.starts_with("panicked at crates/a/src/b.rs:35: ?[31m?üü"), "{odd}");
        assert!(odd.len() <= MOST && odd.len() > MOST - 2, "{}", odd.len());
    }
}
