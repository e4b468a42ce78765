//! Comparisons: which of two arms is faster, or which of two sets of documents, cell by cell.

mod fields;
mod figure;
mod files;
mod html;
mod judge;
mod live;
mod render;
mod sentence;
mod session;
#[cfg(test)]
mod tests;
mod words;

pub use fields::{Incomparable, factor_names};
pub(crate) use figure::Sample;
pub use files::{Recorded, Terms, compare_files};
pub(crate) use html::fill;
pub use judge::MARGIN;
pub use live::{Arms, compare_live, metric_of};
pub use render::comparison;
pub(crate) use sentence::sentences;
