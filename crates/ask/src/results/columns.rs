//! The columns of the tables of results. Each is a row of `columns/figures.rs` or `columns/costs.rs`, and all that the program
//! knows of it stands there.

mod column;
mod costs;
mod facts;
pub(crate) mod field;
mod figures;
mod heads;
mod legends;
mod texts;

pub(crate) use column::{Column, Entry, Explains, NEXT, Room, Tables, sentence};
pub(crate) use heads::{has_many_named_cpus, spread as spread_head};
pub(crate) use texts::{
    SATURATED, cost, figure, figure_of_other_mode, mark, median, nanos_of, other_mode_of,
    other_mode_words, quantile, rounds_of_other_mode, spread,
};

use column::FIRST;

use crate::results::chapters::Chapter;
use ipcperf_core::result::ResultSet;
use ipcperf_judge::figures::NONE;
use ipcperf_render::Style;

/// All of them, from left to right.
pub(crate) fn all() -> impl Iterator<Item = &'static Column> {
    figures::FIGURES.iter().chain(costs::COSTS)
}

/// The columns of a table that have a figure, from left to right; one without any gives its room to the next.
pub(crate) fn shown(chapter: &Chapter<'_>, style: &Style) -> Vec<&'static Column> {
    let has_figure = |column: &Column| {
        let mut rows = chapter.blocks().flat_map(|block| &block.rows);
        rows.any(|row| !["", NONE].contains(&column.cell(row).as_str()))
    };
    let is_shown = |column: &&Column| match column.room(chapter.kind) {
        Room::Absent => false,
        room => {
            let belongs = (column.patterns)(chapter.pattern.facts());
            belongs
                && (column.is_shown)(chapter, style)
                && (room == Room::Always || has_figure(column))
        }
    };
    all().filter(is_shown).collect()
}

/// Tables, and what they show.
pub(crate) fn tables<'a>(
    set: &'a ResultSet,
    chapters: &'a [Chapter<'a>],
    style: &'a Style,
) -> Tables<'a> {
    let shown = chapters.iter().flat_map(|chapter| shown(chapter, style));
    Tables { set, chapters, style, shown: shown.map(|column| column.name).collect() }
}

/// A list with what columns add to it, each behind the entry that it names.
pub(crate) fn placed<T>(
    mut list: Vec<T>,
    added: impl Iterator<Item = (&'static str, T)>,
    name: fn(&T) -> &'static str,
) -> Vec<T> {
    let mut previous = FIRST;
    let mut added: Vec<_> = added
        .map(|(after, one)| {
            let after = if after == NEXT { previous } else { after };
            previous = name(&one);
            (after, one)
        })
        .collect();
    let place = |list: &[T], after: &str| match after {
        FIRST => Some(0),
        after => Some(list.iter().position(|one| name(one) == after)? + 1),
    };
    // What an entry follows may be added itself.
    while let Some((from, to)) =
        (0..added.len()).find_map(|from| Some((from, place(&list, added[from].0)?)))
    {
        let (_, one) = added.remove(from);
        list.insert(to, one);
    }
    debug_assert!(added.is_empty(), "there is no such place");
    list
}

/// The heads of all columns that tables of a pattern can have.
#[cfg(test)]
pub(crate) fn every(pattern: ipcperf_core::PatternKind, style: &Style) -> Vec<String> {
    let kind = ipcperf_judge::MetricKind::of(pattern);
    let table = Chapter { pattern, is_spinning: false, kind, sections: Vec::new() };
    let all = all().filter(|column| (column.patterns)(pattern.facts()));
    all.map(|column| column.head(&table, style)).collect()
}
