//! The rows of the first screen: which mechanisms have one, and where each stands.

use crate::results::answers::{Contest, Contestant};
use crate::results::chapters::{Row as Alone, is_comparable, is_floor};
use crate::results::fittest::FAMILIAR;
use ipcperf_core::result::{Cell, ResultSet, Status};
use ipcperf_core::{BackPressure, PatternKind, Spec};
use ipcperf_judge::figures::or_none;
use ipcperf_judge::{ROUND_TRIP, Relation, lost_its_rounds};
use ipcperf_kit::document::Specs;
use ipcperf_render::text;

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
    /// Its relation to the reference; `None` if nothing was measured to compare.
    pub(super) relation: Option<Relation>,
    /// It is the one to use.
    pub(super) is_first: bool,
}

impl Shown<'_> {
    /// What a column of tables shows of it.
    pub(super) fn own(&self, text: impl Fn(&Alone<'_>) -> String) -> String {
        or_none(self.cell, |cell| text(&Alone::alone(cell, ROUND_TRIP)))
    }
}

/// One cell for each mechanism: what the contest names, or else the default variant with its usual knobs, if it was
/// measured.
pub(super) fn one_of_each<'a>(
    set: &'a ResultSet,
    specs: &Specs,
    contest: &Contest,
) -> Vec<(&'a str, &'a Cell)> {
    let carries = |cell: &Cell| {
        let spec = specs(&cell.key.mechanism);
        spec.is_none_or(|spec| spec.back_pressure != BackPressure::Overwrites)
    };
    let is_here = |cell: &&Cell| {
        let key = &cell.key;
        (key.pattern, key.size_bytes) == (PatternKind::PingPong, contest.size)
            && contest.basis.has(cell)
            && key.load.is_plain()
            && !key.wait.burns_cpu()
            && !is_floor(&key.mechanism, specs)
            && carries(cell)
    };
    let named = [contest.reference(), contest.first()];
    let usual = |cell: &&Cell| {
        // A run with stages has chosen what it compares.
        let is_named = contest.is_confirmed()
            && cell.stage().is_some()
            && named.iter().any(|one| std::ptr::eq(one.cell, *cell));
        let is_default = specs(&cell.key.mechanism).is_none_or(|spec| spec.default);
        let has_knobs = cell.knobs.values().any(|knob| knob.requested.is_some());
        let is_confirmed = !cell.is_unconfirmed();
        let is_missing = (cell.status != Status::Ok, lost_its_rounds(cell));
        (is_missing, !is_named, !is_confirmed, !is_default, has_knobs)
    };
    let cells = set.cells.iter().filter(is_here).map(|cell| (base(&cell.key.mechanism), cell));
    let groups = text::in_groups(cells).into_iter();
    groups.filter_map(|(base, cells)| Some((base, cells.into_iter().min_by_key(usual)?))).collect()
}

/// The mechanism without its variant.
pub(super) fn base(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// The cells of the rows that were measured.
pub(super) fn shown<'a>(
    contest: &Contest<'a>,
    each: &[(&'a str, &'a Cell)],
    specs: &Specs,
) -> Vec<(&'a str, &'a Cell)> {
    let measured = |(_, cell): &&(&str, &Cell)| {
        cell.status == Status::Ok && is_comparable(cell) && cell.figure().is_some()
    };
    let candidates: Vec<_> = each.iter().filter(measured).copied().collect();
    let chosen = choose(contest, &candidates, specs).into_iter();
    let find = |base: &str| candidates.iter().find(|one| one.0 == base).copied();
    chosen.filter_map(find).collect()
}

/// The rows of the table by their ratio to the reference, then those without one, then what was not measured.
pub(super) fn rows_of<'a>(
    contest: &Contest<'a>,
    shown: Vec<(&'a str, &'a Cell)>,
    each: &[(&'a str, &'a Cell)],
    specs: &Specs,
) -> Vec<Shown<'a>> {
    let first = contest.winner().map(|one| one.cell);
    let mut rows: Vec<Shown> = Vec::new();
    for (base, cell) in shown {
        // What lost its rounds is in no contest.
        let pairs = || common(contest.reference(), cell);
        let relation = contest.of_cell(cell).map(|one| one.relation);
        let relation = relation.unwrap_or_else(|| Relation::TooFewPairs(pairs()));
        let is_first = first.is_some_and(|first| std::ptr::eq(first, cell));
        let (spec, why) = (specs(&cell.key.mechanism), String::new());
        rows.push(Shown { base, spec, cell: Some(cell), why, relation: Some(relation), is_first });
    }
    let ratio = |row: &Shown| row.relation.and_then(Relation::ratio).unwrap_or(f64::INFINITY);
    let value = |row: &Shown| row.cell.and_then(|cell| cell.figure()?.value);
    rows.sort_by(|a, b| {
        let by_value =
            value(a).unwrap_or(f64::INFINITY).total_cmp(&value(b).unwrap_or(f64::INFINITY));
        ratio(a).total_cmp(&ratio(b)).then(by_value)
    });
    let has_row = |name: &str| rows.iter().any(|row| row.base == name);
    for base in ALWAYS.into_iter().filter(|name| !has_row(name)).collect::<Vec<_>>() {
        let cell = each.iter().find(|one| one.0 == base).map(|one| one.1);
        let why = cell
            .map_or("not part of this run", |cell| cell.reason.as_deref().unwrap_or("no figure"));
        let (spec, why) = (specs(base), why.to_owned());
        rows.push(Shown { base, spec, cell: None, why, relation: None, is_first: false });
    }
    rows
}

/// Rounds in which both have a figure.
fn common(reference: &Contestant, cell: &Cell) -> usize {
    let of_reference = ROUND_TRIP.by_round(reference.cell);
    ROUND_TRIP.by_round(cell).keys().filter(|round| of_reference.contains_key(round)).count()
}

/// The mechanisms that have a row: what to use, what everybody asks about, the fastest, then one of each family and what
/// most programs are written with.
fn choose<'a>(
    contest: &Contest<'a>,
    candidates: &[(&'a str, &'a Cell)],
    specs: &Specs,
) -> Vec<&'a str> {
    let find = |is_it: &dyn Fn(&str, &Cell) -> bool| {
        candidates.iter().find(|one| is_it(one.0, one.1)).map(|one| one.0)
    };
    let of_cell = |cell: &Cell| find(&|_, other| std::ptr::eq(other, cell));
    let usual = ALWAYS.into_iter().chain(["pipe"]).filter_map(|name| find(&|base, _| base == name));
    let named = [contest.first(), contest.reference()];
    let first = named.into_iter().filter_map(|one| of_cell(one.cell)).chain(usual);
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
            let is_screened = one.1.is_unconfirmed();
            (is_screened, custom == FAMILIAR.len(), families.contains(&family(one)), custom)
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
