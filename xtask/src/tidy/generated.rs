//! Files that a program writes must hold what the program would write today.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::file::{File, Violation, tracked};

/// What the product prints when it is given words. Its own tests look at these, since they have built it.
const OF_THE_PRODUCT: [(&str, &[&str]); 2] = [
    ("docs/MECHANISMS.md", &["reference"]),
    ("docs/WORDS.md", &["explain", "--format", "markdown"]),
];

/// A tracked file, from the repository's root, and what it holds if it is fresh.
type Generated = (String, String);

/// What the product prints when it is given these words.
fn product(root: &Path, words: &[&str]) -> Result<String> {
    let run = ["run", "--quiet", "--package", "ipcperf", "--bin", "ipcperf", "--"];
    printed(crate::cargo::cargo().args(run).args(words).current_dir(root))
}

/// The JSON Schemas, and the keys in docs/RESULTS.md. Their generator is built by itself: a feature that this program
/// enabled would be on in every build of the workspace. As a part of the workspace it shares with the tests what both need.
pub(crate) fn schemas(root: &Path) -> Result<Vec<Generated>> {
    let status = crate::cargo::cargo()
        .args(["build", "--quiet", "--workspace", "--features", "ipcperf/schema"])
        .args(["--example", "schema"])
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the generator of schemas does not compile");
    let metadata = cargo_metadata::MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let generator = metadata.target_directory.join("debug/examples/schema");
    let kinds = printed(&mut Command::new(&generator))?;
    let schema = |line: &str| {
        let (name, kind) = line.split_once(' ').context("a name and a kind")?;
        let (_, version) = kind.split_once('/').context("a kind has a version")?;
        let major = version.split('.').next().unwrap_or(version);
        let file = format!("ipcperf.{name}-{major}.schema.json");
        Ok((placed(root, &file)?, printed(Command::new(&generator).arg(name))?))
    };
    let mut all = kinds.lines().map(schema).collect::<Result<Vec<_>>>()?;
    let file = "docs/RESULTS.md";
    let text = std::fs::read_to_string(root.join(file)).context(file)?;
    all.push((
        file.to_owned(),
        with_block(&text, &printed(Command::new(&generator).arg("keys"))?)?,
    ));
    Ok(all)
}

/// Where a schema is, from the root: wherever a file of this name lies, which may be empty.
fn placed(root: &Path, file: &str) -> Result<String> {
    let files = tracked(root)?;
    let place = files.into_iter().find(|one| one.path.ends_with(&format!("/{file}")));
    let place = place.with_context(|| format!("no crate has a file {file}: make an empty one"))?;
    Ok(place.path)
}

/// The text with its generated block, which stands between two lines of their own, replaced.
fn with_block(text: &str, block: &str) -> Result<String> {
    const LINES: [&str; 2] = ["<!-- generated -->\n", "<!-- end of generated -->"];
    let (before, rest) = text.split_once(LINES[0]).context("no generated block")?;
    let (_, after) = rest.split_once(LINES[1]).context("a generated block without an end")?;
    Ok([before, LINES[0], "\n", block, LINES[1], after].concat())
}

/// What a program of the workspace prints.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().context("cannot start it")?;
    ensure!(output.status.success(), "{command:?} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Writes all of them below `root`.
pub(crate) fn write(root: &Path) -> Result<()> {
    let mut all = Vec::new();
    for (file, words) in OF_THE_PRODUCT {
        all.push((file.to_owned(), product(root, words)?));
    }
    all.extend(schemas(root)?);
    for (file, text) in all {
        std::fs::write(root.join(&file), text).context(file)?;
    }
    Ok(())
}

/// Files that are missing or stale.
pub(crate) fn check(generated: &[Generated], files: &[File]) -> Vec<Violation> {
    let is_stale = |(path, text): &&Generated| {
        let found = files.iter().find(|file| file.path == *path);
        found.is_none_or(|file| file.text != *text)
    };
    let what = "is not what its generator writes today (cargo xtask docs)";
    generated.iter().filter(is_stale).map(|(path, _)| Violation::new(path, 0, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_what_stands_around_it_stays() {
        let text = "a\n<!-- generated -->\nold\n<!-- end of generated -->\nb\n";
        let fresh = "a\n<!-- generated -->\n\nnew\n<!-- end of generated -->\nb\n";
        assert_eq!(with_block(text, "new\n").ok().as_deref(), Some(fresh));
        assert_eq!(with_block(fresh, "new\n").ok().as_deref(), Some(fresh));
        assert!(with_block("a\n", "new\n").is_err());
    }

    #[test]
    fn a_stale_or_missing_file_is_a_violation_and_a_fresh_one_is_not() {
        let table = [("docs/a.md".to_owned(), "new\n".to_owned())];
        let violations = |files: &[File]| check(&table, files).len();
        assert_eq!(violations(&[File::new("docs/a.md", "new\n")]), 0);
        assert_eq!(violations(&[File::new("docs/a.md", "old\n")]), 1);
        assert_eq!(violations(&[]), 1);
    }
}
