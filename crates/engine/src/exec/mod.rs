//! Programs of others as arms of a run, connected by pipes. A process of its own, the watch, is their parent, so that they end
//! with the coordinator even if that is killed.

mod run;
mod watch;

pub use crate::measured::{PipelinePlan, PipelineRun, Ran, RoundRun};
pub use run::{Settings, run};
pub use watch::Watch;
pub(crate) use watch::{TASK, serve};

use crate::keeper::{Error, Outlet, Programs};
use ipcperf_sys::io::pipe;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// Starts the programs of a pipeline one after the other, with pipes between them; returns where the last one writes to.
fn connect(plan: &PipelinePlan, programs: &mut Programs<'_>) -> Result<Outlet, Error> {
    let (output, theirs) = Outlet::open()?;
    let (mut theirs, mut input) = (Some(theirs), None::<OwnedFd>);
    for (at, words) in plan.programs.iter().enumerate() {
        let Some((program, arguments)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(arguments);
        let stdin = input.as_ref().map(OwnedFd::try_clone).transpose()?;
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let mut next = None;
        if at + 1 == plan.programs.len() {
            command.stdout(theirs.take().map_or_else(Stdio::null, Stdio::from));
        } else {
            let pair = pipe::pair().map_err(|error| Error::Failed(error.to_string()))?;
            command.stdout(pair.write);
            next = Some(pair.read);
        }
        let name = plan.commands.get(at).unwrap_or(program);
        programs.start(name, &mut command, input)?;
        input = next;
    }
    Ok(output)
}

#[cfg(test)]
mod tests;
