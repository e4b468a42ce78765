//! This machine, as the document of a run describes it. What assembles the document reads nothing of it.

use crate::assemble::{Machine, RunFacts, document};
use crate::run::Findings;
use crate::{doctor, host};
use ipcperf_core::result::ResultSet;
use ipcperf_sys::meter::Meter;
use ipcperf_sys::procfs;

/// Makes the document of a run on this machine.
#[must_use]
pub fn result_set(findings: Findings, facts: RunFacts) -> ResultSet {
    document(findings, facts, here())
}

pub(crate) fn here() -> Machine {
    let (host, kernel) = (host::host(), host::kernel());
    let is_described = |cpu: &usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index0/shared_cpu_list");
        procfs::text(&path).is_some()
    };
    Machine {
        findings: doctor::findings(&host, &kernel),
        caches_described: host.cpus_allowed.iter().all(is_described),
        no_energy: Meter::energy_objection(),
        tick_ns: procfs::tick_ns(),
        host,
        kernel,
    }
}
