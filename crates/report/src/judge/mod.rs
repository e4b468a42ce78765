//! Who is better, by how much, and may it be said. Every question asks here: ranks, comparisons, choices, searches for a
//! crossover, trends and gates.

mod arm;
mod beside;
mod crossover;
mod fields;
mod files;
mod live;
mod metric;
mod pair;
mod programs;
mod relations;
mod rounds;
mod session;

#[cfg(test)]
pub(crate) use arm::Arm;
pub use beside::beside;
pub use crossover::winner;
pub(crate) use crossover::{Point, Search};
#[cfg(test)]
pub(crate) use fields::{Class, differences};
pub(crate) use fields::{Differences, Facts, changes, facts};
pub use fields::{Incomparable, factor_names};
pub(crate) use files::session_floor;
pub use files::{Recorded, Terms, at_once, compare_files};
pub use live::{Arms, compare_live};
pub use metric::metric_of;
pub(crate) use metric::{
    MetricKind, ROUND_TRIP, Reading, TIE_FACTOR, clock_share, has_too_few_rounds, is_timed_alone,
    lost_its_rounds,
};
pub(crate) use pair::{between, percent, times};
pub use programs::{ProgramFigure, Programs, compare_programs};
pub(crate) use relations::{Choice, Relation, Relations, margin};
pub(crate) use rounds::{Operations, lost_too_much, name};
