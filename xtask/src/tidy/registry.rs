//! A mechanism is its file and its line: neither may be without the other.

use std::collections::BTreeSet;

use super::file::{File, Violation};

/// Where the list is.
const LIST: &str = "crates/mech/src/lib.rs";
const FOLDER: &str = "crates/mech/src/";

/// Whether the file implements a mechanism.
pub(crate) fn is_mechanism(file: &File) -> bool {
    module(&file.path).is_some() && file.code.lines().any(|line| line.contains("Mechanism for "))
}

/// Folder and file of a mechanism of `mech`: `stream/pipe` of `crates/mech/src/stream/pipe.rs`.
fn module(path: &str) -> Option<&str> {
    let module = path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    (module != "lib").then_some(module)
}

/// Modules that implement a mechanism and are not listed, and the reverse.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    let list = files.iter().find(|file| file.path == LIST);
    let mechanisms = || files.iter().filter(|file| is_mechanism(file));
    let implemented: BTreeSet<&str> = mechanisms().filter_map(|file| module(&file.path)).collect();
    let Some(listed) = list.and_then(|list| listed(&list.code)) else {
        let what = "has no mechanisms! list";
        return mechanisms().take(1).map(|_| Violation::new(LIST, 0, what)).collect();
    };
    let unlisted = mechanisms().filter(|file| {
        module(&file.path).is_some_and(|module| !listed.iter().any(|(_, name)| name == module))
    });
    let unlisted = unlisted
        .map(|file| Violation::new(&file.path, 0, "a mechanism that the mechanisms! list lacks"));
    let unimplemented = listed.iter().filter(|(_, name)| !implemented.contains(name.as_str())).map(
        |(line, name)| {
            Violation::new(LIST, *line, format!("module {name} implements no mechanism"))
        },
    );
    unlisted.chain(unimplemented).chain(mechanisms().flat_map(silent)).collect()
}

/// Facts that no conformance case can try, so that each mechanism has to state them itself.
const STATED: [&str; 4] = ["direction", "reach", "producers", "consumers"];

fn silent(file: &File) -> impl Iterator<Item = Violation> {
    let says =
        |fact: &str| file.code.lines().any(|line| line.trim().starts_with(&format!("{fact}:")));
    let missing = STATED.into_iter().filter(move |fact| !says(fact));
    missing.map(|fact| {
        Violation::new(&file.path, 0, format!("the mechanism does not state its {fact}"))
    })
}

/// Line number, folder and file of each line of the list that names one: `pipe: Pipe<Block>, ...;` after `stream {`.
/// A line that goes on with further types names none.
fn listed(code: &str) -> Option<Vec<(usize, String)>> {
    let start = code.find("\nmechanisms! {\n")? + 1;
    let mut folder = "";
    let mut names = Vec::new();
    for (index, line) in
        code[start..].lines().enumerate().skip(1).take_while(|(_, line)| *line != "}")
    {
        let line = line.trim();
        if let Some(opened) = line.strip_suffix(" {") {
            folder = opened;
        } else if let Some((file, _)) = line.split_once(':') {
            names.push((
                code[..start].matches('\n').count() + index + 1,
                format!("{folder}/{file}"),
            ));
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "\
//! Doc.
macro_rules! mechanisms { ($($m:ident: $($t:ty),+;)+) => {} }
mechanisms! {
    stream {
        // gone: Gone;
        pipe:        Pipe<Block>, Pipe<Spin>,
                     Pipe<Poll>;
    }
    socket {
        tcp:         Tcp;
    }
}
";

    fn mechanism(path: &str) -> File {
        let facts = STATED.map(|fact| format!("    {fact}: Least,\n")).concat();
        File::new(path, &format!("//! Doc.\nimpl<W: Wait> Mechanism for X<W> {{}}\n{facts}"))
    }

    fn violations(files: Vec<File>) -> Vec<String> {
        check(&files).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_list_that_matches_the_modules_is_in_order() {
        let files = vec![
            File::new(LIST, LIB),
            mechanism("crates/mech/src/stream/pipe.rs"),
            mechanism("crates/mech/src/socket/tcp.rs"),
            File::new("crates/mech/src/fd.rs", "//! Mechanism for nothing.\n"),
        ];
        assert_eq!(violations(files), [""; 0]);
    }

    #[test]
    fn a_mechanism_without_a_line_is_a_violation() {
        let files = vec![
            File::new(LIST, LIB),
            mechanism("crates/mech/src/stream/pipe.rs"),
            mechanism("crates/mech/src/socket/tcp.rs"),
            mechanism("crates/mech/src/stream/fifo.rs"),
        ];
        let found = violations(files);
        assert!(found.len() == 1 && found[0].contains("fifo.rs"), "{found:?}");
    }

    #[test]
    fn a_line_without_a_mechanism_is_a_violation() {
        let found =
            violations(vec![File::new(LIST, LIB), mechanism("crates/mech/src/stream/pipe.rs")]);
        assert_eq!(found, ["crates/mech/src/lib.rs:10: module socket/tcp implements no mechanism"]);
    }

    #[test]
    fn a_fact_that_no_case_can_try_must_be_stated() {
        let text =
            mechanism("crates/mech/src/socket/tcp.rs").text.replace("    reach: Least,\n", "");
        let files = vec![
            File::new(LIST, LIB),
            mechanism("crates/mech/src/stream/pipe.rs"),
            File::new("crates/mech/src/socket/tcp.rs", &text),
        ];
        let found = violations(files);
        assert!(found.len() == 1 && found[0].ends_with("does not state its reach"), "{found:?}");
    }

    #[test]
    fn mechanisms_without_any_list_are_a_violation() {
        let pipe = || mechanism("crates/mech/src/stream/pipe.rs");
        assert_eq!(violations(vec![File::new(LIST, "//! Doc.\n"), pipe()]).len(), 1);
        assert_eq!(violations(vec![pipe()]).len(), 1);
    }

    #[test]
    fn a_mechanism_in_the_folder_of_another_family_is_not_the_one_listed() {
        let files = ["stream/pipe", "stream/tcp"]
            .map(|module| mechanism(&format!("crates/mech/src/{module}.rs")));
        let mut files = Vec::from(files);
        files.push(File::new(LIST, LIB));
        let found = violations(files);
        assert!(found.iter().any(|line| line.contains("stream/tcp.rs")), "{found:?}");
        assert!(found.iter().any(|line| line.contains("socket/tcp implements")), "{found:?}");
    }
}
