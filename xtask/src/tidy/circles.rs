//! No import circle between the modules of a crate: each can be read, and moved, after what it names and before what
//! names it.
//!
//! A module imports another where a path of its code, in a `use` or anywhere else, ends at a name that the other
//! defines. A path is followed through imports and re-exports, so that naming something at a parent that only hands it
//! on is no import of the parent. Declaring a child is no import of it, nor is handing its names on; calling it is one.
//! Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{File, Violation};

/// Where a module is in its crate: `["fan", "page"]`.
type Path = Vec<String>;

/// A path of the code, with what it is good for.
struct Named {
    line: usize,
    path: Path,
    /// The name that a `use` gives to it: none for a path in the middle of code, `*` for everything.
    alias: Option<String>,
    /// Whether the `use` is there for others.
    public: bool,
}

/// What a file says about its imports.
#[derive(Default)]
struct Module {
    file: String,
    named: Vec<Named>,
    /// Children that only tests have.
    tests: Vec<String>,
}

/// The modules of a crate.
type Crate = BTreeMap<Path, Module>;

/// Every circle, with the imports that close it.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    crates(files).values().flat_map(circles).collect()
}

/// Imports that close a circle between folders of a crate. A folder is a file with what lies in the folder of its name; a
/// circle of files is a violation already.
pub(crate) fn of_folders(files: &[File]) -> BTreeSet<String> {
    crates(files).values().flat_map(closing).collect()
}

/// The modules of each crate that are not tests.
fn crates(files: &[File]) -> BTreeMap<&str, Crate> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for file in files {
        if let Some((root, path)) = place(&file.path) {
            let module = Module { file: file.path.clone(), ..read(&tokens(&file.code)) };
            crates.entry(root).or_default().insert(path, module);
        }
    }
    crates.into_iter().map(|(root, modules)| (root, without_tests(modules))).collect()
}

/// The crate of a source file, and its place there. A program beside a library is left out, for it is one file.
fn place(file: &str) -> Option<(&str, Path)> {
    let (root, rest) = file.split_once("/src/")?;
    let rest = rest.strip_suffix(".rs")?;
    if rest == "lib" || (rest == "main" && root == "xtask") {
        return Some((root, vec![]));
    }
    let path: Path =
        rest.strip_suffix("/mod").unwrap_or(rest).split('/').map(str::to_owned).collect();
    let left_out = rest == "main" || path.iter().any(|name| name == "tests" || name == "bin");
    (!left_out).then_some((root, path))
}

fn without_tests(mut modules: Crate) -> Crate {
    let tests: Vec<Path> = modules
        .iter()
        .flat_map(|(path, module)| module.tests.iter().map(|name| child(path, name)))
        .collect();
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    modules
}

fn child(path: &[String], name: &str) -> Path {
    [path, &[name.to_owned()]].concat()
}

/// A word, or one of the signs that matter, with its line.
type Token<'a> = (usize, &'a str);

fn tokens(code: &str) -> Vec<Token<'_>> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    for (index, mut line) in code.lines().enumerate() {
        while let Some(first) = line.chars().next() {
            let length = if in_word(first) {
                line.find(|c| !in_word(c)).unwrap_or(line.len())
            } else if line.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, rest) = line.split_at(length);
            if !token.trim().is_empty() {
                tokens.push((index + 1, token));
            }
            line = rest;
        }
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn read(tokens: &[Token<'_>]) -> Module {
    let mut module = Module::default();
    // The depths at which modules inside this file began: `super` in one of them is still this file.
    let (mut depth, mut inside) = (0_usize, Vec::new());
    let mut at = 0;
    while let Some(&(line, token)) = tokens.get(at) {
        let word = |ahead: usize| tokens.get(at + ahead).map_or("", |(_, token)| *token);
        let from = module.named.len();
        match token {
            "#" if ["test", "all"].contains(&word(4)) && word(2) == "cfg" => {
                let after = at + attribute(&tokens[at..]);
                let item = &tokens[after..];
                let declared = item.windows(3).find(|w| w[0].1 == "mod" || w[0].1 == "{");
                if let Some([(_, "mod"), (_, name), (_, ";")]) = declared {
                    module.tests.push((*name).to_owned());
                }
                at = after + length_of_item(item);
                continue;
            }
            "mod" if word(2) == "{" => inside.push(depth),
            "use" => {
                let public = at > 0 && ["pub", ")"].contains(&tokens[at - 1].1);
                at += 1 + use_tree(&tokens[at + 1..], &[], public, &mut module.named);
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inside.pop_if(|began| *began == depth);
            }
            name if is_name(name) => {
                let mut path = vec![name.to_owned()];
                while let Some([(_, "::"), (_, next)]) = tokens.get(at + 1..at + 3)
                    && is_name(next)
                {
                    path.push((*next).to_owned());
                    at += 2;
                }
                if path.len() > 1 {
                    module.named.push(Named { line, path, alias: None, public: false });
                }
            }
            _ => {}
        }
        let parents = module.named[from..].iter_mut().filter(|named| named.path[0] == "super");
        for named in parents.take(if inside.is_empty() { 0 } else { usize::MAX }) {
            named.path[0] = "self".to_owned();
        }
        at += 1;
    }
    module
}

/// Tokens of the attributes at the start.
fn attribute(tokens: &[Token<'_>]) -> usize {
    let mut at = 0;
    while tokens.get(at).is_some_and(|(_, token)| *token == "#") {
        at += 1 + bracketed(&tokens[at + 1..]);
    }
    at
}

/// Tokens up to the bracket that closes the first.
fn bracketed(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, (_, token)) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Tokens of the item at the start: up to its semicolon or its body.
fn length_of_item(tokens: &[Token<'_>]) -> usize {
    let mut at = 0;
    while let Some((_, token)) = tokens.get(at) {
        match *token {
            ";" | "," => return at + 1,
            "{" => return at + bracketed(&tokens[at..]),
            "(" | "[" => at += bracketed(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// Reads one branch of a `use` below `prefix`; returns its tokens, what ends it left out.
fn use_tree(tokens: &[Token<'_>], prefix: &[String], public: bool, into: &mut Vec<Named>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = 0;
    while let Some(&(line, token)) = tokens.get(at) {
        match token {
            ";" | "," | "}" => return at,
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|(_, token)| *token != "}") {
                    at += use_tree(&tokens[at..], &path, public, into);
                    at += usize::from(tokens.get(at).is_some_and(|(_, token)| *token == ","));
                }
                return at + 1;
            }
            name => {
                if name != "self" || path.is_empty() {
                    path.push(name.to_owned());
                }
                at += 1;
                let next = |ahead: usize| tokens.get(at + ahead).map_or("", |(_, token)| *token);
                if next(0) != "::" {
                    let renamed = next(0) == "as";
                    let alias = if renamed { next(1) } else { path.last().map_or("", |l| l) };
                    let alias = Some(alias.to_owned());
                    into.push(Named { line, path, alias, public });
                    return at + if renamed { 2 } else { 0 };
                }
            }
        }
    }
    at
}

/// The module that defines what `path` names in `module`; none for a name of another crate.
/// `hops` bounds how often it is handed on.
fn definer(modules: &Crate, module: &[String], path: &[String], hops: usize) -> Option<Path> {
    let mut at = module.to_vec();
    let mut rest = path;
    let mut anchored = false;
    while let Some((first, tail)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            _ => break,
        }
        anchored = true;
        rest = tail;
    }
    while let Some((first, tail)) = rest.split_first() {
        let deeper = child(&at, first);
        if modules.contains_key(&deeper) {
            (at, rest, anchored) = (deeper, tail, true);
            continue;
        }
        let handed_on = modules.get(&at)?.named.iter().find(|n| n.alias.as_ref() == Some(first));
        return match handed_on {
            Some(named) if hops > 0 && named.path != path => {
                definer(modules, &at, &[&named.path, tail].concat(), hops - 1)
            }
            _ => anchored.then_some(at),
        };
    }
    anchored.then_some(at)
}

/// Who imports whom, and the first line in which.
fn imports(modules: &Crate) -> BTreeMap<(&Path, &Path), usize> {
    let mut imports = BTreeMap::new();
    for (from, module) in modules {
        for named in &module.named {
            let to = definer(modules, from, &named.path, 8);
            let Some((to, _)) = to.and_then(|to| modules.get_key_value(&to)) else { continue };
            let handed_on = named.public && to.starts_with(from);
            if to != from && !handed_on {
                imports.entry((from, to)).or_insert(named.line);
            }
        }
    }
    imports
}

/// The imports of a crate that close a circle of folders: `run imports noise`.
fn closing(modules: &Crate) -> Vec<String> {
    let folder = |path: &Path| path.first().cloned();
    let between: BTreeSet<(String, String)> = imports(modules)
        .into_keys()
        .filter_map(|(from, to)| Some((folder(from)?, folder(to)?)))
        .filter(|(from, to)| from != to)
        .collect();
    let reaches = |from: &str, to: &str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            let next = between.iter().filter(|(by, _)| by == at).map(|(_, to)| to.as_str());
            open.extend(next.filter(|to| reached.insert(*to)));
        }
        reached.contains(to)
    };
    let closes = between.iter().filter(|(from, to)| reaches(to, from));
    closes.map(|(from, to)| format!("{from} imports {to}")).collect()
}

/// The circles of a crate.
fn circles(modules: &Crate) -> Vec<Violation> {
    let imports = imports(modules);
    let reached_from = |from| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            let next = imports.keys().filter(|(by, _)| *by == at).map(|(_, to)| *to);
            open.extend(next.filter(|to| reached.insert(*to)));
        }
        reached
    };
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        modules.keys().map(|path| (path, reached_from(path))).collect();
    let name = |path: &Path| if path.is_empty() { "(root)".to_owned() } else { path.join("::") };
    let mut violations = Vec::new();
    for (first, reach) in &reached {
        let circle: Vec<&Path> =
            reach.iter().copied().filter(|to| reached[to].contains(first)).collect();
        if circle.first() != Some(first) {
            continue;
        }
        let names = circle.iter().map(|path| name(path)).collect::<Vec<_>>().join(" ");
        let what = format!("import circle of {}: {names}", circle.len());
        violations.push(Violation::new(&modules[*first].file, 0, what));
        for ((from, to), line) in &imports {
            if circle.contains(from) && circle.contains(to) {
                let what = format!("imports {} in an import circle", name(to));
                violations.push(Violation::new(&modules[*from].file, *line, what));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules of each circle of a crate of these files.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let violations = check(&crate_of(files));
        let circles = violations.iter().filter_map(|v| v.what.split_once("circle of "));
        circles.map(|(_, names)| names.to_owned()).collect()
    }

    fn crate_of(files: &[(&str, &str)]) -> Vec<File> {
        files
            .iter()
            .map(|(name, text)| File::new(&format!("crates/x/src/{name}.rs"), text))
            .collect()
    }

    #[test]
    fn a_circle_is_named_with_the_imports_that_close_it() {
        let files = crate_of(&[
            ("lib", "mod a; mod b; mod c; mod d;"),
            ("a", "//! Doc.\nuse crate::b::{self, B};"),
            ("b", "use super::c::*;"),
            ("c", "fn c() {\n    crate::a::A::new()\n}"),
            ("d", "use crate::{a::A, b::B as C};"),
        ]);
        let violations: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            violations,
            [
                "crates/x/src/a.rs: import circle of 3: a b c",
                "crates/x/src/a.rs:2: imports b in an import circle",
                "crates/x/src/b.rs:1: imports c in an import circle",
                "crates/x/src/c.rs:2: imports a in an import circle",
            ]
        );
    }

    #[test]
    fn a_parent_may_declare_and_hand_on_but_not_use_a_child_that_uses_it() {
        let child = ("a/b", "use super::A; pub struct B(A);");
        let parent = |text| found(&[("lib", "pub mod a;"), ("a", text), child]);
        assert_eq!(parent("mod b; pub(crate) use b::B; pub struct A;"), [""; 0]);
        assert_eq!(parent("mod b; use b::B; pub struct A; fn f() -> B {}"), ["2: a a::b"]);
        assert_eq!(parent("mod b; pub struct A; fn f() { b::f() }"), ["2: a a::b"]);
    }

    #[test]
    fn a_name_is_imported_from_where_it_is_defined() {
        let files = |b| {
            [
                ("lib", "mod a; pub use a::c::C;"),
                ("a/mod", "mod b; mod c; use c::C; use b::B;"),
                ("a/b", b),
                ("a/c", "pub struct C;"),
            ]
        };
        for text in
            ["use super::C;", "use crate::C;", "fn f() { super::C::new() }", "use super::C as D;"]
        {
            assert_eq!(found(&files(text)), [""; 0], "{text}");
        }
        assert_eq!(found(&files("use super::A;")), ["2: a a::b"]);
        let renamed = [
            ("lib", "mod a; mod b;"),
            ("a", "use crate::b as other; fn f() { other::g() }"),
            ("b", "use crate::a::f;"),
        ];
        assert_eq!(found(&renamed), ["2: a b"]);
    }

    #[test]
    fn other_crates_comments_and_what_stands_in_the_file_itself_are_no_imports() {
        let files = |b| [("lib", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", b)];
        for text in [
            "use std::a::f;",
            "use a::f;",
            "// crate::a::f",
            "mod inner { use super::B; }",
            "fn f() { B::a() }",
        ] {
            assert_eq!(found(&files(text)), [""; 0], "{text}");
        }
        assert_eq!(found(&files("mod inner { use super::super::a::f; }")), ["2: a b"]);
    }

    #[test]
    fn folders_can_be_in_a_circle_where_no_files_are() {
        let files = |last| {
            crate_of(&[
                ("lib", "mod a; mod b;"),
                ("a", "mod inner;"),
                ("a/inner", "use crate::b::B;"),
                ("a/other", ""),
                ("b", "mod inner; pub struct B;"),
                ("b/inner", last),
            ])
        };
        assert!(of_folders(&files("")).is_empty());
        let circle = files("use crate::a::other::f;");
        assert!(check(&circle).is_empty());
        assert_eq!(
            of_folders(&circle).into_iter().collect::<Vec<_>>(),
            ["a imports b", "b imports a"]
        );
    }

    #[test]
    fn tests_are_left_out() {
        let b = "use crate::a::A;";
        for text in [
            format!("#[cfg(test)]\nmod tests {{ {b} }}"),
            format!("#[cfg(test)]\n#[allow(x)]\nimpl X {{ fn f(a: [u8; 2]) {{ {b} }} }}"),
            format!("#[cfg(all(test, not(loom)))] {b}"),
            "#[cfg(test)]\n#[path = \"it.rs\"]\nmod testing;".to_owned(),
        ] {
            let files = |text| {
                [
                    ("lib", "mod a; mod b;"),
                    ("a", "use crate::b::B;"),
                    ("b", text),
                    ("b/testing", b),
                    ("b/tests", b),
                ]
            };
            assert_eq!(found(&files(&text)), [""; 0], "{text}");
            assert_eq!(found(&files(&format!("{text} {b}"))), ["2: a b"], "{text}");
        }
    }
}
