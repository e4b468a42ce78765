//! Rendering: what a document says, drawn for a terminal, as Markdown or as a page.
//!
//! Nothing here knows what ipcperf measures. Every text may come from a file that somebody else wrote, so none is trusted
//! to be short, printable or free of markup.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect"))]

mod format;
pub mod grid;
pub mod html;
pub mod page;
pub mod svg;
pub mod text;

pub use format::{Format, Style};
