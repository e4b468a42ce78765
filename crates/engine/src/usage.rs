//! What processes consume.

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
