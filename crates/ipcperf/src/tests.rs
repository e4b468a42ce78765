//! What holds of all commands together: examples can be typed, words of other tools are answered, shells complete ours.

mod examples;

use super::{COMMANDS, builtin};
use ipcperf_ask::with_words;
use ipcperf_kit::command::{command_line, documents, subjects};
use ipcperf_kit::{hint, request};
use std::ffi::OsString;

/// What a line of words is answered with.
fn answer(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let typed = [&["ipcperf".to_owned()], &words[..]].concat();
    match command_line(&COMMANDS.concat()).try_get_matches_from(typed) {
        Ok(_) => "understood".to_owned(),
        Err(error) => {
            let commands = COMMANDS.concat();
            let given: Vec<OsString> = words.iter().map(OsString::from).collect();
            if let Some(command) = hint::without_a_command(&builtin(), &given, &error) {
                return format!("ipcperf {command} {line}");
            }
            hint::of(&builtin(), command_line(&commands), &subjects(&commands), &words, &error)
        }
    }
}

/// Two mechanisms without a command are compared, and one is measured: no word may be both.
#[test]
fn no_command_has_the_name_of_a_mechanism() {
    let (commands, registry) = (COMMANDS.concat(), builtin());
    let line = command_line(&commands);
    for command in line.get_subcommands() {
        let name = OsString::from(command.get_name());
        assert!(!request::is_mechanism(&registry, &name), "{name:?}");
    }
}

#[test]
fn words_of_other_tools_are_answered_with_the_command_that_was_meant() {
    for (line, said) in [
        ("pipe", "ipcperf run pipe"),
        ("unix tcp", "ipcperf compare unix tcp"),
        ("unix tcp --time 60s", "ipcperf compare unix tcp --time 60s"),
        ("unix tcp pipe", "ipcperf run unix tcp pipe"),
        ("pipe -s 4K", "ipcperf run pipe -s 4K"),
        ("pipe/*", "ipcperf run pipe/*"),
        ("pipee", "unknown command 'pipee'; did you mean 'pipe'? (ipcperf --help)"),
        ("pipe tpc", "unknown mechanism 'tpc'; did you mean 'ipcperf pipe tcp'? (ipcperf --help)"),
        ("chose", "unknown command 'chose'; did you mean 'choose'? (ipcperf --help)"),
        (
            "marhubi --scale quick",
            "unknown command 'marhubi'; did you mean 'ipcperf replicate marhubi --scale quick'? (ipcperf --help)",
        ),
        (
            "old.json",
            "unknown command 'old.json'; did you mean 'ipcperf report old.json'? (ipcperf --help)",
        ),
        (
            "night.toml",
            "unknown command 'night.toml'; did you mean 'ipcperf run night.toml'? (ipcperf --help)",
        ),
        (
            "run pipe --duration 3s",
            "unexpected argument '--duration'; did you mean --slice TIME or --rounds N? (ipcperf run --help)",
        ),
        (
            "run pipe --iterations 100",
            "unexpected argument '--iterations'; did you mean --samples N or --rounds N? (ipcperf run --help)",
        ),
        (
            "run pipe -n 100",
            "unexpected argument '-n'; did you mean --samples N or --rounds N? (ipcperf run --help)",
        ),
        (
            "run pipe --iters=1",
            "unexpected argument '--iters'; did you mean --batch N or --samples N or --rounds N? \
             (ipcperf run --help)",
        ),
        (
            "run pipe --warmup-iters=10000",
            "unexpected argument '--warmup-iters'; did you mean --warmup-ops N or --warmup TIME? \
             (ipcperf run --help)",
        ),
        (
            "run pipe --parent-cpu=0",
            "unexpected argument '--parent-cpu'; did you mean --place PLACES? (ipcperf run --help)",
        ),
        (
            "compare pipe tcp --samples 100",
            "unexpected argument '--samples'; did you mean --rounds N? (ipcperf compare --help)",
        ),
        (
            "survey --samples 100",
            "unexpected argument '--samples'; 'ipcperf run' has --samples N and --rounds N (ipcperf survey --help)",
        ),
        (
            "compare pipe tcp --duration=10s",
            "unexpected argument '--duration'; did you mean --time TIME or --slice TIME or --rounds N? \
             (ipcperf compare --help)",
        ),
        (
            "survey --duration 10s",
            "unexpected argument '--duration'; did you mean --budget TIME? (ipcperf survey --help)",
        ),
        (
            "choose pipe",
            "unexpected argument 'pipe'; name mechanisms with -m: -m pipe (ipcperf choose --help)",
        ),
        (
            "--size 4K",
            "unexpected argument '--size'; 'ipcperf run' has --size SIZES (ipcperf --help)",
        ),
        ("clean --zebra", "unexpected argument '--zebra' found (ipcperf clean --help)"),
        (
            "history trend pipe",
            "unknown command 'history'; results are files: 'ipcperf trend FILES' shows what changed over time \
             (ipcperf --help)",
        ),
        (
            "run pipe --keep nightly",
            "unexpected argument '--keep'; did you mean --output FILE? (ipcperf run --help)",
        ),
        ("run pipe tcp", "understood"),
        ("compare pipe tcp", "understood"),
    ] {
        assert_eq!(answer(line), said, "{line}");
    }
}

#[test]
fn a_name_that_somebody_gave_is_completed_by_no_word_of_ours() {
    let all = with_words(command_line(&COMMANDS.concat()), &builtin());
    let words = |path: &[&str], id: &str| -> Vec<String> {
        let mut command = &all;
        for name in path {
            command = command.find_subcommand(name).expect(name);
        }
        let mut args = command.get_arguments();
        let arg = args.find(|arg| arg.get_id().as_str() == id).expect(id);
        arg.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect()
    };
    assert!(words(&["replicate"], "set").is_empty());
    for (path, id, word) in [
        (["explain"], "names", "pipe"),
        (["describe"], "name", "pipe"),
        (["run"], "set", "pipe.size="),
        (["replicate"], "export", "marhubi"),
    ] {
        assert!(words(&path, id).iter().any(|known| known == word), "{path:?} {id}");
    }
}

#[test]
fn every_document_has_its_json_schema() {
    let kinds = documents(&COMMANDS.concat());
    assert!(kinds.len() > 5, "{kinds:?}");
    for kind in kinds {
        let title = format!("\"title\": \"{}\"", (kind.schema)());
        assert!((kind.json_schema)().contains(&title), "{}: {title}", kind.name);
    }
}
