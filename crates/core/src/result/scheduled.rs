//! How the kernel scheduled the ends of a cell.

use super::metric::Metric;
use crate::scheduling::SchedClass;
use crate::seat::Seat;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the ends were scheduled; both, if it was asked for one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduled {
    /// The lead.
    pub lead: ScheduledEnd,
    /// The follow.
    pub follow: ScheduledEnd,
}

impl Scheduled {
    /// One of them.
    #[must_use]
    pub fn end(&self, end: Seat) -> &ScheduledEnd {
        match end {
            Seat::Lead => &self.lead,
            Seat::Follow => &self.follow,
        }
    }
}

/// What the fair classes of a process share its CPUs within: between groups only the weights of these count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SchedGroup {
    /// The folder of a control group.
    ControlGroup(String),
    /// The name of a session (`kernel.sched_autogroup_enabled`).
    Session(String),
}

impl fmt::Display for SchedGroup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlGroup(folder) => write!(out, "the control group {folder}"),
            Self::Session(name) => {
                write!(out, "its session ({name}, kernel.sched_autogroup_enabled = 1)")
            }
        }
    }
}

/// How one end was scheduled, as the kernel says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScheduledEnd {
    /// Its class as read back; `other` with the slice that it has, where the kernel says it (Linux 6.12).
    pub class: SchedClass,
    /// Its nice value as read back; without effect in a real-time or deadline class.
    pub nice: i8,
    /// The weight of the control group that was made for it, as read back; absent if none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_weight: Option<u16>,
    /// The control group or the session within which its nice value and its class `idle` count; absent if they count among
    /// all processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<SchedGroup>,
    /// Time ready but not running, per voluntary context switch, ns. Waits after a preemption are in it. Median over rounds;
    /// absent if the kernel does not say it, or if it never waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_per_wakeup_ns: Option<Metric>,
}
