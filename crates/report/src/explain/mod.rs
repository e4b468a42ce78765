//! Where the nanoseconds of a round trip go: arms that isolate its parts, what they take, and the screen that says so.

mod arms;
mod parts;
mod screen;
#[cfg(test)]
mod tests;
mod word;

pub use arms::{BURSTS, Needed, needed};
pub(crate) use screen::render;
pub use word::explain_word;

use crate::format::Style;
use ipcperf_core::result::ResultSet;

/// Whether a document was made to explain a round trip, and is to be shown so.
pub(crate) fn is_explanation(set: &ResultSet, style: &Style) -> bool {
    set.invocation.plan.command == "explain" && !style.full
}
