//! Where the nanoseconds of a round trip go: arms that isolate its parts, what they take, and the screen that says so.

mod arms;
mod parts;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod word;

pub(crate) use arms::{BURSTS, Needed, needed};
pub(crate) use word::explain_word;

use ipcperf_core::result::ResultSet;
use ipcperf_kit::document::Screen;

/// The names of all parts of a round trip.
#[cfg(test)]
pub(crate) const PARTS: [&str; 8] = tables::PARTS;

/// The screen of an explanation. More of it is no table of its arms.
pub(crate) const SCREEN: Screen = Screen {
    answer: |set, specs, style| is_explanation(set).then(|| tables::doc(set, specs, style)),
    has_tables: |style| style.full,
};

/// Whether a document was made to explain a round trip.
fn is_explanation(set: &ResultSet) -> bool {
    set.invocation.plan.command == "explain"
}
