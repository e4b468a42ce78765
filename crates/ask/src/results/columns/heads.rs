//! Heads that depend on the table.

use crate::results::chapters::{Chapter, Section, label};
use crate::results::marks;
use ipcperf_core::{Ends, Figure, PatternKind, Seat};
use ipcperf_render::{Style, text};

/// Whether the CPUs of lead and follow are a column: so many pairs were named that tables of their own would be a list of
/// headings.
pub(crate) fn has_many_named_cpus(sections: &[Section<'_>]) -> bool {
    let is_next = |two: &&[Section<'_>]| two[0].way.differs_in_named_cpus(&two[1].way);
    sections.windows(2).filter(is_next).count() > 1
}

/// The head of the uncertainty.
pub(crate) const fn spread(style: &Style) -> &'static str {
    if style.unicode { "±" } else { "+/-" }
}

/// Longest head of a ratio, in characters: as long as most ratios are.
const LONGEST_HEAD: usize = 24;

/// The head of the column of ratios: `vs unix-stream`, or [`marks::VERSUS`] where its rows differ in it, or its name is long.
pub(super) fn ratio(chapter: &Chapter<'_>) -> String {
    let references = chapter.blocks().filter_map(|block| block.reference.map(label));
    match text::each_once(references).as_slice() {
        [one] if text::width(one) + 3 <= LONGEST_HEAD => format!("vs {one}"),
        _ => marks::VERSUS.to_owned(),
    }
}

/// The head of a time, or else of a rate.
pub(super) fn time_or(chapter: &Chapter<'_>, time: &str, rate: &str) -> String {
    match chapter.pattern.facts().figure {
        Figure::Time => time.to_owned(),
        Figure::Throughput | Figure::Requests => rate.to_owned(),
    }
}

/// The head of CPU time.
pub(super) const fn cost(pattern: PatternKind) -> &'static str {
    match pattern.facts().figure {
        Figure::Requests => "CPU/req",
        Figure::Time | Figure::Throughput => "CPU/msg",
    }
}

/// The head of a quantile, which in a fan is of the calls of its peers.
pub(super) fn of_calls(chapter: &Chapter<'_>, name: &str) -> String {
    // What a feed times is no call.
    let facts = chapter.pattern.facts();
    match facts.ends {
        _ if facts.figure == Figure::Time => name.to_owned(),
        Ends::Many(Seat::Lead) | Ends::Grid => format!("{name} send"),
        Ends::Many(Seat::Follow) => format!("{name} recv"),
        Ends::Pair | Ends::Clients | Ends::Connected => name.to_owned(),
    }
}
