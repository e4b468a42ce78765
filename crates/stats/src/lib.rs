//! Statistics of IPC measurements: what may be concluded from the numbers of a run.
//!
//! Everything here is a pure function: no clock, no file, no print. The same input gives the same
//! output, and randomness comes only from a seed.
//!
//! The unit of analysis is the *round* (one slice in fresh processes), never the single operation:
//! operations of one process share its memory layout, its CPUs and the mood of the host, so a
//! million of them are one observation of those. [`Histogram`] therefore describes the operations
//! of a slice, while [`median_estimate`], [`across_rounds`] and [`modes::split`] take one value (or
//! one histogram) per round and draw their confidence from the spread between rounds. So does
//! [`Evidence`] of two arms, and [`Rule`] says what follows from it.
//!
//! No function assumes a normal distribution of the data, and none removes outliers.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

mod compare;
mod crossover;
mod distribution;
mod drift;
mod estimate;
mod evidence;
mod fairness;
mod histogram;
pub mod modes;
mod quantile;
mod rank;
mod relative;
mod rng;
mod scalability;
mod selection;
pub mod shape;
mod verdict;

pub use compare::paired_spread;
pub use crossover::{Arm, Change, Looked, changes, next_point, rounds_for_points, winner};
pub use distribution::{normal_cdf, student_t_quantile};
pub use drift::{relative_drift, theil_sen, trend_z};
pub use estimate::{
    Estimate, Interval, median, median_estimate, median_interval, robust_cv, robust_spread,
};
pub use evidence::{Evidence, ratio_estimate, ratio_interval};
pub use fairness::jain;
pub use histogram::{Histogram, Sample, quantile_of_buckets};
pub use modes::{Mode, Split};
pub use quantile::{Needed, across_rounds, quantile_interval, support};
pub use relative::{Factor, PRACTICAL_MARGIN, Relative, Statement, control_holds, relative_to};
pub use rng::Rng;
pub use scalability::{FEWEST_POINTS, ScalabilityLaw};
pub use selection::{
    FEWEST_CONFIRMED, FIRST_CONFIRMED, Selected, rounds_of_questions, select, successor,
};
pub use verdict::{
    FEWEST_ROUNDS, Judgement, MARGIN, Rule, benjamini_hochberg, holm, rounds_to_find,
    smallest_effect,
};
