//! Hints for words that cannot be typed here: the words of other tools, and mechanisms where a command belongs.

use crate::error::{Stop, one_line};
use crate::{documentation, request};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use ipcperf_engine::registry::Registry;
use std::ffi::{OsStr, OsString};

/// What a user passes to one command, such as a study, so that others recognise it.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// What it is, in one word: `study`.
    pub what: &'static str,
    /// The names that are part of the program.
    pub names: &'static [&'static str],
    /// Whether the text of a file is one.
    pub is_in: fn(&str) -> bool,
}

/// Flags of other tools and of earlier builds, and ours that say the same: as many of them as a command has.
const FOREIGN: &[(&[&str], &[&str])] = &[
    (
        &["--duration", "--time", "--runtime", "--seconds", "--length-of-run", "-t", "-d"],
        &["budget", "time", "slice", "rounds"],
    ),
    (
        &[
            "--iterations",
            "--count",
            "--loops",
            "--repeat",
            "--repetitions",
            "--runs",
            "--requests",
            "--samples",
            "-n",
            "-i",
            "-r",
        ],
        &["samples", "rounds"],
    ),
    (&["--iters", "--ops-per-sample"], &["batch", "samples", "rounds"]),
    (
        &["--warmup-iters", "--warmup-iterations", "--warmups", "--warm-up", "-w"],
        &["warmup_ops", "warmup"],
    ),
    (&["--dump", "--dump-samples", "--samples-file", "--log"], &["raw", "output"]),
    (
        &[
            "--bytes",
            "--message-size",
            "--msg-size",
            "--block-size",
            "--length",
            "--len",
            "-l",
            "-b",
        ],
        &["size"],
    ),
    (&["--parent-cpu", "--child-cpu", "-c"], &["place"]),
    (&["--threads", "--connections", "--parallel", "-j", "-P"], &["conns", "peers"]),
    (&["--cpu", "--cpus", "--affinity", "--pin", "--taskset"], &["place"]),
    (&["--mechanisms", "--transport", "--type", "--ipc", "--method"], &["mechanism"]),
    (&["--json"], &["format"]),
    (&["--needs", "--need", "--require", "--requires", "--features"], &["can"]),
    (&["--out", "--export-json", "--file", "--keep"], &["output"]),
];

/// Commands that earlier builds had or that other tools have, and what does their work.
const GONE: &[(&str, &str)] = &[
    ("bench", "'ipcperf' measures everything, 'ipcperf run NAMES' the mechanisms that you name"),
    (
        "benchmark",
        "'ipcperf' measures everything, 'ipcperf run NAMES' the mechanisms that you name",
    ),
    ("serve", "'ipcperf run -p serve' measures a server with clients that stay connected"),
    ("version", "'ipcperf --version' prints it"),
    ("history", "results are files: 'ipcperf trend FILES' shows what changed over time"),
    ("replay", "'ipcperf predict' runs the programs themselves, with other sockets"),
];

/// Flags of `run` that earlier builds had, and the commands that do their work.
const GONE_FROM_RUN: &[(&[&str], &str)] = &[
    (&["--exec", "--deadline", "--trace-calls"], "'ipcperf exec PROGRAM' runs programs"),
    (&["--crossover", "--over"], "'ipcperf crossover A B --over AXIS' searches"),
    (&["--from"], "'ipcperf repeat RESULT.json' measures the same again"),
];

/// What clap says is wrong, in our exit codes and in one line.
pub fn usage(
    registry: &Registry,
    all: Command,
    subjects: &[(&'static str, Subject)],
    words: &[OsString],
    error: &clap::Error,
) -> Stop {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    Stop::usage(of(registry, all, subjects, &words.collect::<Vec<_>>(), error))
}

/// The command that words mean which begin with mechanisms, and have no command: two are compared, others are measured.
pub fn without_a_command(
    registry: &Registry,
    words: &[OsString],
    error: &clap::Error,
) -> Option<&'static str> {
    let is_flag = |word: &&OsString| word.to_string_lossy().starts_with('-');
    let count = words.iter().take_while(|word| !is_flag(word)).count();
    let are_mechanisms = words.iter().take(count).all(|word| request::is_mechanism(registry, word));
    (error.kind() == ErrorKind::InvalidSubcommand && count > 0 && are_mechanisms)
        .then_some(if count == 2 { "compare" } else { "run" })
}

/// What is wrong with these words, what was meant, and whose help says more.
#[must_use]
pub fn of(
    registry: &Registry,
    mut all: Command,
    subjects: &[(&'static str, Subject)],
    words: &[String],
    error: &clap::Error,
) -> String {
    all.build();
    let (mut command, mut name) = (&all, "ipcperf".to_owned());
    for word in words {
        let Some(below) = command.find_subcommand(word) else { break };
        command = below;
        name = format!("{name} {word}");
    }
    let given = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => given(ContextKind::InvalidSubcommand).and_then(|word| {
            if let Some(hint) = mistyped(registry, words) {
                return Some(hint);
            }
            Some((
                format!("unknown command '{word}'"),
                meant(registry, &all, subjects, word, words)?,
            ))
        }),
        ErrorKind::UnknownArgument => given(ContextKind::InvalidArg).and_then(|word| {
            Some((format!("unexpected argument '{word}'"), flag(registry, &all, command, word)?))
        }),
        _ => None,
    };
    let what = match hint {
        Some((what, meant)) => format!("{what}; {meant}"),
        None => one_line(error),
    };
    format!("{what} ({name} --help)")
}

/// A word among mechanisms that is not one, and the command with the nearest that is.
fn mistyped(registry: &Registry, words: &[String]) -> Option<(String, String)> {
    let is_one = |word: &String| request::is_mechanism(registry, OsStr::new(word));
    let names = words.iter().take_while(|word| !word.starts_with('-'));
    let wrong = names.clone().skip(1).find(|word| !is_one(word))?;
    if !words.first().is_some_and(is_one) || request::looks_like_a_file(wrong) {
        return None;
    }
    let near = ipcperf_core::nearest(wrong, registry.entries().iter().map(|one| one.spec.name))?;
    let line = words.iter().map(|word| quoted(if word == wrong { near } else { word }));
    let line = line.collect::<Vec<_>>().join(" ");
    Some((format!("unknown mechanism '{wrong}'"), format!("did you mean 'ipcperf {line}'?")))
}

/// The command that was meant by something else in its place.
fn meant(
    registry: &Registry,
    all: &Command,
    subjects: &[(&'static str, Subject)],
    word: &str,
    words: &[String],
) -> Option<String> {
    if let Some((_, instead)) = GONE.iter().find(|(gone, _)| *gone == word) {
        return Some((*instead).to_owned());
    }
    if words.first().is_some_and(|first| first == "help") {
        if request::is_mechanism(registry, OsStr::new(word)) {
            return Some(format!("'ipcperf describe {word}' shows what it can do"));
        }
        let names = all.get_subcommands().map(Command::get_name).chain(documentation::NAMES);
        return Some(match ipcperf_core::nearest(&word.to_lowercase(), names) {
            Some(near) => format!("did you mean 'ipcperf help {near}'?"),
            None => format!("documents: {}", documentation::NAMES.join(", ")),
        });
    }
    let line = || words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let is_it = |(_, subject): &&(&str, Subject)| subject.names.contains(&word);
    if let Some((command, _)) = subjects.iter().find(is_it) {
        return Some(format!("did you mean 'ipcperf {command} {}'?", line()));
    }
    if request::is_mechanism(registry, OsStr::new(word)) {
        return Some(format!("did you mean 'ipcperf run {}'?", line()));
    }
    let command = if word.ends_with(".toml") { "run" } else { "report" };
    if request::looks_like_a_file(word) {
        return Some(format!("did you mean 'ipcperf {command} {}'?", line()));
    }
    let mechanisms: Vec<String> =
        registry.entries().iter().map(|entry| entry.spec.full_name()).collect();
    let commands = all.get_subcommands().map(Command::get_name);
    let near = ipcperf_core::nearest(word, commands.chain(mechanisms.iter().map(String::as_str)))?;
    Some(format!("did you mean '{near}'?"))
}

/// The flag that was meant by a word that a command does not take.
fn flag(registry: &Registry, all: &Command, command: &Command, word: &str) -> Option<String> {
    let of = |command: &Command, id: &str| {
        command
            .get_arguments()
            .find(|one| one.get_id() == id && one.get_long().is_some())
            .map(shown)
    };
    if request::is_mechanism(registry, OsStr::new(word)) {
        return of(command, "mechanism")
            .map(|_| format!("name mechanisms with -m: -m {}", quoted(word)));
    }
    if let (false, [Some(server), Some(client)]) =
        (word.starts_with('-'), ["server", "client"].map(|id| of(command, id)))
    {
        return Some(format!("programs are named with {server} and {client}"));
    }
    let ours = |command: &Command| -> Vec<String> {
        let known = FOREIGN.iter().find(|(theirs, _)| theirs.contains(&word));
        let is_it = |one: &&Arg| {
            one.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long))
                || one.get_short().is_some_and(|short| word == format!("-{short}"))
        };
        match known {
            Some((_, ours)) => ours.iter().filter_map(|id| of(command, id)).collect(),
            None => command.get_arguments().find(is_it).map(shown).into_iter().collect(),
        }
    };
    let is_gone = |(flags, _): &&(&[&str], &str)| flags.contains(&word);
    if let Some((_, instead)) =
        GONE_FROM_RUN.iter().filter(|_| command.get_name() == "run").find(is_gone)
    {
        return Some((*instead).to_owned());
    }
    let here = ours(command);
    if !here.is_empty() {
        return Some(format!("did you mean {}?", here.join(" or ")));
    }
    // What the survey does not take because it measures everything, and a repetition because the result says it.
    let run = all
        .find_subcommand("run")
        .filter(|_| ["ipcperf", "survey", "repeat"].contains(&command.get_name()))?;
    let there = ours(run);
    (!there.is_empty()).then(|| format!("'ipcperf run' has {}", there.join(" and ")))
}

/// A flag as it is typed.
fn shown(flag: &Arg) -> String {
    let long = flag.get_long().unwrap_or_default();
    match flag.get_value_names() {
        Some([name, ..]) if flag.get_action().takes_values() => format!("--{long} {name}"),
        _ => format!("--{long}"),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "-_./,:@%+=".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
