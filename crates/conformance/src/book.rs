//! The matrix as a document, and the pairs of a mechanism and a case that do not apply to each other.

use crate::case::CASES;
use crate::matrix::Matrix;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

/// The document.
pub(crate) fn text(matrix: &Matrix) -> String {
    let mut text = String::from("# Conformance\n\n| case | what must hold |\n| --- | --- |\n");
    for case in CASES {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {} |", case.id, case.title.replace('_', " "));
    }
    let _ = write!(
        text,
        "\nOn Linux {}, {}:\n\n```text\n{matrix}\n```\n",
        kernel(),
        std::env::consts::ARCH
    );
    text
}

/// Release of the running kernel without what a distribution adds: `6.18`.
fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Where the matrix differs from the list (`C10 C23: sendfile pty`), in words. A mechanism that cannot run here shows no difference.
pub(crate) fn changes(exempt: &str, matrix: &Matrix) -> Vec<String> {
    let listed: BTreeSet<(&str, &str)> = exempt
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(cases, mechanisms)| {
            mechanisms
                .split(' ')
                .flat_map(|mechanism| cases.split(' ').map(move |id| (mechanism, id)))
        })
        .collect();
    let letters: BTreeMap<(&str, &str), char> = matrix
        .mechanisms()
        .flat_map(|mechanism| {
            CASES.iter().map(move |case| ((mechanism, case.id), matrix.letter(mechanism, case.id)))
        })
        .collect();
    let mut changes = Vec::new();
    for (place @ (mechanism, id), letter) in &letters {
        match (listed.contains(place), letter) {
            (true, '+' | 'F') => changes.push(format!("{mechanism} {id} applies now")),
            (false, '-') => changes.push(format!("{mechanism} {id} does not apply any more")),
            _ => {}
        }
    }
    let gone = listed.iter().filter(|place| !letters.contains_key(*place));
    changes.extend(gone.map(|(mechanism, id)| format!("{mechanism} {id} does not exist")));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Outcome;

    fn matrix(outcome: &Outcome) -> Matrix {
        let mut matrix = Matrix::default();
        for case in CASES {
            let is_it = case.id == "C02";
            let of = |outcome: &Outcome| if is_it { outcome.clone() } else { Outcome::Passed };
            matrix.set("pipe", &case.name(), Outcome::Passed);
            matrix.set("a/b", &case.name(), of(outcome));
        }
        matrix
    }

    #[test]
    fn a_case_that_does_not_apply_is_listed_and_one_that_cannot_run_here_may_be() {
        const LIST: &str = "C02: a/b";
        let none = matrix(&Outcome::NotApplicable("x".into()));
        let lacking = matrix(&Outcome::Unavailable("x".into()));
        assert_eq!(changes(LIST, &none), Vec::<String>::new());
        assert_eq!(changes("", &none), ["a/b C02 does not apply any more"]);
        assert_eq!(changes(LIST, &lacking), Vec::<String>::new());
        assert_eq!(changes("", &lacking), Vec::<String>::new());
        for outcome in [Outcome::Passed, Outcome::Failed("x".into())] {
            assert_eq!(changes(LIST, &matrix(&outcome)), ["a/b C02 applies now"]);
        }
        assert_eq!(changes("C02 C99: tcp", &matrix(&Outcome::Passed)).len(), 2);
    }

    #[test]
    fn the_document_names_every_case_and_has_the_letters() {
        let text = text(&matrix(&Outcome::Passed));
        assert!(CASES.iter().all(|case| text.contains(&format!("| {} | ", case.id))), "{text}");
        assert!(text.contains("\na/b "), "{text}");
    }
}
