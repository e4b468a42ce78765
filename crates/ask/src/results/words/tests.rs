//! Every word that a screen shows is explained.

use super::*;
use ipcperf_core::findings;
use ipcperf_core::result::Difference;
use ipcperf_kit::command::vocabulary;
use std::collections::BTreeSet;
use std::path::Path;

fn names(kind: WordKind) -> BTreeSet<String> {
    let words = all().iter().filter(|word| word.kind == kind);
    words.map(|word| word.name.to_owned()).collect()
}

/// The code of the engine, tests apart.
fn code(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            code(&path, into);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        *into += text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    }
}

#[test]
fn every_row_of_the_table_of_findings_is_listed_and_raised() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = |name| std::fs::read_to_string(folder.join("core/src").join(name)).unwrap();
    let table = file("findings.rs") + &file("findings/checks.rs");
    let rows = table.split("\npub const ").skip(1).filter_map(|row| row.split_once(": Row ="));
    let rows: Vec<&str> = rows.map(|(name, _)| name).collect();
    assert_eq!(rows.len(), findings::ALL.len(), "{rows:?}");
    let mut engine = String::new();
    code(&folder.join("engine/src"), &mut engine);
    code(&folder.join("ask/src"), &mut engine);
    code(&folder.join("kit/src"), &mut engine);
    let is_end = |sign: char| !sign.is_ascii_alphanumeric() && sign != '_';
    let raised = engine.split("findings::").skip(1).filter_map(|rest| rest.split(is_end).next());
    let raised: BTreeSet<&str> = raised.collect();
    for row in rows {
        assert!(raised.contains(row), "{row} is never raised");
    }
}

#[test]
fn every_verdict_status_and_grade_is_explained_and_no_other() {
    let said = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
    let differences: Vec<&str> = Difference::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(names(WordKind::Difference), said(&differences));
    assert_eq!(names(WordKind::Grade), said(&["grade", "A", "B", "C", "D", "F", "none"]));
    for status in names(WordKind::Status) {
        let read = serde_json::from_str::<ipcperf_core::result::Status>(&format!("\"{status}\""));
        assert!(read.is_ok(), "{status}");
    }
    assert_eq!(names(WordKind::Status).len(), 6);
}

#[test]
fn words_are_found_in_any_case_and_the_machine_with_its_severity() {
    let vocabulary = vocabulary(crate::COMMANDS);
    let name = |given: &str| vocabulary.find(given).first().map(|word| (word.name, word.kind));
    assert_eq!(name("w-loss"), Some(("W-LOSS", WordKind::Finding)));
    assert_eq!(name("I-VM"), Some(("VM", WordKind::Machine)));
    assert_eq!(name("w-clock"), Some(("W-CLOCK", WordKind::Finding)));
    assert_eq!(name("clock"), Some(("CLOCK", WordKind::Machine)));
    assert_eq!(name("E-VM"), None);
    assert_eq!(name("X-VM"), None);
    let of = |given: &str| vocabulary.find(given).iter().map(|word| word.kind).collect::<Vec<_>>();
    assert_eq!(of("A"), [WordKind::Grade, WordKind::Column]);
    assert_eq!((of("load"), of("LOAD")), (vec![WordKind::Column], vec![WordKind::Machine]));
    assert_eq!(of("w-load"), [WordKind::Finding; 2]);
    let mut names: Vec<_> =
        vocabulary.words().map(|word| (word.name, word.kind.names(), &word.meaning)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), vocabulary.words().count());
}

#[test]
fn every_term_and_every_other_word_for_it_is_explained() {
    let terms = names(WordKind::Term);
    assert!(terms.len() <= 40 && terms.len() == terms::TERMS.len(), "{}", terms.len());
    let vocabulary = vocabulary(crate::COMMANDS);
    for term in &terms {
        assert!(vocabulary.find(term).iter().any(|word| word.kind == WordKind::Term), "{term}");
    }
    for (word, term) in terms::SYNONYMS.iter().chain(terms::OTHER_WORDS) {
        assert!(terms.contains(*term) && !terms.contains(*word), "{word}");
        assert_eq!(term_of(word), Some(*term));
        assert!(!vocabulary.has(word), "{word} has a meaning of its own");
    }
}

/// The sentences of the documents, without what they quote.
fn sentences(text: &str) -> String {
    let no_blocks: String = text.split("```").step_by(2).collect();
    no_blocks.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[test]
fn documents_use_the_term_and_no_other_word_for_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documents = [root.clone(), root.join("docs")].into_iter().flat_map(|folder| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
            .collect::<Vec<_>>()
    });
    let mut count = 0;
    for path in documents {
        let text = sentences(&std::fs::read_to_string(&path).unwrap());
        let words: Vec<&str> = text
            .split(|sign: char| !sign.is_alphanumeric() && sign != '-')
            .filter(|word| !word.is_empty())
            .collect();
        let text = format!(" {} ", words.join(" "));
        count += words.len();
        for (other, term) in terms::SYNONYMS {
            assert!(
                !text.contains(&format!(" {other} ")),
                "{}: {other}, which is {term}",
                path.display()
            );
        }
    }
    assert!(count > 10_000, "{count} words were read");
}
