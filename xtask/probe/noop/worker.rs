//! The worker, from the inside and from the outside.

use ipcperf_engine::supervisor::{Event, Supervisor};
use ipcperf_engine::tasks::TaskRow;
use ipcperf_kit::error::Stop;
use ipcperf_sys::signals::Interrupts;
use serde_json::Value;
use std::time::{Duration, Instant};

const TASK: &str = "noop";

/// The task of the worker.
pub(crate) const TASKS: &[TaskRow] =
    &[TaskRow { name: TASK, run: |_, _| Ok(Value::Bool(true)), messages: &[] }];

/// How long a worker takes from its start to its word, ns.
pub(crate) fn start(interrupts: &Interrupts) -> Result<u64, Stop> {
    let failed = |error: std::io::Error| Stop::internal(format!("noop: {error}"));
    let began = Instant::now();
    let mut worker = Supervisor::new(began + Duration::from_secs(60), Some(interrupts));
    let who = worker.start("noop", 0).map_err(failed)?;
    worker.assign(who, TASK, &(), &[]).map_err(failed)?;
    match worker.event().map_err(failed)? {
        Event::Said(..) => Ok(began.elapsed().as_nanos() as u64),
        Event::Interrupted => Err(Stop::interrupted("interrupted")),
        _ => Err(Stop::internal("noop: the worker did not answer")),
    }
}
