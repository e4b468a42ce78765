//! One comparison of mechanisms under equal conditions.

use super::answer::{Answer, Question, modes_words};
use crate::results::chapters::{label, place_order};
use crate::results::fittest::{FAMILIAR, fitness};
use ipcperf_core::result::{Cell, ClockFacts, ResultSet};
use ipcperf_core::{Idle, Placement, Spec, Touch, Wait};
use ipcperf_judge::{Choice, Comparative, MetricKind, Reading, Relation, Relations, margin};
use ipcperf_render::text;
use ipcperf_stats::FEWEST_ROUNDS;

/// More arms than this leave a few rounds no proof: a run without stages judges no more of them on its first screen.
pub(crate) const MOST_ARMS: usize = 11;

/// How many of several have their names in a sentence.
const NAMED: usize = 3;

/// What all contests of a document share.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    clock: &'a ClockFacts,
    margin: f64,
    grade: &'a str,
    /// Its rounds belong to stages, so that what is compared was chosen by other rounds.
    pub(crate) is_staged: bool,
}

impl<'a> Ground<'a> {
    pub(crate) fn of(set: &'a ResultSet) -> Self {
        Self {
            clock: &set.clock,
            margin: margin(&set.invocation.plan),
            grade: &set.noise.grade,
            is_staged: set.cells.iter().any(|cell| cell.stage().is_some()),
        }
    }

    pub(super) fn reading(&self, kind: MetricKind, cell: &Cell) -> Option<Reading> {
        kind.reading(cell, self.clock)
    }
}

/// A measured cell that may win something, and the facts of its mechanism where this build knows them.
pub(crate) struct RankedCell<'a> {
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
    pub(super) fn choose(entries: &[&RankedCell]) -> Option<Self> {
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
    /// Its relation to the reference.
    pub(crate) relation: Relation,
}

/// Contestants under one basis and at one size, by their ratio to the reference, the best first, then those without one by
/// their figures. Never empty.
pub(crate) struct Contest<'a> {
    kind: MetricKind,
    pub(crate) basis: Basis,
    pub(crate) size: u64,
    ordered: Vec<Contestant<'a>>,
    /// Others that are compared with the reference and are not chosen, in no order.
    others: Vec<Contestant<'a>>,
    reference: usize,
    /// The one to use; `None` if that is undecided.
    choice: Option<usize>,
    /// Contestants that may be better than the reference by more than the margin, and would then be chosen.
    open: Vec<usize>,
    /// How many more rounds would tell, where that can be said.
    pub(crate) rounds_to_tell: Option<u64>,
    /// The reference was chosen by the rounds that the ratios come from.
    pub(crate) is_chosen_by_same_rounds: bool,
    pub(crate) margin: f64,
}

impl<'a> Contest<'a> {
    pub(crate) fn new(
        entries: &[&RankedCell<'a>],
        ground: Ground,
        kind: MetricKind,
        basis: Basis,
        size: u64,
    ) -> Option<Self> {
        Self::with_others(entries, &[], ground, kind, basis, size)
    }

    /// The same with others, which are compared with the reference and are not chosen.
    pub(super) fn with_others(
        entries: &[&RankedCell<'a>],
        others: &[&RankedCell<'a>],
        ground: Ground,
        kind: MetricKind,
        basis: Basis,
        size: u64,
    ) -> Option<Self> {
        let read = |entry: &&RankedCell<'a>| Some((entry.cell, ground.reading(kind, entry.cell)?));
        let mut cells: Vec<(&'a Cell, Reading)> = entries.iter().filter_map(read).collect();
        cells.sort_by(|(a, own), (b, other)| {
            let by_value = kind.order(own.value, other.value);
            by_value.then_with(|| spoken(a).cmp(&spoken(b)))
        });
        let spec = |cell: &Cell| {
            entries.iter().find(|one| std::ptr::eq(one.cell, cell)).and_then(|one| one.spec)
        };
        let found = Relations::of(kind, &cells, |cell| fitness(spec(cell)), ground.margin)?;
        let own = cells.len();
        cells.extend(others.iter().filter_map(read));
        let found = found.with_others(kind, &cells).at_grade(ground.grade);
        let (order, others): (Vec<usize>, Vec<usize>) =
            found.order().into_iter().partition(|at| *at < own);
        let place = |cell: usize| order.iter().position(|at| *at == cell).unwrap_or_default();
        let (choice, open) = match found.choice() {
            Choice::Use { cell, open } => (Some(cell), open),
            Choice::Undecided => {
                (None, found.undecided().into_iter().filter(|at| *at < own).collect())
            }
        };
        let contestant = |at: &usize| Contestant {
            name: spoken(cells[*at].0),
            reading: cells[*at].1,
            cell: cells[*at].0,
            relation: found.relation(*at),
        };
        Some(Self {
            kind,
            basis,
            size,
            ordered: order.iter().map(contestant).collect(),
            others: others.iter().map(contestant).collect(),
            reference: place(found.reference()),
            choice: choice.map(place),
            rounds_to_tell: found.rounds_to_tell(&open),
            open: open.into_iter().map(place).collect::<Vec<_>>(),
            is_chosen_by_same_rounds: found.is_chosen_by_same_rounds(),
            margin: found.margin(),
        })
    }

    /// The same among no more than so many cells that a few rounds can prove something of them: what was chosen, what
    /// everybody asks about, and the fastest.
    pub(super) fn among_few(
        entries: &[&RankedCell<'a>],
        ground: Ground,
        kind: MetricKind,
        basis: &Basis,
        size: u64,
    ) -> Option<Self> {
        let all = Self::new(entries, ground, kind, basis.clone(), size)?;
        if ground.is_staged || all.ordered.len() <= MOST_ARMS {
            return Some(all);
        }
        let is_usual = |one: &Contestant| {
            ["unix-stream", "tcp", "pipe"].contains(&one.cell.key.mechanism.as_str())
        };
        let mut kept: Vec<&Contestant> = all.ordered.iter().collect();
        kept.sort_by(|a, b| {
            let first = |one: &Contestant| !std::ptr::eq(one, all.first());
            let key = |one: &Contestant| (first(one), !is_usual(one));
            let by_value = kind.order(a.reading.value, b.reading.value);
            key(a).cmp(&key(b)).then(by_value)
        });
        kept.truncate(MOST_ARMS);
        let is_kept =
            |entry: &&&RankedCell| kept.iter().any(|one| std::ptr::eq(one.cell, entry.cell));
        let entries: Vec<&RankedCell<'a>> = entries.iter().filter(is_kept).copied().collect();
        Self::new(&entries, ground, kind, basis.clone(), size)
    }

    /// All of them.
    pub(crate) fn ordered(&self) -> &[Contestant<'a>] {
        &self.ordered
    }

    /// Others that are compared with the reference and are not chosen.
    pub(crate) fn others(&self) -> &[Contestant<'a>] {
        &self.others
    }

    /// The one that the others are compared with.
    pub(crate) fn reference(&self) -> &Contestant<'a> {
        &self.ordered[self.reference]
    }

    /// The one to use; `None` if that is undecided.
    pub(crate) fn winner(&self) -> Option<&Contestant<'a>> {
        self.choice.map(|at| &self.ordered[at])
    }

    /// The one to use, or else the one that the others are compared with.
    pub(crate) fn first(&self) -> &Contestant<'a> {
        self.winner().unwrap_or_else(|| self.reference())
    }

    /// Whether the one to use is not the one that the others are compared with, since it is certainly better.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.choice.is_some_and(|at| at != self.reference)
    }

    /// Whether the statements come from rounds of the confirm stage, or from a document without stages.
    pub(crate) fn is_confirmed(&self) -> bool {
        !self.reference().cell.is_unconfirmed()
    }

    /// Contestants that may be better than the reference by more than the margin, and would then be chosen; of an undecided
    /// contest all that may be the best.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Contestant<'a>> {
        self.open.iter().map(|at| &self.ordered[*at])
    }

    /// The best figure of those that are not certainly worse.
    pub(crate) fn fastest(&self) -> &Contestant<'a> {
        let order =
            |a: &&Contestant, b: &&Contestant| self.kind.order(a.reading.value, b.reading.value);
        let may = |one: &&Contestant| !one.relation.is_slower() && !one.cell.is_unconfirmed();
        self.ordered.iter().filter(may).min_by(order).unwrap_or_else(|| self.first())
    }

    /// The contestant of a cell, also among the others.
    pub(crate) fn of_cell(&self, cell: &Cell) -> Option<&Contestant<'a>> {
        self.ordered.iter().chain(&self.others).find(|one| std::ptr::eq(one.cell, cell))
    }

    /// A relation, in the words of the metric.
    fn words(&self, relation: Relation) -> String {
        let comparative = match self.kind {
            MetricKind::Cpu => Comparative::Cost,
            _ => Comparative::Speed,
        };
        relation.words_of(self.margin, comparative)
    }

    /// The relation of a contestant, and the contestant that it is compared with: the reference. If another is faster and to
    /// be used, the reference itself is compared with that one.
    pub(crate) fn compared(&self, one: &Contestant) -> (Relation, &Contestant<'a>) {
        match one.relation {
            Relation::Reference if self.is_overtaken() => {
                (self.first().relation.mirrored(), self.first())
            }
            relation => (relation, self.reference()),
        }
    }

    pub(super) fn of_name(&self, name: &str) -> Option<&Contestant<'a>> {
        self.ordered.iter().find(|contestant| contestant.name == name)
    }

    /// Those that are shown to be as good as the one to use.
    fn ties(&self) -> Vec<&Contestant<'a>> {
        let ties = self.ordered.iter().filter(|one| one.relation.is_as_fast());
        // Two that are each compared with a third are not compared with each other.
        ties.filter(|_| self.winner().is_some() && !self.is_overtaken()).collect()
    }

    /// ` than unix-stream`, where the reference is not the one to use, so that a reader would take it for that one.
    pub(crate) fn than_reference(&self) -> String {
        match self.is_overtaken() {
            true => format!(" than {}", self.reference().name),
            false => String::new(),
        }
    }

    /// The best contestant that is certainly better than the one to use.
    fn faster(&self) -> Option<&Contestant<'a>> {
        self.winner().filter(|_| !self.is_overtaken())?;
        self.ordered.iter().find(|one| one.relation.is_faster())
    }

    /// The nearest that is certainly worse than the one to use.
    fn runner_up(&self) -> Option<&Contestant<'a>> {
        self.winner()?;
        if self.is_overtaken() {
            return Some(self.reference());
        }
        self.ordered.iter().find(|one| one.relation.is_slower())
    }

    pub(crate) fn figure(&self, contestant: &Contestant) -> String {
        let words = self.kind.words(contestant.reading.value, self.size);
        let modes = modes_words(contestant.cell, self.kind);
        format!("{words}{modes}")
    }

    fn named(&self, one: &Contestant) -> String {
        format!("{}, {}", one.name, self.figure(one))
    }

    /// `pipe, 71.5 us`, `fifo, 35.0 us (1.3x faster [1.2, 1.4] than pipe)`, or that it is undecided.
    pub(super) fn winner_words(&self) -> String {
        match self.winner() {
            None if !self.is_confirmed() => {
                format!("{} (not confirmed)", self.named(self.reference()))
            }
            None if self.ordered.len() == 1 => self.named(self.reference()),
            None => format!("undecided between {}", self.list(&self.open().collect::<Vec<_>>())),
            Some(winner) if self.is_overtaken() => {
                let words = self.words(winner.relation);
                format!("{} ({words} than {})", self.named(winner), self.reference().name)
            }
            Some(winner) => self.named(winner),
        }
    }

    /// At most three by their names.
    fn list(&self, some: &[&Contestant]) -> String {
        // Of many those that readers know say more than those that come next.
        let mut known: Vec<&&Contestant> = some.iter().collect();
        known.sort_by_key(|one| !FAMILIAR.contains(&one.cell.key.mechanism.as_str()));
        let mut names: Vec<String> = known.iter().take(NAMED).map(|one| self.named(one)).collect();
        if some.len() > NAMED {
            names.push(format!("{} more", some.len() - NAMED));
        }
        names.join("; ")
    }

    /// `pipe, 70.0 us, is 1.05x faster [1.03, 1.07] (within 10 %); as fast (within 10 %) is fifo, 72.0 us;
    /// posix-mq may be more than 10 % better; runner-up tcp, 95.0 us, 1.3x slower [1.2, 1.4]`.
    pub(super) fn others_words(&self) -> String {
        if self.ordered.len() == 1 {
            return "nothing else of its kind was measured".to_owned();
        }
        if !self.is_confirmed() {
            return "no time was left to compare it".to_owned();
        }
        if self.winner().is_none() {
            let fails = |one: &Contestant| matches!(one.relation, Relation::ControlFails(_));
            return match self.ordered.iter().any(fails) {
                true => format!("{} differs from itself", self.reference().name),
                false => format!("a ratio takes {FEWEST_ROUNDS} rounds that both have"),
            };
        }
        let mut parts = Vec::new();
        if let Some(faster) = self.faster() {
            parts.push(format!("{}, is {}", self.named(faster), self.words(faster.relation)));
        }
        let ties = self.ties();
        if let Some(first) = ties.first() {
            let verb = if ties.len() == 1 { "is" } else { "are" };
            let words = self.words(first.relation);
            parts.push(format!("{words} {verb} {}", self.list(&ties)));
        }
        let open: Vec<&Contestant> = self.open().collect();
        if !open.is_empty() {
            let margin = ipcperf_judge::percent(self.margin);
            let than = self.than_reference();
            parts.push(format!("{} may be more than {margin} better{than}", names(&open)));
        }
        parts.push(match self.runner_up() {
            None => "nothing measured is certainly slower".to_owned(),
            Some(next) => {
                let (relation, _) = self.compared(next);
                format!("runner-up {}, {}", self.named(next), self.words(relation))
            }
        });
        parts.join("; ")
    }

    pub(super) fn answer(&self, question: Question, sentence: String) -> Answer {
        let name = |one: &Contestant| one.name.clone();
        let words = |relation: Relation| self.words(relation);
        let (winner, next) = (self.winner(), self.runner_up());
        Answer {
            mechanism: winner.map(name),
            value: winner.map(|one| one.reading.value),
            reference: (self.ordered.len() > 1).then(|| name(self.reference())),
            relation: winner.filter(|_| self.ordered.len() > 1).map(|one| words(one.relation)),
            ties: self.ties().into_iter().map(name).collect(),
            open: self.open().map(name).collect(),
            runner_up: next.map(name),
            runner_up_value: next.map(|one| one.reading.value),
            runner_up_relation: next.map(|one| words(self.compared(one).0)),
            ..Answer::without_figures(question, sentence)
        }
    }
}

/// `pipe, fifo, posix-mq and 4 more`.
fn names(some: &[&Contestant]) -> String {
    let mut names: Vec<String> = some.iter().take(NAMED).map(|one| one.name.clone()).collect();
    if some.len() > NAMED {
        names.push(format!("{} more", some.len() - NAMED));
    }
    text::join(&names)
}
