//! One measurement of one cell, as the coordinator sees it: by a pair of processes, several pairs, a fan of them, or a server and a crowd
//! of clients.

mod channels;
mod compact;
pub mod crowd;
pub(crate) mod fan;
mod paced;
mod pair;
mod raw;
mod window;

pub use compact::Compact;
pub use paced::Paced;
pub(crate) use paced::saturated as is_saturated;
pub use pair::{MOST_KEPT, Ways};
pub(crate) use pair::{TASK, name};
pub(crate) use raw::samples;
pub use raw::{
    CrowdSlice, Data, Gaps, RawChannel, RawChannels, RawFan, RawFeed, RawSlice, SliceOutcome,
    Surroundings, Terms, Trips,
};
pub use window::Window;

use crate::registry::Entry;
use crowd::{connect, serve};
use ipcperf_core::{Ends, OptionSet};
use raw::outcome;

/// Runs one slice in fresh processes.
#[must_use]
pub fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    around: Surroundings<'_>,
) -> SliceOutcome {
    let several = terms.job.key.load.channels > 0;
    let attempt = match terms.job.key.pattern.facts().ends {
        Ends::Pair if several => channels::run(entry, options, terms, around.interrupts),
        Ends::Pair => pair::run(entry, options, terms, around),
        Ends::Many(_) | Ends::Grid => fan::run(entry, options, terms, around.interrupts),
        Ends::Clients => connect::slice::run(entry, options, terms, around),
        Ends::Connected => serve::slice::run(entry, options, terms, around),
    };
    outcome(attempt, terms)
}
