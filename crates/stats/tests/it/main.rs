//! Statistics against simulated samples and exact references.

mod common;
mod coverage;
mod crossover;
mod histogram;
mod plan;
mod relative;
mod verdict;
