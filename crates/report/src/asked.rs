//! What a run was made to find out: what to choose, or where the time of a round trip goes.

use crate::Style;
use crate::told::Told;
use crate::{Specs, choose, explain};
use ipcperf_core::result::ResultSet;
use std::io;

/// What is told of it; `None` where it is what the tables say.
pub(crate) fn told(set: &ResultSet, specs: &Specs, style: &Style) -> Option<Told> {
    match &set.invocation.plan.requirements {
        Some(wanted) => Some(choose::told(set, wanted, specs, style)),
        None if explain::is_explanation(set) => Some(explain::told(set, specs, style)),
        None => None,
    }
}

/// Writes it as a screen; `None` where it is what the tables say, or they are asked for.
pub(crate) fn render(
    set: &ResultSet,
    specs: &Specs,
    style: &Style,
    out: &mut dyn io::Write,
) -> Option<io::Result<()>> {
    match &set.invocation.plan.requirements {
        Some(wanted) if !style.is_whole() => Some(choose::render(set, wanted, specs, style, out)),
        None if explain::is_explanation(set) && !style.full => {
            Some(explain::render(set, specs, style, out))
        }
        _ => None,
    }
}
