//! Job files: the flags of `ipcperf run` or `ipcperf exec` as TOML, with the same names. Keys and values are those of the command line: a
//! key becomes the arguments with which its flag is typed.

use crate::follow;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use ipcperf_core::{KnobKind, LoadKey, OptionSet, nearest};
use ipcperf_kit::command::CommandArgs;
use ipcperf_kit::error::{Stop, one_line};
use ipcperf_kit::request::{knob_paths, word};
use ipcperf_kit::{external, foreign, loads, output};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::Path;
use toml::Value;

/// Flags that are not keys: how a run is shown; and permissions that only the user may give.
const NOT_IN_A_JOB: &[&str] = &[
    "allow-exec",
    "at",
    "bars",
    "color",
    "dry-run",
    "full",
    "if-done",
    "no-file",
    "no-progress",
    "quiet",
    "verbose",
    "versus-bound",
];

/// The key of a job of programs.
const PROGRAMS: &str = "exec";

/// Pairs of flags that set the same thing in two ways: a typed one overrides the key of either.
const EITHER: &[[&str; 2]] = &[["slice", "samples"], ["warmup", "warmup-ops"]];

/// Reads a job file under the flags that were typed: flags override keys, and knobs add up.
pub(crate) fn apply<A: CommandArgs>(
    path: &Path,
    may_exec: bool,
    typed: &ArgMatches,
) -> Result<A, Stop> {
    let file = format!("job file '{}'", path.display());
    let text = output::small_file(path)
        .map_err(|error| Stop::usage(format!("{file}: {}", output::words(&error))))?;
    let words = words::<A>(&file, &text, may_exec, Some(typed))?;
    understood(&file, &words)
}

/// The command whose flags are the keys.
fn command<A: CommandArgs>() -> Command {
    A::augment_args(Command::new(A::NAME).no_binary_name(true))
}

/// The arguments that a job file stands for, followed by those that were typed.
pub(crate) fn words<A: CommandArgs>(
    file: &str,
    text: &str,
    may_exec: bool,
    typed: Option<&ArgMatches>,
) -> Result<Vec<OsString>, Stop> {
    let job: toml::Table = text.parse().map_err(|error| explain(file, text, &error))?;
    let command = command::<A>();
    let is_typed = |flag: &Arg| {
        let source = typed.and_then(|typed| typed.value_source(flag.get_id().as_str()));
        source == Some(ValueSource::CommandLine)
    };
    let mut words: Vec<OsString> = Vec::new();
    let typed_knobs = values_of(typed, "set").map(|value| value.to_string_lossy().into_owned());
    let typed_knobs = knobs(&typed_knobs.collect::<Vec<_>>());
    for (key, value) in &job {
        let refused = |why: &str| Stop::usage(format!("{}: {why}", place(file, text, key)));
        let flag = flags(&command)
            .find(|(name, _)| name == key)
            .map(|(_, flag)| flag)
            .ok_or_else(|| refused(&unknown(&command, key)))?;
        let said = said(key, flag, value).map_err(|why| refused(&why))?;
        command.clone().try_get_matches_from(&said).map_err(|error| refused(&one_line(&error)))?;
        let either = EITHER.iter().filter(|either| either.contains(&key.as_str())).flatten();
        let wins = |name: &&str| flags(&command).any(|(one, flag)| one == *name && is_typed(flag));
        let adds_up = ["set", PROGRAMS].contains(&key.as_str());
        if is_typed(flag) && !adds_up || either.into_iter().any(wins) {
            continue;
        }
        match key.as_str() {
            PROGRAMS => external::permit(file, &commands(value)?, may_exec)?,
            "follow" => {
                let programs: Vec<String> = said
                    .iter()
                    .filter_map(|word| word.split_once('='))
                    .map(|(_, program)| program.to_owned())
                    .collect();
                follow::permit(file, &programs, may_exec)?;
            }
            _ if key == LoadKey::Neighbour.name() => {
                let lists = said.iter().filter_map(|word| Some(word.split_once('=')?.1));
                let programs: Vec<String> = lists.flat_map(loads::neighbour_programs).collect();
                follow::permit(file, &programs, may_exec)?;
            }
            "output" => {
                let named = value.as_str().unwrap_or_default();
                check_output(Path::new(named)).map_err(|why| {
                    Stop::usage(format!("{file}: output '{named}' {why}; name it with -o"))
                })?;
            }
            "raw" => {
                let named = value.as_str().unwrap_or_default();
                check_raw(Path::new(named)).map_err(|why| {
                    Stop::usage(format!("{file}: raw '{named}' {why}; name it with --raw"))
                })?;
            }
            _ => {}
        }
        for (what, path, flag) in paths(key, &said) {
            let typed = typed_knobs.0.get(&what);
            // A knob behind the name of its mechanism holds before one that was typed by itself.
            let is_typed = typed.is_some_and(|typed| key == "set" || *typed == path);
            if !is_typed && !foreign::stays_below(Path::new(&path)) {
                return Err(refused(&foreign::leads_out(&what, &path, &flag)));
            }
        }
        words.extend(said.into_iter().map(OsString::from));
    }
    for flag in command.get_arguments().filter(|flag| is_typed(flag)) {
        let Some(name) = flag.get_long() else { continue };
        if flag.get_action().takes_values() {
            for value in values_of(typed, flag.get_id().as_str()) {
                let mut word = OsString::from(format!("--{name}="));
                word.push(value);
                words.push(word);
            }
        } else {
            words.push(format!("--{name}").into());
        }
    }
    Ok(words)
}

/// The values that were typed for an argument; none if the command has no such argument.
fn values_of<'a>(
    typed: Option<&'a ArgMatches>,
    id: &str,
) -> impl Iterator<Item = &'a OsStr> + use<'a> {
    let values = typed.and_then(|typed| typed.try_get_raw(id).ok().flatten());
    values.into_iter().flatten()
}

/// The knobs that are set; invalid ones are reported where they are used.
fn knobs(settings: &[String]) -> OptionSet {
    let mut knobs = OptionSet::default();
    settings.iter().for_each(|setting| drop(knobs.set(setting)));
    knobs
}

/// The paths in the words of a key, but for the output: of what each is one, and the flag that says the same.
fn paths(key: &str, said: &[String]) -> Vec<(String, String, String)> {
    let values = said.iter().filter_map(|word| Some(word.split_once('=')?.1.to_owned()));
    let of_knob = |(knob, path): (String, String)| {
        let flag = format!("--set {knob}={path}");
        KnobKind::is_path(&path).then_some((knob, path, flag))
    };
    match key {
        "set" => knobs(&values.collect::<Vec<_>>()).0.into_iter().filter_map(of_knob).collect(),
        "mechanism" => {
            knob_paths(&values.collect::<Vec<_>>()).into_iter().filter_map(of_knob).collect()
        }
        _ if key == LoadKey::Payload.name() => {
            let lists = values.collect::<Vec<_>>();
            let files = lists.iter().flat_map(|list| list.split(',')).map(str::trim);
            files.map(|file| (key.to_owned(), file.to_owned(), format!("--{key} {file}"))).collect()
        }
        _ => Vec::new(),
    }
}

/// What such words ask for.
pub(crate) fn understood<A: CommandArgs>(file: &str, words: &[OsString]) -> Result<A, Stop> {
    command::<A>()
        .try_get_matches_from(words)
        .and_then(|matches| A::from_arg_matches(&matches))
        .map_err(|error| Stop::usage(format!("{file}: {}", one_line(&error))))
}

/// The flags that are keys, by name.
fn flags(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    command
        .get_arguments()
        .filter_map(|flag| Some((flag.get_long().or_else(|| programs(flag))?, flag)))
        .filter(|(name, _)| !NOT_IN_A_JOB.contains(name))
}

/// The key of the programs, which have no flag on the command line.
fn programs(argument: &Arg) -> Option<&'static str> {
    (argument.get_id() == PROGRAMS).then_some(PROGRAMS)
}

/// The words of a flag.
fn said(key: &str, flag: &Arg, value: &Value) -> Result<Vec<String>, String> {
    let flagged = |text: String| format!("--{key}={text}");
    match (key, flag.get_action(), value) {
        (_, ArgAction::SetTrue, Value::Boolean(on)) => {
            Ok(on.then(|| format!("--{key}")).into_iter().collect())
        }
        (_, ArgAction::SetTrue, _) => Err(format!("'{key}' is true or false")),
        ("set", ..) => settings(value).map(|all| all.into_iter().map(flagged).collect()),
        (PROGRAMS, ..) => {
            let commands = commands(value).map_err(|stop| stop.to_string())?;
            // It would be a flag, to which no rule for keys was applied.
            match commands.iter().find(|command| command.starts_with('-')) {
                Some(flag) => Err(format!("'{flag}' is a flag and not a program")),
                None => Ok(commands),
            }
        }
        (_, ArgAction::Append, Value::Array(values)) => {
            let texts = values.iter().map(|one| word(one).map(flagged)).collect::<Option<Vec<_>>>();
            texts.ok_or_else(|| format!("'{key}' takes a text or a list of texts"))
        }
        _ => list(value).map(|text| vec![flagged(text)]).ok_or_else(|| {
            let names = flag.get_value_names().unwrap_or_default();
            format!("'{key}' takes {}", names.first().map_or("a value", |name| name.as_str()))
        }),
    }
}

/// A word, or a list of them.
fn list(value: &Value) -> Option<String> {
    match value {
        Value::Array(values) => {
            Some(values.iter().map(word).collect::<Option<Vec<_>>>()?.join(","))
        }
        one => word(one),
    }
}

/// A program, a pipeline of them, or several pipelines, as the flag takes them.
fn commands(value: &Value) -> Result<Vec<String>, Stop> {
    let refused =
        || Stop::usage("'exec' takes a command, a list of commands or a list of such lists");
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(refused);
    let pipeline = |values: &Vec<Value>| values.iter().map(text).collect::<Result<Vec<_>, _>>();
    match value {
        Value::Array(values) if values.iter().any(Value::is_array) => {
            let lists = values.iter().map(|one| one.as_array().ok_or_else(refused));
            let pipelines: Vec<_> =
                lists.map(|one| one.and_then(pipeline)).collect::<Result<_, _>>()?;
            Ok(pipelines.join(&external::NEXT.to_owned()))
        }
        Value::Array(values) => pipeline(values),
        one => Ok(vec![text(one)?]),
    }
}

/// Knobs: `"pipe.size" = "1M"`, or `pipe.size = "1M"`.
fn settings(value: &Value) -> Result<Vec<String>, String> {
    let Value::Table(table) = value else { return Err("'set' is a table of knobs".into()) };
    let mut all = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(_) => {
                all.extend(settings(value)?.into_iter().map(|rest| format!("{key}.{rest}")));
            }
            Value::Boolean(on) => all.push(format!("{key}={}", if *on { "on" } else { "off" })),
            value => {
                let text = word(value)
                    .ok_or_else(|| format!("'{key}' takes a text, a number, true or false"))?;
                all.push(format!("{key}={text}"));
            }
        }
    }
    Ok(all)
}

/// What a job file may name as output, since it may come from somebody else: a file below the current directory that
/// replaces nothing but an older result.
fn check_output(path: &Path) -> Result<(), &'static str> {
    if !foreign::stays_below(path) {
        return Err("lies outside the current directory, where a job file may not write");
    }
    let is_result = || {
        let mut text = Vec::new();
        let mut file = fs::File::open(path)?.take(output::MOST);
        file.read_to_end(&mut text)?;
        Ok::<_, std::io::Error>(ipcperf_judge::is_document(&String::from_utf8_lossy(&text)))
    };
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.is_file() || !is_result().unwrap_or(false) => {
            Err("exists and is not an ipcperf result, so a job file may not replace it")
        }
        _ => Ok(()),
    }
}

/// What a job file may name for single operations: a new file below the current directory.
fn check_raw(path: &Path) -> Result<(), &'static str> {
    if !foreign::stays_below(path) {
        return Err("lies outside the current directory, where a job file may not write");
    }
    match fs::symlink_metadata(path) {
        Ok(_) => Err("exists, and a job file may not replace it"),
        Err(_) => Ok(()),
    }
}

/// One line: where, and what.
fn explain(what: &str, text: &str, error: &toml::de::Error) -> Stop {
    let line =
        error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or_else(|| what.to_owned(), |line| format!("{what} line {line}"));
    let message = error.message().replace('\n', " ");
    Stop::usage(format!("{place}: {message}"))
}

/// The file, and the line where a key stands.
fn place(file: &str, text: &str, key: &str) -> String {
    let is_it = |line: &str| {
        let rest = line.trim_start_matches(['[', '"', '\'', ' ']).strip_prefix(key);
        let goes_on = |sign: char| sign.is_alphanumeric() || "_-".contains(sign);
        rest.is_some_and(|rest| !rest.starts_with(goes_on))
    };
    let line = text.lines().position(is_it);
    line.map_or_else(|| file.to_owned(), |line| format!("{file} line {}", line + 1))
}

/// An unknown key, with the nearest right one.
fn unknown(command: &Command, key: &str) -> String {
    let known: Vec<&str> = flags(command).map(|(name, _)| name).collect();
    match nearest(key, known.iter().copied()) {
        Some(right) => format!("unknown key '{key}'; did you mean '{right}'?"),
        None => format!("unknown key '{key}'; known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
