//! One size and load with the figures of all entrants: which one to use, and how the others compare.

use super::trial::Workload;
use crate::results::fittest::Fitness;
use ipcperf_core::result::Cell;
use ipcperf_judge::{MetricKind, Reading, Relation, Relations};

/// One trial with all that entered.
pub(super) struct Contest<'a> {
    pub(super) trial: Workload,
    pub(super) kind: MetricKind,
    /// The cell of each entrant, and its figure.
    cells: Vec<(&'a Cell, Reading)>,
    /// How fit each entrant is.
    fitness: Vec<Fitness>,
    margin: f64,
    /// All next to the reference of this trial.
    own: Relations,
    /// The entrant to use for this trial alone; `None` where nothing may be said.
    pub(super) leader: Option<usize>,
    /// All next to the leader, where that is not the reference.
    to_leader: Option<Relations>,
    /// All next to the choice for all trials, where that is not the reference.
    to_choice: Option<Relations>,
    /// The entrant with the best figure.
    best: usize,
}

impl<'a> Contest<'a> {
    pub(super) fn of(
        trial: Workload,
        kind: MetricKind,
        cells: Vec<(&'a Cell, Reading)>,
        fitness: impl Fn(&Cell) -> Fitness,
        margin: f64,
    ) -> Option<Self> {
        let own = Relations::of(kind, &cells, &fitness, margin)?;
        let value = |at: &usize| cells[*at].1.value;
        let best = (0..cells.len()).min_by(|a, b| kind.order(value(a), value(b)))?;
        let leader = match own.choice() {
            ipcperf_judge::Choice::Use { cell, .. } => Some(cell),
            ipcperf_judge::Choice::Undecided => None,
        };
        let fitness = cells.iter().map(|(cell, _)| fitness(cell)).collect();
        let (to_leader, to_choice) = (None, None);
        let mut contest =
            Self { trial, kind, cells, fitness, margin, own, leader, to_leader, to_choice, best };
        let other = leader.filter(|leader| *leader != contest.own.reference());
        contest.to_leader = other.map(|leader| contest.next_to(leader));
        Some(contest)
    }

    /// All next to one of them.
    pub(super) fn next_to(&self, one: usize) -> Relations {
        let fitness = |cell: &Cell| {
            let own = self.cells.iter().position(|(of, _)| std::ptr::eq(*of, cell)).unwrap_or(one);
            self.fitness[own]
        };
        Relations::next_to(self.kind, &self.cells, one, fitness, self.margin)
    }

    /// From here on all relations are to the choice for all trials, unless this one is undecided.
    pub(super) fn compare_with(&mut self, choice: usize) {
        let is_other = self.leader.is_some() && self.own.reference() != choice;
        self.to_choice = is_other.then(|| self.next_to(choice));
    }

    /// All next to the choice.
    pub(super) fn relations(&self) -> &Relations {
        self.to_choice.as_ref().unwrap_or(&self.own)
    }

    /// The relation of an entrant to the choice.
    pub(super) fn relation(&self, one: usize) -> Relation {
        self.relations().relation(one)
    }

    /// The relation of an entrant to the one that leads in this trial.
    pub(super) fn to_leader(&self, one: usize) -> Relation {
        self.to_leader.as_ref().unwrap_or(&self.own).relation(one)
    }

    /// The relation of an entrant to the reference of this trial.
    pub(super) fn to_reference(&self, one: usize) -> Relation {
        self.own.relation(one)
    }

    /// The entrant that the document or these rounds compare the others with.
    pub(super) fn reference(&self) -> usize {
        self.own.reference()
    }

    /// How many times worse than the leader it is proved to be; 1 where nothing is proved. A cell of the
    /// screen is behind by its figure.
    pub(super) fn behind(&self, one: usize) -> f64 {
        match self.to_leader(one) {
            relation if relation.is_slower() => relation.ratio().unwrap_or(1.0),
            Relation::Unconfirmed => self.multiple(one),
            _ => 1.0,
        }
    }

    /// Its figure as a multiple of the best one.
    pub(super) fn multiple(&self, one: usize) -> f64 {
        let [own, best] = [one, self.best].map(|at| self.cells[at].1.value.max(f64::MIN_POSITIVE));
        (own / best).max(best / own)
    }

    /// The better of two figures first.
    pub(super) fn order(&self, one: usize, other: usize) -> std::cmp::Ordering {
        self.kind.order(self.cells[one].1.value, self.cells[other].1.value)
    }

    /// A figure in words.
    pub(super) fn figure(&self, one: usize) -> String {
        self.kind.words(self.cells[one].1.value, self.trial.size)
    }

    /// The cell of an entrant.
    pub(super) fn cell(&self, one: usize) -> &'a Cell {
        self.cells[one].0
    }
}
