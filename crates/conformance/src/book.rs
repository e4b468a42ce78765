//! The matrix as it is kept in the repository, and whether it is still true.

use crate::case::CASES;
use crate::matrix::Matrix;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// Where the table of letters begins and ends.
const FENCE: &str = "```";

/// The document.
pub(crate) fn text(matrix: &Matrix) -> String {
    let mut text = String::from(
        "# Conformance\n\n\
         Every mechanism meets every case, in real processes. Written by\n\
         `IPCPERF_BLESS=1 cargo test --test conformance`; a run whose outcome is another one fails. What a mechanism\n\
         does not claim is not asked of it, and its facts decide what that is ([MECHANISMS.md](MECHANISMS.md)). That\n\
         each case notices what it should is shown by mechanisms that are broken on purpose\n\
         (`crates/conformance/tests/bites.rs`).\n\n\
         | case | what must hold |\n| --- | --- |\n",
    );
    for case in CASES {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {} |", case.id, case.title.replace('_', " "));
    }
    let _ = write!(
        text,
        "\nOn Linux {}, {}:\n\n{FENCE}text\n{matrix}\n{FENCE}\n",
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

/// What has changed since `kept` was written, in words. A mechanism that cannot run here, or could not run there, says
/// nothing about a change.
pub(crate) fn changes(kept: &str, matrix: &Matrix) -> Vec<String> {
    let kept = letters(kept);
    let now = letters(&text(matrix));
    let mut changes = Vec::new();
    for (place @ (mechanism, case), letter) in &now {
        match kept.get(place) {
            Some(old) if old == letter || [*old, *letter].contains(&'U') => {}
            Some(old) => changes.push(format!("{mechanism} {case}: {old} is now {letter}")),
            None => changes.push(format!("{mechanism} {case}: new")),
        }
    }
    let gone = kept.keys().filter(|place| !now.contains_key(place));
    changes.extend(gone.map(|(mechanism, case)| format!("{mechanism} {case}: gone")));
    changes
}

/// The letters of the table, by mechanism and case.
fn letters(text: &str) -> BTreeMap<(String, String), char> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(FENCE)).skip(1);
    let heads: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let rows = lines.take_while(|line| !line.starts_with('+'));
    rows.filter_map(|line| line.split_once(' '))
        .flat_map(|(mechanism, letters)| {
            letters.split_whitespace().zip(&heads).filter_map(|(letter, head)| {
                let place = (mechanism.to_owned(), (*head).to_owned());
                Some((place, letter.chars().next()?))
            })
        })
        .collect()
}

/// What stands behind the table of letters: it is written by hand, and stays.
fn rest(kept: &str) -> &str {
    let behind = kept.split_once(&format!("{FENCE}text\n")).map_or("", |(_, behind)| behind);
    behind.split_once(&format!("\n{FENCE}\n")).map_or("", |(_, rest)| rest)
}

/// Compares, or writes where `is_blessing`. The error is what to tell.
pub(crate) fn keep(path: &Path, matrix: &Matrix, is_blessing: bool) -> Result<(), String> {
    let failed = |error: io::Error| format!("{path:?}: {error}");
    let kept = fs::read_to_string(path);
    if is_blessing {
        let written = text(matrix) + kept.as_deref().map_or("", rest);
        return fs::write(path, written).map_err(failed);
    }
    let kept = kept.map_err(failed)?;
    match changes(&kept, matrix)[..] {
        [] => Ok(()),
        ref changes => Err(format!(
            "{} is not what came out: {} (IPCPERF_BLESS=1 writes it)",
            path.display(),
            changes.join("; ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Outcome;

    fn matrix(outcome: Outcome) -> Matrix {
        let mut matrix = Matrix::default();
        for case in CASES {
            matrix.set("pipe", &case.name(), Outcome::Passed);
            let kept = case.id == "C02";
            matrix.set("a/b", &case.name(), if kept { outcome.clone() } else { Outcome::Passed });
        }
        matrix
    }

    #[test]
    fn a_change_is_told_and_a_host_that_lacks_something_changes_nothing() {
        let kept = text(&matrix(Outcome::Passed));
        assert_eq!(changes(&kept, &matrix(Outcome::Passed)), Vec::<String>::new());
        assert_eq!(changes(&kept, &matrix(Outcome::Unavailable("x".into()))), Vec::<String>::new());
        let broken = matrix(Outcome::NotApplicable("x".into()));
        assert_eq!(changes(&kept, &broken), ["a/b C02: + is now -"]);
        let fewer = kept.replace("pipe ", "tcp  ");
        let told = changes(&fewer, &matrix(Outcome::Passed));
        assert!(told.contains(&"pipe C01: new".to_owned()), "{told:?}");
        assert!(told.contains(&"tcp C01: gone".to_owned()), "{told:?}");
    }

    #[test]
    fn what_is_written_by_hand_behind_the_matrix_stays() {
        let by_hand = "\n## More\n\n```text\nx\n```\n";
        let kept = text(&matrix(Outcome::Passed));
        assert_eq!([rest(&kept), rest(&(kept.clone() + by_hand)), rest("")], ["", by_hand, ""]);
        let broken = matrix(Outcome::Failed("x".into()));
        assert_eq!(changes(&(kept + by_hand), &broken), ["a/b C02: + is now F"]);
    }
}
