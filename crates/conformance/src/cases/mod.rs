//! The rules, one file for each subject.

pub(crate) mod boundaries;
pub(crate) mod calls;
pub(crate) mod data;
pub(crate) mod death;
pub(crate) mod ending;
pub(crate) mod facts;
pub(crate) mod faults;
pub(crate) mod hygiene;
pub(crate) mod knobs;
pub(crate) mod leaks;
pub(crate) mod limits;
pub(crate) mod links;
pub(crate) mod names;
pub(crate) mod namespaces;
pub(crate) mod pressure;
pub(crate) mod refusal;
pub(crate) mod smoke;
pub(crate) mod stops;

/// No message of the suite is larger, whatever a mechanism carries: one this large already takes every path that a
/// larger one takes, and memory is not the subject.
pub(crate) const LARGEST: usize = 1 << 20;
