//! Where the nanoseconds of a round trip go: arms that isolate its parts, what they take, and the screen that says so.

mod arms;
mod parts;
mod screen;
#[cfg(test)]
pub(crate) mod tests;
mod word;

pub use arms::{BURSTS, Needed, needed};
pub(crate) use screen::doc;
pub use word::explain_word;

use ipcperf_core::result::ResultSet;

/// The names of all parts of a round trip.
#[cfg(test)]
pub(crate) const PARTS: [&str; 8] = screen::PARTS;

/// Whether a document was made to explain a round trip.
pub(crate) fn is_explanation(set: &ResultSet) -> bool {
    set.invocation.plan.command == "explain"
}
