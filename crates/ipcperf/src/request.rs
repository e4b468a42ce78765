//! From what was typed to what is meant; every error names the word and the nearest right one.

use crate::error::{Stop, unknown, unknown_name};
use ipcperf_core::{
    Axis, Idle, Load, OptionError, OptionSet, PatternKind, Placement, Spec, Touch, UnknownName,
    nearest, units,
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
pub(crate) fn is_mechanism(registry: &Registry, word: &OsStr) -> bool {
    let Some(word) = word.to_str().filter(|word| !is_named_as_a_file(word)) else { return false };
    let first = word.split(['/', ',', ' ']).next().unwrap_or(word);
    let name = other_name(first, MECHANISMS).unwrap_or(first);
    name == "all" || registry.entries().iter().any(|entry| entry.spec.name == name)
}

/// Whether an argument can only mean a file.
pub(crate) fn looks_like_a_file(word: &str) -> bool {
    word.contains('/') || is_named_as_a_file(word)
}

fn is_named_as_a_file(word: &str) -> bool {
    word == "-" || word.starts_with('@') || [".toml", ".json"].iter().any(|end| word.ends_with(end))
}

fn other_name(word: &str, names: &[(&str, &'static str)]) -> Option<&'static str> {
    names.iter().find(|(other, _)| *other == word).map(|(_, name)| *name)
}

/// A mechanism by its full name, by another name that is in use for it, or, where each variant has a name of its own, by
/// the name that they share: then it is the default variant.
pub(crate) fn mechanism<'a>(registry: &'a Registry, word: &str) -> Result<&'a Entry, Stop> {
    let name = other_name(word, MECHANISMS).unwrap_or(word);
    let is_default = |entry: &&Entry| entry.spec.name == name && entry.spec.default;
    let found = registry.find(name);
    found.or_else(|| registry.entries().iter().find(is_default)).ok_or_else(|| {
        let full: Vec<String> =
            registry.entries().iter().map(|entry| entry.spec.full_name()).collect();
        // The names that variants share before their own.
        let shared = registry.entries().iter().map(|entry| entry.spec.name);
        let known = MECHANISMS.iter().map(|(name, _)| *name).chain(full.iter().map(String::as_str));
        guessed("mechanism", word).unwrap_or_else(|| {
            unknown("mechanism", word, known.chain(shared), "'ipcperf list' shows them all")
        })
    })
}

/// The facts of a mechanism by its full name.
pub(crate) fn specs(registry: &Registry) -> impl Fn(&str) -> Option<&'static Spec> {
    move |name: &str| registry.find(name).map(|entry| entry.spec)
}

/// As many cells as anybody can read, and as a plan of them fits into memory: each takes about a kilobyte.
const MOST: usize = 100_000;

/// Refuses a product of so many parts before it is made.
pub(crate) fn not_too_many<const N: usize>(what: &str, parts: [usize; N]) -> Result<(), Stop> {
    let all = parts.into_iter().fold(1, usize::saturating_mul);
    if all <= MOST {
        return Ok(());
    }
    let parts = parts.map(|part| part.to_string()).join(" x ");
    Err(Stop::usage(format!("{parts} = {all} {what}, and {MOST} are the most: ask for fewer")))
}

/// Mechanisms by a list of names: those of [`mechanism`], `name/*` for all variants, `all`.
pub(crate) fn mechanisms(registry: &Registry, list: &str) -> Result<Vec<Entry>, Stop> {
    let mut chosen: Vec<Entry> = Vec::new();
    for name in list.split(',').map(str::trim) {
        let found: Vec<Entry> = match name.strip_suffix("/*") {
            _ if name == "all" => registry.entries().to_vec(),
            Some(base) => {
                registry.entries().iter().filter(|entry| entry.spec.name == base).copied().collect()
            }
            None => vec![*mechanism(registry, name)?],
        };
        if found.is_empty() {
            mechanism(registry, name)?;
        }
        for entry in found {
            if !chosen.iter().any(|known| known.spec.full_name() == entry.spec.full_name()) {
                chosen.push(entry);
            }
        }
    }
    Ok(chosen)
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

pub(crate) fn patterns(list: &str) -> Result<Vec<PatternKind>, Stop> {
    let names = list.split(',').map(|word| other_name(word.trim(), PATTERNS).unwrap_or(word));
    words(&names.collect::<Vec<_>>().join(","))
}

/// Placements; two numbers with a comma between them are the CPUs of lead and follow.
pub(crate) fn placements(list: &str) -> Result<Vec<Placement>, Stop> {
    let is_cpu = |word: &str| !word.is_empty() && word.chars().all(|sign| sign.is_ascii_digit());
    let mut parts = list.split(',').map(str::trim).peekable();
    let mut chosen = Vec::new();
    while let Some(word) = parts.next() {
        let one = if is_cpu(word) {
            let Some(follow) = parts.next_if(|next| is_cpu(next)) else {
                let text = format!(
                    "CPU {word} has no partner; a pair has the CPUs of lead and follow, \
                     {word},{word} for both ends on one"
                );
                return Err(Stop::usage(text));
            };
            one_of(&format!("{word},{follow}"))?
        } else {
            one_of(word)?
        };
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    Ok(chosen)
}

pub(crate) fn axis(word: &str) -> Result<Axis, Stop> {
    one_of(word)
}

pub(crate) fn idle(list: &str) -> Result<Vec<Idle>, Stop> {
    words(list)
}

pub(crate) fn touch(word: &str) -> Result<Touch, Stop> {
    Ok(words(word)?.pop().unwrap_or(Touch::CacheLine))
}

pub(crate) fn sizes(list: &str) -> Result<Vec<usize>, Stop> {
    units::sizes(list).map_err(Stop::usage)
}

/// A time within a range.
pub(crate) fn time(
    name: &str,
    text: &str,
    least: Duration,
    most: Duration,
) -> Result<Duration, Stop> {
    let time = units::duration(text).map_err(|error| Stop::usage(format!("{name}: {error}")))?;
    if time < least || time > most {
        return Err(Stop::usage(format!("{name}: {text} is not between {least:?} and {most:?}")));
    }
    Ok(time)
}

/// A time that is given to a whole run.
pub(crate) fn budget(name: &str, text: &str) -> Result<Duration, Stop> {
    time(name, text, Duration::from_secs(1), Duration::from_secs(24 * 3600))
}

/// As many rounds as were asked for, if there can be so many.
pub(crate) fn rounds(rounds: u64) -> Result<u64, Stop> {
    match (1..=10_000).contains(&rounds) {
        true => Ok(rounds),
        false => Err(Stop::usage(format!("--rounds: {rounds} is not between 1 and 10000"))),
    }
}

/// This machine, if anything can be measured on it.
pub(crate) fn host() -> Result<Host, Stop> {
    needs::probe()
        .map_err(|missing| Stop::nothing_ran(format!("nothing can be measured here: {missing}")))?;
    Host::read().map_err(|error| Stop::internal(format!("CPU affinity: {error}")))
}

/// One pattern, placement and idle policy, and the rest as it is unless something else is asked for.
pub(crate) fn usual(
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

/// Knobs, checked against every mechanism that has them.
pub(crate) fn options(registry: &Registry, settings: &[String]) -> Result<OptionSet, Stop> {
    let mut set = OptionSet::default();
    for setting in settings {
        set.set(setting).map_err(|error| Stop::usage(format!("--set {error}")))?;
    }
    for key in set.0.keys() {
        let (owner, _) = key.split_once('.').unwrap_or((key, ""));
        if !registry.entries().iter().any(|entry| entry.spec.name == owner) {
            let names = registry.entries().iter().map(|entry| entry.spec.name);
            return Err(unknown("mechanism", owner, names, "'ipcperf list' shows them all"));
        }
    }
    for entry in registry.entries() {
        for (knob, value) in set.of(entry.spec.name) {
            ipcperf_core::options::check(entry.spec.name, entry.knobs, knob, value)
                .map_err(refused)?;
        }
    }
    Ok(set)
}

/// A refused knob, with the nearest right one.
pub(crate) fn refused(error: OptionError) -> Stop {
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

    #[test]
    fn other_names_in_use_mean_what_their_users_mean() {
        let registry = crate::builtin();
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
        for (word, name) in [("unixx", "unix"), ("shmring", "shm-ring"), ("pip", "pipe")] {
            let refused = named(word).expect_err("mistyped").to_string();
            assert_eq!(refused, format!("unknown mechanism '{word}'; did you mean '{name}'?"));
        }
        let chosen = patterns("latency, throughput,stream").expect("known");
        assert_eq!(chosen, [PatternKind::PingPong, PatternKind::Stream]);
    }
}
