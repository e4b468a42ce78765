//! Documents that are kept: what their index knows of them, the list of them, and one cell over time.

mod list;
mod summary;
#[cfg(test)]
pub(crate) mod tests;
mod trend;

pub use list::{Kept, kept};
pub use summary::{CellFigure, CellFigures, Summary, summary};
pub use trend::{Trend, trend};
