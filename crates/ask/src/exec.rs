//! `run --exec`: programs of others, connected by pipes.

use crate::args::RunArgs;
use crate::experiment;
use crate::work::work;
use ipcperf_core::result::Plan;
use ipcperf_engine::exec::{self, PipelinePlan, Settings};
use ipcperf_kit::args::OutputArgs;
use ipcperf_kit::command::Context;
use ipcperf_kit::error::Stop;
use ipcperf_kit::gates::Gates;
use ipcperf_kit::work::MeasuredWork;
use ipcperf_kit::{external, measure, request};
use std::process::ExitCode;
use std::time::Duration;

/// How long one run may take unless asked otherwise.
const DEADLINE: &str = "60s";

pub(crate) fn run(
    context: &Context<'_>,
    args: &RunArgs,
    rounds: u64,
    gates: &Gates,
) -> Result<ExitCode, Stop> {
    let (plans, settings) = check(args, rounds)?;
    if let Some(reason) = plans.iter().find_map(external::missing) {
        return Err(Stop::usage(format!("--exec: {reason}")));
    }
    let plan = Plan { command: "run".into(), rounds, ..Plan::default() };
    let asked = work(&plan, plans.iter().map(|one| one.id()), false);
    if args.plan.dry_run {
        return print(context, &plans, &settings, &args.output, &asked);
    }
    let shown = experiment::Shown { context, args: &args.output, raw: None, gates, asked };
    let run = experiment::record(
        plan,
        settings.seed,
        shown,
        |interrupts, progress| exec::run(plans, &settings, Some(interrupts), progress),
        |_| (),
    );
    run.map(|(code, _)| code)
}

/// What is to be run, and how, whether there are such programs or not.
pub(crate) fn check(args: &RunArgs, rounds: u64) -> Result<(Vec<PipelinePlan>, Settings), Stop> {
    refuse_others(args)?;
    let plans = args
        .exec
        .split(|command| command == external::NEXT)
        .map(external::plan)
        .collect::<Result<_, _>>()?;
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

fn print(
    context: &Context<'_>,
    plans: &[PipelinePlan],
    settings: &Settings,
    args: &OutputArgs,
    asked: &MeasuredWork,
) -> Result<ExitCode, Stop> {
    let amount = format!(
        "{} x {} of at most {} s, seed {}",
        ipcperf_render::text::counted(plans.len() as u64, "pipeline"),
        ipcperf_render::text::counted(settings.rounds, "round"),
        settings.deadline.as_secs_f64(),
        settings.seed,
    );
    let lines = plans.iter().map(|plan| format!("  {}", plan.id()));
    measure::dry_run(context.commands, asked, &amount, args, lines)
}
