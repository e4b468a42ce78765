//! Statistics against simulated samples and exact references.

mod coverage;
mod histogram;
mod order;
mod plan;
mod verdict;
