//! Studies: what was published, what stands for it here, and what its claims come to.
//!
//! Everything here is pure. A study names arms, an arm has readings in every round, and the program that measures them is asked
//! only for those. docs/STUDIES.md describes the files.
#![forbid(unsafe_code)]

mod accept;
mod csv;
mod differs;
mod expression;
mod file;
mod label;
mod measured;
mod outcome;
mod part;
mod study;
#[cfg(test)]
mod tests;

pub use csv::{benchmarks, files as csv_files};
pub(crate) use measured::QUANTILES;
pub use measured::{Measured, Readings};
pub use outcome::Findings;
pub use study::{Arm, Check, Study};
