//! Which result is better, by how much, and whether it may be claimed. Every question asks here: tables, comparisons,
//! choices, searches for a crossover, trends and gates.
//!
//! Everything here is pure: results in, statements out. The statistics are those of `ipcperf-stats`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect"))]

mod arm;
mod beside;
mod bisection;
mod crossover;
mod fields;
pub mod figures;
mod files;
mod gate;
pub mod label;
mod live;
mod metric;
mod once;
mod pair;
mod programs;
mod reading;
mod relations;
mod rounds;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod session;

pub use arm::Arm;
pub use beside::{Ratio, beside};
pub use bisection::{Bisection, BisectionStep, Likeness};
pub use crossover::{Point, Search, winner};
pub use fields::{
    Class, Differences, Facts, Incomparable, changes, differences, factor_names, facts,
};
pub use files::{Recorded, Terms, at_once, compare_files, session_floor};
pub use gate::{Limit, Outcome, Slower};
pub use live::{Arms, compare_live};
pub use metric::{
    MetricKind, ROUND_TRIP, Reading, TIE_FACTOR, clock_share, has_too_few_rounds, is_timed_alone,
    lost_its_rounds, metric_of,
};
pub use once::{Repeatable, once};
pub use pair::{between, percent, times};
pub use programs::{ProgramFigure, Programs, compare_programs};
pub use reading::{LoadError, damaged, is_document, is_of, load, run_key};
pub use relations::{Choice, Comparative, Relation, Relations, margin};
pub use rounds::{Operations, lost_too_much, short_name};
pub use session::seconds;
