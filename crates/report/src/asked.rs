//! What a run was made to find out: what to choose, where the time of a round trip goes, or where one overtakes another.

use crate::stopped::Stopped;
use crate::{Specs, Style, choose, crossover, explain};
use ipcperf_core::result::ResultSet;
use ipcperf_render::doc::Doc;

/// The answer; `None` where nothing was asked but what the tables say.
pub(crate) fn doc(set: &ResultSet, specs: &Specs, style: &Style) -> Option<Doc> {
    let doc = match &set.invocation.plan.requirements {
        Some(wanted) => Some(choose::doc(set, wanted, specs, style)),
        None if explain::is_explanation(set) => Some(explain::doc(set, specs, style)),
        None => crossover::doc(set),
    };
    doc.map(|doc| Doc { stopped: set.stopped(), ..doc })
}

/// The same for a terminal; `None` where the tables are asked for.
pub(crate) fn screen(set: &ResultSet, specs: &Specs, style: &Style) -> Option<Doc> {
    // More of an explanation is no table of its arms.
    let is_whole = if explain::is_explanation(set) { style.full } else { style.is_whole() };
    if is_whole { None } else { doc(set, specs, style) }
}
