//! Job files: the flags of `ipcperf run` as TOML, with the same names.

use crate::args::RunArgs;
use crate::error::Stop;
use crate::output;
use ipcperf_core::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Keys of a job file, which are the long flags of `run`.
const KEYS: &[&str] = &[
    "mechanism",
    "pattern",
    "size",
    "place",
    "set",
    "idle",
    "touch",
    "think",
    "window",
    "packet",
    "peers",
    "conns",
    "rate",
    "arrivals",
    "burst",
    "stall",
    "transform",
    "one-way",
    "rounds",
    "slice",
    "warmup",
    "seed",
    "output",
    "format",
];

/// What a job file can say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    mechanism: Option<Words>,
    pattern: Option<Words>,
    size: Option<Words>,
    place: Option<Words>,
    #[serde(default)]
    set: BTreeMap<String, Setting>,
    idle: Option<Words>,
    touch: Option<String>,
    think: Option<Words>,
    window: Option<Words>,
    packet: Option<Words>,
    peers: Option<Words>,
    conns: Option<Words>,
    rate: Option<Words>,
    arrivals: Option<Words>,
    burst: Option<Words>,
    stall: Option<Words>,
    transform: Option<Words>,
    #[serde(rename = "one-way", default)]
    one_way: bool,
    rounds: Option<u64>,
    slice: Option<String>,
    warmup: Option<String>,
    seed: Option<u64>,
    output: Option<std::path::PathBuf>,
    format: Option<String>,
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
    merged.think = merged.think.or_else(|| list(&job.think));
    merged.window = merged.window.or_else(|| list(&job.window));
    merged.packet = merged.packet.or_else(|| list(&job.packet));
    merged.peers = merged.peers.or_else(|| list(&job.peers));
    merged.conns = merged.conns.or_else(|| list(&job.conns));
    merged.rate = merged.rate.or_else(|| list(&job.rate));
    merged.arrivals = merged.arrivals.or_else(|| list(&job.arrivals));
    merged.burst = merged.burst.or_else(|| list(&job.burst));
    merged.stall = merged.stall.or_else(|| list(&job.stall));
    merged.transform = merged.transform.or_else(|| list(&job.transform));
    merged.one_way |= job.one_way;
    merged.rounds = merged.rounds.or(job.rounds);
    merged.slice = merged.slice.or(job.slice);
    merged.warmup = merged.warmup.or(job.warmup);
    merged.seed = merged.seed.or(job.seed);
    merged.output.output = merged.output.output.or(job.output);
    merged.output.look.format = merged.output.look.format.or(job.format);
    let mut all = Vec::new();
    settings("", &job.set, &mut all);
    all.append(&mut merged.set);
    merged.set = all;
    Ok(merged)
}

/// A job file of more than this is none: `/dev/zero`, a result file.
const MOST: u64 = 1 << 20;

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST { Err(std::io::Error::other("larger than 1 MiB")) } else { Ok(text) }
}

/// One line: where, what, and the nearest right key.
fn explain(what: &str, text: &str, error: &toml::de::Error) -> Stop {
    let line =
        error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or_else(|| what.to_owned(), |line| format!("{what} line {line}"));
    let message = error.message().replace('\n', " ");
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    Stop::usage(match unknown {
        Some(key) => match nearest(key, KEYS.iter().copied()) {
            Some(right) => format!("{place}: unknown key '{key}'; did you mean '{right}'?"),
            None => format!("{place}: unknown key '{key}'; known: {}", KEYS.join(", ")),
        },
        None => format!("{place}: {message}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn job(text: &str) -> Result<RunArgs, Stop> {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("written");
        apply(file.path(), &RunArgs { size: Some("8".into()), ..RunArgs::default() })
    }

    #[test]
    fn every_key_is_read_and_flags_win() {
        let args = job(
            "mechanism = ['pipe', 'tcp']\npattern = 'stream'\nsize = [1, '4K']\nplace = 'free'\nidle = 'poll'\n\
             touch = 'full'\nrounds = 7\nslice = '50ms'\nwarmup = '5ms'\nseed = 3\noutput = 'x.json'\nformat = 'csv'\n\
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
    }

    #[test]
    fn the_known_keys_are_exactly_those_that_parse() {
        for key in KEYS {
            let told = format!("{:?}", job(&format!("{key} = {{}}")));
            assert!(!told.contains("unknown key"), "{key}: {told}");
        }
    }

    #[test]
    fn a_wrong_key_or_value_names_line_and_remedy() {
        for (text, part) in [
            ("mechanism = 'pipe'\nsise = 1\n", "line 2: unknown key 'sise'; did you mean 'size'?"),
            ("zzz = 1", "known: mechanism"),
            ("rounds = 'many'", "line 1"),
            ("size = ", "line 1"),
            ("[set]\npipe.size = [1]", "line"),
        ] {
            let stop = format!("{:?}", job(text).expect_err(text));
            assert!(stop.contains(part), "{text}: {stop}");
        }
    }
}
