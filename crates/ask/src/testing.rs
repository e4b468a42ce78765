//! What tests of several modules share, and tests of what all modules write.

pub(crate) mod growth;
pub(crate) mod sample;
pub(crate) mod schema;
pub(crate) mod screens;

use crate::results::document;
use ipcperf_core::result::ResultSet;
use ipcperf_kit::command::screens;
use ipcperf_kit::document::{Show, Specs};
use ipcperf_render::{Format, Style};
pub(crate) use ipcperf_testing::to_text;
use std::io::{self, Write};

/// A document with the sample mechanisms in one of the formats.
pub(crate) fn rendered(set: &ResultSet, format: Format, style: &Style) -> String {
    to_text(|out| render(set, &sample::spec, format, style, out))
}

/// Writes a document with the screens of all questions.
pub(crate) fn render(
    set: &ResultSet,
    specs: &Specs,
    format: Format,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let screens = screens(crate::COMMANDS);
    document::render(set, &Show { specs, screens: &screens, ..Show::new(format, style) }, out)
}
