//! `run --follow`: programs of others at the place of the follow.

use crate::error::Stop;
use crate::exec;
use crate::exec::words;
use ipcperf_core::{Load, PatternKind, Touch};

/// The words of each program, if they can be ends of these patterns where messages are touched so.
pub(crate) fn programs(
    given: &[String],
    patterns: &[PatternKind],
    touch: Touch,
) -> Result<Vec<Vec<String>>, Stop> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(pattern) = patterns.iter().find(|pattern| !answers(**pattern)) {
        let why = match pattern {
            PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut => {
                "nobody answers there, so that nothing would prove what arrives"
            }
            PatternKind::Connect => "its server is our own",
            _ => "programs answer in a closed loop only",
        };
        return Err(Stop::usage(format!(
            "--follow does not work with the pattern {pattern}: {why}; use ping-pong or burst"
        )));
    }
    let why = match touch {
        Touch::Header | Touch::Full => None,
        Touch::None => Some("a program answers what it was sent, so that it touches it"),
        Touch::CacheLine => Some("an answer would need to know how our messages are made"),
        Touch::Copy => Some("nobody knows what a program copies"),
    };
    if let Some(why) = why {
        return Err(Stop::usage(format!(
            "--follow does not work with --touch {touch}: {why}; use header or full"
        )));
    }
    let mut programs: Vec<Vec<String>> = Vec::new();
    for command in given {
        let refused = |why: String| Stop::usage(format!("--follow '{command}': {why}"));
        let words = words::split(command).map_err(refused)?;
        let program = words.first().ok_or_else(|| refused("no program".into()))?;
        if let Some(why) = exec::objection(program) {
            return Err(refused(why));
        }
        if programs.contains(&words) {
            return Err(refused("it is named twice".into()));
        }
        programs.push(words);
    }
    Ok(programs)
}

/// Whether each message, or each burst of them, has its answer.
fn answers(pattern: PatternKind) -> bool {
    matches!(pattern, PatternKind::PingPong | PatternKind::Burst)
}

/// These loads with our own follow, and with each program.
pub(crate) fn beside(loads: Vec<Load>, programs: &[Vec<String>]) -> Vec<Load> {
    let with = |load: &Load| {
        let all = programs.iter().map(|words| Load { follow: words.clone(), ..load.clone() });
        std::iter::once(load.clone()).chain(all).collect::<Vec<_>>()
    };
    loads.iter().flat_map(with).collect()
}
