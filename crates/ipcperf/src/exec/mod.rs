//! `run --exec`: programs of others, connected by pipes.

pub(crate) mod words;

use crate::args::{OutputArgs, RunArgs};
use crate::error::Stop;
use crate::gates::Gates;
use crate::measure;
use crate::{output, request};
use ipcperf_core::nearest;
use ipcperf_core::result::Plan;
use ipcperf_engine::exec::{self, PipelinePlan, Settings};
use ipcperf_engine::registry::Registry;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Begins another pipeline.
pub(crate) const NEXT: &str = ",";

/// How long one run may take unless asked otherwise.
const DEADLINE: &str = "60s";

pub(crate) fn run(
    registry: &Registry,
    args: &RunArgs,
    rounds: u64,
    gates: &Gates,
) -> Result<ExitCode, Stop> {
    let (plans, settings) = check(args, rounds)?;
    if let Some(reason) = plans.iter().find_map(missing) {
        return Err(Stop::usage(format!("--exec: {reason}")));
    }
    if args.plan.dry_run {
        return print(&plans, &settings, &args.output);
    }
    let plan = Plan { command: "run".into(), rounds, ..Plan::default() };
    let shown = measure::Shown { registry, args: &args.output, raw: None, gates };
    let run = measure::record(
        plan,
        settings.seed,
        &shown,
        |interrupts, progress| exec::run(plans, &settings, Some(interrupts), progress),
        |_| (),
    );
    run.map(|(code, _)| code)
}

/// What is to be run, and how, whether there are such programs or not.
pub(crate) fn check(args: &RunArgs, rounds: u64) -> Result<(Vec<PipelinePlan>, Settings), Stop> {
    refuse_others(args)?;
    let plans = args.exec.split(|command| command == NEXT).map(plan).collect::<Result<_, _>>()?;
    let second = Duration::from_secs(1);
    let deadline = args.deadline.as_deref().unwrap_or(DEADLINE);
    let settings = Settings {
        rounds,
        deadline: request::time("--deadline", deadline, second / 100, second * 3600)?,
        trace_calls: args.trace_calls,
        seed: args.plan.seed(),
    };
    Ok((plans, settings))
}

/// What a file says is run only if the user has seen it.
pub(crate) fn permit(file: &str, commands: &[String], is_allowed: bool) -> Result<(), Stop> {
    if is_allowed {
        return Ok(());
    }
    let pipelines = commands.split(|command| command == NEXT).map(|one| one.join(" | "));
    let all = pipelines.collect::<Vec<_>>().join(" , ");
    Err(Stop::usage(format!("{file} runs programs: {all}; --allow-exec lets it")))
}

/// What was typed for mechanisms.
fn refuse_others(args: &RunArgs) -> Result<(), Stop> {
    let given = [
        ("--mechanism", !args.mechanism.is_empty()),
        ("--pattern", !args.pattern.is_empty()),
        ("--size", !args.size.is_empty()),
        ("--place", !args.place.is_empty()),
        ("--set", !args.set.is_empty()),
        ("--idle", !args.idle.is_empty()),
        ("--touch", args.touch.is_some()),
        ("--slice", args.slice.is_some()),
        ("--samples", args.samples.is_some()),
        ("--warmup", args.warmup.is_some()),
        ("--warmup-ops", args.warmup_ops.is_some()),
        ("--batch", args.batch.is_some()),
        ("--margin", args.margin.margin.is_some()),
        ("--raw", args.raw.is_some()),
        ("--time-calls", args.time_calls),
        ("--follow", !args.follow.is_empty()),
        ("--at", args.at.is_some()),
        ("--fail-if", !args.gates.fail_if.is_empty()),
    ];
    let mut given = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| (*name).into());
    let load = args.load.0.keys().next().map(|key| format!("--{key}"));
    match given.next().or(load) {
        Some(name) => {
            Err(Stop::usage(format!("{name} is for mechanisms; --exec runs programs as they are")))
        }
        None => Ok(()),
    }
}

/// One pipeline, as typed.
pub(crate) fn plan(commands: &[String]) -> Result<PipelinePlan, Stop> {
    if commands.is_empty() {
        return Err(Stop::usage(format!("--exec: no program on one side of '{NEXT}'")));
    }
    let words = |command: &String| {
        let words = words::split(command)
            .map_err(|error| Stop::usage(format!("--exec '{command}': {error}")))?;
        match words.first() {
            None => Err(Stop::usage(format!("--exec '{command}': no program"))),
            Some(_) => Ok(words),
        }
    };
    let programs = commands.iter().map(words).collect::<Result<_, _>>()?;
    let commands = commands.iter().map(|command| output::without_home(command.trim()));
    Ok(PipelinePlan { programs, commands: commands.collect() })
}

/// Which program of a pipeline there is not, or may not be run, and what there is instead.
pub(crate) fn missing(plan: &PipelinePlan) -> Option<String> {
    plan.programs.iter().filter_map(|words| words.first()).find_map(|program| objection(program))
}

/// Where a program may be: wherever it says, or in PATH.
fn folders(program: &str) -> Vec<PathBuf> {
    match program.contains('/') {
        true => vec![PathBuf::new()],
        false => std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect(),
    }
}

/// The file that would be run.
pub(crate) fn file_of(program: &str) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    folders(program).into_iter().map(|folder| folder.join(program)).find(is_executable)
}

/// Why there is no such program, or why it may not be run.
pub(crate) fn objection(program: &str) -> Option<String> {
    if file_of(program).is_some() {
        return None;
    }
    let folders = folders(program);
    let present = folders.iter().map(|folder| folder.join(program)).find(|path| path.exists());
    Some(match present {
        Some(path) if path.is_dir() => format!("'{}' is a directory", path.display()),
        Some(path) => format!("'{}' is not executable (chmod +x)", path.display()),
        None if program.contains('/') => format!("there is no file '{program}'"),
        None => {
            let entries = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten();
            let names: Vec<String> = entries
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect();
            match nearest(program, names.iter().map(String::as_str)) {
                Some(name) => format!("no program '{program}' in PATH; did you mean '{name}'?"),
                None => format!("no program '{program}' in PATH"),
            }
        }
    })
}

fn print(plans: &[PipelinePlan], settings: &Settings, args: &OutputArgs) -> Result<ExitCode, Stop> {
    let amount = format!(
        "{} x {} of at most {} s, seed {}",
        ipcperf_report::counted(plans.len() as u64, "pipeline"),
        ipcperf_report::counted(settings.rounds, "round"),
        settings.deadline.as_secs_f64(),
        settings.seed,
    );
    measure::dry_run("run", &amount, args, plans.iter().map(|plan| format!("  {}", plan.id())))
}
