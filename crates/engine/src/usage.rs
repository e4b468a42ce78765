//! What processes consume.

use crate::job::SideReport;
use ipcperf_sys::procfs;
use serde::{Deserialize, Serialize};

/// What a process has consumed, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// User share, ns.
    pub user_ns: u64,
    /// System share, ns.
    pub system_ns: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
}

impl Spent {
    /// By the calling process so far.
    pub(crate) fn now() -> Self {
        let now = procfs::consumption();
        Self {
            cpu_ns: now.cpu_ns,
            user_ns: now.user_ns,
            system_ns: now.system_ns,
            voluntary_switches: now.voluntary_switches,
            involuntary_switches: now.involuntary_switches,
            minor_faults: now.minor_faults,
            major_faults: now.major_faults,
        }
    }

    fn each(&self, other: &Self, by: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_ns: by(self.cpu_ns, other.cpu_ns),
            user_ns: by(self.user_ns, other.user_ns),
            system_ns: by(self.system_ns, other.system_ns),
            voluntary_switches: by(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: by(self.involuntary_switches, other.involuntary_switches),
            minor_faults: by(self.minor_faults, other.minor_faults),
            major_faults: by(self.major_faults, other.major_faults),
        }
    }

    /// From then to this.
    pub(crate) fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.each(other, |one, two| one + two)
    }
}

/// What a worker consumes in timed segments. Counters that cost file reads are read well before the first begins and after
/// the last is over.
#[derive(Debug)]
pub(crate) struct Usage<'a> {
    /// Whose inter-processor interrupts are counted.
    cpus: &'a [usize],
    outside: [Option<u64>; 3],
    /// What the process had consumed when the last segment began.
    since: Spent,
    spent: Spent,
}

impl<'a> Usage<'a> {
    /// Before the first of them.
    pub(crate) fn open(cpus: &'a [usize]) -> Self {
        let none = Spent::default();
        Self { cpus, outside: outside(cpus), since: none, spent: none }
    }

    /// A segment begins.
    pub(crate) fn begin(&mut self) {
        self.since = Spent::now();
    }

    /// A segment ends.
    pub(crate) fn end(&mut self) {
        self.spent = self.spent.plus(&Spent::now().since(&self.since));
    }

    /// After the last of them: adds what was consumed.
    pub(crate) fn close(self, report: &mut SideReport) {
        let Self { cpus, outside: before, since: _, spent } = self;
        report.cpu_ns += spent.cpu_ns;
        report.user_ns += spent.user_ns;
        report.system_ns += spent.system_ns;
        report.voluntary_switches += spent.voluntary_switches;
        report.involuntary_switches += spent.involuntary_switches;
        report.minor_faults += spent.minor_faults;
        report.major_faults += spent.major_faults;
        let sums = [&mut report.ipis, &mut report.run_delay_ns, &mut report.migrations];
        for ((sum, before), after) in sums.into_iter().zip(before).zip(outside(cpus)) {
            let grown = before.zip(after).map(|(before, after)| after.saturating_sub(before));
            *sum = grown.map(|grown| sum.unwrap_or(0) + grown);
        }
    }
}

/// Inter-processor interrupts, run delay and migrations so far.
fn outside(cpus: &[usize]) -> [Option<u64>; 3] {
    let ipis = if cpus.is_empty() { None } else { procfs::inter_processor_interrupts(cpus) };
    [ipis, procfs::run_delay_ns(), procfs::migrations()]
}
