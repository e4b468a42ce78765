//! A result counts once, however often it is given: a file and its copy are one run.

use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_core::text::{in_groups, join};

/// A result that may be given twice.
pub trait Repeatable {
    /// Whether all of it is in another one: of the same run on the same machine, with the same figures.
    fn is_in(&self, other: &Self) -> bool;
}

/// By what a run is known: its identity, and what older documents have in place of one.
type Run<'a> = (&'a str, &'a str, u64, &'a str, &'a str);

/// The run of a result set.
pub(crate) fn run_of(set: &ResultSet) -> Run<'_> {
    (
        &set.origin.run_id,
        &set.started_utc,
        set.invocation.seed,
        &set.host.cpu_model,
        &set.kernel.release,
    )
}

impl Repeatable for ResultSet {
    fn is_in(&self, other: &Self) -> bool {
        let figures = |cell: &Cell| {
            let rounds = cell.rounds.iter().map(|round| (round.round, cell.figure_of(round)));
            (cell.figure().and_then(|figure| figure.value), rounds.collect::<Vec<_>>())
        };
        let is_in = |cell: &Cell| {
            let mut cells = other.cells.iter().filter(|one| one.id == cell.id);
            cells.any(|one| figures(one) == figures(cell))
        };
        run_of(self) == run_of(other) && self.cells.iter().all(is_in)
    }
}

/// Names that are told of copies of one result.
const NAMES: usize = 3;

/// Leaves out what is the same result as another one, or a part of it; says so in a line for each result that was given
/// more than once.
#[must_use]
pub fn once<T: Repeatable>(given: Vec<(String, T)>) -> (Vec<(String, T)>, Vec<String>) {
    let whole = |at: usize| {
        let (_, one) = &given[at];
        // Of two that are the same the first one stays.
        let has = |other: &usize| {
            let (_, whole) = &given[*other];
            *other != at && one.is_in(whole) && (*other < at || !whole.is_in(one))
        };
        (0..given.len()).find(has)
    };
    let wholes: Vec<Option<usize>> = (0..given.len()).map(whole).collect();
    let copies = given.iter().zip(&wholes).filter_map(|((name, _), whole)| {
        let (whole, _) = &given[(*whole)?];
        Some((whole.clone(), format!("'{name}'")))
    });
    let told = in_groups(copies).into_iter().map(|(whole, mut names)| {
        let is = if names.len() == 1 { "is" } else { "are" };
        let more = names.len().saturating_sub(NAMES);
        names.truncate(NAMES);
        names.extend((more > 0).then(|| format!("{more} more")));
        format!("Left out: {} {is} the same result as '{whole}', or a part of it", join(&names))
    });
    let told = told.collect();
    let mut wholes = wholes.into_iter();
    let kept = given.into_iter().filter(|_| wholes.next().flatten().is_none()).collect();
    (kept, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn left<T: Repeatable>(given: Vec<(&str, T)>) -> (Vec<String>, Vec<String>) {
        let given = given.into_iter().map(|(name, one)| (name.to_owned(), one)).collect();
        let (kept, told) = once(given);
        (kept.into_iter().map(|(name, _)| name).collect(), told)
    }

    /// A result, a part of it and results that differ from it in one thing.
    fn sets() -> [(&'static str, ResultSet); 6] {
        let whole = sample::survey();
        let mut part = whole.clone();
        part.cells.truncate(2);
        let mut later = whole.clone();
        later.started_utc = "2026-08-21T10:00:01Z".to_owned();
        let mut elsewhere = whole.clone();
        elsewhere.host.cpu_model = "Other CPU".to_owned();
        let mut other = whole.clone();
        // Its first round is rejected.
        other.cells[0].rounds[1].p50_ns = Some(77.0);
        [
            ("part", part),
            ("whole", whole.clone()),
            ("copy", whole),
            ("later", later),
            ("elsewhere", elsewhere),
            ("other", other),
        ]
    }

    #[test]
    fn what_is_given_twice_is_left_out_once_and_named() {
        let told = "Left out: 'part' and 'copy' are the same result as 'whole', or a part of it";
        let kept = ["whole", "later", "elsewhere", "other"];
        assert_eq!(
            left(sets().to_vec()),
            (kept.map(str::to_owned).to_vec(), vec![told.to_owned()])
        );
        let recorded = sets().map(|(name, set)| (name, sample::recorded(name, &set)));
        let (names, said) = left(recorded.into());
        assert_eq!((names, said), (kept.map(str::to_owned).to_vec(), vec![told.to_owned()]));
    }

    #[test]
    fn of_many_copies_some_are_named() {
        let names: Vec<String> = (1..=40).map(|at| format!("{at}.json")).collect();
        let copies = names.iter().map(|name| (name.as_str(), sample::small())).collect();
        let (kept, told) = left(copies);
        let words = "Left out: '2.json', '3.json', '4.json' and 36 more are the same result as '1.json', or a part of it";
        assert_eq!((kept, told), (vec!["1.json".to_owned()], vec![words.to_owned()]));
    }
}
