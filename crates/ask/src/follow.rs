//! `run --follow`: programs of others at the place of the follow.

use crate::args::RunArgs;
use ipcperf_core::{Address, Load, PatternKind, Touch, shell_words};
use ipcperf_engine::plan::{CellPlan, Request};
use ipcperf_engine::shim;
use ipcperf_kit::args::ProgressArgs;
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::external;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Bytes of a command at the most.
const MOST: usize = 4096;

/// Programs that a file names run only if the user has seen them.
pub(crate) fn permit(file: &str, programs: &[String], is_allowed: bool) -> Result<(), Stop> {
    let mut commands: Vec<String> =
        programs.iter().flat_map(|program| [program.clone(), external::NEXT.to_owned()]).collect();
    match commands.pop() {
        Some(_) => external::permit(file, &commands, is_allowed),
        None => Ok(()),
    }
}

/// Refuses what a program cannot have part in.
pub(crate) fn alone(args: &RunArgs) -> Result<(), Stop> {
    if args.time_calls && (!args.follow.is_empty() || args.at.is_some()) {
        return Err(Stop::usage(
            "--follow and --at do not work with --time-calls: only our own ends time their calls; leave one of them out",
        ));
    }
    Ok(())
}

/// Refuses the words of a program, if there are any, that cannot be an end of this pattern.
pub(crate) fn check(words: &[String], pattern: PatternKind, touch: Touch) -> Result<(), Stop> {
    let Some(program) = words.first() else { return Ok(()) };
    can_be_ends("--follow", &[pattern], touch)?;
    match external::objection(program) {
        Some(why) => Err(Stop::usage(format!("--follow '{program}': {why}"))),
        None => Ok(()),
    }
}

/// The words of each program, if they can be ends of these patterns where messages are touched so.
pub(crate) fn programs(
    given: &[String],
    patterns: &[PatternKind],
    touch: Touch,
) -> Result<Vec<Vec<String>>, Stop> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    can_be_ends("--follow", patterns, touch)?;
    let mut programs: Vec<Vec<String>> = Vec::new();
    for command in given {
        let refused = |why: String| Stop::usage(format!("--follow '{command}': {why}"));
        let words = shell_words::split(command).map_err(refused)?;
        let program = words.first().ok_or_else(|| refused("no program".into()))?;
        if let Some(why) = external::objection(program).or_else(|| script_objection(&words)) {
            return Err(refused(why));
        }
        // It travels twice in a message of at most 64 KiB, and some of its signs take six bytes there.
        if command.len() > MOST {
            return Err(refused(format!("it is longer than {MOST} bytes; put it into a script")));
        }
        if programs.contains(&words) {
            return Err(refused("it is named twice".into()));
        }
        programs.push(words);
    }
    Ok(programs)
}

/// File name extensions of scripts.
const SCRIPTS: [&str; 7] = ["py", "js", "mjs", "rb", "pl", "sh", "lua"];

/// Why the program would fail: the script that it is to run does not exist.
fn script_objection(words: &[String]) -> Option<String> {
    let script = words.get(1).filter(|word| !word.starts_with('-'))?;
    let path = Path::new(script);
    let ending = path.extension().and_then(OsStr::to_str)?;
    let is_missing = SCRIPTS.contains(&ending) && !path.is_file();
    is_missing.then(|| format!("no file '{script}'"))
}

/// Refuses patterns and touches in which no program can be an end.
fn can_be_ends(flag: &str, patterns: &[PatternKind], touch: Touch) -> Result<(), Stop> {
    if let Some(pattern) = patterns.iter().find(|pattern| !answers(**pattern)) {
        let why = match pattern {
            PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut | PatternKind::Grid => {
                "no side answers in this pattern, so nothing would prove what arrives"
            }
            PatternKind::Connect => "its server is our own",
            _ => "programs answer in a closed loop only",
        };
        return Err(Stop::usage(format!(
            "{flag} does not work with the pattern {pattern}: {why}; use ping-pong or burst"
        )));
    }
    let why = match touch {
        Touch::Header | Touch::Full => None,
        Touch::None => Some("a program answers what it was sent, so that it touches it"),
        Touch::CacheLine => Some("an answer would need to know how our messages are made"),
        Touch::Copy => Some("what a program copies is unknown"),
    };
    if let Some(why) = why {
        return Err(Stop::usage(format!(
            "{flag} does not work with --touch {touch}: {why}; use header or full"
        )));
    }
    Ok(())
}

/// Whether each message, or each burst of them, has its answer.
fn answers(pattern: PatternKind) -> bool {
    matches!(pattern, PatternKind::PingPong | PatternKind::Burst)
}

/// Where an end listens that is running already.
pub(crate) fn address(text: &str) -> Result<Address, Stop> {
    text.parse().map_err(|why| Stop::usage(format!("--at: {why}")))
}

/// The mechanism that an address stands for where none is named.
pub(crate) fn mechanism(address: &Address) -> &'static str {
    match address {
        Address::Unix(_) => "unix-stream",
        Address::Tcp(_) => "tcp",
    }
}

/// Refuses what an end that is running already cannot know: it was told one size when it was started.
pub(crate) fn alone_at(request: &Request, mechanisms: usize, touch: Touch) -> Result<(), Stop> {
    can_be_ends("--at", &request.patterns, touch)?;
    let ours = request.loads.iter().filter(|load| load.is_ours()).count();
    let many = [
        ("-s", request.sizes.len()),
        ("-p", request.patterns.len()),
        ("a load", ours),
        ("-m", mechanisms),
    ];
    match many.iter().find(|(_, count)| *count > 1) {
        Some((flag, count)) => Err(Stop::usage(format!(
            "--at: an end that is running already knows one kind of messages; {flag} has {count} values"
        ))),
        None => Ok(()),
    }
}

/// Says with what an end that is to be running has to be started.
pub(crate) fn tell(cells: &[CellPlan], progress: &ProgressArgs) {
    let Some(cell) = cells.iter().find(|cell| cell.key.load.at.is_some()) else { return };
    if !progress.quiet {
        let environment = shim::environment(&cell.key);
        let words = environment.iter().map(|(name, value)| format!("{name}={value}"));
        note(&format!(
            "The end must have been started with {}",
            words.collect::<Vec<_>>().join(" ")
        ));
    }
}

/// Refuses the words of a program that a shell has taken apart: `--follow python3 echo.py`.
pub(crate) fn is_quoted(args: &RunArgs) -> Result<(), Stop> {
    let Some(program) = args.follow.last().filter(|program| !program.contains(' ')) else {
        return Ok(());
    };
    let is_program = |word: &&OsString| {
        let path = Path::new(word);
        let ending = path.extension().and_then(OsStr::to_str);
        SCRIPTS.iter().any(|script| ending == Some(script))
            || path.is_file() && ending != Some("toml")
    };
    match args.mechanisms.iter().find(is_program) {
        Some(file) => Err(Stop::usage(format!(
            "--follow takes one text, in quotes: --follow '{program} {}'",
            file.to_string_lossy()
        ))),
        None => Ok(()),
    }
}

/// These loads with our own follow, with each program, and with the end that is running already.
pub(crate) fn beside(
    loads: Vec<Load>,
    programs: &[Vec<String>],
    at: Option<&Address>,
) -> Vec<Load> {
    let with = |load: &Load| {
        let all = programs.iter().map(|words| Load { follow: words.clone(), ..load.clone() });
        let running = at.map(|address| Load { at: Some(address.clone()), ..load.clone() });
        std::iter::once(load.clone()).chain(all).chain(running).collect::<Vec<_>>()
    };
    loads.iter().flat_map(with).collect()
}
