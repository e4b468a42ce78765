//! Files that a program writes must hold what the program would write today.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::file::{File, Violation};

/// A tracked file and what makes its text from the repository's root.
pub(crate) struct Generated {
    pub(crate) file: &'static str,
    pub(crate) text: fn(&Path) -> Result<String>,
}

/// What the product prints. Its own tests look at these, since they have built it. The table of bare loops is measured, so
/// it has no one true text, and the conformance suite looks after its own matrix.
const OF_THE_PRODUCT: &[Generated] = &[
    Generated { file: "docs/MECHANISMS.md", text: |root| product(root, &["reference"]) },
    Generated {
        file: "docs/WORDS.md",
        text: |root| product(root, &["explain", "--format", "markdown"]),
    },
];

pub(crate) const SCHEMAS: &[Generated] = &[
    Generated { file: "schema/ipcperf.result-2.schema.json", text: |root| schema(root, "result") },
    Generated {
        file: "schema/ipcperf.mechanisms-1.schema.json",
        text: |root| schema(root, "mechanisms"),
    },
    Generated {
        file: "schema/ipcperf.replication-1.schema.json",
        text: |root| schema(root, "replication"),
    },
    Generated { file: "schema/ipcperf.doctor-1.schema.json", text: |root| schema(root, "doctor") },
    Generated {
        file: "schema/ipcperf.selftest-1.schema.json",
        text: |root| schema(root, "selftest"),
    },
    Generated {
        file: "schema/ipcperf.comparison-1.schema.json",
        text: |root| schema(root, "comparison"),
    },
];

/// What the product prints when it is given these words.
fn product(root: &Path, words: &[&str]) -> Result<String> {
    let run = ["run", "--quiet", "--package", "ipcperf", "--bin", "ipcperf", "--"];
    printed(crate::cargo::cargo().args(run).args(words).current_dir(root))
}

/// The JSON Schema of a document. Its generator is built by itself: a feature that this program enabled would be on in
/// every build of the workspace. As a part of the workspace it shares with the tests what both need.
fn schema(root: &Path, document: &str) -> Result<String> {
    let status = crate::cargo::cargo()
        .args(["build", "--quiet", "--workspace", "--features", "ipcperf-core/schema"])
        .args(["--example", "schema"])
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the generator of schemas does not compile");
    let metadata = cargo_metadata::MetadataCommand::new().current_dir(root).no_deps().exec()?;
    printed(Command::new(metadata.target_directory.join("debug/examples/schema")).arg(document))
}

/// What a program of the workspace prints.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().context("cannot start it")?;
    ensure!(output.status.success(), "{command:?} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Writes all of them below `root`.
pub(crate) fn write(root: &Path) -> Result<()> {
    for Generated { file, text } in OF_THE_PRODUCT.iter().chain(SCHEMAS) {
        std::fs::write(root.join(file), text(root)?).with_context(|| (*file).to_owned())?;
    }
    Ok(())
}

/// Files that are missing or stale.
pub(crate) fn check(
    generated: &[Generated],
    root: &Path,
    files: &[File],
) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for entry in generated {
        let wanted = (entry.text)(root)?;
        let found = files.iter().find(|file| file.path == entry.file);
        if found.is_none_or(|file| file.text != wanted) {
            let what = "is not what its generator writes today (cargo xtask docs)";
            violations.push(Violation::new(entry.file, 0, what));
        }
    }
    Ok(violations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_or_missing_file_is_a_violation_and_a_fresh_one_is_not() {
        let table = [Generated { file: "docs/a.md", text: |_| Ok("new\n".to_owned()) }];
        let violations = |files: &[File]| check(&table, Path::new("."), files).unwrap().len();
        assert_eq!(violations(&[File::new("docs/a.md", "new\n")]), 0);
        assert_eq!(violations(&[File::new("docs/a.md", "old\n")]), 1);
        assert_eq!(violations(&[]), 1);
    }
}
