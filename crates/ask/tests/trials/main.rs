//! Statistical promises, tried on a simulated host through everything that is between a worker and a verdict. Each with a
//! negative control: the same check on what is broken on purpose.
//!
//! A module is a trial. Here its repetitions are as few as take seconds; `cargo xtask trial NAME` has as many as the
//! claim deserves, and prints the figures of `docs/METHOD.md`.

mod common;

mod coverage;
mod equality;
mod families;
mod faults;
mod grade;
mod mdone;
mod ranking;
mod recovery;
mod replay;
mod sessions;
