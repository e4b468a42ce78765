//! The rows of the first screen: which mechanisms have one, and where each stands.

use crate::Specs;
use crate::answers::{Basis, Contest};
use crate::chapters::{Row as Alone, is_comparable, is_floor};
use crate::columns::Column as Figures;
use crate::figures::NONE;
use crate::fittest::{FAMILIAR, fitness};
use crate::judge::{ROUND_TRIP, lost_its_rounds};
use crate::text;
use ipcperf_core::result::{Cell, ResultSet, Status};
use ipcperf_core::{BackPressure, PatternKind, Spec};
use ipcperf_stats::Factor;

/// Most rows of the table, where one in two modes counts twice: with all that stands around it a screen of 40 lines.
const ROWS: usize = 8;

/// What everybody asks about: they have a row even where they were not measured.
const ALWAYS: [&str; 2] = ["unix-stream", "tcp"];

/// A mechanism of the table, by its default variant and knobs.
pub(super) struct Shown<'a> {
    pub(super) base: &'a str,
    pub(super) spec: Option<&'static Spec>,
    /// Its cell, where it was measured.
    pub(super) cell: Option<&'a Cell>,
    /// Why it was not.
    pub(super) why: String,
    pub(super) standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Standing {
    /// The one to use.
    First,
    /// As fast as the first, as far as the run can tell.
    AsFast,
    /// Certainly slower than the first.
    Slower(Option<Factor>),
    /// Not in the ranking.
    Unranked,
}

impl Shown<'_> {
    /// What a column of tables shows of it.
    pub(super) fn own(&self, column: Figures) -> String {
        self.cell.map_or_else(
            || NONE.to_owned(),
            |cell| column.cell(&Alone::alone(cell, ROUND_TRIP), true),
        )
    }
}

/// One cell for each mechanism: the default variant with its usual knobs, if it was measured.
pub(super) fn one_of_each<'a>(
    set: &'a ResultSet,
    specs: &Specs,
    basis: &Basis,
    size: u64,
) -> Vec<(&'a str, &'a Cell)> {
    let carries = |cell: &Cell| {
        let spec = specs(&cell.key.mechanism);
        spec.is_none_or(|spec| spec.back_pressure != BackPressure::Overwrites)
    };
    let is_here = |cell: &&Cell| {
        let key = &cell.key;
        (key.pattern, key.size_bytes) == (PatternKind::PingPong, size)
            && basis.has(cell)
            && key.load.is_plain()
            && !key.wait.burns_cpu()
            && !is_floor(&key.mechanism, specs)
            && carries(cell)
    };
    let usual = |cell: &&Cell| {
        let is_default = specs(&cell.key.mechanism).is_none_or(|spec| spec.default);
        let has_knobs = cell.knobs.values().any(|knob| knob.requested.is_some());
        (cell.status != Status::Ok, lost_its_rounds(cell), !is_default, has_knobs)
    };
    let cells = set.cells.iter().filter(is_here).map(|cell| (base(&cell.key.mechanism), cell));
    let groups = text::in_groups(cells).into_iter();
    groups.filter_map(|(base, cells)| Some((base, cells.into_iter().min_by_key(usual)?))).collect()
}

/// The mechanism without its variant.
pub(super) fn base(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// The rows of the table, the first one first.
pub(super) fn rows_of<'a>(
    contest: &Contest<'a>,
    each: &[(&'a str, &'a Cell)],
    specs: &Specs,
    is_ranked: bool,
) -> Vec<Shown<'a>> {
    let at = |cell: &Cell| contest.ordered().iter().position(|one| std::ptr::eq(one.cell, cell));
    let measured = |(_, cell): &&(&str, &Cell)| {
        cell.status == Status::Ok && is_comparable(cell) && cell.figure().is_some()
    };
    let candidates: Vec<_> = each.iter().filter(measured).copied().collect();
    let mut rows: Vec<Shown> = Vec::new();
    for base in choose(contest, &candidates, specs, is_ranked) {
        let Some((base, cell)) = candidates.iter().find(|one| one.0 == base).copied() else {
            continue;
        };
        let standing = match at(cell) {
            Some(0) => Standing::First,
            Some(at) if contest.is_behind(&contest.ordered()[at]) => Standing::Slower(None),
            Some(_) => Standing::AsFast,
            None => Standing::Unranked,
        };
        let (spec, why) = (specs(&cell.key.mechanism), String::new());
        rows.push(Shown { base, spec, cell: Some(cell), why, standing });
    }
    // Those that are as fast as the first by their fitness, the others by their figures.
    let place = |row: &Shown| row.cell.and_then(at);
    rows.sort_by_key(|row| match row.standing {
        Standing::First => (0, None, None),
        Standing::AsFast => (1, Some(fitness(row.spec)), None),
        Standing::Slower(_) => (2, None, place(row)),
        Standing::Unranked => (3, None, None),
    });
    let ranked: Vec<&Cell> = rows
        .iter()
        .filter(|row| row.standing != Standing::Unranked)
        .filter_map(|row| row.cell)
        .collect();
    if let Some((first, others)) = ranked.split_first() {
        let factors = ROUND_TRIP.factors(first, others);
        for (row, factor) in rows[1..].iter_mut().zip(factors) {
            if row.standing == Standing::Slower(None) {
                row.standing = Standing::Slower(factor.filter(|factor| factor.interval.low > 1.0));
            }
        }
    }
    let has_row = |name: &str| rows.iter().any(|row| row.base == name);
    for base in ALWAYS.into_iter().filter(|name| !has_row(name)).collect::<Vec<_>>() {
        let cell = each.iter().find(|one| one.0 == base).map(|one| one.1);
        let why = cell
            .map_or("not part of this run", |cell| cell.reason.as_deref().unwrap_or("no figure"));
        let (spec, why) = (specs(base), why.to_owned());
        rows.push(Shown { base, spec, cell: None, why, standing: Standing::Unranked });
    }
    if !is_ranked {
        let family =
            |row: &Shown| (row.spec.is_none(), row.spec.map(|spec| spec.family.to_string()));
        rows.sort_by_key(|row| (family(row), custom(row.base)));
    }
    rows
}

/// The mechanisms that have a row: what to use, what everybody asks about, the fastest, then one of each family and what
/// most programs are written with.
fn choose<'a>(
    contest: &Contest<'a>,
    candidates: &[(&'a str, &'a Cell)],
    specs: &Specs,
    is_ranked: bool,
) -> Vec<&'a str> {
    let find = |is_it: &dyn Fn(&str, &Cell) -> bool| {
        candidates.iter().find(|one| is_it(one.0, one.1)).map(|one| one.0)
    };
    let of_cell = |cell: &Cell| find(&|_, other| std::ptr::eq(other, cell)).filter(|_| is_ranked);
    let usual = ALWAYS.into_iter().chain(["pipe"]).filter_map(|name| find(&|base, _| base == name));
    let first = of_cell(contest.winner().cell).into_iter().chain(usual);
    let mut chosen = text::each_once(first.chain(of_cell(contest.fastest().cell)));
    let lacking = ALWAYS.iter().filter(|name| !chosen.contains(name)).count();
    let family = |one: &(&str, &Cell)| specs(&one.1.key.mechanism).map(|spec| spec.family);
    let of = |base: &&str| candidates.iter().find(|one| one.0 == *base);
    let is_double = |base: &&&str| of(base).is_some_and(|one| is_two_mode(one.1));
    while chosen.len() + chosen.iter().filter(is_double).count() + lacking < ROWS {
        let families: Vec<_> = chosen.iter().filter_map(of).map(family).collect();
        let rest = candidates.iter().filter(|one| !chosen.contains(&one.0));
        let next = rest.min_by_key(|one| {
            let custom = custom(one.0);
            (custom == FAMILIAR.len(), families.contains(&family(one)), custom)
        });
        let Some(next) = next else { break };
        chosen.push(next.0);
    }
    chosen
}

/// How usual it is: less is more usual.
pub(super) fn custom(base: &str) -> usize {
    FAMILIAR.iter().position(|known| *known == base).unwrap_or(FAMILIAR.len())
}

pub(super) fn is_two_mode(cell: &Cell) -> bool {
    cell.figure().is_some_and(|metric| metric.modes.len() > 1)
}
