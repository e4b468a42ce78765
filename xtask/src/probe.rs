//! What a new command and a new finding of a run cost: both are added to a copy of the project as ARCHITECTURE.md says, then
//! the documents are generated and the tests run that know all commands and all findings. The command has a document with a
//! schema, a screen, a finding, a column, and a task of a worker.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A text that goes into a file, before another text that must be there.
struct Insertion {
    file: &'static str,
    before: &'static str,
    text: &'static str,
}

const fn insert(file: &'static str, before: &'static str, text: &'static str) -> Insertion {
    Insertion { file, before, text }
}

/// The folder of the command, and where it comes from.
const FOLDER: &str = "crates/ask/src/noop";
const FROM: &str = "xtask/probe/noop";
const COMMANDS: &str = "crates/ask/src/lib.rs";
const FINDINGS: &str = "crates/core/src/findings.rs";
const RAISED: &str = "crates/engine/src/noise.rs";

/// What is added for the command outside its folder.
const OF_COMMAND: [Insertion; 2] = [
    insert(COMMANDS, "mod only;\n", "mod noop;\n"),
    insert(
        COMMANDS,
        "    Command::of::<schema::SchemaArgs>(),\n",
        "    Command::of::<noop::NoopArgs>(),\n",
    ),
];

/// What is added for the finding: its row, its name in the list, and the line that raises it.
const OF_FINDING: [Insertion; 3] = [
    insert(
        FINDINGS,
        "pub const MULTIMODAL: Row = ",
        "pub const NOOP: Row = finding(\n    \"W-NOOP\",\n    Share(0.99),\n    \"{value} of the slices were rejected\",\n    \"little is left of this run\",\n    \"repeat the run\",\n);\n",
    ),
    insert(FINDINGS, "    MULTIMODAL,\n", "    NOOP,\n"),
    insert(
        RAISED,
        "    findings.extend(rejections(cells));\n",
        "    let rejected = Some(input.rejected).filter(|share| findings::NOOP.is_passed(*share));\n    findings.extend(rejected.map(|share| findings::NOOP.measured(share, &[])));\n",
    ),
];

/// The most files that each may touch outside a folder of its own. A finding is raised where it is measured, which the table
/// of findings cannot see.
const MOST: [(&str, usize); 2] = [("command", 1), ("finding", 2)];

/// The test whose snapshots are what the program prints.
const SNAPSHOTS: &str = "test --quiet --package ipcperf --test it -- transcripts";

/// Tests that know all commands, findings, documents and rules.
const TESTS: [&str; 8] = [
    "test --quiet --package ipcperf-core",
    "test --quiet --package ipcperf-engine --lib noise",
    "test --quiet --package ipcperf-ask --lib words",
    "test --quiet --package ipcperf-kit --lib",
    "test --quiet --package ipcperf-ask --lib",
    "test --quiet --package ipcperf --lib",
    "test --quiet --package ipcperf --test it -- documents transcripts formats",
    "run --quiet --package xtask -- tidy",
];

/// Adds both and says whether neither touches more files than it may, and all tests pass.
pub(crate) fn run() -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let (from, target) = (metadata.workspace_root.as_std_path(), metadata.target_directory);
    let copy = target.as_std_path().join("probe");
    let tree = copy_of(from, &copy)?;
    let folder = tree.join(FOLDER);
    fs::create_dir(&folder)?;
    for file in fs::read_dir(from.join(FROM))? {
        let file = file?;
        fs::copy(file.path(), folder.join(file.file_name()))?;
    }
    let mut touched = [BTreeSet::new(), BTreeSet::new()];
    for (insertions, touched) in [&OF_COMMAND[..], &OF_FINDING].into_iter().zip(&mut touched) {
        for one in insertions {
            add(&tree, one)?;
            touched.insert(one.file);
        }
    }
    let cargo = |words: &str, snapshots: &str| -> Result<bool> {
        let mut command = crate::cargo::cargo();
        command
            .args(words.split(' '))
            .current_dir(&tree)
            .env("CARGO_TARGET_DIR", copy.join("target"));
        println!("cargo {words}");
        Ok(command.env("TRYCMD", snapshots).status().context("cannot start cargo")?.success())
    };
    let mut passed = cargo("run --quiet --package xtask -- docs", "")?;
    // What the program prints is written anew, which fails where it was something else.
    cargo(SNAPSHOTS, "overwrite")?;
    for words in TESTS {
        passed &= cargo(words, "")?;
    }
    passed &= cargo("run --quiet --package ipcperf -- noop --format json", "")?;
    for ((what, most), files) in MOST.into_iter().zip(&touched) {
        passed &= files.len() <= most;
        let names: Vec<&str> = files.iter().copied().collect();
        println!(
            "{what}: {} files by hand outside its folder (at most {most}): {}",
            files.len(),
            names.join(", ")
        );
    }
    Ok(passed)
}

/// A copy of all files that git knows or would add, as a repository of its own.
fn copy_of(from: &Path, copy: &Path) -> Result<PathBuf> {
    let tree = copy.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    let git = |words: &[&str], at: &Path| -> Result<Vec<u8>> {
        let done = Command::new("git").args(words).current_dir(at).output()?;
        ensure!(
            done.status.success(),
            "git {}: {}",
            words[0],
            String::from_utf8_lossy(&done.stderr)
        );
        Ok(done.stdout)
    };
    let listed = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"], from)?;
    let listed = String::from_utf8(listed)?;
    for name in listed.split('\0').filter(|name| from.join(name).is_file()) {
        let to = tree.join(name);
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(from.join(name), to)?;
    }
    git(&["init", "--quiet"], &tree)?;
    git(&["add", "--all"], &tree)?;
    Ok(tree)
}

fn add(tree: &Path, one: &Insertion) -> Result<()> {
    let file = tree.join(one.file);
    let text = fs::read_to_string(&file)?;
    let at = text.find(one.before).with_context(|| {
        format!("{}: '{}' is no longer there; adapt the probe", one.file, one.before.trim())
    })?;
    fs::write(&file, format!("{}{}{}", &text[..at], one.text, &text[at..]))?;
    Ok(())
}
