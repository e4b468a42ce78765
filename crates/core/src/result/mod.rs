//! The result document: everything one run found out, as one immutable JSON file.
//!
//! Schema `ipcperf.result/2`. History: 1 is the first, 1.1 has pipelines of programs and times of system calls, 2 has the
//! rounds as columns and histograms as text. This program reads all of them. A reader ignores keys it does not know
//! (newer minor versions add keys) and refuses another major. A metric that a pattern does not have is absent; a value
//! that cannot be supported is `null` with a `reason`. All times are nanoseconds, all rates are per second, all sizes are
//! bytes.

mod cell;
mod columns;
mod compared;
mod comparison;
mod doctor;
mod environment;
mod histogram;
mod mechanisms;
mod metric;
mod pattern;
mod pipeline;
mod reading;
mod replication;
mod requirements;
mod selftest;

pub use cell::{
    BoundRatio, CallTime, CallTimes, Cell, CellKey, Covariates, CpuCost, KnobReading, Proof, Round,
    SideCovariates, SideCpu, Status, Timing,
};
pub use comparison::{
    Adjustment, COMPARISON_SCHEMA, CellComparison, Comparison, ComparisonPlan, Design, Difference,
    FigureComparison, Side,
};
pub use doctor::{Check, DOCTOR_SCHEMA, Examination, Fitness, Rating};
pub use environment::{
    Bounds, ClockFacts, ClockReading, CopyBandwidth, Crossover, Finding, Host, Invocation, Kernel,
    Noise, PairBounds, Plan, Severity, Spread, Tool,
};
pub use histogram::{Buckets, HistogramData};
pub use mechanisms::{MECHANISMS_SCHEMA, MechanismEntry, MechanismList};
pub use metric::{Metric, Mode, OperationMode};
pub use pattern::{BeforeAfter, Connections, EphemeralPorts, Fan, FanRound, OneWay, TransformCost};
pub use pipeline::{
    ByteProof, Counted, Pipeline, PipelineRound, ProgramResult, ProgramRound, ProofKind,
};
pub use reading::{read, read_compared};
pub use replication::{
    ArmResult, ArmRound, ClaimKind, ClaimResult, Erratum, Plot, PlotKind, Published,
    REPLICATION_SCHEMA, Replication, RowResult, Scale, StudyResult, TableResult, TestResult,
    Verdict,
};
pub use requirements::{Goal, Need, Requirements};
pub use selftest::{About, SELFTEST_SCHEMA, SelfTest, Trial, TrialOutcome, Trust};

use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// When the run started, UTC, RFC 3339.
    pub started_utc: String,
    /// Wall-clock seconds of the whole run.
    pub duration_s: f64,
    /// The run was stopped before its plan was done; what was measured is here.
    #[serde(default)]
    pub interrupted: bool,
    /// What measured.
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
    /// The numbers.
    pub cells: Vec<Cell>,
    /// Programs that nobody here wrote (`run --exec`); a run has these or cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<Pipeline>,
}

/// Why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaError {
    /// It is no ipcperf result document.
    NotAResult {
        /// What its `schema` key says, if it has one.
        found: Option<String>,
    },
    /// Written by a version with another major.
    OtherMajor {
        /// What its `schema` key says.
        found: String,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAResult { found: None } => {
                out.write_str("not an ipcperf result (no \"schema\" key)")
            }
            Self::NotAResult { found: Some(found) } => {
                write!(out, "not an ipcperf result (its schema is '{found}')")
            }
            Self::OtherMajor { found } => {
                write!(out, "written as '{found}'; this build reads 'ipcperf.result/1' and '/2'")
            }
        }
    }
}

impl std::error::Error for SchemaError {}

/// Checks the `schema` key before anything else of a document is read. Minor versions (`ipcperf.result/2.4`) are fine.
///
/// # Errors
/// The key is absent, of another document, or of another major.
pub fn check_schema(found: Option<&str>) -> Result<(), SchemaError> {
    let Some(found) = found else {
        return Err(SchemaError::NotAResult { found: None });
    };
    let Some(version) = found.strip_prefix("ipcperf.result/") else {
        return Err(SchemaError::NotAResult { found: Some(found.to_owned()) });
    };
    let major = version.split('.').next().unwrap_or_default();
    match major {
        "1" | "2" => Ok(()),
        _ => Err(SchemaError::OtherMajor { found: found.to_owned() }),
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
        assert!(matches!(
            check_schema(Some("ipcperf.result/3")),
            Err(SchemaError::OtherMajor { .. })
        ));
        assert!(matches!(
            check_schema(Some("ipcperf.result/10")),
            Err(SchemaError::OtherMajor { .. })
        ));
        assert!(matches!(check_schema(Some("other/1")), Err(SchemaError::NotAResult { .. })));
        assert!(matches!(check_schema(None), Err(SchemaError::NotAResult { .. })));
    }
}
