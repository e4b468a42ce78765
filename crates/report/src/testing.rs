//! What tests of several modules share, and tests of what all modules write.

pub(crate) mod growth;
pub(crate) mod sample;
pub(crate) mod schema;
pub(crate) mod screens;

use crate::{Format, Style, render};
use ipcperf_core::result::ResultSet;
pub(crate) use ipcperf_testing::to_text;

/// A document with the sample mechanisms in one of the formats.
pub(crate) fn rendered(set: &ResultSet, format: Format, style: &Style) -> String {
    to_text(|out| render(set, &sample::spec, format, style, out))
}
