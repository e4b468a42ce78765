//! `noop`: a round trip over a pipe, on one CPU.

use crate::args::OutputArgs;
use crate::command::{CommandArgs, Context, CommandGroup};
use crate::error::Stop;
use crate::gates::Gates;
use crate::measure::Experiment;
use crate::request;
use ipcperf_core::{Idle, PatternKind, Placement};
use ipcperf_engine::plan;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Settings, fresh_seed};
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NoopArgs {
    /// Print the plan and its expected duration without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl CommandArgs for NoopArgs {
    const NAME: &'static str = "noop";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Measure a round trip over a pipe";
    const EXAMPLES: &'static str = "Examples:
  ipcperf noop                              a round trip over a pipe, on one CPU";

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context.registry, self)
    }
}

fn run(registry: &Registry, args: &NoopArgs) -> Result<ExitCode, Stop> {
    let pipe = request::asked(registry, &["pipe".to_owned()], &[])?;
    let (entries, _) = request::block(pipe)?;
    let trip = PatternKind::PingPong;
    let request = request::usual(&entries, trip, &[64], Placement::SameCpu, Idle::AsIs);
    let cells = plan::cells(&request, &request::host()?).map_err(request::refused)?;
    let settings = Settings { rounds: 3, seed: fresh_seed(), ..Settings::default() };
    let experiment = Experiment::new("noop", cells, settings);
    experiment.finish(registry, args.dry_run, &args.output, &Gates::default())
}
