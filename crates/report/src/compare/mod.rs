//! Comparisons: which of two arms is faster, or which of two sets of documents, cell by cell.

mod fields;
mod figure;
mod files;
mod judge;
mod live;
mod render;
mod sentence;
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub(crate) use fields::{Differences, Facts, changes, facts};
pub use fields::{Incomparable, factor_names};
pub use figure::metric_of;
pub(crate) use figure::{Operations, Reading, lost_too_much, p99_of};
pub use files::{Recorded, Terms, at_once, compare_files};
pub(crate) use files::{distrust, session_floor};
pub(crate) use judge::{between, percent, times};
pub use live::{Arms, compare_live};
pub use render::comparison;
pub(crate) use render::doc;
pub(crate) use sentence::{comparison as in_a_sentence, name, pair, sentences};
pub(crate) use words::{by_metric, differing};
