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
mod tests;

pub use fields::{Incomparable, factor_names};
pub(crate) use figure::p99_of;
pub use files::{Recorded, Terms, compare_files};
pub use live::{Arms, compare_live, metric_of};
pub use render::comparison;
pub(crate) use sentence::sentences;
