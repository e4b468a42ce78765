//! Who is better, by how much, and may it be said. Every question asks here: ranks, comparisons, choices, searches for a
//! crossover, trends and gates.

mod arm;
mod fields;
mod files;
mod live;
mod pair;
mod rank;
mod session;

#[cfg(test)]
pub(crate) use arm::Arm;
pub use arm::metric_of;
pub(crate) use arm::{Operations, Reading as Figures, lacking, lost_too_much, own_by_round};
#[cfg(test)]
pub(crate) use fields::{Class, differences};
pub(crate) use fields::{Differences, Facts, changes, facts};
pub use fields::{Incomparable, factor_names};
pub use files::{Recorded, Terms, at_once, compare_files};
pub(crate) use files::{distrust, session_floor};
pub use live::{Arms, compare_live};
pub(crate) use pair::{Pair, between, percent, times};
pub(crate) use rank::*;
