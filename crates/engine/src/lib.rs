//! The engine: plans, workers, rounds and clocks. It cannot see any particular mechanism.

mod accounting;
pub mod apart;
pub mod arrivals;
mod assemble;
pub mod bounds;
pub mod chain;
pub mod doctor;
mod error;
pub mod exec;
mod faulty;
pub mod fit;
pub mod host;
pub mod hot;
pub mod inject;
pub mod job;
pub mod keeper;
mod machine;
pub mod measured;
pub mod needs;
mod neighbour;
mod noise;
pub mod offset;
mod packets;
pub mod page;
mod panics;
pub mod plan;
pub mod plugins;
pub mod protocol;
pub mod registry;
pub mod run;
mod scheduled;
mod scheduling;
pub mod shim;
#[cfg(any(test, feature = "simulate"))]
pub mod simulate;
pub mod slice;
mod slice_length;
pub mod source;
pub mod supervisor;
pub mod task;
pub mod tasks;
#[cfg(test)]
mod testing;
mod topology;
mod transform;
mod usage;
mod waiting;
mod worker;

pub use assemble::{RunFacts, calls_of, figures_of};
pub use error::not_started;
pub use machine::result_set;
