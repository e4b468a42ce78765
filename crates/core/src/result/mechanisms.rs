//! The list of mechanisms and whether a host can run them.

use super::origin::Origin;
use crate::options::Knob;
use crate::spec::{Family, Limit, Spec};
use serde::Serialize;

/// The schema of [`MechanismList`].
pub const MECHANISMS_SCHEMA: &str = "ipcperf.mechanisms/1";

/// The mechanisms ipcperf knows and whether this host can run them. Readers ignore keys they do not know.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MechanismList {
    /// Kind and version of this document.
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = r"^ipcperf\.mechanisms/1(\.[0-9]+)*$"))
    )]
    pub schema: &'static str,
    /// Which document it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// All mechanisms, in the order of the build.
    pub mechanisms: Vec<MechanismEntry>,
}

/// One mechanism as this host sees it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MechanismEntry {
    /// Full name: `pipe/spin`.
    pub name: String,
    /// What kind of thing it is.
    pub family: Family,
    /// Whether it stands for its mechanism when only one variant is wanted.
    pub default: bool,
    /// This host can run it; `null` if that was not tried (`--no-probe`).
    pub available: Option<bool>,
    /// What is missing; `null` if nothing is, or nothing was tried.
    pub missing: Option<String>,
    /// How to get it; `null` if there is no way or no need.
    pub how: Option<String>,
    /// The largest message on this host; `null` if there is no limit, or nothing was tried.
    pub limit: Option<Limit>,
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// Its facts; the conformance suite tries to refute each.
    pub spec: &'static Spec,
}
