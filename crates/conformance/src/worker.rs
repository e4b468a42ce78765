//! A worker: one end of one channel after another, in a process of its own.

use crate::entry::Entry;
use crate::page::Page;
use crate::script::{Part, Scenario, Told};
use ipcperf_core::SetupError;
use ipcperf_engine::job::Failure;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::task::{WorkerContext, pin};
use ipcperf_sys::seccomp::{self, Refusal};
use serde_json::Value;

/// Its name as a task.
pub(crate) const NAME: &str = "conformance-end";

/// Plays scenarios until the coordinator closes the channel.
pub(crate) fn serve(list: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let part: Part = context.params()?;
    let page = Page(context.page(0)?);
    let name = &part.mechanism;
    let entry = Entry::find(list, name).ok_or_else(|| format!("there is no {name}"))?;
    pin(part.cpu)?;
    if !part.refused.is_empty() {
        seccomp::refuse(&part.refused, Refusal::NotPermitted)?;
    }
    let mut told = Told::Idle;
    loop {
        let scenario: Scenario = serde_json::from_value(context.ready(&told)?)?;
        let wiring = context.wiring()?;
        context.effective.clear();
        told = match entry.play(wiring, &part, &scenario, context, &page) {
            Ok(seen) => Told::Done(seen),
            Err(error) => Told::Refused {
                unavailable: matches!(error, SetupError::Unavailable(_)),
                reason: error.to_string(),
            },
        };
    }
}
