//! The screen of what a run was made to find out: what to choose, or where the time of a round trip goes.

use crate::format::Style;
use crate::{Specs, choose, explain};
use ipcperf_core::result::ResultSet;
use std::io;

/// Writes it; `None` where it is what the tables say.
pub(crate) fn render(
    set: &ResultSet,
    specs: &Specs,
    style: &Style,
    out: &mut dyn io::Write,
) -> Option<io::Result<()>> {
    let requirements = set.invocation.plan.requirements.as_ref().filter(|_| !style.is_whole());
    match requirements {
        Some(wanted) => Some(choose::render(set, wanted, specs, style, out)),
        None if explain::is_explanation(set, style) => {
            Some(explain::render(set, specs, style, out))
        }
        None => None,
    }
}

/// Its title and its lines, for a page that has the tables, too.
pub(crate) fn text(
    set: &ResultSet,
    specs: &Specs,
    unicode: bool,
) -> Option<(&'static str, String)> {
    let style = Style { width: 100, unicode, ..Style::default() };
    let mut bytes = Vec::new();
    // Memory refuses nothing.
    render(set, specs, &style, &mut bytes)?.ok()?;
    let is_choice = set.invocation.plan.requirements.is_some();
    let title = if is_choice { "What to choose" } else { "Where the time goes" };
    Some((title, String::from_utf8(bytes).ok()?))
}
