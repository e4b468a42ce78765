//! What a result says, in tables, pictures, sentences and rows. The questions take their screens from it.
//!
//! Everything here is pure. No clock, no file, no terminal: the caller says how wide the output is
//! and whether it may be coloured. A result may be a file that somebody else wrote, so
//! no figure, name or text of it is trusted to be short, printable or complete.

pub(crate) mod advice;
pub mod answers;
mod bars;
mod calls;
pub(crate) mod chapters;
pub(crate) mod columns;
pub mod csv;
pub mod document;
pub(crate) mod fittest;
mod json;
mod machine;
pub mod marks;
pub(crate) mod pictures;
pub(crate) mod pipelines;
mod scaling;
pub(crate) mod sentence;
pub mod table;
mod versus;
pub(crate) mod words;
