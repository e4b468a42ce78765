//! CPU time of processes that are recorded, from looks at them.

use ipcperf_sys::process_tree::cpu_ns;
use std::collections::{BTreeMap, BTreeSet};

/// What each process had used at the first look that counts, and at the last.
#[derive(Debug, Default)]
pub(super) struct Cpu(BTreeMap<u32, [u64; 2]>);

impl Cpu {
    /// Looks at a process. What it used before it was first seen counts: it was started since.
    pub(super) fn look(&mut self, process: u32) {
        if let Some(now) = cpu_ns(process) {
            self.0.entry(process).or_default()[1] = now;
        }
    }

    /// From now on it counts: what processes have used so far does not.
    pub(super) fn begin(&mut self) {
        self.0.values_mut().for_each(|[first, last]| *first = *last);
    }

    /// What these have used, ns; `None` if nobody ever saw one.
    pub(super) fn of(&self, processes: &BTreeSet<u32>) -> Option<u64> {
        let seen = processes.iter().filter_map(|process| self.0.get(process));
        seen.map(|[first, last]| last.saturating_sub(*first)).reduce(|all, one| all + one)
    }
}
