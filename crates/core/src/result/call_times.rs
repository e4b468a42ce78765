//! How long the system calls of a message take.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The system calls of both ends, by name, each timed by itself in the process. Of calls that come more than once for each
/// message the second in a row is `close.2`; further ones than the fourth count as that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallTimes {
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Median of a null call timed likewise, ns: the cost of clock and trap in each.
    #[serde(default)]
    pub empty_call_ns: Option<f64>,
    /// Of the lead.
    #[serde(default)]
    pub lead: BTreeMap<String, CallTime>,
    /// Of the follow.
    #[serde(default)]
    pub follow: BTreeMap<String, CallTime>,
}

/// System calls of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallTime {
    /// Calls per message that the end sends, or receives if those are more.
    pub per_message: f64,
    /// Median, ns.
    pub median_ns: f64,
    /// Mean, ns.
    pub mean_ns: f64,
}
