//! A mechanism is its file and its line: neither may be without the other.

use std::collections::BTreeSet;

use super::{File, Violation};

/// Where the list is.
const LIST: &str = "crates/mech/src/lib.rs";
const FOLDER: &str = "crates/mech/src/";

/// Whether the file implements a mechanism.
pub(crate) fn is_mechanism(file: &File) -> bool {
    module(&file.path).is_some() && file.code.lines().any(|line| line.contains("Mechanism for "))
}

/// The module of `mech` that a file belongs to.
fn module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(FOLDER)?;
    let module =
        inside.split_once('/').map_or_else(|| inside.strip_suffix(".rs"), |(m, _)| Some(m));
    module.filter(|module| *module != "lib")
}

/// Modules that implement a mechanism and are not listed, and the reverse.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    let Some(list) = files.iter().find(|file| file.path == LIST) else { return vec![] };
    let mechanisms = || files.iter().filter(|file| is_mechanism(file));
    let implemented: BTreeSet<&str> = mechanisms().filter_map(|file| module(&file.path)).collect();
    let Some(listed) = listed(&list.code) else {
        let what = "has no mechanisms! list";
        return mechanisms().take(1).map(|_| Violation::new(LIST, 0, what)).collect();
    };
    let unlisted = mechanisms().filter(|file| {
        module(&file.path).is_some_and(|module| !listed.iter().any(|(_, name)| *name == module))
    });
    let unlisted = unlisted
        .map(|file| Violation::new(&file.path, 0, "a mechanism that the mechanisms! list lacks"));
    let unimplemented =
        listed.iter().filter(|(_, name)| !implemented.contains(name)).map(|(line, name)| {
            Violation::new(LIST, *line, format!("module {name} implements no mechanism"))
        });
    unlisted.chain(unimplemented).collect()
}

/// Line number and module of each line of the list that names one: `pipe: Pipe<Block>, ...;` or
/// `pipe::Pipe<Block>,`. A line that goes on with further types names none.
fn listed(code: &str) -> Option<Vec<(usize, &str)>> {
    let start = code.find("mechanisms!")?;
    let open = start + code[start..].find(['{', '(', '['])?;
    let closing = match code.as_bytes()[open] {
        b'{' => '}',
        b'(' => ')',
        _ => ']',
    };
    let inside = &code[open + 1..];
    let inside = &inside[..inside.find(closing)?];
    let first_line = code[..=open].matches('\n').count() + 1;
    let names = inside.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.trim_start();
        let line = line.strip_prefix("crate::").unwrap_or(line);
        let end = line.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (name, rest) = line.split_at(end);
        let names_a_module = !name.is_empty() && rest.trim_start().starts_with(':');
        names_a_module.then_some((first_line + index, name))
    });
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "\
//! Doc.
macro_rules! mechanisms { ($($m:ident: $($t:ty),+;)+) => {} }
mechanisms! {
    // gone: Gone;
    pipe:        Pipe<Block>, Pipe<Spin>,
                 Pipe<Poll>;
    tcp:         Tcp;
}
";

    fn mechanism(path: &str) -> File {
        File::new(path, "//! Doc.\nimpl<W: Wait> Mechanism for X<W> {}\n")
    }

    fn violations(files: Vec<File>) -> Vec<String> {
        check(&files).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_list_that_matches_the_modules_is_in_order() {
        let files = vec![
            File::new(LIST, LIB),
            mechanism("crates/mech/src/pipe.rs"),
            mechanism("crates/mech/src/tcp/mod.rs"),
            File::new("crates/mech/src/fd.rs", "//! Mechanism for nothing.\n"),
        ];
        assert_eq!(violations(files), [""; 0]);
    }

    #[test]
    fn a_mechanism_without_a_line_is_a_violation() {
        let files = vec![
            File::new(LIST, LIB),
            mechanism("crates/mech/src/pipe.rs"),
            mechanism("crates/mech/src/tcp.rs"),
            mechanism("crates/mech/src/fifo.rs"),
        ];
        let found = violations(files);
        assert!(found.len() == 1 && found[0].contains("fifo.rs"), "{found:?}");
    }

    #[test]
    fn a_line_without_a_mechanism_is_a_violation() {
        let found = violations(vec![File::new(LIST, LIB), mechanism("crates/mech/src/pipe.rs")]);
        assert_eq!(found, ["crates/mech/src/lib.rs:7: module tcp implements no mechanism"]);
    }

    #[test]
    fn mechanisms_without_any_list_are_a_violation() {
        let files = vec![File::new(LIST, "//! Doc.\n"), mechanism("crates/mech/src/pipe.rs")];
        assert_eq!(violations(files).len(), 1);
    }

    #[test]
    fn paths_name_a_module_as_well_as_labels_do() {
        let code = "mechanisms! {\n    pipe::Pipe<pipe::Block>,\n    crate::tcp::Tcp,\n}";
        assert_eq!(listed(code), Some(vec![(2, "pipe"), (3, "tcp")]));
    }
}
