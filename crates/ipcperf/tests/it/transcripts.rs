//! What users type and see, word for word where it does not depend on the machine.
//!
//! `TRYCMD=overwrite cargo test -p ipcperf --test it transcripts` writes down what the program says now, `cargo xtask docs`
//! the documents that it prints whole.

use crate::common::Sandbox;

/// Transcripts in surroundings of their own, run one after the other.
fn follow(transcripts: &str) {
    let run_directories = tempfile::tempdir().expect("a temporary folder");
    // `clean` looks here too, where other tests may have killed runs.
    let temporary = tempfile::tempdir().expect("a temporary folder");
    trycmd::TestCases::new()
        .env("XDG_RUNTIME_DIR", run_directories.path().to_string_lossy())
        .env("TMPDIR", temporary.path().to_string_lossy())
        .env("NO_COLOR", "1")
        .case(transcripts)
        .run();
}

#[test]
fn the_program_says_what_the_transcripts_show() {
    follow("tests/cmd/*.trycmd");
}

/// Blocks marked `console` are run, those marked `console,ignore` are not.
#[test]
fn the_readme_shows_what_the_program_says() {
    follow("../../README.md");
    follow("../../docs/RECIPES.md");
}

#[test]
fn help_prints_every_document_by_its_name() {
    let sandbox = Sandbox::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let files = std::fs::read_dir(folder).expect("docs").map(|file| file.expect("a file").path());
    let mut names = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let name = file.file_stem().expect("a name").to_string_lossy().to_lowercase();
        let text = std::fs::read_to_string(&file).expect("a document");
        assert!(sandbox.run(&["help", &name]).stdout == text, "ipcperf help {name}");
        names.push(name);
    }
    let mut known = ipcperf_kit::documentation::NAMES;
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
    let help = sandbox.run(&["help"]).stdout;
    assert!(known.iter().all(|name| help.contains(name)), "{help}");
}

#[test]
fn the_documents_that_the_program_prints_are_what_it_prints() {
    let sandbox = Sandbox::new();
    let printed =
        [("MECHANISMS.md", &["reference"][..]), ("WORDS.md", &["explain", "--format", "markdown"])];
    for (document, words) in printed {
        let path = format!("{}/../../docs/{document}", env!("CARGO_MANIFEST_DIR"));
        let kept = std::fs::read_to_string(path).expect("a document");
        // Not assert_eq: a failure should not print two documents.
        assert!(sandbox.run(words).stdout == kept, "docs/{document} is stale: cargo xtask docs");
    }
}
