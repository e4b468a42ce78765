//! What the tests of several crates share: whether a document is described by its schema, and whether a page is sound.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

pub mod schema;
pub mod screens;
pub mod sound;

use std::io;

/// What is written, as a text.
///
/// # Panics
/// Writing fails, or what is written is not UTF-8.
pub fn to_text(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    // Where no line of a page ends there is a space all the same.
    String::from_utf8(bytes).unwrap().replace('\u{a0}', " ")
}
