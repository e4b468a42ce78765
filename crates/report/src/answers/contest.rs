//! One comparison of mechanisms under equal conditions.

use super::answer::{Answer, Question, modes_words};
use crate::chapters::{label, place_order};
use crate::rank::{Reading, Yardstick};
use crate::text;
use ipcperf_core::result::Cell;
use ipcperf_core::{Idle, Placement, Spec, Touch, Wait};

/// A measured cell that may win something, and the facts of its mechanism where this build knows them.
pub(super) struct Entry<'a> {
    pub(super) cell: &'a Cell,
    pub(super) spec: Option<&'static Spec>,
}

/// Whether an end sleeps as soon as it has nothing to do. One that spins first is as fast as one that only spins while
/// the peer answers at once, and no faster than the others after a pause: back to back it would win every question about
/// those that block.
pub(super) fn sleeps_at_once(cell: &Cell) -> bool {
    !cell.key.wait.burns_cpu() && cell.key.wait != Wait::SpinThenBlock
}

/// Whether the same was asked of the knobs of both.
pub(super) fn has_same_knobs(a: &Cell, b: &Cell) -> bool {
    let requested = |cell: &Cell| {
        let knobs = cell.knobs.iter().map(|(name, knob)| (name.clone(), knob.requested.clone()));
        knobs.filter(|(_, value)| value.is_some()).collect::<Vec<_>>()
    };
    requested(a) == requested(b)
}

/// The conditions under which cells are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) placement: Placement,
    pub(super) idle: Idle,
    pub(super) touch: Touch,
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
        Some(Self { placement: first.key.placement, idle: first.key.idle, touch: first.key.touch })
    }

    pub(super) fn has(&self, cell: &Cell) -> bool {
        (cell.key.placement, cell.key.idle, cell.key.touch)
            == (self.placement, self.idle, self.touch)
    }

    /// `on two CPUs (same-llc)`, with the idle policy where it is not the machine's own.
    pub(super) fn words(&self) -> String {
        let idle = match self.idle {
            Idle::AsIs => "",
            Idle::Poll => ", idle CPUs polling",
        };
        match self.placement {
            Placement::SameCpu => format!("with both ends on one CPU{idle}"),
            Placement::Free => format!("without pinning{idle}"),
            place => format!("on two CPUs ({place}{idle})"),
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
pub(super) struct Contestant<'a> {
    pub(super) name: String,
    pub(super) reading: Reading,
    pub(super) cell: &'a Cell,
}

/// Contestants under one basis and at one size, best first. Never empty.
pub(super) struct Contest<'a> {
    yardstick: Yardstick,
    pub(super) basis: Basis,
    pub(super) size: u64,
    ordered: Vec<Contestant<'a>>,
}

impl<'a> Contest<'a> {
    pub(super) fn new(
        cells: Vec<&'a Cell>,
        yardstick: Yardstick,
        basis: Basis,
        size: u64,
    ) -> Option<Self> {
        let mut ordered: Vec<Contestant> = cells
            .into_iter()
            .filter_map(|cell| {
                let reading = yardstick.reading(cell)?;
                Some(Contestant { name: spoken(cell), reading, cell })
            })
            .collect();
        ordered.sort_by(|a, b| {
            yardstick.order(a.reading.value, b.reading.value).then_with(|| a.name.cmp(&b.name))
        });
        (!ordered.is_empty()).then_some(Self { yardstick, basis, size, ordered })
    }

    pub(super) fn winner(&self) -> &Contestant<'a> {
        &self.ordered[0]
    }

    /// The winner and all that tie with it.
    fn best(&self) -> &[Contestant<'a>] {
        self.tied_from(0)
    }

    /// The contestant at `start` and the following that tie with it.
    fn tied_from(&self, start: usize) -> &[Contestant<'a>] {
        let rest = &self.ordered[start..];
        let Some(first) = rest.first() else { return rest };
        let tied = rest.iter().take_while(|other| other.reading.ties(&first.reading)).count();
        &rest[..tied]
    }

    pub(super) fn is_best(&self, name: &str) -> bool {
        self.best().iter().any(|contestant| contestant.name == name)
    }

    pub(super) fn figure_of(&self, name: &str) -> Option<f64> {
        let found = self.ordered.iter().find(|contestant| contestant.name == name)?;
        Some(found.reading.value)
    }

    fn runner_up(&self) -> Option<&Contestant<'a>> {
        self.ordered.get(self.best().len())
    }

    fn figure(&self, contestant: &Contestant) -> String {
        let words = self.yardstick.words(contestant.reading.value, self.size);
        let modes = modes_words(contestant.cell, self.yardstick, &contestant.reading);
        format!("{words}{modes}")
    }

    /// `pipe, 71.5 us`, or `pipe and fifo (a tie), 71.5 us and 72.0 us`.
    pub(super) fn winner_words(&self) -> String {
        self.words(self.best())
    }

    fn words(&self, best: &[Contestant]) -> String {
        const NAMED: usize = 3;
        let mut names: Vec<String> =
            best.iter().take(NAMED).map(|contestant| contestant.name.clone()).collect();
        let mut figures: Vec<String> =
            best.iter().take(NAMED).map(|contestant| self.figure(contestant)).collect();
        match best.len() {
            1 => return format!("{}, {}", names[0], figures[0]),
            count if count > NAMED => {
                names.push(format!("{} more", count - NAMED));
                let last = &best[count - 1];
                figures = vec![figures[0].clone(), self.figure(last)];
                return format!("{} (a tie), {} to {}", text::join(&names), figures[0], figures[1]);
            }
            _ => {}
        }
        format!("{} (a tie), {}", text::join(&names), text::join(&figures))
    }

    /// `runner-up fifo, 80.1 us`.
    pub(super) fn runner_up_words(&self) -> String {
        match self.runner_up() {
            Some(_) => format!("runner-up {}", self.words(self.tied_from(self.best().len()))),
            None if self.ordered.len() == 1 => "nothing else of its kind was measured".to_owned(),
            None => "nothing measured is certainly slower".to_owned(),
        }
    }

    pub(super) fn answer(&self, question: Question, sentence: String) -> Answer {
        let winner = self.winner();
        let runner_up = self.runner_up();
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
