//! Turns the flags of a load into loads: every combination of their values, checked against the patterns. The keys and
//! their values are declared in `core`; flags, help and job files follow from there.

use crate::error::{Stop, unknown_name};
use crate::external;
use crate::request;
use crate::words::Words;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use ipcperf_core::{
    FollowIn, Load, LoadError, LoadKey, Namespace, Neighbour, Offered, PatternKind, PayloadFile,
    SchedClass, Seat, Touch, shell_words,
};
use ipcperf_engine::source::PayloadSource;
use std::collections::BTreeMap;

/// Shares of the peak that make a curve of latency over load, in percent.
const CURVE: [f64; 6] = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0];

/// What is asked of the pattern rate where no rate was typed: all of the curve.
const WHOLE_CURVE: &str = "10%..95%";

/// The value of a key that is only switched on.
const ON: &str = "on";

/// What was typed for a load: lists of values.
#[derive(Clone, Debug, Default)]
pub struct LoadArgs(pub BTreeMap<LoadKey, String>);

impl Args for LoadArgs {
    fn augment_args(command: Command) -> Command {
        command.args(LoadKey::ALL.iter().map(|key| {
            let facts = key.facts();
            let arg = Arg::new(key.name()).long(key.name()).help(facts.help);
            let arg = arg.help_heading(heading(facts.takers));
            if facts.values.is_empty() {
                return arg.action(ArgAction::SetTrue);
            }
            // A list, with commas or with the flag again and again.
            let listed = arg.value_name(facts.values).action(ArgAction::Append);
            // A value of its own, or the first of a list, may be below zero.
            let listed = listed.allow_hyphen_values(*key == LoadKey::Nice);
            match (facts.values, facts.words) {
                ("FILES", _) => listed.value_hint(ValueHint::FilePath),
                (_, []) => listed,
                (_, words) => listed.value_parser(Words(words.to_vec())),
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The section of the help for options that these patterns take; the help of an option names its own.
fn heading(takers: fn(PatternKind) -> bool) -> &'static str {
    use PatternKind::{Burst, Connect, PingPong, Rate, Request, Serve, Stream};
    let takes = |some: &[PatternKind]| some.iter().filter(|one| takers(**one)).count();
    match () {
        () if takes(PatternKind::ALL) > FEW_PATTERNS => "Most patterns",
        () if takes(&[PingPong, Stream, Rate, Burst]) > 0 => {
            "Patterns ping-pong, stream, rate and burst"
        }
        () if takes(&[Request]) > 0 => "Patterns request and serve",
        () if takes(&[Connect, Serve]) > 0 => "Patterns connect and serve",
        () => "Patterns fan-in, fan-out, broadcast and feed",
    }
}

/// An option of more patterns than this is one of most patterns.
const FEW_PATTERNS: usize = 4;

impl FromArgMatches for LoadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for key in LoadKey::ALL {
            if matches.value_source(key.name()) == Some(ValueSource::CommandLine) {
                match matches.try_get_many::<String>(key.name()) {
                    Ok(Some(lists)) => {
                        let lists: Vec<String> = lists.cloned().collect();
                        self.0.insert(*key, lists.join(","));
                    }
                    _ => self.switch_on(*key),
                }
            }
        }
        Ok(())
    }
}

impl LoadArgs {
    /// Switches on a key that takes no value.
    pub fn switch_on(&mut self, key: LoadKey) {
        self.0.insert(key, ON.to_owned());
    }
}

/// Every combination of the flags' values, for messages that are touched so.
pub fn loads(args: &LoadArgs, patterns: &[PatternKind], touch: Touch) -> Result<Vec<Load>, Stop> {
    if patterns.contains(&PatternKind::Feed) && !args.0.contains_key(&LoadKey::Rate) {
        return Err(Stop::usage(
            "the pattern feed needs --rate, in messages per second: add --rate 10k",
        ));
    }
    let mut loads = vec![Load::default()];
    for key in LoadKey::ALL {
        // Without a rate the clients of a server ask in a closed loop; a load of a pattern has its other defaults.
        let is_curve = *key == LoadKey::Rate && patterns.contains(&PatternKind::Rate);
        let usual = is_curve.then_some(WHOLE_CURVE);
        let Some(given) = args.0.get(key).map(String::as_str).or(usual) else { continue };
        if !patterns.iter().any(|pattern| pattern.takes(*key)) {
            let takers = PatternKind::ALL.iter().filter(|pattern| pattern.takes(*key));
            let names = takers.map(|pattern| pattern.name()).collect::<Vec<_>>().join(" or ");
            return Err(Stop::usage(format!("--{key} needs the pattern {names}: add -p")));
        }
        let mut more = Vec::new();
        let values = values(*key, given)?;
        request::not_too_many("combinations of flags", [loads.len(), values.len()])?;
        if *key == LoadKey::Rate && args.0.contains_key(key) {
            refuse_shares(&values, patterns)?;
        }
        for value in values {
            for load in &loads {
                let mut load = load.clone();
                load.set(*key, &value).map_err(|error| refused(*key, error))?;
                more.push(load);
            }
        }
        loads = more;
    }
    for load in &mut loads {
        load.payload = load.payload.as_ref().map(payload).transpose()?;
    }
    let objection = loads.iter().find_map(|load| contradiction(load, patterns, touch));
    if let Some(objection) = objection {
        return Err(Stop::usage(objection));
    }
    Ok(loads)
}

/// Why a value is wrong, with the nearest right one.
pub fn refused(key: LoadKey, error: LoadError) -> Stop {
    refused_as(key.name(), error)
}

/// The same of an option whose flag has another name.
pub fn refused_as(flag: &str, error: LoadError) -> Stop {
    match error {
        LoadError::Value(what) => Stop::usage(format!("--{flag}: {what}")),
        LoadError::Unknown(error) => unknown_name(error),
    }
}

/// A file that messages are taken from, with its size and digest.
pub fn payload(asked: &PayloadFile) -> Result<PayloadFile, Stop> {
    let refused = |error| Stop::usage(format!("--payload '{}': {error}", asked.file));
    PayloadSource::read(asked).map(|(_, found)| found).map_err(refused)
}

/// A share is one of the rate of a closed loop, which only the pattern rate finds out.
fn refuse_shares(rates: &[String], patterns: &[PatternKind]) -> Result<(), Stop> {
    let is_share = |rate: &&String| matches!(rate.parse(), Ok(Offered::OfPeak(_)));
    match rates.iter().find(is_share) {
        Some(rate) if patterns.contains(&PatternKind::Serve) => Err(Stop::usage(format!(
            "--rate {rate}: the pattern serve takes requests per second (like 20k), not a share"
        ))),
        Some(rate) if patterns.contains(&PatternKind::Feed) => Err(Stop::usage(format!(
            "--rate {rate}: the pattern feed takes messages per second (like 20k), not a share"
        ))),
        _ => Ok(()),
    }
}

/// What is asked of a slice with one channel alone.
const ALONE: &[LoadKey] = &[
    LoadKey::Think,
    LoadKey::Stall,
    LoadKey::Fresh,
    LoadKey::OneWay,
    LoadKey::FollowIn,
    LoadKey::Net,
    LoadKey::Sched,
    LoadKey::Nice,
    LoadKey::CpuWeight,
    LoadKey::Neighbour,
];

/// Options that cannot be combined.
fn contradiction(load: &Load, patterns: &[PatternKind], touch: Touch) -> Option<String> {
    for key in LoadKey::ALL.iter().filter(|key| key.facts().changes_figures) {
        let lacks = |pattern: &&PatternKind| !pattern.takes(*key);
        if let Some(pattern) = patterns.iter().find(lacks).filter(|_| load.value(*key).is_some()) {
            return Some(format!(
                "--{key} does not work with the pattern {pattern}: leave one of them out"
            ));
        }
    }
    if load.payload.is_some() && load.changes().is_none() && touch != Touch::Full {
        return Some(format!(
            "--payload has no effect with --touch {touch} and no transform: add --touch full or a --transform"
        ));
    }
    if load.mix.is_some() && load.reply > 0 {
        return Some("--mix gives the size of each answer: leave out --reply".to_owned());
    }
    if let (Some(transform), Touch::Copy) = (load.changes(), touch) {
        return Some(format!(
            "--transform {transform} does not work with --touch copy, because transforming already copies the message: leave \
             one of them out"
        ));
    }
    if let Some(other) = ALONE.iter().find(|key| load.channels > 0 && load.value(**key).is_some()) {
        return Some(format!(
            "--channels does not work with --{other}, which is of one channel: leave one of them out"
        ));
    }
    if let Some(objection) = program_objection(load) {
        return Some(objection);
    }
    if let Some(objection) = without_effect(load) {
        return Some(objection);
    }
    let enters_net = |which| match which {
        FollowIn::New(which) => which.has(Namespace::Net),
        FollowIn::Of(_) => true,
    };
    if let Some(which) = load.follow_in.filter(|which| enters_net(*which))
        && !load.net.is_loopback()
    {
        return Some(format!(
            "--net {} puts each side into a network namespace of its own, which --follow-in {which} would leave: leave one \
             of them out",
            load.net
        ));
    }
    (load.one_way && load.stall_ns > 0).then(|| {
        "--one-way does not work with --stall, because a stall can exceed the longest one-way time (1 s): leave one of \
         them out"
            .to_owned()
    })
}

/// A program of a neighbour that cannot be run.
fn program_objection(load: &Load) -> Option<String> {
    let command = load.neighbour.as_ref()?.program()?;
    let words = shell_words::split(command).ok()?;
    let why = external::objection(words.first()?)?;
    Some(format!("--neighbour exec='{command}': {why}"))
}

/// A nice value or a weight that the class of the same end does not heed.
fn without_effect(load: &Load) -> Option<String> {
    Seat::BOTH.into_iter().find_map(|end| {
        let class = load.sched?.of(end)?;
        let is_nice = load.nice.is_some_and(|all| all.of(end).is_some());
        let is_weighted = load.cgroup_weight.is_some_and(|all| all.of(end).is_some());
        let flag = match class {
            SchedClass::Idle if is_nice => "nice",
            class if !class.is_fair() && is_nice => "nice",
            class if !class.is_fair() && is_weighted => "cgroup-weight",
            _ => return None,
        };
        Some(format!("--{flag} has no effect in the class {class}: leave one of them out"))
    })
}

/// The programs that a list of neighbours runs, as they are typed.
#[must_use]
pub fn neighbour_programs(list: &str) -> Vec<String> {
    let program = |value: String| Some(value.parse::<Neighbour>().ok()?.program()?.to_owned());
    Neighbour::listed(list).filter_map(program).collect()
}

/// The values of a list; of rates `10%..95%` is the part of the curve between the two, both included.
fn values(key: LoadKey, given: &str) -> Result<Vec<String>, Stop> {
    let mut values = Vec::new();
    if key == LoadKey::Mix {
        // Its parts belong together.
        return Ok(vec![given.to_owned()]);
    }
    if key == LoadKey::Neighbour {
        return Ok(Neighbour::listed(given).collect());
    }
    for value in given.split(',').map(str::trim) {
        let range = value.split_once("..").filter(|_| key == LoadKey::Rate);
        let Some((from, to)) = range else {
            values.push(value.to_owned());
            continue;
        };
        let share = |text: &str| match text.parse() {
            Ok(Offered::OfPeak(share)) => Ok(share * 100.0),
            _ => {
                Err(Stop::usage(format!("'{value}' is not a range of percentages (like 10%..95%)")))
            }
        };
        let (from, to) = (share(from)?, share(to)?);
        if from > to {
            return Err(Stop::usage(format!("the range '{value}' is reversed")));
        }
        let between = CURVE.into_iter().filter(|share| from < *share && *share < to);
        let mut shares: Vec<f64> = std::iter::once(from).chain(between).chain([to]).collect();
        shares.dedup();
        values.extend(shares.into_iter().map(|share| Offered::OfPeak(share / 100.0).to_string()));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(values: &[(LoadKey, &str)]) -> LoadArgs {
        LoadArgs(values.iter().map(|(key, text)| (*key, (*text).to_owned())).collect())
    }

    fn words(args: &LoadArgs, patterns: &[PatternKind]) -> Vec<String> {
        let loads = loads(args, patterns, Touch::CacheLine).expect("good flags");
        loads.iter().map(|load| load.of(patterns[0]).words().join(" ")).collect()
    }

    #[test]
    fn a_range_of_shares_is_the_curve_between_them() {
        let rate = |text: &str| given(&[(LoadKey::Rate, text)]);
        let of = |text: &str| words(&rate(text), &[PatternKind::Rate]);
        let curve = ["rate=10%", "rate=25%", "rate=50%", "rate=75%", "rate=90%", "rate=95%"];
        assert_eq!(of("10%..95%"), curve);
        assert_eq!(words(&LoadArgs::default(), &[PatternKind::Rate]), curve);
        assert_eq!(of("20%..60%"), ["rate=20%", "rate=25%", "rate=50%", "rate=60%"]);
        assert_eq!(of("50%..50%,1k"), ["rate=50%", "rate=1000/s"]);
        for wrong in ["1k..2k", "50%..10%", "0.5", "20000%", "0.01%", "x"] {
            assert!(
                loads(&rate(wrong), &[PatternKind::Rate], Touch::CacheLine).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn every_pattern_takes_its_own_flags_and_its_defaults() {
        let args =
            given(&[(LoadKey::Burst, "1,8"), (LoadKey::Rate, "10k"), (LoadKey::Stall, "100ms")]);
        let all = loads(&args, PatternKind::ALL, Touch::CacheLine).expect("good flags");
        let of = |pattern: PatternKind| {
            let mut words: Vec<String> =
                all.iter().map(|load| load.of(pattern).words().join(" ")).collect();
            words.dedup();
            words
        };
        assert_eq!(of(PatternKind::PingPong), ["stall=100ms"]);
        assert_eq!(of(PatternKind::Stream), [""]);
        assert_eq!(of(PatternKind::Rate), ["rate=10000/s stall=100ms"]);
        assert_eq!(of(PatternKind::Burst), ["burst=1", "burst=8"]);
        assert_eq!(words(&LoadArgs::default(), &[PatternKind::Burst]), ["burst=16"]);
        let refused = loads(&args, &[PatternKind::PingPong], Touch::CacheLine);
        assert!(refused.is_err(), "--rate needs -p rate");
    }

    #[test]
    fn what_is_not_done_together_is_refused() {
        use PatternKind::{Burst, PingPong, Rate, Stream};
        let told = |args: &LoadArgs, patterns: &[PatternKind]| match loads(
            args,
            patterns,
            Touch::CacheLine,
        ) {
            Ok(_) => String::new(),
            Err(stop) => format!("{stop:?}"),
        };
        use LoadKey::{OneWay, Stall, Think, Transform};
        let changed = given(&[(Transform, "gzip"), (Stall, "1ms")]);
        assert_eq!(told(&changed, &[PingPong, Stream]), "");
        assert!(
            told(&changed, &[PingPong, Rate])
                .contains("--transform does not work with the pattern rate")
        );
        assert!(
            told(&given(&[(Transform, "none,lz4")]), &[Stream, Burst]).contains("pattern burst")
        );
        assert_eq!(told(&given(&[(Transform, "none")]), &[Stream, Burst]), "");
        assert!(told(&changed, &[PingPong, PatternKind::Connect]).contains("pattern connect"));
        let timed = given(&[(OneWay, ON)]);
        assert!(told(&timed, &[PingPong, Stream]).contains("pattern stream"));
        assert_eq!(told(&given(&[(Think, "1ms"), (OneWay, ON)]), &[PingPong]), "");
        assert!(
            told(&timed, &[PingPong, Rate])
                .contains("--one-way does not work with the pattern rate")
        );
        for transform in ["none", "gzip"] {
            let all = given(&[(Transform, transform), (OneWay, ON), (Stall, "1ms")]);
            assert!(told(&all, &[PingPong]).contains("--stall"));
        }
        let both = given(&[(Transform, "gzip"), (OneWay, ON)]);
        assert!(
            told(&both, &[PingPong, Stream])
                .contains("--one-way does not work with the pattern stream")
        );
    }

    #[test]
    fn a_value_that_a_class_does_not_heed_is_refused() {
        use LoadKey::{CpuWeight, Nice, Sched};
        let told = |values: &[(LoadKey, &str)]| match loads(
            &given(values),
            &[PatternKind::PingPong],
            Touch::CacheLine,
        ) {
            Ok(all) => all.iter().map(|load| load.words().join(" ")).collect::<Vec<_>>().join(","),
            Err(stop) => stop.to_string(),
        };
        let no_effect = "--nice has no effect in the class fifo:3: leave one of them out";
        assert_eq!(told(&[(Sched, "fifo:3"), (Nice, "5")]), no_effect);
        assert!(told(&[(Sched, "idle"), (Nice, "5")]).contains("in the class idle"));
        let weighted = [(Sched, "rr:1"), (CpuWeight, "20")];
        assert!(told(&weighted).starts_with("--cgroup-weight has no effect"));
        let apart = [(Sched, "lead=fifo:3"), (Nice, "follow=-5")];
        assert_eq!(told(&apart), "sched=lead=fifo:3 nice=follow=-5");
        assert_eq!(told(&[(Sched, "none,batch"), (Nice, "5")]), "nice=5,sched=batch nice=5");
    }

    #[test]
    fn a_payload_is_read_before_anything_is_planned_and_is_for_what_reads_it() {
        use LoadKey::{Payload, Transform};
        use PatternKind::{Burst, Connect, FanIn, PingPong, Rate, Request, Stream};
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(place("a.txt"), "abc").expect("written");
        std::fs::write(place("b.txt"), "").expect("written");
        let told = |values: &[(LoadKey, &str)], patterns: &[PatternKind], touch| match loads(
            &given(values),
            patterns,
            touch,
        ) {
            Ok(all) => all.iter().map(|load| load.words().join(" ")).collect(),
            Err(stop) => vec![stop.to_string()],
        };
        let text = place("a.txt");
        let word = "payload=a.txt#ba7816bf8f01";
        let every = [PingPong, Stream, Burst, Request];
        assert_eq!(
            told(&[(Payload, &text), (Transform, "none,lz4")], &[Stream], Touch::Full),
            [word.to_owned(), format!("transform=lz4 {word}")]
        );
        let all = told(&[(Payload, &text)], &every, Touch::Full);
        assert!(all.iter().all(|words| words.ends_with(word)), "{all:?}");
        // Dots are no range here.
        let dotted = place("../") + folder.path().file_name().unwrap().to_str().unwrap() + "/a.txt";
        assert_eq!(told(&[(Payload, &dotted)], &[PingPong], Touch::Full), [word]);
        assert_eq!(told(&[(Payload, &text), (LoadKey::Rate, "1k")], &[Rate], Touch::Full).len(), 1);
        let both = told(&[(LoadKey::Align, "page")], &[PingPong, Connect], Touch::Copy);
        assert!(both[0].contains("--align does not work with the pattern connect"), "{both:?}");
        for (values, patterns, touch, part) in [
            (
                vec![(Payload, text.as_str())],
                &[PingPong],
                Touch::None,
                "no effect with --touch none",
            ),
            (vec![(Payload, text.as_str())], &[PingPong], Touch::CacheLine, "no effect"),
            (
                vec![(Payload, text.as_str()), (Transform, "none,lz4")],
                &[PingPong],
                Touch::CacheLine,
                "no effect",
            ),
            (
                vec![(Payload, text.as_str())],
                &[PingPong],
                Touch::Copy,
                "no effect with --touch copy",
            ),
            (
                vec![(Transform, "none,lz4")],
                &[PingPong],
                Touch::Copy,
                "--transform lz4 does not work with --touch copy",
            ),
            (vec![(LoadKey::Align, "paeg")], &[PingPong], Touch::Copy, "did you mean 'page'?"),
            (
                vec![(Payload, text.as_str())],
                &[FanIn],
                Touch::Full,
                "--payload needs the pattern ping-pong or stream",
            ),
            (
                vec![(Payload, &place("none"))],
                &[PingPong],
                Touch::Full,
                "none': No such file or directory",
            ),
            (vec![(Payload, &place("b.txt"))], &[PingPong], Touch::Full, "b.txt': it is empty"),
            (vec![(Payload, &place(""))], &[PingPong], Touch::Full, "it is a directory"),
            (
                vec![(Payload, &(text.clone() + "#0123456789ab"))],
                &[PingPong],
                Touch::Full,
                "the content differs",
            ),
        ] {
            let told = told(&values, patterns, touch);
            assert!(
                told.len() == 1 && told[0].contains(part) && !told[0].contains('\n'),
                "{told:?}"
            );
        }
    }
}
