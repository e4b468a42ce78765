//! Tasks of worker processes. Each is a row: the instrument has its rows here, and a command brings its own.

use crate::bounds::{BoundJob, BoundReport};
use crate::job::{Failure, Job, Segment, SideReport};
use crate::page::CAPACITY;
use crate::plugins;
use crate::protocol::Kind;
use crate::registry::{Driven, Registry};
use crate::slice::crowd::serve::{channels, client, server};
use crate::slice::crowd::{self, connect};
use crate::slice::{self, fan};
use crate::task::{self, NamedTask, WorkerContext, pin};
use crate::{apart, bounds, exec, neighbour, scheduled, shim};
use ipcperf_core::Seat;
use serde_json::Value;
use std::process::ExitCode;

/// Something that a worker can be sent to do.
#[derive(Clone, Copy, Debug)]
pub struct TaskRow {
    /// By which it is found.
    pub name: &'static str,
    /// Does it, and returns what it found out, or why it could not.
    pub run: fn(&Registry, &mut WorkerContext<'_>) -> Result<Value, Failure>,
    /// Whether such a worker runs a mechanism, so that it becomes an interpreter where that is a plug-in in Python.
    pub runs_mechanism: bool,
    /// Every kind of message that only such a worker gets or sends.
    pub messages: &'static [Kind],
}

const fn row(
    name: &'static str,
    run: fn(&Registry, &mut WorkerContext<'_>) -> Result<Value, Failure>,
    messages: &'static [Kind],
) -> TaskRow {
    TaskRow { name, run, runs_mechanism: true, messages }
}

/// The tasks of the instrument.
const TASKS: &[TaskRow] = &[
    row(
        slice::TASK,
        measure,
        &[
            Kind::of::<()>("nothing"),
            Kind::of::<Job>("slice: job"),
            Kind::of::<Vec<Segment>>("slice: segments"),
            Kind::of::<SideReport>("slice: report"),
        ],
    ),
    row(
        bounds::TASK,
        |_, context| bound(context),
        &[Kind::of::<BoundJob>("bound: job"), Kind::of::<BoundReport>("bound: report")],
    ),
    row(exec::TASK, |_, context| exec::serve(context), &[]),
    row(
        neighbour::TASK,
        |_, context| neighbour::serve(context),
        &[Kind::of::<neighbour::Duty>("neighbour: duty")],
    ),
    row(fan::TASK, fan::worker::serve, &fan::KINDS),
    row(server::NAME, server::serve, &crowd::KINDS),
    row(client::NAME, client::ask, &[]),
    row(channels::SERVER, channels::serve, &[]),
    row(channels::CLIENTS, channels::ask, &[]),
    row(connect::SERVER, |_, context| connect::serve(context), &[]),
    row(connect::CLIENT, |_, context| connect::call(context), &[]),
    row(plugins::TASK, Registry::serve_plugin, &[]),
];

/// Does one task of the instrument or of these rows, and ends. Standard input is the control channel.
#[must_use]
pub fn main(registry: &Registry, more: &[TaskRow], parent: u32) -> ExitCode {
    let runs: Vec<_> = TASKS
        .iter()
        .chain(more)
        .map(|row| (row.name, move |context: &mut WorkerContext<'_>| (row.run)(registry, context)))
        .collect();
    let all: Vec<_> = runs.iter().map(|(name, run)| NamedTask { name, run }).collect();
    // An interpreter takes the place of this program where the task needs one; what is returned is why it does not.
    let rows = TASKS.iter().chain(more).filter(|row| row.runs_mechanism);
    let names: Vec<_> = rows.map(|row| row.name).collect();
    let lacks = registry.loader().ok().and_then(|loader| (loader.host)(parent, &names).err());
    task::main(&all, parent, lacks)
}

/// Every kind of message that workers of the instrument or of these rows get and send.
#[must_use]
pub fn kinds(more: &[TaskRow]) -> Vec<Kind> {
    TASKS.iter().chain(more).flat_map(|row| row.messages).copied().collect()
}

/// One end of a slice.
fn measure(registry: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let job: Job = context.params()?;
    let page = context.page(CAPACITY)?;
    let wiring = context.wiring()?;
    // Before namespaces, in which the rights for it may be missing.
    pin(job.cpu)?;
    let scheduled = scheduled::enter(&job)?;
    apart::enter(&job, &wiring, context)?;
    let entry = registry.find(&job.key.mechanism);
    let entry = entry.ok_or_else(|| format!("unknown mechanism '{}'", job.key.mechanism))?;
    let report = entry.drive(Driven { wiring, job: &job, page: &page, context })?;
    let report = SideReport { scheduled, ..report };
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
