//! Patterns of English that read as translated: in documents and in what users read there are none, and in comments and names
//! of tests ever fewer.

use super::file::{File, Violation};

/// What a reader has to read twice, and what an engineer says instead.
const PATTERNS: [(&str, &str); 9] = [
    ("told", "reported, shown, passed"),
    ("anew", "again"),
    ("in vain", "without effect, for nothing"),
    ("the begin", "the start"),
    ("nobody", "no process, nothing, none"),
    ("somebody", "a process, a user"),
    ("of ours", "our"),
    ("so many", "the number of them"),
    ("as it is", "unchanged"),
];

/// The same at the end of a part of a sentence only: "as it is typed" is right.
const AT_AN_END: [&str; 1] = ["as it is"];

/// The most of them in strings and in comments of each crate, and in names of tests. They only fall.
const CEILINGS: [(&str, usize, usize); 17] = [
    ("ask", 7, 70),
    ("builtin", 0, 0),
    ("conformance", 6, 22),
    ("core", 1, 32),
    ("engine", 0, 155),
    ("ipcperf", 0, 1),
    ("judge", 0, 14),
    ("kit", 0, 16),
    ("mech", 0, 45),
    ("packed", 0, 0),
    ("plugin", 0, 0),
    ("programs", 0, 59),
    ("render", 0, 10),
    ("ring", 0, 8),
    ("stats", 0, 5),
    ("studies", 0, 28),
    ("sys", 1, 168),
];

/// The most of them in names of tests.
const NAMES: usize = 156;

/// Documents that the program writes are read where their texts are.
const GENERATED: [&str; 3] = ["docs/MECHANISMS.md", "docs/RESULTS.md", "docs/WORDS.md"];

/// What is read of a Rust file, without its tests, and the names of these.
#[derive(Debug, Default, PartialEq)]
struct Prose {
    strings: String,
    comments: String,
    names: String,
}

/// Every pattern in documents, and crates that have more of them than before.
pub(crate) fn check(files: &[File]) -> Vec<Violation> {
    let mut violations: Vec<Violation> = files.iter().flat_map(in_document).collect();
    let mut names = 0;
    for (package, strings, comments) in CEILINGS {
        let folder = format!("crates/{package}");
        let rust = files.iter().filter(|file| file.is_rust() && file.is_below(&[&folder]));
        let (mut of_strings, mut of_comments) = (0, 0);
        for prose in rust.map(prose) {
            of_strings += count(&prose.strings);
            of_comments += count(&prose.comments);
            names += count(&prose.names);
        }
        for (what, found, most) in
            [("strings", of_strings, strings), ("comments", of_comments, comments)]
        {
            if found > most {
                let what =
                    format!("{found} patterns of style in {what}, at most {most}: {}", list());
                violations.push(Violation::new(&folder, 0, what));
            }
        }
    }
    if names > NAMES {
        let what = format!("{names} patterns of style in names of tests, at most {NAMES}");
        violations.push(Violation::new("crates", 0, what));
    }
    violations
}

/// The lines of crates with a pattern in a string or a comment: `path:line: text`.
pub(crate) fn list_all(files: &[File]) -> Vec<String> {
    let rust = files.iter().filter(|file| file.is_rust() && file.is_below(&["crates"]));
    let of_file = |file: &File| {
        let is_tested = is_test(&file.path);
        let lines = (1..).zip(file.text.lines().zip(file.code.lines()));
        let hits =
            lines.take_while(|(_, (line, _))| !starts_tests(line)).filter(move |_| !is_tested);
        let hits = hits.filter(|(_, (text, code))| count(&read(text, code).concat()) > 0);
        let shown =
            |(at, (text, _)): (usize, (&str, &str))| format!("{}:{at}: {}", file.path, text.trim());
        hits.map(shown).collect::<Vec<_>>()
    };
    rust.flat_map(of_file).collect()
}

fn list() -> String {
    let words = PATTERNS.map(|(pattern, instead)| format!("'{pattern}' ({instead})"));
    words.join(", ")
}

/// Patterns in a document that is written by hand, outside of its code.
fn in_document(file: &File) -> Vec<Violation> {
    if !file.path.ends_with(".md") || GENERATED.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut is_code = false;
    let mut violations = Vec::new();
    for (at, line) in (1..).zip(file.text.lines()) {
        is_code ^= line.trim_start().starts_with("```");
        // What stands between backticks is typed or printed.
        let prose: String = line.split('`').step_by(2).collect();
        for (pattern, instead) in PATTERNS.iter().filter(|_| !is_code) {
            if occurs(&prose.to_lowercase(), pattern) > 0 {
                let what = format!("'{pattern}': say {instead}");
                violations.push(Violation::new(&file.path, at, what));
            }
        }
    }
    violations
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/benches/")
}

fn starts_tests(line: &str) -> bool {
    line.starts_with("mod tests {")
}

/// What a line says in strings, and in its comment.
fn read(text: &str, code: &str) -> [String; 2] {
    let both: Vec<(char, char)> = text.chars().zip(code.chars()).collect();
    let is_comment = |at: &usize| {
        let rest = &both[*at..];
        matches!(rest, [('/', _), ('/', _), ..]) && rest.iter().all(|(_, code)| *code == ' ')
    };
    let begin = (0..both.len()).find(is_comment).unwrap_or(both.len());
    let (before, comment) = both.split_at(begin);
    let blanked = |(text, code): &(char, char)| if code == text { ' ' } else { *text };
    [before.iter().map(blanked).collect(), comment.iter().map(|(text, _)| *text).collect()]
}

fn prose(file: &File) -> Prose {
    let mut prose = Prose::default();
    let mut is_tested = is_test(&file.path);
    for (text, code) in file.text.lines().zip(file.code.lines()) {
        is_tested |= starts_tests(text);
        if is_tested {
            if let Some((name, _)) =
                code.trim_start().strip_prefix("fn ").and_then(|rest| rest.split_once('('))
            {
                prose.names += &format!(" {}", name.replace('_', " "));
            }
            continue;
        }
        let [strings, comment] = read(text, code);
        prose.strings += &format!(" {}", strings.trim().trim_end_matches('\\'));
        prose.comments += &format!(" {}", comment.trim_start_matches(['/', '!', ' ']));
    }
    prose
}

/// All patterns in a text.
fn count(text: &str) -> usize {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    PATTERNS.iter().map(|(pattern, _)| occurs(&text, pattern)).sum()
}

/// How often a pattern stands in a text as whole words.
fn occurs(text: &str, pattern: &str) -> usize {
    let is_part = |sign: char| sign.is_alphanumeric() || "_-".contains(sign);
    let is_word = |(at, found): &(usize, &str)| {
        let (before, after) = (&text[..*at], &text[at + found.len()..]);
        let is_end = after.starts_with(|sign| ".,;:)\"".contains(sign)) || after.is_empty();
        !before.ends_with(is_part)
            && !after.starts_with(is_part)
            && (is_end || !AT_AN_END.contains(&pattern))
    };
    text.match_indices(pattern).filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_where_they_are_read_and_nowhere_else() {
        let text = "/// It is told.\nfn told() { say(\"in vain\"); } // so\n// many\n\"told_of_death\";\n\
                    #[cfg(test)]\nmod tests {\n    // nobody\n    fn what_is_told_anew() {}\n}\n";
        let prose = prose(&File::new("crates/x/src/a.rs", text));
        assert_eq!(
            [&prose.strings, &prose.comments, &prose.names].map(|one| count(one)),
            [1, 2, 2]
        );
        let tests = File::new("crates/x/tests/it/a.rs", "// told\nfn nobody_waits() {}\n");
        let prose = super::prose(&tests);
        assert_eq!(
            [&prose.strings, &prose.comments, &prose.names].map(|one| count(one)),
            [0, 0, 1]
        );
    }

    #[test]
    fn a_document_has_none_outside_of_code() {
        let text = "Told.\n`told`\n```\ntold\n```\nleft as it is, as it is typed\nuntold\n";
        let lines = |path: &str| {
            let found = in_document(&File::new(path, text));
            found.into_iter().map(|one| one.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("docs/METHOD.md"), [1, 6]);
        assert!(lines("docs/WORDS.md").is_empty(), "it is generated");
    }
}
