//! From typed words to their meaning; every error names the word and the nearest right one.

use crate::error::{Stop, unknown, unknown_name};
use crate::plugins::{is_plugin, known, meant_plugin, plugin};
use ipcperf_core::result::Cell;
use ipcperf_core::{
    Axis, Idle, KnobKind, Load, OptionError, OptionSet, PatternKind, Placement, Spec, Touch,
    UnknownName, nearest, options, units,
};
use ipcperf_engine::needs;
use ipcperf_engine::plan::{Host, Request};
use ipcperf_engine::registry::{Entry, Registry};
use std::ffi::OsStr;
use std::str::FromStr;
use std::time::Duration;

/// Other names that are in use for a mechanism; results have ours.
const MECHANISMS: &[(&str, &str)] = &[
    ("uds", "unix-stream"),
    ("unix", "unix-stream"),
    ("unix-socket", "unix-stream"),
    ("named-pipe", "fifo"),
];

/// Words that may mean one of several, with those that they may mean.
const GUESSES: &[(&str, &[&str])] = &[
    ("socket", &["unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "udp"]),
    ("shm", &["shm-ring", "shm-sem", "shm-mailbox"]),
    ("shared-memory", &["shm-ring", "shm-sem", "shm-mailbox"]),
    ("mq", &["posix-mq", "sysv-mq"]),
    ("message-queue", &["posix-mq", "sysv-mq"]),
    ("same-core", &["same-cpu", "smt"]),
];

/// That a word is unknown, where it may mean one of several.
fn guessed(kind: &str, word: &str) -> Option<Stop> {
    let (_, meant) = GUESSES.iter().find(|(guess, _)| *guess == word)?;
    let meant = meant.join(", ");
    Some(Stop::usage(format!("unknown {kind} '{word}'; did you mean one of {meant}?")))
}

/// Other names that are in use for a pattern.
const PATTERNS: &[(&str, &str)] = &[
    ("latency", "ping-pong"),
    ("rtt", "ping-pong"),
    ("throughput", "stream"),
    ("bandwidth", "stream"),
];

/// Whether an argument that may be a mechanism or a file means mechanisms: one that is known, a list that begins with
/// one, or one with knobs behind it. What contains a slash is a variant if a mechanism stands before the slash.
pub fn is_mechanism(registry: &Registry, word: &OsStr) -> bool {
    let Some(word) = word.to_str().filter(|word| !is_named_as_a_file(word)) else { return false };
    if is_plugin(word.split([',', ' ']).next().unwrap_or(word)) {
        return true;
    }
    let first = word.split(['/', ',', ' ']).next().unwrap_or(word);
    let name = other_name(first, MECHANISMS).unwrap_or(first);
    name == "all" || registry.entries().iter().any(|entry| entry.spec.name == name)
}

/// Whether an argument can only mean a file.
pub fn looks_like_a_file(word: &str) -> bool {
    word.contains('/') || is_named_as_a_file(word)
}

fn is_named_as_a_file(word: &str) -> bool {
    word == "-"
        || word.starts_with('@')
        || [".toml", ".json", ".json.gz"].iter().any(|end| word.ends_with(end))
}

fn other_name(word: &str, names: &[(&str, &'static str)]) -> Option<&'static str> {
    names.iter().find(|(other, _)| *other == word).map(|(_, name)| *name)
}

/// A mechanism by its full name, by another name that is in use for it, or, where each variant has a name of its own, by
/// the name that they share: then it is the default variant.
pub fn mechanism<'a>(registry: &'a Registry, word: &str) -> Result<&'a Entry, Stop> {
    if is_plugin(word) {
        return plugin(registry, word);
    }
    let (own, variant) = word.split_once('/').unwrap_or((word, ""));
    let name = base(own);
    let full = if variant.is_empty() { name.to_owned() } else { format!("{name}/{variant}") };
    let is_default = |entry: &&Entry| entry.spec.name == full && entry.spec.default;
    let found = registry.find(&full);
    found.or_else(|| registry.entries().iter().find(is_default)).ok_or_else(|| {
        let full: Vec<String> =
            registry.entries().iter().map(|entry| entry.spec.full_name()).collect();
        // The names that variants share before their own.
        let shared = registry.entries().iter().map(|entry| entry.spec.name);
        let known = MECHANISMS.iter().map(|(name, _)| *name).chain(full.iter().map(String::as_str));
        let known_word = guessed("mechanism", word).or_else(|| of_library(registry, own));
        known_word.or_else(|| meant_plugin(word)).unwrap_or_else(|| {
            unknown("mechanism", word, known.chain(shared), "'ipcperf list' shows them all")
        })
    })
}

/// Servers, and how each is measured: its program, and a client.
const SERVERS: [(&str, &str, &str); 6] = [
    ("redis", "redis-server", "'redis-benchmark -t get -q'"),
    ("redis-server", "redis-server", "'redis-benchmark -t get -q'"),
    ("valkey", "valkey-server", "'valkey-benchmark -t get -q'"),
    ("valkey-server", "valkey-server", "'valkey-benchmark -t get -q'"),
    ("memcached", "memcached", "'memtier_benchmark -P memcache_text -p 11211'"),
    ("nginx", "\"nginx -g 'daemon off;'\"", "'wrk -d 5 http://127.0.0.1/'"),
];

/// Libraries and programs that carry messages over the mechanisms of the kernel.
const LIBRARIES: [&str; 17] = [
    "aeron",
    "asyncio",
    "capnproto",
    "dbus",
    "grpc",
    "iceoryx",
    "iceoryx2",
    "mojo",
    "mqtt",
    "nanomsg",
    "nats",
    "nng",
    "rabbitmq",
    "thrift",
    "tokio",
    "zeromq",
    "zmq",
];

/// Why a library is not a mechanism of this program, and what measures it.
fn of_library(registry: &Registry, word: &str) -> Option<Stop> {
    let is_own = registry.entries().iter().any(|entry| entry.spec.name == word);
    if let Some((_, server, client)) = SERVERS.iter().find(|(name, ..)| *name == word) {
        return Some(Stop::usage(format!(
            "unknown mechanism '{word}'; a server is measured with a client: ipcperf predict --server {server} --client {client} \
             (--server-b and --client-b name what it is compared with)"
        )));
    }
    (LIBRARIES.contains(&word) && !is_own).then(|| {
        Stop::usage(format!(
            "unknown mechanism '{word}': ipcperf-extras measures libraries ('ipcperf help libraries'), and 'ipcperf predict \
             --server PROGRAM --client PROGRAM' measures programs"
        ))
    })
}

/// The facts of a mechanism by its full name.
pub fn specs(registry: &Registry) -> impl Fn(&str) -> Option<&'static Spec> {
    move |name: &str| registry.find(name).map(|entry| entry.spec)
}

/// As many cells as anybody can read, and as a plan of them fits into memory: each takes about a kilobyte.
const MOST: usize = 100_000;

/// Refuses a product of so many parts before it is made.
pub fn not_too_many<const N: usize>(what: &str, parts: [usize; N]) -> Result<(), Stop> {
    let all = parts.into_iter().fold(1, usize::saturating_mul);
    if all <= MOST {
        return Ok(());
    }
    let parts = parts.map(|part| part.to_string()).join(" x ");
    Err(Stop::usage(format!("{parts} = {all} {what}, and {MOST} are the most: ask for fewer")))
}

/// A mechanism with the knobs that are set for it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The mechanism.
    pub entry: Entry,
    /// What is set for it.
    pub options: OptionSet,
}

impl Asked {
    fn is_same(&self, other: &Self) -> bool {
        self.entry.spec.full_name() == other.entry.spec.full_name() && self.options == other.options
    }

    /// Whether a cell is of this mechanism and was measured with these knobs, and with any others.
    pub fn is_of(&self, cell: &Cell) -> bool {
        let Spec { name, .. } = self.entry.spec;
        let is_set = |(knob, text): (&str, &str)| {
            let wanted = options::check(name, self.entry.knobs, knob, text).ok();
            let reading = cell.knobs.get(&format!("{name}.{knob}"));
            wanted.is_some() && reading.is_some_and(|reading| reading.requested == wanted)
        };
        cell.key.mechanism == self.entry.spec.full_name() && self.options.of(name).all(is_set)
    }
}

/// One mechanism, as in [`asked`].
pub fn one(registry: &Registry, text: &str) -> Result<Asked, Stop> {
    let (name, knobs) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    with_knobs(*mechanism(registry, name)?, knobs, &OptionSet::default())
}

/// Mechanisms by lists of names: those of [`mechanism`], `name/*` for all variants, `all`. Knobs of one stand behind its name
/// (`unix-stream bind=path`), those of any of them are settings of their own (`--set`), which the former go before.
pub fn asked(
    registry: &Registry,
    lists: &[String],
    settings: &[String],
) -> Result<Vec<Asked>, Stop> {
    let mut named: Vec<(Entry, &str)> = Vec::new();
    for item in lists.iter().flat_map(|list| list.split(',')).map(str::trim) {
        let (name, knobs) = item.split_once(char::is_whitespace).unwrap_or((item, ""));
        named.extend(entries(registry, name)?.into_iter().map(|entry| (entry, knobs)));
    }
    let names: Vec<&str> = named.iter().map(|(entry, _)| entry.spec.name).collect();
    let common = options(registry, settings, &names)?;
    let mut all: Vec<Asked> = Vec::new();
    for (entry, knobs) in named {
        let one = with_knobs(entry, knobs, &common)?;
        if !all.iter().any(|known| known.is_same(&one)) {
            all.push(one);
        }
    }
    Ok(all)
}

/// A mechanism with what is set for all, and the knobs behind its name.
/// The knobs with a path as their value in lists of mechanisms (`temp-file dir=/data,tcp`): full names and values. Parts of a
/// list that make no sense are passed over, because their error comes where the list is read.
#[must_use]
pub fn knob_paths(lists: &[String]) -> Vec<(String, String)> {
    let of_item = |item: &str| {
        let mut words = item.split_whitespace();
        let name = words.next().unwrap_or_default();
        let owner = base(name.split('/').next().unwrap_or(name)).to_owned();
        let path = |word: &str| {
            let (knob, path) =
                word.split_once('=').filter(|(_, value)| KnobKind::is_path(value))?;
            let knob = knob.rsplit_once('.').map_or(knob, |(_, knob)| knob);
            Some((format!("{owner}.{knob}"), path.to_owned()))
        };
        words.filter_map(path).collect::<Vec<_>>()
    };
    lists.iter().flat_map(|list| list.split(',')).flat_map(of_item).collect()
}

fn with_knobs(entry: Entry, knobs: &str, common: &OptionSet) -> Result<Asked, Stop> {
    let Spec { name, .. } = entry.spec;
    let mut own = OptionSet::default();
    for word in knobs.split_whitespace() {
        let Some((knob, value)) = word.split_once('=') else {
            let full = entry.spec.full_name();
            let names: Vec<&str> = entry.knobs.iter().map(|knob| knob.name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Stop::usage(format!(
                "'{word}' after {full} is not knob=value; separate mechanisms with commas (knobs of {name}: {known})"
            )));
        };
        let knob = match knob.split_once('.') {
            Some((owner, knob)) if base(owner) == *name => knob,
            _ => knob,
        };
        options::check(name, entry.knobs, knob, value).map_err(refused)?;
        own.0.insert(format!("{name}.{knob}"), value.to_owned());
    }
    for (knob, value) in common.of(name) {
        own.0.entry(format!("{name}.{knob}")).or_insert_with(|| value.to_owned());
    }
    Ok(Asked { entry, options: own })
}

/// As few blocks as hold all of them in their order; in a block each knob has one value.
pub fn blocks(asked: Vec<Asked>) -> Vec<(Vec<Entry>, OptionSet)> {
    let mut blocks: Vec<(Vec<Entry>, OptionSet)> = Vec::new();
    for Asked { entry, options: own } in asked {
        let Spec { name, .. } = entry.spec;
        let fits = |(entries, options): &(Vec<Entry>, OptionSet)| {
            !entries.iter().any(|known| known.spec.name == *name)
                || options.of(name).eq(own.of(name))
        };
        match blocks.last_mut().filter(|block| fits(block)) {
            Some((entries, options)) => {
                entries.push(entry);
                options.0.extend(own.0);
            }
            None => blocks.push((vec![entry], own)),
        }
    }
    blocks
}

/// All of them as one block, for what measures each mechanism with one set of knobs.
pub fn block(asked: Vec<Asked>) -> Result<(Vec<Entry>, OptionSet), Stop> {
    let names: Vec<&str> = asked.iter().map(|one| one.entry.spec.name).collect();
    let mut blocks = blocks(asked);
    match (blocks.pop(), blocks.is_empty()) {
        (Some(block), true) => Ok(block),
        (None, _) => Ok((Vec::new(), OptionSet::default())),
        (Some((entries, _)), false) => {
            let is_twice =
                |entry: &&Entry| names.iter().filter(|name| **name == entry.spec.name).count() > 1;
            let name = entries.iter().find(is_twice).map_or("a mechanism", |entry| entry.spec.name);
            Err(Stop::usage(format!(
                "'{name}' is named with different knobs; 'ipcperf run' and 'ipcperf compare --live' measure both"
            )))
        }
    }
}

/// The mechanisms that one word of a list means.
fn entries(registry: &Registry, name: &str) -> Result<Vec<Entry>, Stop> {
    let all = registry.entries().iter();
    let found: Vec<Entry> = match name.strip_suffix("/*") {
        _ if name == "all" => all.copied().collect(),
        Some(given) => all.filter(|entry| entry.spec.name == base(given)).copied().collect(),
        None => Vec::new(),
    };
    if found.is_empty() { mechanism(registry, name).map(|entry| vec![*entry]) } else { Ok(found) }
}

/// The name that knobs live under, by itself or by another name that is in use for it.
fn base(word: &str) -> &str {
    other_name(word, MECHANISMS).unwrap_or(word)
}

fn one_of<T: FromStr<Err = UnknownName>>(word: &str) -> Result<T, Stop> {
    word.parse().map_err(|error: UnknownName| {
        guessed(error.kind, word).unwrap_or_else(|| unknown_name(error))
    })
}

fn words<T>(list: &str) -> Result<Vec<T>, Stop>
where
    T: FromStr<Err = UnknownName> + PartialEq,
{
    let mut chosen = Vec::new();
    for word in list.split(',').map(str::trim) {
        let one = one_of(word)?;
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    Ok(chosen)
}

/// A value of a file that people write, as the text that they would type for it: a text or a whole number.
#[must_use]
pub fn word(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Patterns, comma-separated.
pub fn patterns(list: &str) -> Result<Vec<PatternKind>, Stop> {
    let names = list.split(',').map(|word| other_name(word.trim(), PATTERNS).unwrap_or(word));
    words(&names.collect::<Vec<_>>().join(","))
}

/// Placements; two numbers with a comma between them are the CPUs of lead and follow, and a number beside `free` pins one end
/// alone. Numbers behind `free` are pairs where they are even in number.
pub fn placements(list: &str) -> Result<Vec<Placement>, Stop> {
    let is_cpu = |word: &str| !word.is_empty() && word.chars().all(|sign| sign.is_ascii_digit());
    let free = Placement::Free.to_string();
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    let (mut at, mut chosen) = (0, Vec::new());
    while let Some(word) = words.get(at).copied() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let is_pair = if is_cpu(word) {
            if !is_cpu(next) && next != free {
                let text = format!(
                    "CPU {word} has no partner; a pair has the CPUs of lead and follow, {word},{word} for both ends \
                     on one, {word},free to pin the lead alone"
                );
                return Err(Stop::usage(text));
            }
            true
        } else if word == free {
            let cpus = words[at + 1..].iter().take_while(|word| is_cpu(word)).count();
            if cpus % 2 == 1 && words.get(at + 1 + cpus) == Some(&word) {
                let text = format!(
                    "--place: '{list}' can be read in two ways; write what pins one end alone first, as 0,free,free"
                );
                return Err(Stop::usage(text));
            }
            cpus % 2 == 1
        } else {
            false
        };
        let one = if is_pair { one_of(&format!("{word},{next}"))? } else { one_of(word)? };
        at += if is_pair { 2 } else { 1 };
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    Ok(chosen)
}

/// The parameter that a search goes along.
pub fn axis(word: &str) -> Result<Axis, Stop> {
    one_of(word)
}

/// Idle policies, comma-separated.
pub fn idle(list: &str) -> Result<Vec<Idle>, Stop> {
    words(list)
}

/// A touch policy.
pub fn touch(word: &str) -> Result<Touch, Stop> {
    Ok(words(word)?.pop().unwrap_or(Touch::CacheLine))
}

/// Sizes, lists and sweeps of them.
pub fn sizes(list: &str) -> Result<Vec<usize>, Stop> {
    units::sizes(list).map_err(Stop::usage)
}

/// A time within a range.
pub fn time(name: &str, text: &str, least: Duration, most: Duration) -> Result<Duration, Stop> {
    let time = units::duration(text).map_err(|error| Stop::usage(format!("{name}: {error}")))?;
    if time < least || time > most {
        return Err(Stop::usage(format!("{name}: {text} is not between {least:?} and {most:?}")));
    }
    Ok(time)
}

/// A time that is given to a whole run.
pub fn budget(name: &str, text: &str) -> Result<Duration, Stop> {
    time(name, text, Duration::from_secs(1), Duration::from_secs(24 * 3600))
}

/// As many rounds as were asked for, if there can be so many.
pub fn rounds(rounds: u64) -> Result<u64, Stop> {
    match (1..=10_000).contains(&rounds) {
        true => Ok(rounds),
        false => Err(Stop::usage(format!("--rounds: {rounds} is not between 1 and 10000"))),
    }
}

/// This machine, if anything can be measured on it.
pub fn host() -> Result<Host, Stop> {
    needs::probe()
        .map_err(|missing| Stop::nothing_ran(format!("nothing can be measured here: {missing}")))?;
    Host::read().map_err(|error| Stop::internal(format!("CPU affinity: {error}")))
}

/// One pattern, placement and idle policy, and the rest as it is unless something else is asked for.
pub fn usual(
    mechanisms: &[Entry],
    pattern: PatternKind,
    sizes: &[u64],
    placement: Placement,
    idle: Idle,
) -> Request {
    Request {
        mechanisms: mechanisms.to_vec(),
        patterns: vec![pattern],
        sizes: sizes.iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect(),
        placements: vec![placement],
        idle: vec![idle],
        touch: Touch::CacheLine,
        loads: vec![Load::default()],
        options: OptionSet::default(),
    }
}

/// Knobs, checked against every mechanism that has them. Where all that is asked for is one mechanism, a knob may stand
/// without its name.
pub fn options(
    registry: &Registry,
    settings: &[String],
    asked: &[&str],
) -> Result<OptionSet, Stop> {
    let only = asked.first().filter(|first| asked.iter().all(|name| name == *first));
    let mut set = OptionSet::default();
    for setting in settings {
        let whole = match setting.split_once('=').map(|(key, value)| (key.trim(), value)) {
            Some((key, value)) => match (key.split_once('.'), only) {
                (Some((owner, knob)), _) => format!("{}.{knob}={value}", base(owner.trim())),
                (None, Some(only)) => format!("{only}.{key}={value}"),
                (None, None) => return Err(whose(registry, setting, key, asked)),
            },
            None => setting.clone(),
        };
        set.set(&whole).map_err(|error| Stop::usage(format!("--set {error}")))?;
    }
    for key in set.0.keys() {
        let (owner, _) = key.split_once('.').unwrap_or((key, ""));
        if !known(registry).any(|entry| entry.spec.name == owner) {
            let others = MECHANISMS.iter().map(|(name, _)| *name);
            let names = known(registry).map(|entry| entry.spec.name).chain(others);
            return Err(unknown("mechanism", owner, names, "'ipcperf list' shows them all"));
        }
    }
    for entry in known(registry) {
        for (knob, value) in set.of(entry.spec.name) {
            options::check(entry.spec.name, entry.knobs, knob, value).map_err(refused)?;
        }
    }
    Ok(set)
}

/// A knob without a name where several mechanisms are asked for: with the name of one that has it.
fn whose(registry: &Registry, setting: &str, key: &str, asked: &[&str]) -> Stop {
    let has_it = |entry: &&Entry| entry.knobs.iter().any(|knob| knob.name == key);
    let mut owners = known(registry).filter(has_it).map(|entry| entry.spec.name);
    let owner = owners.clone().find(|name| asked.contains(name)).or_else(|| owners.next());
    match owner {
        Some(owner) => Stop::usage(format!(
            "--set '{setting}': for which mechanism? name it, for example {owner}.{setting}"
        )),
        None => Stop::usage(format!(
            "--set '{setting}': no mechanism has the knob '{key}'; 'ipcperf describe NAME' shows what there is"
        )),
    }
}

/// A refused knob, with the nearest right one.
pub fn refused(error: OptionError) -> Stop {
    if let OptionError::Unknown { mechanism, knob, known } = &error
        && let Some(word) = nearest(knob, known.iter().copied())
    {
        return Stop::usage(format!(
            "unknown knob '{mechanism}.{knob}'; did you mean '{mechanism}.{word}'?"
        ));
    }
    Stop::usage(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<T: ToString>(all: &[T]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn other_names_in_use_mean_what_their_users_mean() {
        let registry = ipcperf_builtin::builtin();
        let named = |word| mechanism(&registry, word).map(|entry| entry.spec.full_name());
        for (word, name) in [
            ("uds", "unix-stream"),
            ("unix", "unix-stream"),
            ("named-pipe", "fifo"),
            ("shm-ring", "shm-ring/adaptive"),
            ("pipe", "pipe"),
        ] {
            assert_eq!(named(word).ok().as_deref(), Some(name), "{word}");
        }
        for (word, name) in MECHANISMS {
            assert!(named(word).is_ok(), "{word} is {name}, which there is not");
            assert!(registry.find(word).is_none(), "{word} is a name of ours");
        }
        for (word, names) in GUESSES {
            let refused = match placements(word) {
                Err(stop) if names.iter().all(|name| placements(name).is_ok()) => stop,
                _ => {
                    assert!(names.iter().all(|name| named(name).is_ok()), "{names:?}");
                    named(word).expect_err("not one of ours")
                }
            };
            let meant = format!("'{word}'; did you mean one of {}?", names.join(", "));
            assert!(refused.to_string().ends_with(&meant), "{refused}");
        }
        for library in LIBRARIES {
            let refused = named(library).expect_err("it is a library").to_string();
            assert!(refused.contains("ipcperf help libraries"), "{refused}");
        }
        for (word, name) in [("unixx", "unix"), ("shmring", "shm-ring"), ("pip", "pipe")] {
            let refused = named(word).expect_err("mistyped").to_string();
            assert_eq!(refused, format!("unknown mechanism '{word}'; did you mean '{name}'?"));
        }
        let chosen = patterns("latency, throughput,stream").expect("known");
        assert_eq!(chosen, [PatternKind::PingPong, PatternKind::Stream]);
    }

    /// Names with their knobs, or what is wrong.
    fn planned(lists: &[&str], settings: &[&str]) -> Result<Vec<String>, String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (lists, settings): (Vec<String>, Vec<String>) = (owned(lists), owned(settings));
        let asked = asked(&ipcperf_builtin::builtin(), &lists, &settings);
        let words = |one: &Asked| {
            let knobs = one.options.0.iter().map(|(knob, value)| format!(" {knob}={value}"));
            format!("{}{}", one.entry.spec.full_name(), knobs.collect::<String>())
        };
        let asked = asked.map(|all| all.iter().map(words).collect());
        asked.map_err(|stop| stop.to_string())
    }

    #[test]
    fn a_number_beside_free_pins_one_end_and_numbers_behind_it_that_are_even_are_pairs() {
        for (list, meant) in [
            ("0,free", &["0,free"][..]),
            ("free,0", &["free,0"]),
            ("free, 0", &["free,0"]),
            ("0,1,free", &["0,1", "free"]),
            ("free,0,1", &["free", "0,1"]),
            ("free,3,0,0,0", &["free", "3,0", "0,0"]),
            ("free,3,0,1", &["free,3", "0,1"]),
            ("0,free,free,1,smt", &["0,free", "free,1", "smt"]),
            ("0,free,free", &["0,free", "free"]),
            ("free,free,0", &["free", "free,0"]),
        ] {
            let found = placements(list).map(|all| texts(&all)).map_err(|stop| stop.to_string());
            assert_eq!(found, Ok(texts(meant)), "{list}");
        }
        for (list, said) in [
            ("0", "CPU 0 has no partner"),
            ("0,free,1", "CPU 1 has no partner"),
            ("0,smt", "0,free to pin the lead alone"),
            ("0,fre", "CPU 0 has no partner"),
            (
                "free,0,free",
                "can be read in two ways; write what pins one end alone first, as 0,free,free",
            ),
        ] {
            let told = placements(list).expect_err(list).to_string();
            assert!(told.contains(said), "{list}: {told}");
        }
    }

    #[test]
    fn a_knob_is_set_behind_a_name_or_by_itself_under_any_name_of_its_mechanism() {
        let path = ["unix-stream unix-stream.bind=path"];
        for (lists, settings) in [
            (&["unix-stream bind=path"][..], &[][..]),
            (&["unix bind=path"], &[]),
            (&["unix-stream unix.bind=path"], &[]),
            (&["uds"], &["bind=path"]),
            (&["unix-stream"], &["unix.bind=path"]),
            (&["unix-stream"], &["unix-stream.bind=path"]),
            (&["unix bind=path"], &["unix.bind=abstract"]),
            (&["unix bind=path", "uds bind=path"], &[]),
        ] {
            assert_eq!(planned(lists, settings).as_deref(), Ok(&path.map(str::to_owned)[..]));
        }
        // Of all variants, and of nobody else.
        let both = planned(&["pipe/*,fifo"], &["pipe.size=1M"]).expect("known");
        assert!(both.iter().filter(|one| one.ends_with(" pipe.size=1M")).count() >= 2, "{both:?}");
        assert!(both.contains(&"fifo".to_owned()));
        assert_eq!(planned(&["pipe/*"], &["size=1M"]).map(|all| all.len()), Ok(both.len() - 1));
        // With commas as with the flag again.
        let lists = [&["pipe,tcp size=1"][..], &["pipe", "tcp size=1"]];
        assert_eq!(planned(lists[0], &[]), planned(lists[1], &[]));
        assert_eq!(planned(&["pipe,tcp"], &[]), planned(&["pipe", "tcp"], &[]));
    }

    #[test]
    fn a_knob_that_nobody_can_place_is_named_with_what_would_be_right() {
        for (lists, settings, said) in [
            (
                &["pipe,fifo"][..],
                &["size=1M"][..],
                "for which mechanism? name it, for example pipe.size=1M",
            ),
            (&["tcp,udp"], &["size=1M"], "for which mechanism?"),
            (&["pipe,fifo"], &["zebra=1"], "no mechanism has the knob 'zebra'"),
            (&["pipe"], &["siez=1M"], "unknown knob 'pipe.siez'; did you mean 'pipe.size'?"),
            (&["pipe siez=1M"], &[], "unknown knob 'pipe.siez'; did you mean 'pipe.size'?"),
            (
                &["pipe fifo"],
                &[],
                "'fifo' after pipe is not knob=value; separate mechanisms with commas",
            ),
            (&["pipe tcp.nodelay=on"], &[], "'pipe' has no knob 'tcp.nodelay'"),
            (&["pipe"], &["unixx.bind=path"], "unknown mechanism 'unixx'; did you mean 'unix'?"),
            (&["pipe"], &["size"], "--set 'size' is not of the form mechanism.knob=value"),
            (&["pipe size=1"], &[], "pipe.size takes 4K..1G bytes, not '1'"),
        ] {
            let told = planned(lists, settings).expect_err(said);
            assert!(told.contains(said), "{lists:?} {settings:?}: {told}");
        }
    }

    #[test]
    fn one_mechanism_with_two_values_of_a_knob_is_two_blocks() {
        let registry = ipcperf_builtin::builtin();
        let of = |list: &str| asked(&registry, &[list.to_owned()], &[]).expect("known");
        let sizes = |list: &str| -> Vec<usize> {
            blocks(of(list)).iter().map(|(entries, _)| entries.len()).collect()
        };
        assert_eq!(sizes("pipe,unix bind=path,tcp"), [3]);
        assert_eq!(sizes("pipe,fifo,pipe size=1M,tcp"), [2, 2]);
        // A knob of one variant is not that of the other.
        assert_eq!(sizes("unix/spin bind=path,unix"), [1, 1]);
        assert!(block(of("pipe size=1M,pipe/spin size=1M,tcp")).is_ok());
        let told = block(of("pipe,tcp,pipe size=1M")).expect_err("two").to_string();
        assert!(told.starts_with("'pipe' is named with different knobs"), "{told}");
    }
}
