//! All tasks of worker processes: the one place that knows every task.

use crate::job::{BoundJob, BoundReport, Failure, Job, Segment, SideReport};
use crate::page::CAPACITY;
use crate::protocol::Kind;
use crate::registry::Registry;
use crate::serve::{channels, client, server};
use crate::task::{self, NamedTask, WorkerContext, pin};
use crate::{apart, bounds, connect, exec, fan, serve, shim, slice, swap};
use ipcperf_core::Seat;
use serde_json::Value;
use std::process::ExitCode;

/// Does one task and ends. Standard input is the control channel.
#[must_use]
pub fn main(registry: &Registry, parent: u32) -> ExitCode {
    let own = [
        NamedTask { name: slice::TASK, run: &|context| measure(registry, context) },
        NamedTask { name: bounds::TASK, run: &bound },
        NamedTask { name: exec::TASK, run: &exec::serve },
        NamedTask { name: swap::TASK, run: &swap::serve },
        NamedTask { name: fan::TASK, run: &|context| fan::worker::serve(registry, context) },
        NamedTask { name: server::NAME, run: &|context| server::serve(registry, context) },
        NamedTask { name: client::NAME, run: &|context| client::ask(registry, context) },
        NamedTask { name: channels::SERVER, run: &|context| channels::serve(registry, context) },
        NamedTask { name: channels::CLIENTS, run: &|context| channels::ask(registry, context) },
    ];
    let all: Vec<_> = own.iter().chain(connect::TASKS).copied().collect();
    task::main(&all, parent)
}

/// Every kind of what a worker is told, and of what it tells.
#[must_use]
pub fn kinds() -> Vec<Kind> {
    let own = [
        Kind::of::<()>("nothing"),
        Kind::of::<Job>("slice: job"),
        Kind::of::<Vec<Segment>>("slice: segments"),
        Kind::of::<SideReport>("slice: report"),
        Kind::of::<BoundJob>("bound: job"),
        Kind::of::<BoundReport>("bound: report"),
        Kind::of::<swap::Job>("swap: job"),
        Kind::of::<swap::Listens>("swap: listens"),
        Kind::of::<swap::Swapped>("swap: report"),
    ];
    [&own[..], &fan::KINDS, &connect::KINDS, &serve::KINDS].concat()
}

/// One end of a slice.
fn measure(registry: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let job: Job = context.params()?;
    let page = context.page(CAPACITY)?;
    let wiring = context.wiring()?;
    apart::enter(&job, &wiring, context)?;
    pin(job.cpu)?;
    let entry = registry.find(&job.key.mechanism);
    let entry = entry.ok_or_else(|| format!("unknown mechanism '{}'", job.key.mechanism))?;
    let report = entry.drive(wiring, &job, &page, context)?;
    if job.program.is_some() && job.seat == Seat::Lead {
        // Its port is dropped.
        shim::closed(&page);
    }
    Ok(serde_json::to_value(report)?)
}

/// One end of a bound measurement.
fn bound(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let job: BoundJob = context.params()?;
    let page = context.page(CAPACITY)?;
    pin(Some(job.cpu))?;
    Ok(serde_json::to_value(bounds::measure(&job, &page)?)?)
}
