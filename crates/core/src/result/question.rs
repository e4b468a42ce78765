//! What a run compares: arms that differ in nothing but the mechanism and its knobs.

use super::cell::Stage;
use serde::{Deserialize, Serialize};

/// Cells that are measured one after the other in every round, and compared with one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// What the cells have in common: `ping-pong 64B same-llc`.
    pub name: String,
    /// The stage that it reached; absent where the run has one stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Identity of the cell that the others are compared with, fixed before the first round that counts; absent if none
    /// was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Identities of the cells that were to be confirmed, the reference included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<String>,
    /// Rounds that count, as planned before the first of them.
    pub rounds: u64,
    /// What one of these rounds takes of this question, s.
    pub seconds_per_round: f64,
}
