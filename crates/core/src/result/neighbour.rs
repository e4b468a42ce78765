//! What a neighbour of a cell did, and what changed with it.

use super::metric::Metric;
use serde::{Deserialize, Serialize};

/// The load that ran next to a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourLoad {
    /// Units of its work per second of the timed region, median over rounds.
    pub per_second: Metric,
    /// What a unit is: `steps` of a calculation, `bytes`, `processes`, `wake-ups`, or `CPU ns` of a program.
    pub unit: String,
    /// How many CPUs it used: its CPU time over the length of the timed region, median over rounds.
    pub cpus: Metric,
}

/// What a neighbour did in the timed region of one slice, by its own counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourRound {
    /// Units of its work. A slice without any fails.
    pub units: u64,
    /// CPU time of all its processes, ns.
    pub cpu_ns: u64,
    /// Length of the windows in which this was counted, ns.
    pub window_ns: u64,
}

impl NeighbourRound {
    /// Adds what it did in another window.
    #[must_use]
    pub const fn plus(self, more: Self) -> Self {
        Self {
            units: self.units + more.units,
            cpu_ns: self.cpu_ns + more.cpu_ns,
            window_ns: self.window_ns + more.window_ns,
        }
    }
}

/// A cell with a neighbour over the same cell without one, within rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfAlone {
    /// Of the p50; absent of patterns without times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<RoundsRatio>,
    /// Of the p99; absent where a round has too few operations for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<RoundsRatio>,
    /// Of messages per second of the timed region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RoundsRatio>,
}

/// A ratio of two cells within rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsRatio {
    /// The ratio.
    pub ratio: f64,
    /// Its 95 % interval; `null` with fewer than six common rounds.
    pub ci95: Option<[f64; 2]>,
}
