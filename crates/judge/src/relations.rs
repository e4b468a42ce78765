//! How the cells of one question compare with their reference.

use super::metric::{MetricKind, Reading};
use super::percent;
use crate::figures;
use ipcperf_core::result::{Cell, Plan};
use ipcperf_stats::{
    FEWEST_ROUNDS, Factor, Interval, PRACTICAL_MARGIN, Relative, Statement, control_holds,
    relative_to, select,
};
use std::collections::BTreeMap;

/// How a cell compares with the reference of its question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// The others are compared with it.
    Reference,
    /// It has a ratio to the reference: above 1 is worse, of times and of rates.
    Stated(Statement, Relative),
    /// So many rounds have a figure of both, and a ratio takes six.
    TooFewPairs(usize),
    /// The reference measured twice differs from itself.
    ControlFails(Relative),
    /// It has rounds of the screen alone.
    Unconfirmed,
    /// It is as fast within the margin by its intervals, but the machine was too noisy to say so.
    TooNoisy(Relative),
}

/// The cells of one question and their relations to its reference.
#[derive(Debug)]
pub struct Relations {
    reference: usize,
    relations: Vec<Relation>,
    /// All cells, the fittest first.
    by_fitness: Vec<usize>,
    /// The reference was chosen by the rounds that the ratios come from.
    is_chosen_by_same_rounds: bool,
    /// Some cell was not measured in the screen alone.
    is_confirmed: bool,
    margin: f64,
}

/// Which cell to use.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// This one. The cells in `open` may be faster than the reference by more than the margin, and would then be chosen.
    Use {
        /// Its place among the cells.
        cell: usize,
        /// Places among the cells.
        open: Vec<usize>,
    },
    /// Undecided: the control fails, or too few rounds are left.
    Undecided,
}

/// Ratios within this do not matter in practice, as the run was planned.
pub fn margin(plan: &Plan) -> f64 {
    plan.margin.filter(|margin| margin.is_finite() && *margin > 0.0).unwrap_or(PRACTICAL_MARGIN)
}

impl Relations {
    /// Of cells that have a figure, in any order. The reference is the one that the document names; otherwise it is the
    /// fittest of those that may be the best, by the same rounds. `None` of no cells.
    pub fn of<F: Ord>(
        kind: MetricKind,
        cells: &[(&Cell, Reading)],
        fitness: impl Fn(&Cell) -> F,
        margin: f64,
    ) -> Option<Self> {
        let rows = logarithms(kind, &cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>());
        let (confirmed, _) = confirmed(cells);
        let by_fitness = by_fitness(kind, cells, fitness);
        let named = confirmed.iter().copied().find(|at| cells[*at].0.is_reference);
        let reference = match named {
            Some(named) => named,
            None => chosen(&confirmed, &rows, &by_fitness, kind, cells)?,
        };
        let is_chosen_by_same_rounds = named.is_none() && cells.len() > 1;
        let rest = (rows.as_slice(), by_fitness);
        Some(Self::compared(kind, cells, reference, rest, is_chosen_by_same_rounds, margin))
    }

    /// The same of more cells, which are compared with the reference of these but are never chosen: the first of `cells` are
    /// those that `self` is of, in their order. All intervals hold together.
    pub fn with_others(&self, kind: MetricKind, cells: &[(&Cell, Reading)]) -> Self {
        let rows = logarithms(kind, &cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>());
        let rest = (rows.as_slice(), self.by_fitness.clone());
        let is_chosen = self.is_chosen_by_same_rounds;
        Self::compared(kind, cells, self.reference, rest, is_chosen, self.margin)
    }

    /// The same cells next to another reference, which was chosen for more than this question.
    pub fn next_to<F: Ord>(
        kind: MetricKind,
        cells: &[(&Cell, Reading)],
        reference: usize,
        fitness: impl Fn(&Cell) -> F,
        margin: f64,
    ) -> Self {
        let rows = logarithms(kind, &cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>());
        let is_chosen = !cells[reference].0.is_reference && cells.len() > 1;
        let rest = (rows.as_slice(), by_fitness(kind, cells, fitness));
        Self::compared(kind, cells, reference, rest, is_chosen, margin)
    }

    /// Of cells with the logarithms of their rounds, and the places of those that may be chosen, the fittest first.
    fn compared(
        kind: MetricKind,
        cells: &[(&Cell, Reading)],
        reference: usize,
        (rows, by_fitness): (&[Vec<Option<f64>>], Vec<usize>),
        is_chosen_by_same_rounds: bool,
        margin: f64,
    ) -> Self {
        let relations = relations(kind, cells, rows, reference, margin);
        let (_, is_confirmed) = confirmed(cells);
        Self { reference, relations, by_fitness, is_chosen_by_same_rounds, is_confirmed, margin }
    }

    /// The place of the reference among the cells.
    pub fn reference(&self) -> usize {
        self.reference
    }

    /// The relation of a cell to the reference.
    pub fn relation(&self, cell: usize) -> Relation {
        self.relations[cell]
    }

    /// Whether the reference was chosen by the rounds that the ratios come from, and not before them.
    pub fn is_chosen_by_same_rounds(&self) -> bool {
        self.is_chosen_by_same_rounds
    }

    /// Ratios within this do not matter.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// The places of all cells: the reference and what has a ratio by it, the best first, then the others as given.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.relations.len()).collect();
        let ratio = |at: &usize| self.relations[*at].ratio().unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        order
    }

    /// The cell to use: the reference, or the fittest of those that are certainly faster by more than the margin.
    pub fn choice(&self) -> Choice {
        let stated = |at: &usize| match self.relations[*at] {
            Relation::Stated(_, relative) | Relation::TooNoisy(relative) => Some(relative),
            _ => None,
        };
        let mut may_be_chosen = self.by_fitness.clone();
        may_be_chosen.sort_unstable();
        let others = || may_be_chosen.iter().copied().filter(|at| *at != self.reference);
        let is_sound = others().all(|at| !matches!(self.relations[at], Relation::ControlFails(_)));
        let mut compared = others().filter(|at| self.relations[*at] != Relation::Unconfirmed);
        let is_alone = compared.next().is_none() && (self.is_confirmed || others().count() == 0);
        let has_any = is_alone || others().any(|at| stated(&at).is_some());
        if !is_sound || !has_any {
            return Choice::Undecided;
        }
        let is_faster =
            |at: &usize| stated(at).is_some_and(|relative| relative.is_much_faster(self.margin));
        let open = |at: &usize| match self.relations[*at] {
            Relation::Stated(_, relative) | Relation::TooNoisy(relative) => {
                relative.may_be_much_faster(self.margin)
            }
            Relation::TooFewPairs(_) => true,
            _ => false,
        };
        let fittest = self.by_fitness.iter().position(is_faster);
        let Some(fittest) = fittest else {
            return Choice::Use { cell: self.reference, open: others().filter(open).collect() };
        };
        // A cell that is less fit than this one would not be chosen, even if it were proved to be as much faster.
        let open = |at: &usize| self.by_fitness[..fittest].contains(at) && open(at);
        Choice::Use { cell: self.by_fitness[fittest], open: others().filter(open).collect() }
    }

    /// How many more rounds would tell whether the open cells are faster by more than the margin, if their ratios are what
    /// they seem to be.
    pub fn rounds_to_tell(&self, open: &[usize]) -> Option<u64> {
        let lacking = |at: &usize| match self.relations[*at] {
            Relation::Stated(_, relative) | Relation::TooNoisy(relative) => {
                Some(relative.pairs_to_tell(self.margin)?.saturating_sub(relative.pairs as u64))
            }
            Relation::TooFewPairs(pairs) => Some((FEWEST_ROUNDS.saturating_sub(pairs)) as u64),
            _ => None,
        };
        open.iter().filter_map(lacking).max()
    }

    /// Where nothing may be said: all that are not certainly worse than the reference by the ratios that there are, the
    /// reference included, and of cells that nothing confirmed none.
    pub fn undecided(&self) -> Vec<usize> {
        let may = |at: &usize| match self.relations[*at] {
            Relation::Reference | Relation::TooFewPairs(_) => true,
            Relation::ControlFails(relative) => relative.joint.is_none_or(|joint| joint.low <= 1.0),
            Relation::Stated(statement, _) => !matches!(statement, Statement::Slower { .. }),
            Relation::TooNoisy(_) => true,
            Relation::Unconfirmed => false,
        };
        (0..self.relations.len()).filter(may).collect()
    }

    /// The same as far as a machine of this noise grade allows it: at grade F nothing is as fast as anything. That something
    /// is slower or faster may be said at any grade.
    #[must_use]
    pub fn at_grade(mut self, grade: &str) -> Self {
        if grade == "F" {
            self.relations.iter_mut().for_each(|one| *one = one.without_equality());
        }
        self
    }
}

/// What more and less of a figure is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparative {
    /// Of a time or a rate.
    Speed,
    /// Of CPU time.
    Cost,
}

impl Comparative {
    /// Worse, better, and alike.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Speed => ["slower", "faster", "as fast"],
            Self::Cost => ["more", "less", "as cheap"],
        }
    }
}

impl Relation {
    /// The ratio to the reference; 1 of itself, `None` where there is none.
    pub fn ratio(self) -> Option<f64> {
        match self {
            Self::Reference => Some(1.0),
            Self::Stated(_, relative) | Self::ControlFails(relative) | Self::TooNoisy(relative) => {
                Some(relative.ratio)
            }
            Self::TooFewPairs(_) | Self::Unconfirmed => None,
        }
    }

    /// The ratio with its pairs and intervals, where there is one.
    pub fn relative(self) -> Option<Relative> {
        match self {
            Self::Stated(_, relative) | Self::ControlFails(relative) | Self::TooNoisy(relative) => {
                Some(relative)
            }
            Self::Reference | Self::TooFewPairs(_) | Self::Unconfirmed => None,
        }
    }

    /// It in words, where ratios within `margin` do not matter: `1.5x slower [1.2, 1.9]`, `as fast (within 10 %)`,
    /// `undecided: 0.9x to 1.4x`.
    pub fn words(self, margin: f64) -> String {
        self.words_of(margin, Comparative::Speed)
    }

    /// The same of a figure that may be no speed.
    pub fn words_of(self, margin: f64, comparative: Comparative) -> String {
        let [figure, note] = self.figure_and_note(margin, comparative);
        format!("{figure} {note}").trim_end().to_owned()
    }

    /// The same in two parts: `1.5x slower` and its interval, which is empty where there is none.
    pub fn figure_and_note(self, margin: f64, comparative: Comparative) -> [String; 2] {
        let within = |is_within: bool| match is_within {
            true => format!(" (within {})", percent(margin)),
            false => String::new(),
        };
        let [worse, better, alike] = comparative.words();
        let way = |factor: Option<_>, way: &str, is_within| {
            let words = factor.map_or_else(String::new, figures::factor);
            let (ratio, interval) = words.split_once(' ').unwrap_or_default();
            [format!("{ratio} {way}"), format!("{interval}{}", within(is_within))]
        };
        let figure = match self {
            Self::Stated(Statement::Slower { is_within }, relative) => {
                return way(factor(relative), worse, is_within);
            }
            Self::Stated(Statement::Faster { is_within }, relative) => {
                return way(inverse(relative), better, is_within);
            }
            Self::Reference => "reference".to_owned(),
            Self::Stated(Statement::AsFast, _) => format!("{alike}{}", within(true)),
            Self::Stated(Statement::Undecided, relative) => match relative.joint {
                Some(interval) => format!("undecided: {}", range(interval)),
                None => format!("undecided: {} pairs", relative.pairs),
            },
            Self::TooFewPairs(1) => "undecided: 1 pair".to_owned(),
            Self::TooFewPairs(pairs) => format!("undecided: {pairs} pairs"),
            Self::ControlFails(_) => "undecided: control".to_owned(),
            Self::Unconfirmed => "screen only".to_owned(),
            Self::TooNoisy(_) => "undecided: grade F".to_owned(),
        };
        [figure, String::new()]
    }

    /// Whether it is certainly worse than the reference.
    pub fn is_slower(self) -> bool {
        matches!(self, Self::Stated(Statement::Slower { .. }, _))
    }

    /// Whether it is certainly better than the reference.
    pub fn is_faster(self) -> bool {
        matches!(self, Self::Stated(Statement::Faster { .. }, _))
    }

    /// Whether it is shown to be as good as the reference within the margin.
    pub fn is_as_fast(self) -> bool {
        matches!(self, Self::Stated(Statement::AsFast, _))
    }

    /// One word for a program: `reference`, `slower`, `faster`, `as-fast`, `undecided` or `screen-only`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Unconfirmed => "screen-only",
            Self::Stated(Statement::AsFast, _) => "as-fast",
            _ if self.is_slower() => "slower",
            _ if self.is_faster() => "faster",
            _ => "undecided",
        }
    }

    /// Whether its interval lies within the margin, which a slower or faster one may do as well.
    pub fn is_within(self) -> bool {
        match self {
            Self::Stated(statement, _) => match statement {
                Statement::Slower { is_within } | Statement::Faster { is_within } => is_within,
                Statement::AsFast => true,
                Statement::Undecided => false,
            },
            _ => false,
        }
    }

    /// It in words as in [`words`](Self::words), without the margin of what is certainly slower or faster.
    pub fn brief(self, margin: f64) -> String {
        match self {
            Self::Stated(Statement::Slower { .. }, relative) => {
                Self::Stated(Statement::Slower { is_within: false }, relative).words(margin)
            }
            Self::Stated(Statement::Faster { .. }, relative) => {
                Self::Stated(Statement::Faster { is_within: false }, relative).words(margin)
            }
            other => other.words(margin),
        }
    }

    /// What the reference is to this cell: the same ratio from the other side.
    #[must_use]
    pub fn mirrored(self) -> Self {
        let turn = |one: Interval| Interval { low: 1.0 / one.high, high: 1.0 / one.low };
        let back = |relative: Relative| Relative {
            ratio: 1.0 / relative.ratio,
            joint: relative.joint.map(turn),
            alone: relative.alone.map(turn),
            ..relative
        };
        match self {
            Self::Stated(Statement::Slower { is_within }, relative) => {
                Self::Stated(Statement::Faster { is_within }, back(relative))
            }
            Self::Stated(Statement::Faster { is_within }, relative) => {
                Self::Stated(Statement::Slower { is_within }, back(relative))
            }
            Self::Stated(statement, relative) => Self::Stated(statement, back(relative)),
            Self::ControlFails(relative) => Self::ControlFails(back(relative)),
            Self::TooNoisy(relative) => Self::TooNoisy(back(relative)),
            Self::Reference | Self::TooFewPairs(_) | Self::Unconfirmed => self,
        }
    }

    /// The same without a statement that rests on the equality of two figures.
    #[must_use]
    fn without_equality(self) -> Self {
        match self {
            Self::Stated(Statement::AsFast, relative) => Self::TooNoisy(relative),
            Self::Stated(Statement::Slower { .. }, relative) => {
                Self::Stated(Statement::Slower { is_within: false }, relative)
            }
            Self::Stated(Statement::Faster { .. }, relative) => {
                Self::Stated(Statement::Faster { is_within: false }, relative)
            }
            other => other,
        }
    }
}

/// The figures of the rounds of cells as logarithms, the same round at the same place: less is better.
fn logarithms(kind: MetricKind, cells: &[&Cell]) -> Vec<Vec<Option<f64>>> {
    let rows: Vec<BTreeMap<u64, f64>> = cells.iter().map(|cell| kind.by_round(cell)).collect();
    let mut numbers: Vec<u64> = rows.iter().flat_map(BTreeMap::keys).copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let logarithm = |value: &f64| if kind.more_is_better() { -value.ln() } else { value.ln() };
    let row = |row: &BTreeMap<u64, f64>| {
        numbers.iter().map(|number| row.get(number).map(logarithm)).collect()
    };
    rows.iter().map(row).collect()
}

/// The places of the cells that were confirmed, and whether there are any; where there are none the values of the screen
/// decide, and these are the places of all.
fn confirmed(cells: &[(&Cell, Reading)]) -> (Vec<usize>, bool) {
    let counts = |at: &usize| !cells[*at].0.is_unconfirmed();
    let any = (0..cells.len()).any(|at| counts(&at));
    ((0..cells.len()).filter(|at| counts(at) || !any).collect(), any)
}

/// The places of all cells, the fittest first, and then the better figure.
fn by_fitness<F: Ord>(
    kind: MetricKind,
    cells: &[(&Cell, Reading)],
    fitness: impl Fn(&Cell) -> F,
) -> Vec<usize> {
    let mut by_fitness: Vec<usize> = (0..cells.len()).collect();
    by_fitness.sort_by(|a, b| {
        let value = |at: usize| cells[at].1.value;
        let better = kind.order(value(*a), value(*b));
        fitness(cells[*a].0).cmp(&fitness(cells[*b].0)).then(better)
    });
    by_fitness
}

/// The relation of each cell to the reference.
fn relations(
    kind: MetricKind,
    cells: &[(&Cell, Reading)],
    rows: &[Vec<Option<f64>>],
    reference: usize,
    margin: f64,
) -> Vec<Relation> {
    let (confirmed, any) = confirmed(cells);
    let others: Vec<usize> = confirmed.into_iter().filter(|at| *at != reference).collect();
    let of_others: Vec<_> = others.iter().map(|at| rows[*at].clone()).collect();
    let found = relative_to(&rows[reference], &of_others);
    let holds = control(kind, cells[reference].0).unwrap_or(true);
    let mut relations = vec![Relation::Unconfirmed; cells.len()];
    relations[reference] = Relation::Reference;
    for (at, relative) in others.into_iter().zip(found) {
        relations[at] = match relative {
            _ if !any => Relation::Unconfirmed,
            None => Relation::TooFewPairs(pairs(&rows[reference], &rows[at])),
            Some(relative) => {
                let relative = with_clock(relative, &cells[at].1, &cells[reference].1);
                match holds {
                    true => Relation::Stated(relative.statement(margin), relative),
                    false => Relation::ControlFails(relative),
                }
            }
        };
    }
    relations
}

fn factor(relative: Relative) -> Option<Factor> {
    Some(Factor { ratio: relative.ratio, interval: relative.joint? })
}

/// `0.9x to 1.4x`, with a second digit where one end would be 1 or 0 otherwise.
fn range(Interval { low, high }: Interval) -> String {
    let is_one = |end: f64| (0.95..1.05).contains(&end);
    let digits = if is_one(low) || is_one(high) || low < 0.095 { 2 } else { 1 };
    format!("{low:.digits$}x to {high:.digits$}x")
}

/// How many times better than the reference: 0.8 is 1.25.
fn inverse(relative: Relative) -> Option<Factor> {
    let Factor { ratio, interval: Interval { low, high } } = factor(relative)?;
    Some(Factor { ratio: 1.0 / ratio, interval: Interval { low: 1.0 / high, high: 1.0 / low } })
}

/// The fittest of the confirmed cells that may be the best by these rounds; of rounds that say nothing the fastest.
fn chosen(
    confirmed: &[usize],
    rows: &[Vec<Option<f64>>],
    by_fitness: &[usize],
    kind: MetricKind,
    cells: &[(&Cell, Reading)],
) -> Option<usize> {
    // A reference with too few rounds would leave all others undecided.
    let has_enough = |at: &usize| rows[*at].iter().flatten().count() >= FEWEST_ROUNDS;
    let enough: Vec<usize> = confirmed.iter().copied().filter(has_enough).collect();
    let confirmed = if enough.is_empty() { confirmed } else { &enough };
    let of_confirmed: Vec<_> = confirmed.iter().map(|at| rows[*at].clone()).collect();
    // These are all the rounds, so a cell that they prove to be worse is not the reference, even within the margin.
    let found = select(&of_confirmed, 0.0);
    let may = |at: &&usize| {
        confirmed.iter().position(|one| one == *at).is_some_and(|place| found.may_be_best[place])
    };
    let fastest = || {
        let value = |at: &usize| cells[*at].1.value;
        confirmed.iter().copied().min_by(|a, b| kind.order(value(a), value(b)))
    };
    by_fitness.iter().find(may).copied().or_else(fastest)
}

/// Whether the reference agrees with its second measurement; `None` where there is none, or too little of it.
fn control(kind: MetricKind, reference: &Cell) -> Option<bool> {
    if reference.control.is_empty() {
        return None;
    }
    let again =
        Cell { key: reference.key.clone(), rounds: reference.control.clone(), ..Cell::default() };
    let rows = logarithms(kind, &[reference, &again]);
    control_holds(&rows[0], &rows[1])
}

/// Rounds in which both have a figure.
fn pairs(one: &[Option<f64>], other: &[Option<f64>]) -> usize {
    one.iter().zip(other).filter(|(one, other)| one.is_some() && other.is_some()).count()
}

/// A ratio of an operation that was timed alone to one that was timed in batches contains the reading of the clock. That
/// part is no difference, so the intervals reach as far as they would without it.
fn with_clock(relative: Relative, own: &Reading, reference: &Reading) -> Relative {
    let share = |of: &Reading, other: &Reading| match (of.clock - other.clock).max(0.0) / of.value {
        share if share.is_finite() => (1.0 - share).max(f64::MIN_POSITIVE),
        _ => 1.0,
    };
    let (down, up) = (share(own, reference), 1.0 / share(reference, own));
    let wide = |interval: Interval| Interval { low: interval.low * down, high: interval.high * up };
    Relative { joint: relative.joint.map(wide), alone: relative.alone.map(wide), ..relative }
}

#[cfg(test)]
mod tests;
