//! A worker: one end of one channel after another, in a process of its own.

use crate::entry::Entry;
use crate::page::Page;
use crate::script::{Scenario, Told, WorkerPart};
use ipcperf_core::SetupError;
use ipcperf_engine::apart;
use ipcperf_engine::job::Failure;
use ipcperf_engine::plugins;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::task::{WorkerContext, pin};
use ipcperf_sys::program;
use ipcperf_sys::seccomp::{self, Refusal};
use serde_json::Value;

/// Its name as a task.
pub(crate) const NAME: &str = "conformance-end";

/// Plays scenarios until the coordinator closes the channel.
pub(crate) fn serve(list: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let part: WorkerPart = context.params()?;
    let page = Page(context.page(0)?);
    let name = &part.mechanism;
    let entry = Entry::find(list, name).ok_or_else(|| format!("there is no {name}"))?;
    pin(part.cpu)?;
    plugins::send_fleeting_memory(part.is_fleeting);
    if !part.refused.is_empty() {
        seccomp::refuse(&part.refused, Refusal::NotPermitted)?;
    }
    let (mut told, mut enters) = (Told::Idle, part.enters);
    loop {
        let scenario: Scenario = serde_json::from_value(context.ready(&told)?)?;
        let wiring = context.wiring()?;
        context.effective.clear();
        let entered =
            enters.take().map_or(Ok(()), |which| apart::follow(which, &scenario.shape, &wiring));
        // What it lacks from here on, it lacks in there.
        let is_in = part.enters.is_some() && entered.is_ok();
        let played = entered.and_then(|()| entry.play(wiring, &part, &scenario, context, &page));
        let left = if entry.base.is_plugin { program::end_children() } else { 0 };
        told = match played {
            Ok(_) if left > 0 => {
                let reason = format!("processes left after detach: {left}");
                Told::Refused { unavailable: false, reason }
            }
            Ok(seen) => Told::Done(seen),
            Err(error) => Told::Refused {
                unavailable: matches!(error, SetupError::Unavailable(_)) && !is_in,
                reason: error.to_string(),
            },
        };
    }
}
