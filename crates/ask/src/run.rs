//! `run`: chosen cells.

use crate::args::{self, RunArgs, typed};
use crate::documents;
use crate::experiment::{Experiment, settings};
use crate::{exec, follow, job_file};
use ipcperf_core::{Idle, Load, LoadKey, OptionSet, PatternKind, Placement, Touch};
use ipcperf_engine::plan::{self, Request};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::Settings;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context, subjects};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::Stop;
use ipcperf_kit::gates::Gates;
use ipcperf_kit::{counts, loads, output, request};
use ipcperf_sys::topology::Topology;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

impl CommandArgs for RunArgs {
    const NAME: &'static str = "run";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Measure chosen mechanisms, patterns, sizes and placements";
    const EXAMPLES: &'static str = "Examples:
  ipcperf run pipe                                        a 64-byte round trip, on one CPU and two
  ipcperf run pipe unix-stream tcp -s 1,64,4K             three mechanisms at three sizes
  ipcperf run -m 'shm-ring/*' -p stream -s '4K..1M:*4'    all variants, throughput over sizes
  ipcperf run -m unix-stream -p rate --rate '10%..95%'    an open loop, up to nearly all it can do
  ipcperf run -m pipe --transform lz4 --payload app.log   what lz4 costs with your own data
  ipcperf run pipe --samples 100000 --raw pipe.tsv        every round trip in a file, one per line
  ipcperf run -m pipe --fail-if 'p99 > 50us' --max-noise C";
    const COMMON: &'static [(&'static str, &'static str)] = &[
        ("mechanism", "Mechanisms: pipe,tcp; 'pipe/*'; all; 'pipe size=1M'"),
        ("pattern", "ping-pong (default), stream, rate, serve, ..."),
        ("size", "Message sizes: 64 (default), 1,64,4K, 64..64K:*4"),
        ("place", "CPUs: 0,1, or same-cpu, same-llc, free, ..."),
        ("rounds", "Rounds, an interval needs 6 [default: 12]"),
        ("slice", "Time of each cell in a round [default: 100ms]"),
        ("dry_run", "Print the plan and its duration; measure nothing"),
        ("output", "Result file [default: ipcperf-UTC.json]"),
        ("format", "table (default), markdown, csv, json, ndjson, html"),
        ("verbose", "Show all findings, tables and legends"),
    ];
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

fn run(context: &Context<'_>, args: &RunArgs) -> Result<ExitCode, Stop> {
    follow::is_quoted(args)?;
    let args = match asked(context, args)? {
        (Some(path), args) => {
            let may_exec = args.allow_exec || args.plan.dry_run;
            job_file::apply(&path, may_exec, context.typed)
                .map_err(|stop| of_another_command(context, &path).unwrap_or(stop))?
        }
        (None, args) => args,
    };
    let rounds = args::rounds(args.length.rounds)?;
    let gates = Gates::of(&args.gates)?;
    follow::alone(&args)?;
    let experiment = plan(context.registry, &args, rounds)?;
    experiment.finish(context, args.plan.dry_run, &args.output, &gates)
}

/// The job file, if that is what the arguments without a flag are; else they stand before those of `-m`.
fn asked(context: &Context<'_>, args: &RunArgs) -> Result<(Option<PathBuf>, RunArgs), Stop> {
    let registry = context.registry;
    let mut args = args.clone();
    let words = std::mem::take(&mut args.mechanisms);
    let (names, files): (Vec<_>, Vec<_>) =
        words.into_iter().partition(|word| request::is_mechanism(registry, word));
    let mut names: Vec<String> =
        names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let Some(file) = files.first().map(PathBuf::from) else {
        names.append(&mut args.mechanism);
        args.mechanism = names;
        return Ok((None, args));
    };
    let word = file.to_string_lossy();
    let name = word.strip_suffix(".toml").unwrap_or(&word);
    for (command, subject) in subjects(context.commands).into_iter().filter(|_| !file.exists()) {
        if subject.names.contains(&name) {
            let what = subject.what;
            let why = format!("'{word}' is a {what}; did you mean 'ipcperf {command} {name}'?");
            return Err(Stop::usage(why));
        }
    }
    if !file.exists() && !request::looks_like_a_file(&word) {
        request::mechanism(registry, &word)?;
    }
    match (&files[1..], names.first()) {
        ([], None) => Ok((Some(file), args)),
        ([], Some(name)) => Err(Stop::usage(format!(
            "'{name}' is a mechanism and '{word}' a job file; beside a job file, name mechanisms with -m"
        ))),
        ([other, ..], _) => Err(Stop::usage(format!(
            "'{word}' and '{}' are two job files; run one after the other",
            other.to_string_lossy()
        ))),
    }
}

/// What to type where the file of another command was taken for a job.
fn of_another_command(context: &Context<'_>, path: &Path) -> Option<Stop> {
    let text = output::small_file(path).ok()?;
    let (command, subject) =
        subjects(context.commands).into_iter().find(|(_, subject)| (subject.is_in)(&text))?;
    let (file, what) = (path.display(), subject.what);
    let why = format!("'{file}' is the file of a {what}; did you mean 'ipcperf {command} {file}'?");
    Some(Stop::usage(why))
}

/// The arguments of `ipcperf run`, or of `ipcperf exec`, that a job file stands for. Nothing is tried, measured or written.
///
/// # Errors
/// What is wrong with it, whatever the machine has.
pub fn read_job(registry: &Registry, text: &str) -> Result<Vec<String>, String> {
    let read = || {
        let file = "job file";
        let words = if exec::is_job(text) {
            let words = job_file::words::<exec::ExecArgs>(file, text, true, None)?;
            exec::check(&job_file::understood(file, &words)?).map(|_| words)
        } else {
            let words = job_file::words::<RunArgs>(file, text, true, None)?;
            check(registry, &job_file::understood(file, &words)?).map(|()| words)
        };
        Ok(words?.iter().map(|word| word.to_string_lossy().into_owned()).collect())
    };
    read().map_err(|stop: Stop| stop.to_string())
}

/// What is to be measured, and how.
pub(crate) fn plan(registry: &Registry, args: &RunArgs, rounds: u64) -> Result<Experiment, Stop> {
    let host = request::host()?;
    let mut cells = Vec::new();
    for request in requests(registry, args, Some(&host.topology))? {
        cells.extend(plan::cells(&request, &host).map_err(request::refused)?);
    }
    follow::tell(&cells, &args.output.progress);
    let settings = settings_of(args, rounds)?;
    counts::fits(&settings, cells.iter().map(|cell| (cell.key.pattern, &cell.key.load)))?;
    let raw = args.raw.clone();
    let margin = args.margin.share()?;
    Ok(Experiment { margin, raw, ..Experiment::new("run", cells, settings) })
}

fn settings_of(args: &RunArgs, rounds: u64) -> Result<Settings, Stop> {
    let settings = settings(&args.length, rounds, args.plan.seed(), args.raw.is_some())?;
    Ok(Settings { time_calls: args.time_calls, ..settings })
}

/// Which cells are meant. Without a placement they are on one CPU and on two that are close. Without a topology nothing
/// depends on the machine.
fn requests(
    registry: &Registry,
    args: &RunArgs,
    topology: Option<&Topology>,
) -> Result<Vec<Request>, Stop> {
    let at = args.at.as_deref().map(follow::address).transpose()?;
    if args.mechanism.is_empty() && at.is_none() {
        return Err(Stop::usage(
            "which mechanism? name some (like pipe unix-stream) or a job file",
        ));
    }
    let defaults = || {
        if at.is_some() {
            return vec![Placement::Free];
        }
        let mut places = vec![Placement::SameCpu];
        places.extend(topology.and_then(Topology::two_cpus));
        if !args.follow.is_empty() {
            // Runtimes of many threads have other tails where they may spread.
            places.push(Placement::Free);
        }
        places
    };
    let or = |given: &[String], default: &str| typed(given).unwrap_or_else(|| default.to_owned());
    let RunArgs { cells, .. } = args;
    let patterns = request::patterns(&or(&cells.pattern, PatternKind::PingPong.name()))?;
    // What an end in any language is asked to do.
    let is_ours = args.follow.is_empty() && at.is_none();
    let usual = if is_ours { Touch::CacheLine } else { Touch::Header };
    let touch = request::touch(cells.touch.as_deref().unwrap_or(usual.name()))?;
    let programs = follow::programs(&args.follow, &patterns, touch)?;
    let names = match &at {
        Some(address) if args.mechanism.is_empty() => vec![follow::mechanism(address).to_owned()],
        _ => args.mechanism.clone(),
    };
    let asked = request::asked(registry, &names, &cells.set)?;
    let mechanisms = asked.len();
    if cells.load.0.contains_key(&LoadKey::Mix) && typed(&cells.size).is_some() {
        return Err(Stop::usage("--mix gives the size of each request: leave out -s"));
    }
    let request = Request {
        mechanisms: Vec::new(),
        loads: follow::beside(loads::loads(&cells.load, &patterns, touch)?, &programs, at.as_ref()),
        patterns,
        sizes: request::sizes(&or(&cells.size, "64"))?,
        placements: match typed(&cells.place) {
            Some(list) => request::placements(&with_pairs(&list, topology)?)?,
            None => defaults(),
        },
        idle: request::idle(&or(&cells.idle, Idle::AsIs.name()))?,
        touch,
        options: OptionSet::default(),
    };
    if at.is_some() {
        follow::alone_at(&request, mechanisms, touch)?;
    }
    let parts = [
        mechanisms,
        request.patterns.len(),
        request.sizes.len(),
        request.placements.len(),
        request.idle.len(),
        request.loads.len(),
    ];
    request::not_too_many("cells", parts)?;
    let blocks = request::blocks(asked).into_iter();
    Ok(blocks
        .map(|(mechanisms, options)| Request { mechanisms, options, ..request.clone() })
        .collect())
}

/// The word for every two CPUs that are allowed here.
const PAIRS: &str = "pairs";

/// A list of placements with the pairs in place of their word, each once, the lower CPU leading.
fn with_pairs(list: &str, topology: Option<&Topology>) -> Result<String, Stop> {
    let cpus = topology.map(|one| one.cpus.as_slice()).unwrap_or_default();
    let mut places = Vec::new();
    for word in list.split(',').map(str::trim) {
        match (word == PAIRS, topology) {
            (false, _) => places.push(word.to_owned()),
            // Some placement that every machine has.
            (true, None) => places.push(Placement::SameCpu.to_string()),
            (true, Some(topology)) if cpus.len() < 2 => {
                let why = topology.objection(Placement::SameLlc);
                return Err(Stop::usage(format!("--place {PAIRS}: {why}")));
            }
            (true, Some(_)) => places.extend(cpus.iter().enumerate().flat_map(|(at, lead)| {
                cpus[at + 1..].iter().map(|follow| format!("{},{}", lead.id, follow.id))
            })),
        }
    }
    Ok(places.join(","))
}

/// What is wrong with what is asked for, whatever the machine has.
pub(crate) fn check(registry: &Registry, args: &RunArgs) -> Result<(), Stop> {
    let rounds = args::rounds(args.length.rounds)?;
    Gates::of(&args.gates)?;
    args.margin.share()?;
    let requests = requests(registry, args, None)?;
    let patterns = |request: &Request| {
        let (patterns, loads) = (request.patterns.clone(), request.loads.clone());
        let of = move |pattern: PatternKind| {
            loads.clone().into_iter().map(move |load| (pattern, load.of(pattern)))
        };
        patterns.into_iter().flat_map(of)
    };
    let asked: Vec<(PatternKind, Load)> = requests.iter().flat_map(patterns).collect();
    counts::fits(&settings_of(args, rounds)?, asked.iter().map(|(pattern, load)| (*pattern, load)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::topology::Cpu;

    #[test]
    fn pairs_are_every_two_cpus_once_and_none_where_there_is_one_cpu() {
        let of = |cpus: &[usize]| Topology {
            cpus: cpus.iter().map(|id| Cpu { id: *id, core: *id, llc: 0, node: 0 }).collect(),
            ..Topology::default()
        };
        let with = |cpus: &[usize]| with_pairs("same-cpu, pairs", Some(&of(cpus)));
        assert_eq!(with(&[1, 2, 5]).expect("three CPUs"), "same-cpu,1,2,1,5,2,5");
        let refused = with(&[3]).expect_err("one CPU").to_string();
        assert_eq!(refused, "--place pairs: only 1 CPU is allowed here (affinity, cpuset)");
    }
}
