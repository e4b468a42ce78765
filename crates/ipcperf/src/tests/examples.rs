//! The examples at the end of each command's help, and those of the documents, can be typed.

use crate::{COMMANDS, builtin};
use ipcperf_core::shell_words;
use ipcperf_kit::command::command_line;
use ipcperf_kit::{documentation, hint};
use std::ffi::OsString;
use std::path::Path;

/// The command of a line: what stands before its explanation, a pipe or a file that it writes to.
fn command(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_end = |at: usize| {
        let is_mark = |mark: &&str| line.get(at..).is_some_and(|rest| rest.starts_with(*mark));
        let is_quoted = line.get(..at).is_none_or(|text| text.matches('\'').count() % 2 == 1);
        !is_quoted && ["  ", " | ", " > ", " >> ", " && "].iter().any(is_mark)
    };
    let end = (0..line.len()).find(|at| is_end(*at)).unwrap_or(line.len());
    line.starts_with("ipcperf ").then(|| line[..end].trim())
}

/// The commands of a block between fences: all its lines that begin with a prompt, or, where none does, with our name.
fn commands(block: &str) -> Vec<&str> {
    let lines = || block.lines().map(str::trim);
    let typed: Vec<&str> = lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let lines = if typed.is_empty() { lines().collect() } else { typed };
    lines.into_iter().filter_map(command).collect()
}

fn assert_can_be_typed(line: &str, place: &str) {
    let words = shell_words::split(line).unwrap_or_else(|why| panic!("{place}: {line}: {why}"));
    let parse = |words: &[String]| command_line(&COMMANDS.concat()).try_get_matches_from(words);
    let Err(mut error) = parse(&words) else { return };
    let given: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
    if let Some(command) = hint::without_a_command(&builtin(), &given, &error) {
        match parse(&[&[words[0].clone(), command.to_owned()], &words[1..]].concat()) {
            Ok(_) => return,
            Err(other) => error = other,
        }
    }
    assert!(!error.use_stderr(), "{place}: {line}: {error}");
}

#[test]
fn every_command_has_examples_and_each_of_them_can_be_typed() {
    let all = command_line(&COMMANDS.concat());
    let commands = all.get_subcommands().filter(|one| !one.is_hide_set());
    for one in commands.filter(|one| !["clean", "help"].contains(&one.get_name())) {
        let name = one.get_name();
        let text = one
            .get_after_long_help()
            .or(one.get_after_help())
            .unwrap_or_else(|| panic!("{name}"))
            .to_string();
        let lines: Vec<&str> = text.lines().filter_map(command).collect();
        assert!(!lines.is_empty(), "{name}: {text}");
        lines.iter().for_each(|line| assert_can_be_typed(line, name));
    }
}

/// At 80 columns, as on a terminal of 24 lines; `--help` has all flags.
#[test]
fn the_short_help_of_run_fits_on_a_screen_and_the_long_one_has_every_flag_once() {
    let all = command_line(&COMMANDS.concat()).term_width(80);
    let mut run = all.get_subcommands().find(|one| one.get_name() == "run").expect("run").clone();
    run = run.term_width(80);
    let short = run.render_help().to_string();
    assert!(short.lines().count() <= 24, "{short}");
    assert!(short.contains("--pattern") && !short.contains("--closes"), "{short}");
    let long = run.render_long_help().to_string();
    assert!(long.contains("Common options:"), "{long}");
    for arg in run.get_arguments().filter_map(|arg| arg.get_long()) {
        // Help stands further to the right, and may name other flags.
        let flag = |line: &&str| {
            let is_head = line.trim_start().starts_with('-') && !line.starts_with("        ");
            is_head && line.split([' ', ',']).any(|word| word == format!("--{arg}"))
        };
        assert_eq!(long.lines().filter(flag).count(), 1, "--{arg}: {long}");
    }
}

#[test]
fn no_document_has_the_name_of_a_command() {
    let all = command_line(&COMMANDS.concat());
    let is_document = |name: &str| documentation::NAMES.contains(&name);
    assert!(!all.get_subcommands().any(|one| is_document(one.get_name())));
}

#[test]
fn every_command_of_the_documents_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).expect("docs");
    let docs = docs.map(|entry| entry.expect("a file").path());
    let mut count = 0;
    for path in docs.chain(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name))) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let text = text.replace("\\\n", " ");
        // Every other part stands between fences. A transcript of an error shows what cannot be typed.
        let blocks = text.split("\n```").skip(1).step_by(2).filter(|block| !block.contains("\n? "));
        for line in blocks.flat_map(commands) {
            assert_can_be_typed(line, &path.display().to_string());
            count += 1;
        }
    }
    assert!(count > 50, "{count} commands");
}
