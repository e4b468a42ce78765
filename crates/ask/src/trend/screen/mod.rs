//! `trend`: cells over results that were made at different times.

mod dates;
mod figure;
mod over_time;
mod overview;
#[cfg(test)]
pub(crate) mod tests;

pub use figure::{CellFigure, CellFigures, DatedResult, figures_of};
pub use over_time::{Trend, trend};
pub use overview::trends;
