//! What a worker process does: the one place that knows every task.

use crate::job::{Failure, Names, Task, Word};
use crate::page::Page;
use crate::registry::Registry;
use crate::task::{Answer, NamedTask, WorkerContext};
use crate::worker::{Session, decode, not_pinned, say};
use crate::{bounds, fan, storm};
use ipcperf_core::{SetupError, Wiring};
use ipcperf_sys::control::Control;
use ipcperf_sys::{affinity, process};
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

/// Runs one task and ends. Standard input is the control channel.
#[must_use]
pub fn main(registry: &Registry, tasks: &[NamedTask<'_>], parent: u32) -> ExitCode {
    let Ok(control) = process::enlist(parent) else {
        return ExitCode::FAILURE;
    };
    match serve(registry, tasks, &control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // The coordinator may be gone; then nobody is left to tell.
            let _ = say(&control, &Word::Failed(failure));
            ExitCode::FAILURE
        }
    }
}

fn serve(registry: &Registry, tasks: &[NamedTask<'_>], control: &Control) -> Result<(), Failure> {
    let parcel = control.receive(None)?;
    match decode::<Task>(&parcel.text)? {
        Task::Named { name, params } => {
            named(registry, tasks, &name, WorkerContext::new(control, params, parcel.fds));
        }
        Task::Bound(job) => {
            let page = page(parcel.fds)?;
            affinity::pin(job.cpu)?;
            say(control, &Word::Bound(bounds::measure(&job, &page)?))?;
        }
        Task::Slice(job) => {
            let second = control.receive(None)?;
            let Names { names, words } = decode(&second.text)?;
            let wiring = Wiring { fds: second.fds, names, words };
            let page = page(parcel.fds)?;
            if let Some(cpu) = job.cpu {
                affinity::pin(cpu).map_err(|error| not_pinned(cpu, &error))?;
            }
            let entry = registry.find(&job.mechanism).ok_or_else(|| {
                SetupError::Protocol(format!("unknown mechanism '{}'", job.mechanism))
            })?;
            let mut session = Session { control, page: &page, effective: Vec::new() };
            let report = entry.drive(wiring, &job, &mut session)?;
            say(control, &Word::Done(Box::new(report)))?;
        }
    }
    Ok(())
}

fn named(registry: &Registry, tasks: &[NamedTask<'_>], name: &str, mut context: WorkerContext<'_>) {
    // The one task that needs the mechanisms.
    let fan = |context: &mut WorkerContext<'_>| fan::worker::serve(registry, context);
    let fan = NamedTask { name: fan::TASK, run: &fan };
    let found = tasks.iter().chain(storm::TASKS).chain([&fan]).find(|task| task.name == name);
    let answer = match found.map(|task| (task.run)(&mut context)) {
        Some(Ok(value)) => Answer::Done(value),
        Some(Err(reason)) => Answer::Failed(reason),
        None => Answer::Failed(format!("unknown task '{name}'")),
    };
    // The coordinator may be gone; then nobody is left to tell.
    let _ = context.say(&answer);
}

fn page(fds: Vec<OwnedFd>) -> io::Result<Page> {
    let fd = fds.into_iter().next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Page::from_fd(fd)
}
