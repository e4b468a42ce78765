//! A figure with its uncertainty.

use serde::{Deserialize, Serialize};

/// A number with its uncertainty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// The value; `null` if the data do not support one.
    pub value: Option<f64>,
    /// 95 % interval over rounds, low and high.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Why a value or interval is missing, or that the value is a median of batch means. `saturated`: messages came faster
    /// than they were answered. `lost`: the quantile falls among messages that never arrived, or the mean of too many
    /// rounds contains one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How it was computed: `rounds` (median over rounds), `merged` (quantile of all accepted rounds together), `exact`
    /// (extreme of all), `calibrated` (measured before the rounds), `answers` (yes or no: `modes` has the rounds that said
    /// 0 and 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Present if the rounds have two modes; `value` is then the mode with more rounds (the slower one if equal), never a
    /// mixture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
}

impl Metric {
    /// No value, for `reason`.
    #[must_use]
    pub fn missing(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }
}

/// One of two modes of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// Median of its rounds.
    pub value: f64,
    /// Number of its rounds.
    pub rounds: u64,
}

/// One of the modes that the single operations of a cell fall into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationMode {
    /// Median of its operations, ns.
    pub value: f64,
    /// Share of all operations, of 1.
    pub share: f64,
    /// Share of the time of all operations, of 1.
    pub time_share: f64,
    /// Rounds in which at least 5 % of the operations fell into it.
    pub rounds: u64,
}
