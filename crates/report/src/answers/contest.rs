//! One comparison of mechanisms under equal conditions.

use super::answer::{Answer, Question, modes_words};
use crate::chapters::{label, place_order};
use crate::fittest::{FAMILIAR, Fitness, fitness};
use crate::judge::{MetricKind, Ranking, Reading};
use crate::text;
use ipcperf_core::result::{Cell, ClockFacts};
use ipcperf_core::{Idle, Placement, Spec, Touch, Wait};

/// A measured cell that may win something, and the facts of its mechanism where this build knows them.
pub(crate) struct Entry<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) spec: Option<&'static Spec>,
}

/// Whether an end sleeps as soon as it has nothing to do. One that spins first is as fast as one that only spins while
/// the peer answers at once, and no faster than the others after a pause: back to back it would win every question about
/// those that block.
pub(crate) fn sleeps_at_once(cell: &Cell) -> bool {
    !cell.key.wait.burns_cpu() && cell.key.wait != Wait::SpinThenBlock
}

/// Whether the same was asked of the knobs of both.
pub(super) fn has_same_knobs(a: &Cell, b: &Cell) -> bool {
    a.requested() == b.requested()
}

/// The conditions under which cells are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) placement: Placement,
    pub(crate) idle: Idle,
    pub(crate) touch: Touch,
}

impl Basis {
    /// Two CPUs before one, the machine as it is before idle polling, the default touch before others.
    pub(super) fn choose(entries: &[&Entry]) -> Option<Self> {
        let order = |cell: &Cell| {
            (
                place_order(cell.key.placement),
                cell.key.idle != Idle::AsIs,
                cell.key.touch != Touch::CacheLine,
                cell.key.touch,
            )
        };
        let first = entries.iter().map(|entry| entry.cell).min_by_key(|cell| order(cell))?;
        Some(Self::of(first))
    }

    pub(crate) fn of(cell: &Cell) -> Self {
        let key = &cell.key;
        Self { placement: key.placement, idle: key.idle, touch: key.touch }
    }

    pub(crate) fn has(&self, cell: &Cell) -> bool {
        Self::of(cell) == *self
    }

    /// `on two CPUs (same-llc)`, with the idle policy where it is not the machine's own.
    pub(crate) fn words(&self) -> String {
        let idle = match self.idle {
            Idle::AsIs => "",
            Idle::Poll => ", idle CPUs polling",
        };
        match self.placement {
            place if place.is_one_cpu() => format!("with both ends on one CPU{idle}"),
            Placement::Free => format!("without pinning{idle}"),
            Placement::OneEnd { .. } => format!("with one end pinned ({:#}{idle})", self.placement),
            place => format!("on two CPUs ({place:#}{idle})"),
        }
    }
}

/// The label, with a word for what spins before it sleeps.
fn spoken(cell: &Cell) -> String {
    let briefly =
        if cell.key.wait == Wait::SpinThenBlock { " (spins briefly, then sleeps)" } else { "" };
    format!("{}{briefly}", label(cell))
}

/// A contestant.
pub(crate) struct Contestant<'a> {
    pub(crate) name: String,
    pub(crate) reading: Reading,
    pub(crate) cell: &'a Cell,
    fitness: Fitness,
    /// Where it is in the ranking.
    at: usize,
    /// Nobody is certainly better.
    is_best: bool,
}

/// Contestants under one basis and at one size: first those than which nobody is certainly better, the fittest first, then
/// the rest by their figures. Never empty.
pub(crate) struct Contest<'a> {
    kind: MetricKind,
    pub(crate) basis: Basis,
    pub(crate) size: u64,
    ordered: Vec<Contestant<'a>>,
    ranking: Ranking,
}

impl<'a> Contest<'a> {
    pub(crate) fn new(
        entries: Vec<&Entry<'a>>,
        clock: &ClockFacts,
        kind: MetricKind,
        basis: Basis,
        size: u64,
    ) -> Option<Self> {
        let read = |entry: &&Entry<'a>| Some((entry.cell, kind.reading(entry.cell, clock)?));
        let (specs, cells): (Vec<Option<&Spec>>, Vec<(&Cell, Reading)>) =
            entries.iter().filter_map(|entry| Some((entry.spec, read(entry)?))).unzip();
        let ranking = Ranking::of(kind, &cells);
        let ranks = ranking.ranks();
        let contestant = |(at, (cell, reading)): (usize, (&'a Cell, Reading))| Contestant {
            name: spoken(cell),
            reading,
            cell,
            fitness: fitness(specs[at]),
            at,
            is_best: ranks[at].place == 1,
        };
        let mut ordered: Vec<_> = cells.into_iter().enumerate().map(contestant).collect();
        let tied = |one: &Contestant| one.is_best.then_some(one.fitness);
        ordered.sort_by(|a, b| {
            let best_first = b.is_best.cmp(&a.is_best).then_with(|| tied(a).cmp(&tied(b)));
            best_first
                .then_with(|| kind.order(a.reading.value, b.reading.value))
                .then_with(|| a.name.cmp(&b.name))
        });
        (!ordered.is_empty()).then_some(Self { kind, basis, size, ordered, ranking })
    }

    /// All of them, the winner first.
    pub(crate) fn ordered(&self) -> &[Contestant<'a>] {
        &self.ordered
    }

    /// Whether the winner is certainly better than it.
    pub(crate) fn is_behind(&self, one: &Contestant) -> bool {
        self.ranking.is_better(self.winner().at, one.at)
    }

    /// Of those that tie with the best figure, the fittest.
    pub(crate) fn winner(&self) -> &Contestant<'a> {
        &self.ordered[0]
    }

    /// The best figure.
    pub(crate) fn fastest(&self) -> &Contestant<'a> {
        let order =
            |a: &&Contestant, b: &&Contestant| self.kind.order(a.reading.value, b.reading.value);
        let best = self.ordered.iter().filter(|contestant| contestant.is_best);
        best.min_by(order).unwrap_or(&self.ordered[0])
    }

    /// The winner and all others than which nobody is certainly better.
    pub(crate) fn best(&self) -> Vec<&Contestant<'a>> {
        self.ordered.iter().filter(|contestant| contestant.is_best).collect()
    }

    pub(super) fn is_best(&self, name: &str) -> bool {
        self.best().iter().any(|contestant| contestant.name == name)
    }

    pub(super) fn figure_of(&self, name: &str) -> Option<f64> {
        let found = self.ordered.iter().find(|contestant| contestant.name == name)?;
        Some(found.reading.value)
    }

    /// The first that is certainly behind, and all others behind that tie with it.
    fn runners_up(&self) -> Vec<&Contestant<'a>> {
        let mut behind = self.ordered.iter().filter(|contestant| !contestant.is_best);
        let Some(first) = behind.next() else { return Vec::new() };
        let tied = behind.filter(|other| !self.ranking.is_better(first.at, other.at));
        std::iter::once(first).chain(tied).collect()
    }

    pub(crate) fn figure(&self, contestant: &Contestant) -> String {
        let words = self.kind.words(contestant.reading.value, self.size);
        let modes = modes_words(contestant.cell, self.kind);
        format!("{words}{modes}")
    }

    /// `pipe, 71.5 us`, or `pipe and fifo (equally good), 71.5 us and 72.0 us`.
    pub(super) fn winner_words(&self) -> String {
        self.words(&self.best())
    }

    fn words(&self, best: &[&Contestant]) -> String {
        const NAMED: usize = 3;
        let Some((first, rest)) = best.split_first() else { return String::new() };
        let own = format!("{}, {}", first.name, self.figure(first));
        if rest.is_empty() {
            return own;
        }
        if best.len() <= NAMED {
            let names: Vec<String> = best.iter().map(|one| one.name.clone()).collect();
            let figures: Vec<String> = best.iter().map(|one| self.figure(one)).collect();
            return format!("{} (equally good), {}", text::join(&names), text::join(&figures));
        }
        // Of many those that readers know say more than those that come next.
        let mut known: Vec<&&Contestant> = rest.iter().collect();
        known.sort_by_key(|one| !FAMILIAR.contains(&one.cell.key.mechanism.as_str()));
        let mut names: Vec<String> =
            known.iter().take(NAMED - 1).map(|one| one.name.clone()).collect();
        names.push(format!("{} more", best.len() - NAMED));
        let order =
            |a: &&&Contestant, b: &&&Contestant| self.kind.order(a.reading.value, b.reading.value);
        let [from, to] = [best.iter().min_by(order), best.iter().max_by(order)]
            .map(|one| one.map_or_else(String::new, |one| self.figure(one)));
        format!("{own}; as good are {} ({from} to {to})", text::join(&names))
    }

    /// `runner-up fifo, 80.1 us`.
    pub(super) fn runner_up_words(&self) -> String {
        match self.runners_up().as_slice() {
            [] if self.ordered.len() == 1 => "nothing else of its kind was measured".to_owned(),
            [] => "nothing measured is certainly slower".to_owned(),
            runners_up => format!("runner-up {}", self.words(runners_up)),
        }
    }

    pub(super) fn answer(&self, question: Question, sentence: String) -> Answer {
        let winner = self.winner();
        let runners_up = self.runners_up();
        let runner_up = runners_up.first();
        Answer {
            question,
            sentence,
            mechanism: Some(winner.name.clone()),
            value: Some(winner.reading.value),
            ties: self.best()[1..].iter().map(|contestant| contestant.name.clone()).collect(),
            runner_up: runner_up.map(|next| next.name.clone()),
            runner_up_value: runner_up.map(|next| next.reading.value),
        }
    }
}
