//! Comparisons as people read them: which of two arms is faster, or which of two sets of documents, cell by cell.

mod render;
mod sentence;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub(crate) use render::doc;
pub use render::{ComparisonDocument, comparison};
pub(crate) use sentence::{comparison as in_a_sentence, sentences};
pub(crate) use words::{by_metric, differing};
