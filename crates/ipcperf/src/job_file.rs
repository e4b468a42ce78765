//! Job files: the flags of `ipcperf run` as TOML, with the same names.

use crate::args::RunArgs;
use crate::error::Stop;
use crate::{exec, output};
use ipcperf_core::{LoadKey, nearest};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Component, Path};

/// Keys of a job file, which are the long flags of `run`; beside them those of loads.
const KEYS: &[&str] = &[
    "mechanism",
    "pattern",
    "size",
    "place",
    "set",
    "idle",
    "touch",
    "exec",
    "deadline",
    "trace-calls",
    "time-calls",
    "rounds",
    "slice",
    "warmup",
    "seed",
    "output",
    "format",
];

/// What a job file can say.
#[derive(Debug, Default, Deserialize)]
struct Job {
    mechanism: Option<Words>,
    pattern: Option<Words>,
    size: Option<Words>,
    place: Option<Words>,
    #[serde(default)]
    set: BTreeMap<String, Setting>,
    idle: Option<Words>,
    touch: Option<String>,
    exec: Option<Programs>,
    deadline: Option<String>,
    #[serde(rename = "trace-calls", default)]
    trace_calls: bool,
    #[serde(rename = "time-calls", default)]
    time_calls: bool,
    rounds: Option<u64>,
    slice: Option<String>,
    warmup: Option<String>,
    seed: Option<u64>,
    output: Option<std::path::PathBuf>,
    format: Option<String>,
    /// Loads, and what nobody knows.
    #[serde(flatten)]
    others: BTreeMap<String, toml::Value>,
}

/// A program, a pipeline of them, or several pipelines.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a command, a list of commands or a list of such lists")]
enum Programs {
    One(String),
    Pipeline(Vec<String>),
    Several(Vec<Vec<String>>),
}

impl Programs {
    /// As the flag takes them.
    fn commands(self) -> Vec<String> {
        match self {
            Self::One(command) => vec![command],
            Self::Pipeline(commands) => commands,
            Self::Several(pipelines) => pipelines.join(&exec::NEXT.to_owned()),
        }
    }
}

/// A word, a number, or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text, a number or a list of them")]
enum Words {
    One(Word),
    Many(Vec<Word>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text or a number")]
enum Word {
    Text(String),
    Number(u64),
}

/// What is asked of a load.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text, a number, a list of them, true or false")]
enum Asked {
    Flag(bool),
    Words(Words),
}

/// `"pipe.size" = "1M"`, or `pipe.size = "1M"` below `[set]`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text, a number, true or false")]
enum Setting {
    Word(Word),
    Flag(bool),
    Mechanism(BTreeMap<String, Setting>),
}

impl Word {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

impl Words {
    fn text(&self) -> String {
        match self {
            Self::One(word) => word.text(),
            Self::Many(words) => words.iter().map(Word::text).collect::<Vec<_>>().join(","),
        }
    }
}

fn settings(prefix: &str, table: &BTreeMap<String, Setting>, list: &mut Vec<String>) {
    for (key, setting) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match setting {
            Setting::Word(word) => list.push(format!("{name}={}", word.text())),
            Setting::Flag(on) => list.push(format!("{name}={}", if *on { "on" } else { "off" })),
            Setting::Mechanism(table) => settings(&name, table, list),
        }
    }
}

/// Reads a job file below the flags: what a flag says wins.
pub(crate) fn apply(path: &Path, args: &RunArgs) -> Result<RunArgs, Stop> {
    let shown = path.display();
    let text = read(path)
        .map_err(|error| Stop::usage(format!("job file '{shown}': {}", output::words(&error))))?;
    let job: Job = toml::from_str(&text)
        .map_err(|error| explain(&format!("job file '{shown}'"), &text, &error))?;
    let mut merged = args.clone();
    let list = |words: &Option<Words>| words.as_ref().map(Words::text);
    merged.mechanism = merged.mechanism.or_else(|| list(&job.mechanism));
    merged.pattern = merged.pattern.or_else(|| list(&job.pattern));
    merged.size = merged.size.or_else(|| list(&job.size));
    merged.place = merged.place.or_else(|| list(&job.place));
    merged.idle = merged.idle.or_else(|| list(&job.idle));
    merged.touch = merged.touch.or(job.touch);
    if merged.exec.is_empty()
        && let Some(programs) = job.exec
    {
        merged.exec = programs.commands();
        exec::permit(
            &format!("job file '{shown}'"),
            &merged.exec,
            args.allow_exec || args.dry_run,
        )?;
    }
    merged.deadline = merged.deadline.or(job.deadline);
    merged.trace_calls |= job.trace_calls;
    merged.time_calls |= job.time_calls;
    for (name, value) in job.others {
        let line = text
            .lines()
            .position(|line| line.trim_start_matches(['[', '"', '\'', ' ']).starts_with(&name));
        let place = line.map_or_else(
            || format!("job file '{shown}'"),
            |line| format!("job file '{shown}' line {}", line + 1),
        );
        let Ok(key) = name.parse::<LoadKey>() else { return Err(unknown(&place, &name)) };
        let asked: Asked = value.try_into().map_err(|error: toml::de::Error| {
            Stop::usage(format!("{place}: {}", error.message()))
        })?;
        match (asked, key.values()) {
            (Asked::Flag(true), "") => merged.load.switch_on(key),
            (Asked::Flag(false), "") => {}
            (Asked::Words(words), values) if !values.is_empty() => {
                merged.load.0.entry(key).or_insert_with(|| words.text());
            }
            (_, "") => return Err(Stop::usage(format!("{place}: '{key}' is true or false"))),
            _ => return Err(Stop::usage(format!("{place}: '{key}' takes {}", key.values()))),
        }
    }
    merged.rounds = merged.rounds.or(job.rounds);
    merged.slice = merged.slice.or(job.slice);
    merged.warmup = merged.warmup.or(job.warmup);
    merged.seed = merged.seed.or(job.seed);
    if let (None, Some(output)) = (&merged.output.output, job.output) {
        check_output(&output).map_err(|why| {
            let named = output.display();
            Stop::usage(format!("job file '{shown}': output '{named}' {why}; name it with -o"))
        })?;
        merged.output.output = Some(output);
    }
    merged.output.look.format = merged.output.look.format.or(job.format);
    let mut all = Vec::new();
    settings("", &job.set, &mut all);
    all.append(&mut merged.set);
    merged.set = all;
    Ok(merged)
}

/// What a job file may name as output, since it may be somebody else's: a file below the current directory, and in
/// the place of nothing but an older result.
fn check_output(path: &Path) -> Result<(), &'static str> {
    let is_below = |step: Component<'_>| matches!(step, Component::Normal(_) | Component::CurDir);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    let leads_away = folder
        .is_ok_and(|folder| !fs::canonicalize(".").is_ok_and(|here| folder.starts_with(here)));
    if !path.components().all(is_below) || leads_away {
        return Err("leads out of the current directory, where a job file may not write");
    }
    let is_result = || {
        let mut text = Vec::new();
        let mut file = fs::File::open(path)?.take(crate::report::MOST);
        file.read_to_end(&mut text)?;
        Ok::<_, std::io::Error>(ipcperf_report::is_document(&String::from_utf8_lossy(&text)))
    };
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.is_file() || !is_result().unwrap_or(false) => {
            Err("is there and is no result of ipcperf, which is all that a job file may replace")
        }
        _ => Ok(()),
    }
}

/// A job file of more than this is none: `/dev/zero`, a result file.
const MOST: u64 = 1 << 20;

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST { Err(std::io::Error::other("larger than 1 MiB")) } else { Ok(text) }
}

/// One line: where, and what.
fn explain(what: &str, text: &str, error: &toml::de::Error) -> Stop {
    let line =
        error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or_else(|| what.to_owned(), |line| format!("{what} line {line}"));
    let message = error.message().replace('\n', " ");
    Stop::usage(format!("{place}: {message}"))
}

/// A key that nobody knows, with the nearest right one.
fn unknown(place: &str, key: &str) -> Stop {
    let known: Vec<&str> =
        KEYS.iter().copied().chain(LoadKey::ALL.iter().map(|key| key.name())).collect();
    Stop::usage(match nearest(key, known.iter().copied()) {
        Some(right) => format!("{place}: unknown key '{key}'; did you mean '{right}'?"),
        None => format!("{place}: unknown key '{key}'; known: {}", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};
    use std::collections::BTreeSet;
    use std::io::Write;

    fn written(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("written");
        file
    }

    fn job(text: &str) -> Result<RunArgs, Stop> {
        apply(written(text).path(), &RunArgs { size: Some("8".into()), ..RunArgs::default() })
    }

    #[test]
    fn every_key_is_read_and_flags_win() {
        let args = job(
            "mechanism = ['pipe', 'tcp']\npattern = 'stream'\nsize = [1, '4K']\nplace = 'free'\nidle = 'poll'\n\
             touch = 'full'\nthink = [0, '1ms']\nburst = 8\none-way = true\nrounds = 7\nslice = '50ms'\nwarmup = '5ms'\nseed = 3\noutput = 'x.json'\nformat = 'csv'\n\
             [set]\npipe.size = '1M'\n'tcp.nodelay' = false\n",
        )
        .expect("a good job");
        assert_eq!(args.mechanism.as_deref(), Some("pipe,tcp"));
        assert_eq!(args.size.as_deref(), Some("8"), "the flag wins");
        assert_eq!(
            (args.rounds, args.seed, args.touch.as_deref()),
            (Some(7), Some(3), Some("full"))
        );
        assert_eq!(args.set, ["pipe.size=1M", "tcp.nodelay=off"]);
        assert_eq!(args.output.look.format.as_deref(), Some("csv"));
        assert_eq!(args.place.as_deref(), Some("free"));
        let load = [(LoadKey::Think, "0,1ms"), (LoadKey::Burst, "8"), (LoadKey::OneWay, "on")];
        assert_eq!(args.load.0, load.map(|(key, text)| (key, text.to_owned())).into());
        assert!(job("one-way = false").expect("a good job").load.0.is_empty());
    }

    /// What the run shows of itself, and not what it is; and what only whoever types may allow.
    const NOT_IN_A_JOB: &[&str] =
        &["allow-exec", "color", "dry-run", "no-progress", "quiet", "verbose", "versus-bound"];

    fn typed(words: &[&str]) -> RunArgs {
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let matches = command.try_get_matches_from([&["run"], words].concat()).expect("flags");
        RunArgs::from_arg_matches(&matches).expect("flags")
    }

    /// As an unknown key is told them.
    fn known_keys() -> Vec<String> {
        let told = job("zzz = 1").expect_err("no such key").to_string();
        let (_, keys) = told.split_once("known: ").expect("a list");
        keys.trim().split(", ").map(str::to_owned).collect()
    }

    #[test]
    fn the_keys_are_the_long_flags() {
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let long: BTreeSet<String> =
            command.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect();
        let mut known = BTreeSet::from_iter(known_keys());
        known.extend(NOT_IN_A_JOB.iter().map(ToString::to_string));
        assert_eq!(known, long);
    }

    #[test]
    fn a_key_does_what_its_flag_does_and_the_flag_wins() {
        for key in known_keys() {
            let flag = format!("--{key}");
            let (line, words, others) = match key.as_str() {
                "set" => ("set.pipe.size = '1M'".to_owned(), "pipe.size=1M", "pipe.size=2M"),
                "one-way" | "trace-calls" | "time-calls" => (format!("{key} = true"), "", ""),
                "rounds" | "seed" => (format!("{key} = 7"), "7", "8"),
                _ => (format!("{key} = 'job'"), "job", "flag"),
            };
            let file = written(&line);
            let allowed = |words: &[&str]| typed(&[&["--allow-exec"], words].concat());
            let flags =
                |value: &str| allowed(&[&flag, value][..if value.is_empty() { 1 } else { 2 }]);
            let read = apply(file.path(), &allowed(&[])).expect("a good job");
            assert_eq!(format!("{read:?}"), format!("{:?}", flags(words)), "{key}");
            let won = apply(file.path(), &flags(others)).expect("a good job");
            let wanted = match key.as_str() {
                // Both hold, and the later one is the flag's.
                "set" => allowed(&["--set", words, "--set", others]),
                _ => flags(others),
            };
            assert_eq!(format!("{won:?}"), format!("{wanted:?}"), "{key}");
        }
    }

    #[test]
    fn a_wrong_key_or_value_names_line_and_remedy() {
        for (text, part) in [
            ("mechanism = 'pipe'\nsise = 1\n", "line 2: unknown key 'sise'; did you mean 'size'?"),
            ("zzz = 1", "known: mechanism"),
            ("size = 8\n[sets]\npipe.size = 1", "line 2: unknown key 'sets'; did you mean 'set'?"),
            ("size = 8\nthink = true", "line 2: 'think' takes TIMES"),
            ("one-way = 'on'", "line 1: 'one-way' is true or false"),
            ("think = {}", "line 1"),
            ("rounds = 'many'", "line 1"),
            ("size = ", "line 1"),
            ("[set]\npipe.size = [1]", "line"),
        ] {
            let stop = format!("{:?}", job(text).expect_err(text));
            assert!(stop.contains(part), "{text}: {stop}");
        }
    }
}
