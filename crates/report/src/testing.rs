//! What tests of several modules share, and tests of what all modules write.

pub(crate) mod growth;
pub(crate) mod sample;
pub(crate) mod schema;
pub(crate) mod screens;
pub(crate) mod sound;

use crate::{Format, Style, render};
use ipcperf_core::result::ResultSet;
use std::io;

/// What is written, as a text.
pub(crate) fn to_text(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// A document with the sample mechanisms in one of the formats.
pub(crate) fn rendered(set: &ResultSet, format: Format, style: &Style) -> String {
    to_text(|out| render(set, &sample::spec, format, style, out))
}
