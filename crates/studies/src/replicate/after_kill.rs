//! Work "after-kill": the files that a killed server leaves.

use super::work::{Turn, Work};
use crate::claims::Readings;
use ipcperf_core::{Closes, ListenerKind, Serving};
use ipcperf_engine::slice::crowd::connect::{self, Around, ConnectPlan, Model, SHORTEST};
use ipcperf_engine::task::TaskError;
use ipcperf_sys::io::socket::meeting;
use ipcperf_sys::signals::Interrupts;
use serde::Deserialize;

/// A server that is killed: what it leaves.
struct AfterKill(ConnectPlan);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KillKeys {
    #[serde(rename = "door")]
    listener: ListenerKind,
}

pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let KillKeys { listener } =
        table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let connect = ConnectPlan {
        listener,
        serving: Serving::Accept,
        model: Model::Blocking,
        clients: 1,
        requests: 1,
        slice: 0,
        warmup: 0,
        answer_bytes: SHORTEST,
        backlog: meeting::backlog(),
        closes: Closes::Server,
        nonblocking: false,
    };
    Ok(Box::new(AfterKill(connect)))
}

/// What it finds out.
pub(super) const READINGS: &[&str] = &["paths_left", "reopens"];

impl Work for AfterKill {
    fn look(&self, _: Option<&Interrupts>) -> Result<(), TaskError> {
        connect::probe(self.0.listener).map_err(|missing| TaskError::Failed(missing.to_string()))
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let around = Around {
            directory: turn.directory,
            nonce: turn.nonce,
            cpus: [None; 2],
            counter: false,
            pads: [0; 2],
            deadline: turn.deadline,
            interrupts: turn.interrupts,
        };
        let remains = connect::kill_server(&self.0, &around)?;
        let mut readings = Readings::default();
        readings.set_certain("paths_left", remains.paths as f64);
        readings.answer("reopens", remains.reopens);
        Ok(readings)
    }
}
