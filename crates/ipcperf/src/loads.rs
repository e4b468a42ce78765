//! From the flags of a load to loads: every combination of their values, checked against the patterns.

use crate::args::RunArgs;
use crate::error::Stop;
use crate::request;
use ipcperf_core::{Load, PatternKind};
use ipcperf_engine::hot::fan::MOST;
use std::time::Duration;

/// The longest pause and stall: a slice must hold some of them.
const LONGEST: Duration = Duration::from_secs(10);

/// One flag: its name, the patterns it is for, and what its values do to a load.
struct Flag<'a> {
    name: &'static str,
    given: Option<&'a str>,
    patterns: &'static [PatternKind],
    set: fn(&mut Load, &str) -> Result<(), Stop>,
}

/// Every combination of the flags' values.
pub(crate) fn loads(args: &RunArgs, patterns: &[PatternKind]) -> Result<Vec<Load>, Stop> {
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
        for value in given.split(',').map(str::trim) {
            for load in &loads {
                let mut load = load.clone();
                (flag.set)(&mut load, value)?;
                more.push(load);
            }
        }
        loads = more;
    }
    Ok(loads)
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

/// A count from 1 on.
fn count(flag: &str, text: &str, most: u64) -> Result<u64, Stop> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(Stop::usage(format!("{flag}: '{text}' is not a number between 1 and {most}"))),
    }
}
