//! `clean`: removes files and kernel objects that killed runs left behind.

use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::output;
use ipcperf_sys::rundir;
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct CleanArgs {}

impl CommandArgs for CleanArgs {
    const NAME: &'static str = "clean";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str =
        "Remove files and kernel objects left behind by killed runs of this user";
    const EXAMPLES: &'static str = "";

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        run()
    }
}

fn run() -> Result<ExitCode, Stop> {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for base in rundir::bases() {
        match rundir::reap(&base) {
            Ok(reaped) => {
                removed.extend(reaped.removed);
                kept.extend(reaped.kept);
            }
            Err(error) => kept.push(format!("'{}': {}", base.display(), output::words(&error))),
        }
    }
    let code = if removed.is_empty() && kept.is_empty() {
        output::lines(["nothing was left behind".into()])?
    } else {
        output::lines(removed.iter().map(|what| format!("removed {what}")))?
    };
    for what in &kept {
        note(&format!("ipcperf: cannot clean {what}"));
    }
    Ok(if kept.is_empty() { code } else { Code::Internal.into() })
}
