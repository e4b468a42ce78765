//! How large the project is. `cargo xtask weigh` prints the counts and fails where one is above its ceiling. A commit that
//! makes a count smaller lowers its ceiling.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use anyhow::{Result, anyhow, ensure};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::tidy::{File, circles, tracked};

/// A count, and the most that it may be.
struct Count {
    name: String,
    found: f64,
    ceiling: f64,
    /// Where it was found, if that is a list.
    places: BTreeSet<String>,
}

/// The most of each count. Only a new feature raises them, by what it takes; its commit says so.
mod ceiling {
    /// Lines of code by crate. The ceilings of the instrument (`core` to `render`) rise only with
    /// a mechanism, a pattern or a fact.
    pub(super) const CODE_LINES: [(&str, usize); 20] = [
        ("crates/core", 7_104),
        ("crates/ring", 674),
        ("crates/sys", 11_767),
        ("crates/mech", 7_647),
        ("crates/engine", 19_822),
        ("crates/stats", 1_506),
        ("crates/judge", 2_807),
        ("crates/render", 2_826),
        ("crates/packed", 49),
        ("crates/kit", 3_016),
        ("crates/ask", 20_769),
        ("crates/plugin", 2_566),
        ("crates/programs", 11_380),
        ("crates/studies", 6_721),
        ("crates/ipcperf", 169),
        ("crates/testing", 0),
        ("crates/builtin", 8),
        ("crates/conformance", 3_579),
        ("fuzz", 885),
        ("xtask", 4_653),
    ];
    pub(super) const TEST_LINES: usize = 50_336;
    pub(super) const TOKENS: usize = 1_125_829;
    pub(super) const TOKENS_PER_LINE: f64 = 10.43;
    /// Imports that close a circle between folders of a crate.
    pub(super) const CIRCLES_OF_FOLDERS: usize = 0;
    /// Names that three types or more have.
    pub(super) const SHARED_NAMES: usize = 14;
    pub(super) const ROUND_LOOPS: usize = 1;
    pub(super) const JUDGES: usize = 0;
    pub(super) const HTML: usize = 1;
    pub(super) const MARKDOWN: usize = 1;
    pub(super) const TERMINAL: usize = 1;
    pub(super) const MARKDOWN_BYTES: usize = 165_888;
}

/// Folders of Rust that are counted.
const FOLDERS: [&str; 3] = ["crates", "xtask", "fuzz"];

/// Functions and types of `stats` by which somebody decides which of two is better.
const JUDGING: [&str; 8] =
    ["Evidence", "Order", "Rule", "Judgement", "benjamini_hochberg", "holm", "winner", "changes"];
/// Where they may be used.
const JUDGES: [&str; 3] = ["crates/stats/", "crates/judge/", "xtask/"];

/// Crates that show something to people.
const SHOWING: [&str; 6] = [
    "crates/render/",
    "crates/kit/",
    "crates/ask/",
    "crates/programs/src/record/screen.rs",
    "crates/studies/",
    "crates/ipcperf/",
];
/// Names by which code shows that it knows a format, and the files that may: renderers.
const FORMATS: [(&str, &[&str]); 3] = [
    ("HTML", &["html", "Html"]),
    ("Markdown", &["markdown", "Markdown"]),
    ("a terminal", &["terminal", "page", "Page"]),
];
const RENDERERS: [&str; 1] = ["crates/render/"];

/// So many types of one name are too many to tell apart.
const SHARED: usize = 3;

/// Written by programs.
const GENERATED: [&str; 2] = ["docs/MECHANISMS.md", "docs/WORDS.md"];

/// Prints the counts; false if one is above its ceiling.
pub(crate) fn run() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let files = tracked(metadata.workspace_root.as_std_path())?;
    let mut passed = true;
    for Count { name, found, ceiling, places } in counts(&files)? {
        let is_above = found > ceiling;
        passed &= !is_above;
        let above = if is_above { "  ABOVE" } else { "" };
        println!("{found:>10} {name} (at most {ceiling}){above}");
        places.iter().for_each(|place| println!("{:>13}{place}", ""));
    }
    let (types, constants) = public(&files)?;
    println!("{types:>10} public types, {constants} public constants");
    Ok(passed)
}

fn counts(files: &[File]) -> Result<Vec<Count>> {
    let rust = files.iter().filter(|file| file.is_rust() && file.is_below(&FOLDERS));
    let weights: Vec<(&str, [Weight; 2])> =
        rust.map(|file| Ok((file.path.as_str(), weigh(file)?))).collect::<Result<_>>()?;
    let hidden: Vec<String> =
        weights.iter().flat_map(|(path, [product, _])| test_modules(path, product)).collect();
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut test_lines, mut apart, mut tokens) = (0, 0, 0);
    let mut loops = BTreeSet::new();
    let mut judges = BTreeSet::new();
    let mut aware: [BTreeSet<String>; 3] = Default::default();
    for (path, [product, whole]) in &weights {
        if is_apart(path) {
            apart += whole.lines.len();
            continue;
        }
        if is_test(path) || hidden.iter().any(|module| is_of(path, module)) {
            test_lines += whole.lines.len();
            continue;
        }
        *lines.entry(crate_of(path)).or_default() += product.lines.len();
        if path.starts_with("crates/") {
            product.types.iter().for_each(|name| *types.entry(name).or_default() += 1);
        }
        tokens += product.tokens;
        test_lines += whole.lines.difference(&product.lines).count();
        let is_below = |all: &[&str]| all.iter().any(|start| path.starts_with(start));
        if JUDGING.iter().any(|word| product.of_stats.contains(*word)) && !is_below(&JUDGES) {
            judges.insert((*path).to_owned());
        }
        for ((_, words), found) in FORMATS.iter().zip(&mut aware) {
            let names = words.iter().any(|word| product.words.contains(*word));
            if names && is_below(&SHOWING) && !is_below(&RENDERERS) {
                found.insert((*path).to_owned());
            }
        }
        if !is_below(&["crates/stats/", "xtask/"]) {
            loops.extend(product.loops.iter().map(|name| format!("{path}: {name}")));
        }
    }
    let markdown: usize = files
        .iter()
        .filter(|file| file.path.ends_with(".md") && !GENERATED.contains(&file.path.as_str()))
        .map(|file| by_hand(&file.text))
        .sum();
    println!("{apart:>10} lines of examples and snippets");
    let all_lines: usize = lines.values().sum();
    let per_line = (tokens as f64 / all_lines.max(1) as f64 * 100.0).round() / 100.0;
    let count = |name: &str, found: usize, ceiling: usize| Count {
        name: name.to_owned(),
        found: found as f64,
        ceiling: ceiling as f64,
        places: BTreeSet::new(),
    };
    let places = |name: &str, places: BTreeSet<String>, ceiling: usize| Count {
        places: places.clone(),
        ..count(name, places.len(), ceiling)
    };
    let [html, marked, terminal] = aware;
    println!("{all_lines:>10} lines of code");
    let by_crate = lines.into_iter().map(|(name, found)| {
        let known = ceiling::CODE_LINES.iter().find(|(known, _)| *known == name);
        // A crate that has no ceiling is above it.
        count(&format!("lines of code in {name}"), found, known.map_or(0, |(_, most)| *most))
    });
    let is_there = |name: &str| files.iter().any(|file| file.path.starts_with(name));
    for (name, _) in ceiling::CODE_LINES {
        ensure!(is_there(name), "'{name}' has a ceiling and no files: remove its row");
    }
    let shared = types.into_iter().filter(|(_, times)| *times >= SHARED);
    let shared = shared.map(|(name, times)| format!("{name} {times}")).collect();
    let others = [
        count("lines of tests", test_lines, ceiling::TEST_LINES),
        count("tokens", tokens, ceiling::TOKENS),
        Count {
            found: per_line,
            ceiling: ceiling::TOKENS_PER_LINE,
            ..count("tokens per line", 0, 0)
        },
        places(
            "imports that close a circle of folders",
            circles::of_folders(files),
            ceiling::CIRCLES_OF_FOLDERS,
        ),
        places("names that three types or more have", shared, ceiling::SHARED_NAMES),
        places("round loops", loops, ceiling::ROUND_LOOPS),
        places("places that judge", judges, ceiling::JUDGES),
        places("files that know HTML", html, ceiling::HTML),
        places("files that know Markdown", marked, ceiling::MARKDOWN),
        places("files that know a terminal", terminal, ceiling::TERMINAL),
        count("bytes of Markdown written by hand", markdown, ceiling::MARKDOWN_BYTES),
    ];
    Ok(by_crate.chain(others).collect())
}

/// The folder of the crate that a file is of.
fn crate_of(path: &str) -> &str {
    let parts = if path.starts_with("crates/") { 2 } else { 1 };
    path.match_indices('/').nth(parts - 1).map_or(path, |(end, _)| &path[..end])
}

/// Bytes outside the blocks that a program writes.
fn by_hand(text: &str) -> usize {
    let mut bytes = 0;
    let mut is_generated = false;
    for line in text.split_inclusive('\n') {
        is_generated |= line.starts_with("<!-- generated");
        if !is_generated {
            bytes += line.len();
        }
        is_generated &= !line.starts_with("<!-- end of generated");
    }
    bytes
}

/// Examples and programs for users.
fn is_apart(path: &str) -> bool {
    path.contains("/examples/") || path.contains("/snippets/")
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs" || part.starts_with("testing"))
}

/// Whether a file is a module or lies in its folder.
fn is_of(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Paths without their ending of the modules of a file that only tests have.
fn test_modules(path: &str, product: &Weight) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let folder = if ["mod", "lib", "main"].contains(&name) { folder } else { stem };
    product.tests.iter().map(|module| format!("{folder}/{module}")).collect()
}

/// Public types and constants of the crates.
fn public(files: &[File]) -> Result<(usize, usize)> {
    let (mut types, mut constants) = (0, 0);
    for file in files.iter().filter(|file| file.is_rust() && file.is_below(&["crates"])) {
        if is_test(&file.path) || is_apart(&file.path) {
            continue;
        }
        for line in file.code.lines().map(str::trim_start) {
            let Some(item) = line.strip_prefix("pub ") else { continue };
            let is = |words: &[&str]| words.iter().any(|word| item.starts_with(word));
            types += usize::from(is(&["struct ", "enum ", "trait ", "type ", "union "]));
            constants += usize::from(is(&["const ", "static "]) && !item.starts_with("const fn"));
        }
    }
    Ok((types, constants))
}

/// What a file weighs.
#[derive(Default)]
struct Weight {
    lines: BTreeSet<usize>,
    tokens: usize,
    words: BTreeSet<String>,
    /// What it names of `stats`.
    of_stats: BTreeSet<String>,
    /// Functions that order what they start in each of several rounds.
    loops: Vec<String>,
    /// Modules in other files that only tests have.
    tests: Vec<String>,
    /// Types that it defines.
    types: Vec<String>,
}

/// A file without what only tests have, and all of it. Comments are in neither.
fn weigh(file: &File) -> Result<[Weight; 2]> {
    let tokens =
        TokenStream::from_str(&file.text).map_err(|error| anyhow!("{}: {error}", file.path))?;
    let mut product = Weight::default();
    product.take(tokens.clone(), true);
    let mut whole = Weight::default();
    whole.take(tokens, false);
    Ok([product, whole])
}

impl Weight {
    fn take(&mut self, tokens: TokenStream, skips_tests: bool) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            if inner(&trees, at).is_some_and(is_documentation) {
                at += 3;
                continue;
            }
            if let Some(attribute) = attribute(&trees, at) {
                if is_documentation(attribute) {
                    at += 2;
                    continue;
                }
                if skips_tests && is_for_tests(attribute) {
                    at = self.skip(&trees, at + 2);
                    continue;
                }
            }
            if let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) =
                (tree, trees.get(at + 1))
            {
                if word == "fn" && is_round_loop(&trees[at..]) {
                    self.loops.push(name.to_string());
                }
                if ["struct", "enum", "union", "trait"].iter().any(|kind| word == kind) {
                    self.types.push(name.to_string());
                }
            }
            if matches!(tree, TokenTree::Ident(word) if word == "ipcperf_stats") {
                match trees.get(at + 3) {
                    Some(TokenTree::Ident(word)) => drop(self.of_stats.insert(word.to_string())),
                    Some(TokenTree::Group(group)) => self.of_stats.extend(words(group.stream())),
                    _ => {}
                }
            }
            self.put(tree, skips_tests);
            at += 1;
        }
    }

    fn put(&mut self, tree: &TokenTree, skips_tests: bool) {
        match tree {
            TokenTree::Group(group) => {
                if group.delimiter() != Delimiter::None {
                    self.tokens += 2;
                    self.lines.insert(group.span_open().start().line);
                    self.lines.insert(group.span_close().start().line);
                }
                self.take(group.stream(), skips_tests);
            }
            leaf => {
                self.tokens += 1;
                self.lines.extend(leaf.span().start().line..=leaf.span().end().line);
                if let TokenTree::Ident(word) = leaf {
                    self.words.insert(word.to_string());
                }
            }
        }
    }

    /// Behind the item, field or arm that begins at `at`.
    fn skip(&mut self, trees: &[TokenTree], mut at: usize) -> usize {
        while attribute(trees, at).is_some() {
            at += 2;
        }
        let word = |at: usize| match trees.get(at) {
            Some(TokenTree::Ident(word)) => word.to_string(),
            _ => String::new(),
        };
        let is_to_semicolon =
            |word: &str| ["use", "const", "static", "type", "let", "extern"].contains(&word);
        let is_item = |word: &str| {
            ["fn", "mod", "impl", "struct", "enum", "trait", "unsafe", "async"].contains(&word)
        };
        let begin = (at..at + 3).find(|at| is_item(&word(*at)) || is_to_semicolon(&word(*at)));
        let ends_with_semicolon =
            begin.is_some_and(|begin| is_to_semicolon(&word(begin)) && word(begin + 1) != "fn");
        if let Some(begin) = begin
            && word(begin) == "mod"
            && matches!(trees.get(begin + 2), Some(TokenTree::Punct(_)))
        {
            self.tests.push(word(begin + 1));
        }
        while let Some(tree) = trees.get(at) {
            at += 1;
            match tree {
                TokenTree::Punct(sign) if sign.as_char() == ';' => break,
                TokenTree::Punct(sign) if sign.as_char() == ',' && begin.is_none() => break,
                TokenTree::Group(group)
                    if group.delimiter() == Delimiter::Brace && !ends_with_semicolon =>
                {
                    break;
                }
                _ => {}
            }
        }
        at
    }
}

/// The attribute that begins at `at`.
fn attribute(trees: &[TokenTree], at: usize) -> Option<&Group> {
    match (trees.get(at), trees.get(at + 1)) {
        (Some(TokenTree::Punct(sign)), Some(TokenTree::Group(group)))
            if sign.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group)
        }
        _ => None,
    }
}

/// The attribute of what it stands in (`#![...]`) that begins at `at`.
fn inner(trees: &[TokenTree], at: usize) -> Option<&Group> {
    match (trees.get(at), trees.get(at + 1), trees.get(at + 2)) {
        (
            Some(TokenTree::Punct(sign)),
            Some(TokenTree::Punct(mark)),
            Some(TokenTree::Group(group)),
        ) if sign.as_char() == '#' && mark.as_char() == '!' => Some(group),
        _ => None,
    }
}

fn begins_with(group: &Group, name: &str) -> bool {
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == name)
}

fn is_documentation(attribute: &Group) -> bool {
    begins_with(attribute, "doc")
}

fn is_for_tests(attribute: &Group) -> bool {
    let text = attribute.stream().to_string();
    let has = |name: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    };
    text == "test" || (begins_with(attribute, "cfg") && has("test") && !has("not"))
}

/// Whether the function that begins here goes over rounds and shuffles what it starts in each of them.
fn is_round_loop(trees: &[TokenTree]) -> bool {
    let body = trees.iter().find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    });
    body.is_some_and(|body| {
        let words = words(body.stream());
        (words.contains("shuffle") || words.contains("turn")) && has_loop_over_rounds(body.stream())
    })
}

/// All names in it.
fn words(tokens: TokenStream) -> BTreeSet<String> {
    let of = |tree| match tree {
        TokenTree::Ident(word) => BTreeSet::from([word.to_string()]),
        TokenTree::Group(group) => words(group.stream()),
        _ => BTreeSet::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

/// A `for` or `while` whose head names rounds.
fn has_loop_over_rounds(tokens: TokenStream) -> bool {
    let mut is_in_head = false;
    for tree in tokens {
        match tree {
            TokenTree::Ident(word) if word == "for" || word == "while" => is_in_head = true,
            TokenTree::Ident(word) if is_in_head && (word == "round" || word == "rounds") => {
                return true;
            }
            TokenTree::Group(group) => {
                is_in_head &= group.delimiter() != Delimiter::Brace;
                if has_loop_over_rounds(group.stream()) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_have_and_comments_weigh_nothing_in_the_product() {
        let text = "//! Doc.\n/// Doc.\nfn a() {\n    // No.\n    b(1);\n}\n\n#[cfg(test)]\nuse x::{y};\n#[cfg(test)]\nmod far;\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn c() {}\n}\n";
        let [product, whole] = weigh(&File::new("crates/x/src/lib.rs", text)).expect("it is Rust");
        assert_eq!((product.lines.len(), product.tokens), (3, 11));
        assert_eq!(whole.lines.len(), 12);
        assert_eq!(product.tests, ["far"]);
    }

    #[test]
    fn a_file_belongs_to_the_folder_of_its_crate() {
        for (path, folder) in [
            ("crates/core/src/lib.rs", "crates/core"),
            ("crates/ipcperf/build.rs", "crates/ipcperf"),
            ("xtask/src/main.rs", "xtask"),
        ] {
            assert_eq!(crate_of(path), folder);
        }
    }

    #[test]
    fn types_are_found_by_name_and_those_of_tests_are_not() {
        let text = "struct A;\nenum B { C }\ntype D = A;\n#[cfg(test)]\nmod tests { struct E; }\n";
        let [product, _] = weigh(&File::new("crates/x/src/lib.rs", text)).expect("it is Rust");
        assert_eq!(product.types, ["A", "B"]);
    }

    #[test]
    fn a_loop_over_rounds_that_shuffles_is_found_by_name() {
        let found = |text: &str| {
            weigh(&File::new("crates/x/src/lib.rs", text)).expect("it is Rust")[0].loops.clone()
        };
        assert_eq!(found("fn a() { for round in 0..9 { order.shuffle(&mut t); go(); } }"), ["a"]);
        assert_eq!(found("fn b() { while rounds < all { for i in turn(c) { go(i); } } }"), ["b"]);
        assert!(found("fn c() { for round in 0..9 { go(); } }").is_empty());
        assert!(found("fn d() { for x in 0..9 { order.shuffle(&mut t); } }").is_empty());
    }

    #[test]
    fn blocks_that_a_program_writes_are_not_written_by_hand() {
        assert_eq!(by_hand("ab\n<!-- generated -->\nxyz\n<!-- end of generated -->\nc\n"), 5);
    }
}
