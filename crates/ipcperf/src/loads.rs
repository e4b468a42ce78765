//! From the flags of a load to loads: every combination of their values, checked against the patterns.

use crate::args::RunArgs;
use crate::error::Stop;
use crate::request;
use ipcperf_core::units;
use ipcperf_core::{Arrivals, Load, Offered, PatternKind, Transform};
use ipcperf_engine::hot::fan::MOST;
use ipcperf_engine::packets::HEAD;
use std::time::Duration;

/// The longest pause and stall: a slice must hold some of them.
const LONGEST: Duration = Duration::from_secs(10);

/// Shares of the peak that make a curve of latency over load, in percent.
const CURVE: [f64; 6] = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0];

/// Below one message per second most slices would have none.
const LEAST_PER_SECOND: f64 = 1.0;

/// Shares of the peak that make sense: a thousandth, and far beyond what can be had.
const SHARES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// One flag: its name, the patterns it is for, and what its values do to a load.
struct Flag<'a> {
    name: &'static str,
    given: Option<&'a str>,
    patterns: &'static [PatternKind],
    set: fn(&mut Load, &str) -> Result<(), Stop>,
}

/// Every combination of the flags' values.
pub(crate) fn loads(args: &RunArgs, patterns: &[PatternKind]) -> Result<Vec<Load>, Stop> {
    let default = |pattern: PatternKind, text| patterns.contains(&pattern).then_some(text);
    let flags = [
        Flag {
            name: "--think",
            given: args.think.as_deref(),
            patterns: &[PatternKind::PingPong],
            set: |load, text| {
                load.think_ns = nanos("--think", text)?;
                Ok(())
            },
        },
        Flag {
            name: "--window",
            given: args.window.as_deref(),
            patterns: &[PatternKind::Stream],
            set: |load, text| {
                load.window = count("--window", text, 1 << 20)?;
                Ok(())
            },
        },
        Flag {
            name: "--packet",
            given: args.packet.as_deref(),
            patterns: &[PatternKind::PingPong, PatternKind::Stream, PatternKind::Burst],
            set: |load, text| {
                load.packet = packet(text)?;
                Ok(())
            },
        },
        Flag {
            name: "--peers",
            given: args.peers.as_deref(),
            patterns: &[PatternKind::FanIn, PatternKind::FanOut],
            set: |load, text| {
                load.peers = count("--peers", text, MOST as u64)?;
                Ok(())
            },
        },
        Flag {
            name: "--conns",
            given: args.conns.as_deref(),
            patterns: &[PatternKind::Connect],
            set: |load, text| {
                load.conns = count("--conns", text, 1000)?;
                Ok(())
            },
        },
        Flag {
            name: "--rate",
            given: args.rate.as_deref().or(default(PatternKind::Rate, "10%..95%")),
            patterns: &[PatternKind::Rate],
            set: |load, text| {
                load.rate = Some(rate(text)?);
                Ok(())
            },
        },
        Flag {
            name: "--arrivals",
            given: args.arrivals.as_deref().or(default(PatternKind::Rate, "poisson")),
            patterns: &[PatternKind::Rate],
            set: |load, text| {
                let known: Arrivals =
                    text.parse().map_err(|error| Stop::usage(format!("--arrivals: {error}")))?;
                load.arrivals = Some(known);
                Ok(())
            },
        },
        Flag {
            name: "--burst",
            given: args.burst.as_deref().or(default(PatternKind::Burst, "16")),
            patterns: &[PatternKind::Burst],
            set: |load, text| {
                load.burst = count("--burst", text, 1 << 16)?;
                Ok(())
            },
        },
        Flag {
            name: "--stall",
            given: args.stall.as_deref(),
            patterns: &[PatternKind::Rate, PatternKind::PingPong],
            set: |load, text| {
                load.stall_ns = nanos("--stall", text)?;
                Ok(())
            },
        },
        Flag {
            name: "--transform",
            given: args.transform.as_deref(),
            patterns: &[PatternKind::PingPong, PatternKind::Stream],
            set: |load, text| {
                load.transform = request::transform(text)?;
                Ok(())
            },
        },
        Flag {
            name: "--one-way",
            given: args.one_way.then_some("on"),
            patterns: &[PatternKind::PingPong],
            set: |load, _| {
                load.one_way = true;
                Ok(())
            },
        },
    ];
    let mut loads = vec![Load::default()];
    for flag in flags {
        let Some(given) = flag.given else { continue };
        if !patterns.iter().any(|pattern| flag.patterns.contains(pattern)) {
            let names: Vec<_> = flag.patterns.iter().map(|pattern| pattern.name()).collect();
            let names = names.join(" or ");
            return Err(Stop::usage(format!("{} is for the pattern {names}: add -p", flag.name)));
        }
        let mut more = Vec::new();
        for value in values(given)? {
            for load in &loads {
                let mut load = load.clone();
                (flag.set)(&mut load, &value)?;
                more.push(load);
            }
        }
        loads = more;
    }
    if let Some(objection) = loads.iter().find_map(|load| contradiction(load, patterns)) {
        return Err(Stop::usage(objection));
    }
    Ok(loads)
}

/// What was asked for together and is not done together.
fn contradiction(load: &Load, patterns: &[PatternKind]) -> Option<String> {
    let flag = match load.transform {
        Some(Transform::None) | None => load.one_way.then_some("--one-way")?,
        Some(_) => "--transform",
    };
    let does = |pattern: &&PatternKind| match pattern {
        PatternKind::PingPong => true,
        PatternKind::Stream => !load.one_way,
        _ => false,
    };
    if let Some(pattern) = patterns.iter().find(|pattern| !does(pattern)) {
        return Some(format!(
            "{flag} cannot be had in the pattern {pattern}: leave one of them out"
        ));
    }
    (load.one_way && load.stall_ns > 0).then(|| {
        "--one-way and --stall: a way that a stop is part of can be too long for its clock; leave one of \
         them out"
            .to_owned()
    })
}

/// The values of a list; `10%..95%` is the part of the curve between the two, both included.
fn values(given: &str) -> Result<Vec<String>, Stop> {
    let mut values = Vec::new();
    for value in given.split(',').map(str::trim) {
        let Some((from, to)) = value.split_once("..") else {
            values.push(value.to_owned());
            continue;
        };
        let share = |text: &str| match text.parse() {
            Ok(Offered::OfPeak(share)) => Ok(share * 100.0),
            _ => Err(Stop::usage(format!("'{value}' is not a range of shares (like 10%..95%)"))),
        };
        let (from, to) = (share(from)?, share(to)?);
        if from > to {
            return Err(Stop::usage(format!("'{value}' ends before it begins")));
        }
        let between = CURVE.into_iter().filter(|share| from < *share && *share < to);
        let mut shares: Vec<f64> = std::iter::once(from).chain(between).chain([to]).collect();
        shares.dedup();
        values.extend(shares.into_iter().map(|share| Offered::OfPeak(share / 100.0).to_string()));
    }
    Ok(values)
}

/// A rate within reason.
fn rate(text: &str) -> Result<Offered, Stop> {
    let rate: Offered = text.parse().map_err(|error| Stop::usage(format!("--rate: {error}")))?;
    match rate {
        Offered::PerSecond(rate) if rate < LEAST_PER_SECOND => {
            Err(Stop::usage(format!("--rate: {text} is less than one message per second")))
        }
        Offered::OfPeak(share) if !SHARES.contains(&share) => {
            Err(Stop::usage(format!("--rate: {text} is not between 0.1% and 10000%")))
        }
        rate => Ok(rate),
    }
}

/// A time in nanoseconds, 0 included.
fn nanos(flag: &str, text: &str) -> Result<u64, Stop> {
    let time = if text == "0" {
        Duration::ZERO
    } else {
        request::time(flag, text, Duration::ZERO, LONGEST)?
    };
    Ok(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Bytes of a packet.
fn packet(text: &str) -> Result<u64, Stop> {
    let sizes = units::sizes(text).map_err(|error| Stop::usage(format!("--packet: {error}")))?;
    match sizes.as_slice() {
        [size] if *size > HEAD => Ok(*size as u64),
        _ => Err(Stop::usage(format!("--packet: '{text}' is not a size above {HEAD}"))),
    }
}

/// A count from 1 on.
fn count(flag: &str, text: &str, most: u64) -> Result<u64, Stop> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(Stop::usage(format!("{flag}: '{text}' is not a number between 1 and {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: &RunArgs, patterns: &[PatternKind]) -> Vec<String> {
        let loads = loads(args, patterns).expect("good flags");
        loads.iter().map(|load| load.words().join(" ")).collect()
    }

    #[test]
    fn a_range_of_shares_is_the_curve_between_them() {
        let rate = |text: &str| RunArgs { rate: Some(text.into()), ..RunArgs::default() };
        let of = |text: &str| words(&rate(text), &[PatternKind::Rate]);
        let curve = ["rate=10%", "rate=25%", "rate=50%", "rate=75%", "rate=90%", "rate=95%"];
        assert_eq!(of("10%..95%"), curve);
        assert_eq!(words(&RunArgs::default(), &[PatternKind::Rate]), curve);
        assert_eq!(of("20%..60%"), ["rate=20%", "rate=25%", "rate=50%", "rate=60%"]);
        assert_eq!(of("50%..50%,1k"), ["rate=50%", "rate=1000/s"]);
        for wrong in ["1k..2k", "50%..10%", "0.5", "20000%", "0.01%", "x"] {
            assert!(loads(&rate(wrong), &[PatternKind::Rate]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_pattern_takes_its_own_flags_and_its_defaults() {
        let args = RunArgs {
            burst: Some("1,8".into()),
            rate: Some("10k".into()),
            stall: Some("100ms".into()),
            ..RunArgs::default()
        };
        let all = loads(&args, PatternKind::ALL).expect("good flags");
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
        assert_eq!(words(&RunArgs::default(), &[PatternKind::Burst]), ["burst=16"]);
        assert!(loads(&args, &[PatternKind::PingPong]).is_err(), "--rate needs -p rate");
    }

    #[test]
    fn what_is_not_done_together_is_refused() {
        use PatternKind::{Burst, PingPong, Rate, Stream};
        let told = |args: &RunArgs, patterns: &[PatternKind]| match loads(args, patterns) {
            Ok(_) => String::new(),
            Err(stop) => format!("{stop:?}"),
        };
        let args = |transform: Option<&str>, one_way, stall: Option<&str>| RunArgs {
            transform: transform.map(str::to_owned),
            one_way,
            stall: stall.map(str::to_owned),
            ..RunArgs::default()
        };
        let changed = args(Some("gzip"), false, Some("1ms"));
        assert_eq!(told(&changed, &[PingPong, Stream]), "");
        assert!(
            told(&changed, &[PingPong, Rate])
                .contains("--transform cannot be had in the pattern rate")
        );
        assert!(
            told(&args(Some("none,lz4"), false, None), &[Stream, Burst]).contains("pattern burst")
        );
        assert_eq!(told(&args(Some("none"), false, None), &[Stream, Burst]), "");
        assert!(told(&changed, &[PingPong, PatternKind::Connect]).contains("pattern connect"));
        let timed = args(None, true, None);
        assert!(told(&timed, &[PingPong, Stream]).contains("pattern stream"));
        assert_eq!(told(&RunArgs { think: Some("1ms".into()), ..timed.clone() }, &[PingPong]), "");
        assert!(
            told(&timed, &[PingPong, Rate]).contains("--one-way cannot be had in the pattern rate")
        );
        for transform in [None, Some("gzip")] {
            assert!(told(&args(transform, true, Some("1ms")), &[PingPong]).contains("--stall"));
        }
    }
}
