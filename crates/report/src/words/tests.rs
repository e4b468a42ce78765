//! Every word that a screen shows has its row.

use super::*;
use ipcperf_core::result::{Difference, Verdict};
use std::collections::BTreeSet;
use std::path::Path;

fn names(kind: Kind) -> BTreeSet<String> {
    let words = WORDS.iter().filter(|word| word.kind == kind);
    words.map(|word| word.name.to_owned()).collect()
}

/// What stands between quotes after `before` in the engine, tests apart, and looks like a code.
fn codes(folder: &Path, before: &str, is_code: &dyn Fn(&str) -> bool, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            codes(&path, before, is_code, into);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let quoted = code.split(before).skip(1).filter_map(|rest| rest.split('"').next());
        let first = quoted.map(|text| text.split([':', ' ']).next().unwrap_or_default());
        into.extend(first.filter(|word| is_code(word)).map(str::to_owned));
    }
}

fn found(before: &str, is_code: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src");
    let mut all = BTreeSet::new();
    codes(&engine, before, is_code, &mut all);
    all
}

#[test]
fn every_finding_that_exists_is_explained_and_no_other() {
    let is_code = |word: &str| {
        let signs = word.strip_prefix("E-").or(word.strip_prefix("W-")).or(word.strip_prefix("I-"));
        signs.is_some_and(|code| {
            code.len() > 1 && code.chars().all(|sign| sign.is_ascii_uppercase() || sign == '-')
        })
    };
    assert_eq!(found("\"", &is_code), names(Kind::Finding));
    let is_upper = |word: &str| word.chars().all(|sign| sign.is_ascii_uppercase());
    assert_eq!(found("fine(\"", &is_upper), names(Kind::Machine));
}

#[test]
fn every_verdict_status_and_grade_is_explained_and_no_other() {
    let said = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
    let differences: Vec<&str> = Difference::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(names(Kind::Difference), said(&differences));
    let verdicts: Vec<&str> = Verdict::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(names(Kind::Claim), said(&verdicts));
    assert_eq!(names(Kind::Grade), said(&["grade", "A", "B", "C", "D", "F", "none"]));
    for status in names(Kind::Status) {
        let read = serde_json::from_str::<ipcperf_core::result::Status>(&format!("\"{status}\""));
        assert!(read.is_ok(), "{status}");
    }
    assert_eq!(names(Kind::Status).len(), 6);
}

#[test]
fn words_are_found_in_any_case_and_the_machine_with_its_severity() {
    let name = |given: &str| find(given).first().map(|word| (word.name, word.kind));
    assert_eq!(name("w-loss"), Some(("W-LOSS", Kind::Finding)));
    assert_eq!(name("I-VM"), Some(("VM", Kind::Machine)));
    assert_eq!(name("w-clock"), Some(("W-CLOCK", Kind::Finding)));
    assert_eq!(name("clock"), Some(("CLOCK", Kind::Machine)));
    assert_eq!(name("E-VM"), None);
    assert_eq!(name("X-VM"), None);
    let of = |given: &str| find(given).iter().map(|word| word.kind).collect::<Vec<_>>();
    assert_eq!(of("A"), [Kind::Grade, Kind::Column]);
    assert_eq!((of("load"), of("LOAD")), (vec![Kind::Column], vec![Kind::Machine]));
    assert_eq!(of("w-load"), [Kind::Finding]);
    let mut names: Vec<_> = all().map(|word| (word.name, word.kind.names())).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().count());
}
