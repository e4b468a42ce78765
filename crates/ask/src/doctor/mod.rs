//! `doctor`: is this machine fit to measure?

pub(crate) mod screen;

use crate::documents;
use ipcperf_engine::doctor;
use ipcperf_kit::args::{LabelArgs, LookArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::Stop;
use ipcperf_kit::{measure, output};
use ipcperf_render::Format;
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) label: LabelArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

impl CommandArgs for DoctorArgs {
    const NAME: &'static str = "doctor";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str =
        "Check this machine for measurement problems and suggest fixes (read-only)";
    const EXAMPLES: &'static str = "Examples:
  ipcperf doctor
  ipcperf doctor --format json";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::DOCTOR];

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        run(self)
    }
}

fn run(args: &DoctorArgs) -> Result<ExitCode, Stop> {
    let format = output::format(&args.look)?;
    let interrupts = measure::interrupts()?;
    let origin = args.label.origin_if(format == Format::Json)?;
    let examination = doctor::examine(origin, ipcperf_kit::build::tool(), Some(&interrupts))
        .map_err(|error| Stop::internal(format!("cannot examine: {error}")))?;
    let examination = examination
        .ok_or_else(|| Stop::interrupted("interrupted before everything was looked at"))?;
    let style = output::style(&args.look, false);
    output::put(None, |out| crate::doctor::screen::doctor(&examination, format, &style, out))
}
