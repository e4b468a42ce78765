//! `exec`: programs of a user, connected by pipes.

use crate::work::work;
use crate::{args, documents, experiment, job_file};
use clap::Args;
use ipcperf_core::result::Plan;
use ipcperf_engine::exec::{self, PipelinePlan, Settings};
use ipcperf_kit::args::{GateArgs, OutputArgs, PlanArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::Stop;
use ipcperf_kit::gates::Gates;
use ipcperf_kit::hint::Subject;
use ipcperf_kit::work::MeasuredWork;
use ipcperf_kit::{external, measure, request};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How long one run may take unless a user gives a time.
const DEADLINE: &str = "60s";

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ExecArgs {
    /// Programs, started without a shell: 'head -c 1G /dev/zero' 'wc -c' is a pipeline of two; ',' begins another
    /// pipeline. Or one job file (TOML), whose keys are the long flags and 'exec'
    #[arg(value_name = "PROGRAM ARGS|JOB.toml")]
    pub(crate) exec: Vec<String>,
    /// Kill a run that takes longer than this [default: 60s]
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    /// Also count system calls with ptrace, in separate untimed rounds
    #[arg(long)]
    trace_calls: bool,
    /// Allow running the programs that a job file names
    #[arg(long)]
    allow_exec: bool,
    /// Number of rounds (each runs every pipeline once); a 95 % interval needs 6 [default: 12]
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
    #[command(flatten)]
    plan: PlanArgs,
    /// Exit 8 if the noise grade is worse
    #[arg(help_heading = "Gates", long, value_name = "A-F")]
    max_noise: Option<String>,
    #[command(flatten, next_help_heading = "Output")]
    output: OutputArgs,
}

impl CommandArgs for ExecArgs {
    const NAME: &'static str = "exec";
    const GROUP: CommandGroup = CommandGroup::Programs;
    const ABOUT: &'static str = "Time programs and pipelines of them";
    const EXAMPLES: &'static str = "Examples:
  ipcperf exec 'head -c 1G /dev/zero' cat 'wc -c'                    three programs, connected by pipes
  ipcperf exec 'head -c 64M /dev/zero' 'gzip -1' , 'head -c 64M /dev/zero' 'gzip -9'
                                                                     two pipelines, side by side
  ipcperf exec 'head -c 64M /dev/zero' 'gzip -1' --trace-calls       also count their system calls";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];
    const SUBJECT: Option<Subject> = Some(Subject { what: "pipeline", names: &[], is_in: is_job });

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        match self.exec.as_slice() {
            [file] if file.ends_with(".toml") => {
                let may_exec = self.allow_exec || self.plan.dry_run;
                run(context, &job_file::apply(Path::new(file), may_exec, context.typed)?)
            }
            _ => run(context, self),
        }
    }
}

/// Whether the text of a job file names programs.
pub(crate) fn is_job(text: &str) -> bool {
    text.parse::<toml::Table>().is_ok_and(|job| job.contains_key("exec"))
}

fn run(context: &Context<'_>, args: &ExecArgs) -> Result<ExitCode, Stop> {
    let (plans, settings) = check(args)?;
    let gates = GateArgs { max_noise: args.max_noise.clone(), ..GateArgs::default() };
    let gates = Gates::of(&gates)?;
    if let Some(reason) = plans.iter().find_map(external::missing) {
        return Err(Stop::usage(reason));
    }
    let plan = Plan { command: "exec".into(), rounds: settings.rounds, ..Plan::default() };
    let asked = work(&plan, plans.iter().map(|one| one.id()), false);
    if args.plan.dry_run {
        return print(context, &plans, &settings, &args.output, &asked);
    }
    let shown = experiment::Shown { context, args: &args.output, raw: None, gates: &gates, asked };
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
pub(crate) fn check(args: &ExecArgs) -> Result<(Vec<PipelinePlan>, Settings), Stop> {
    if args.exec.is_empty() {
        return Err(Stop::usage(
            "which program? name some (like 'head -c 1G /dev/zero') or a job file",
        ));
    }
    let plans = args
        .exec
        .split(|command| command == external::NEXT)
        .map(external::plan)
        .collect::<Result<_, _>>()?;
    let second = Duration::from_secs(1);
    let deadline = args.deadline.as_deref().unwrap_or(DEADLINE);
    let settings = Settings {
        rounds: args::rounds(args.rounds)?,
        deadline: request::time("--deadline", deadline, second / 100, second * 3600)?,
        trace_calls: args.trace_calls,
        seed: args.plan.seed(),
    };
    Ok((plans, settings))
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
