//! Work "exec": programs that a study names, connected by pipes, as `ipcperf run --exec` measures them.

use super::work::{Turn, Work};
use crate::exec;
use ipcperf_core::result::ProofKind;
use ipcperf_engine::exec::{PipelinePlan, once};
use ipcperf_engine::task::TaskError;
use ipcperf_study::Readings;
use serde::Deserialize;

/// Its name in a study.
pub(crate) const KIND: &str = "exec";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// Each reads what the one before it writes.
    programs: Vec<String>,
}

impl Keys {
    fn of(table: &toml::Table) -> Result<Self, String> {
        table.clone().try_into().map_err(|error| format!("exec: {error}"))
    }
}

struct Exec(PipelinePlan);

/// The commands of an arm, for the user to see.
pub(crate) fn commands(table: &toml::Table) -> Result<Vec<String>, String> {
    Keys::of(table).map(|keys| keys.programs)
}

/// Makes the work.
pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let plan = exec::plan(&commands(table)?).map_err(|stop| stop.to_string())?;
    Ok(Box::new(Exec(plan)))
}

impl Work for Exec {
    fn missing(&self) -> Option<String> {
        exec::missing(&self.0)
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let ran = once(&self.0, turn.deadline, turn.interrupts)?;
        let mut readings = Readings::default();
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let bytes = ran.arrived_bytes.max(ran.taken_bytes().unwrap_or(0)) as f64;
        let wall_s = seconds(ran.elapsed_ns);
        let [mut user_s, mut system_s] = [0.0; 2];
        for (at, seen) in (1..).zip(&ran.programs) {
            user_s += seconds(seen.ended.user_ns);
            system_s += seconds(seen.ended.system_ns);
            let cpu_s = seconds(seen.ended.user_ns + seen.ended.system_ns);
            readings.set(format!("cpu_s.{at}"), cpu_s);
        }
        let proof = ran.proof(&self.0.commands);
        let proofs = f64::from(u8::from(proof.kind == ProofKind::Bytes));
        for (name, value) in [
            ("bytes", bytes),
            ("bits_per_second", bytes * 8.0 / wall_s),
            ("wall_s", wall_s),
            ("user_s", user_s),
            ("system_s", system_s),
            ("cpu_s", user_s + system_s),
            ("proof", proofs),
        ] {
            readings.set(name, value);
        }
        readings.facts.insert("programs".into(), self.0.id());
        if let Some(reason) = proof.reason {
            readings.facts.insert("proof".into(), reason);
        }
        Ok(readings)
    }
}
