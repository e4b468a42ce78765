//! The result document: everything one run found out, as one immutable JSON file.
//!
//! Schema `ipcperf.result/2`. History: 1 is the first, 1.1 has pipelines of programs and times of system calls, 2 has the
//! rounds as columns and histograms as text. This program reads all of them. A reader ignores keys it does not know
//! (newer minor versions add keys) and refuses another major. A metric that a pattern does not have is absent; a value
//! that cannot be supported is `null` with a `reason`. All times are nanoseconds, all rates are per second, all sizes are
//! bytes.

mod call_times;
mod cell;
mod columns;
mod comparison;
mod digits;
mod doctor;
mod environment;
mod family;
mod histogram;
mod mechanisms;
mod metric;
mod neighbour;
mod origin;
mod pattern;
mod pipeline;
mod question;
mod reading;
mod rejection;
mod requirements;
mod scheduled;

pub use call_times::{CallTime, CallTimes};
pub use cell::{
    Beside, BoundRatio, Cell, CellKey, Covariates, CpuCost, KnobReading, Proof, Round, Shortage,
    SideCovariates, SideCpu, Stage, Standstill, Status, Timing,
};
pub use comparison::{
    Adjustment, COMPARISON_SCHEMA, CellComparison, Comparison, ComparisonByHand, ComparisonPlan,
    Design, Difference, ExchangedPrograms, FigureComparison, Side,
};
pub use doctor::{Check, DOCTOR_SCHEMA, Examination, Fitness, Rating};
pub use environment::{
    Bounds, ClockFacts, ClockReading, CopyBandwidth, CoreKind, Crossover, DYNAMIC, Finding, Host,
    Invocation, Kernel, NO_SCHED_EXT, Noise, PairBounds, Plan, RT_RUNTIME, Severity, Spread, Tool,
};
pub use histogram::{Buckets, HistogramData};
pub use mechanisms::{MECHANISMS_SCHEMA, MechanismEntry, MechanismList};
pub use metric::{Metric, Mode, OperationMode};
pub use neighbour::{NeighbourLoad, NeighbourRound, OfAlone, RoundsRatio};
pub use origin::Origin;
pub use pattern::{
    BeforeAfter, Channels, ChannelsRound, Connections, EphemeralPorts, Fan, FanRound, Feed,
    FeedRound, GridConsumers, OneWay, ProgramEnd, Scaling, Served, ServedClient, ServedPart,
    TransformCost,
};
pub use pipeline::{
    ByteProof, Counted, Pipeline, PipelineRound, ProgramResult, ProgramRound, ProofKind,
};
pub use question::Question;
pub use reading::{read, read_cells};
pub use rejection::Rejection;
pub use requirements::{Attempt, Goal, Need, Requirements};
pub use scheduled::{SchedGroup, Scheduled, ScheduledEnd};

use serde::{Deserialize, Serialize};

/// The schema this build writes.
pub const SCHEMA: &str = "ipcperf.result/2";

/// Everything one run of ipcperf found out. Times are nanoseconds, rates per second, sizes bytes. Newer minor versions
/// add keys; readers ignore the ones they do not know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultSet {
    /// Kind and version of this document.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^ipcperf\.result/2(\.[0-9]+)*$")))]
    pub schema: String,
    /// Which document it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// When the run started, UTC, RFC 3339.
    pub started_utc: String,
    /// Wall-clock seconds of the whole run.
    pub duration_s: f64,
    /// The run was stopped before its plan was done; what was measured is here.
    #[serde(default)]
    pub interrupted: bool,
    /// The program that measured.
    pub tool: Tool,
    /// What was asked for.
    pub invocation: Invocation,
    /// The machine.
    pub host: Host,
    /// The kernel and its settings.
    pub kernel: Kernel,
    /// The clock that timed everything.
    pub clock: ClockFacts,
    /// The machine's own limits, measured in this run.
    pub bounds: Bounds,
    /// How disturbed the run was.
    pub noise: Noise,
    /// What the run compares, the most important first; absent where it compares nothing, and in documents of older
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The numbers.
    pub cells: Vec<Cell>,
    /// How the rate grows with the number of channels; absent if no cells differ in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<Scaling>,
    /// The files of mechanisms that are plug-ins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginFile>,
    /// Programs of others (`ipcperf exec`); a run has these or cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<Pipeline>,
}

/// The file of a mechanism that is a plug-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PluginFile {
    /// The mechanism by its full name.
    pub name: String,
    /// The last part of the path of the file.
    pub file: String,
    /// SHA-256 of the whole file, in hexadecimal digits.
    pub sha256: String,
}

/// Why a text is no document at all.
pub const NO_SCHEMA: &str = "not an ipcperf result (no \"schema\" key)";

/// Checks the `schema` key before anything else of a document is read. Minor versions (`ipcperf.result/2.4`) are fine.
///
/// # Errors
/// The key is absent, of another document, or of another major.
pub fn check_schema(found: Option<&str>) -> Result<(), String> {
    let found = found.ok_or(NO_SCHEMA)?;
    let Some(version) = found.strip_prefix("ipcperf.result/") else {
        return Err(format!("not an ipcperf result (its schema is '{found}')"));
    };
    match version.split('.').next() {
        Some("1" | "2") => Ok(()),
        _ => Err(format!("written as '{found}'; this build reads 'ipcperf.result/1' and '/2'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_minors_are_read_and_other_majors_refused() {
        assert_eq!(check_schema(Some(SCHEMA)), Ok(()));
        for known in ["ipcperf.result/1", "ipcperf.result/1.7", "ipcperf.result/2.7"] {
            assert_eq!(check_schema(Some(known)), Ok(()));
        }
        for (found, refused) in [
            (Some("ipcperf.result/3"), "written as 'ipcperf.result/3'"),
            (Some("ipcperf.result/10"), "written as 'ipcperf.result/10'"),
            (Some("other/1"), "not an ipcperf result (its schema is 'other/1')"),
            (None, NO_SCHEMA),
        ] {
            let told = check_schema(found).expect_err(refused);
            assert!(told.starts_with(refused), "{told}");
        }
    }
}
