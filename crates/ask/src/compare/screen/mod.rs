//! Comparisons as people read them: which of two arms is faster, or which of two sets of documents, cell by cell.

mod render;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub(crate) use crate::results::sentence::comparison as in_a_sentence;
pub use render::{ComparisonDocument, before_and_after, comparison};
pub(crate) use words::{by_metric, differing};
