//! What a browser shows beside the tables: pictures of what the document has, and every cell.

pub(crate) mod cells;
mod charts;
mod curves;
mod pairs;
mod picture;
mod ranges;
mod rankings;
#[cfg(test)]
mod tests;

pub(crate) use cells::Anchors;
pub(crate) use charts::Gallery;
pub(crate) use picture::axis_of;
pub(crate) use ranges::{Mechanism, mechanisms};
